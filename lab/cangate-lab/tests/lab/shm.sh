# The two machines of the test of shared memory: shm.sh driver|other FRAMES. What each step prints follows its line
# `== name`.
role=$1
frames=$2
cd /tmp
dropped() { echo $(($(cat /sys/class/net/$interface/statistics/tx_dropped) + $(cat /sys/class/net/$interface/statistics/rx_dropped))); }
received() { cat /sys/class/net/$interface/statistics/rx_packets; }
# Both say hello until each has heard the other.
greet() {
    until [ "$(received)" -gt 0 ]; do cansend $interface 7FF#; sleep 0.2; done
    cansend $interface 7FF#
    sleep 3
}
# What the exchange does not send: frames with 29 bits.
hear() { candump -T 120000 -n 1 "$interface,$1:DFFFFFFF"; }
send() { cangen $interface -g 0.3 -p 100 -n "$frames" -I i -L 8 -D i; }

if [ "$role" = other ]; then
    interface=can0
    ip link set can0 txqueuelen 1000 up
    echo "== exchange"
    greet
    before=$(received)
    # Hellos that nobody was there for.
    nobody=$(dropped)
    sleep 2
    send
    # All of them, and whatever else comes.
    n=0
    until [ $(($(received) - before)) -ge "$frames" ] || [ $n -gt 120 ]; do n=$((n + 1)); sleep 1; done
    sleep 2
    echo "received $(($(received) - before))"
    cansend can0 00000D0E#
    echo "dropped $(($(dropped) - nobody))"
    echo "== return"
    hear 00000555 | tr -s ' '
    cansend can0 000005AA#42
    sleep 3
    echo "errors $(cat /sys/class/net/can0/statistics/rx_errors) $(cat /sys/class/net/can0/statistics/tx_errors)"
    exit
fi

# The driver VM owns a controller, can0. Another node on the same bus is can1.
interface=can1
device=$(basename "$(dirname "$(grep -l 0x1110 /sys/bus/pci/devices/*/device)")")
driver() { basename "$(readlink /sys/bus/pci/devices/$device/driver)" 2>/dev/null; }
cat >g.toml <<END
[ports.bus]
kind = "socketcan"
interface = "can0"
queue = 4096
[ports.vm]
kind = "shm"
device = "$device"
[[routes]]
from = "bus"
to = "vm"
[[routes]]
from = "vm"
to = "bus"
END
begin() {
    cangate run g.toml >sum 2>said &
    pid=$!
    until cangate stats g.toml 2>/dev/null | grep -q '^ vm  *up '; do sleep 0.1; done
}
ip link set can1 txqueuelen 1000 up
echo "== exchange"
driver
begin
driver
greet
before=$(received)
sleep 2
hear 00000D0E >done &
done=$!
send
# The other side has got all, and has said so.
wait $done
sleep 1
echo "received $(($(received) - before - $(grep -c . done)))"
cangate stats g.toml | tail -1
echo "== return"
kill -9 $pid
wait $pid 2>/dev/null
begin
hear 000005AA >answer &
dump=$!
while kill -0 $dump 2>/dev/null; do cansend can1 00000555#; sleep 0.5; done
tr -s ' ' <answer
kill $pid
wait $pid
echo "status $?"
echo "== mistakes"
# As by `poll`, without a driver; and a device that somebody else has.
sed "s/^device.*/&\npoll = \"1ms\"/" g.toml >polled.toml
cangate run polled.toml >sum 2>said &
pid=$!
until cangate stats polled.toml >stats 2>&1; do sleep 0.1; done
echo "driver $(driver)"
cangate run g.toml 2>&1 | grep -o 'another process has [0-9a-f:]*[.][0-9]'
kill $pid
wait $pid
sed 's/^device.*/device = "0000:00:01.0"/' g.toml >wrong.toml
cangate run wrong.toml 2>&1 | grep -o 'is a PCI device .*, not shared memory'
rmmod shmcan_uio
cangate run g.toml 2>&1 | grep -o 'load the kernel.s module [a-z_]*'
echo "== done"
