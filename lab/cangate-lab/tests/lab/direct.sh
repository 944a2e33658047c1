# Controllers driven from user space: `kind = "direct"`. What each step prints follows its line `== name`.
cd /tmp
driver() { basename "$(readlink /sys/bus/pci/devices/$1/driver)" 2>/dev/null; }
# Frames of a dump without time and interface.
frames() { sed 's/^.* can[0-9] *//; s/  */ /g; s/ $//' "$1"; }
ready() { while ! cangate stats "$1" >stats 2>&1; do sleep 0.05; done; }
# The keeper needs a moment.
back() {
    n=0
    until [ "$(driver $1)" = kvaser_pci ] && [ -d /sys/bus/pci/devices/$1/net ]; do
        n=$((n + 1))
        [ $n -gt 200 ] && break
        sleep 0.05
    done
}
ports() {
    cat >g.toml <<END
[ports.a]
kind = "direct"
device = "$2"
mode = "$1"
[ports.b]
kind = "direct"
device = "$3"
mode = "$1"
[[routes]]
from = "a"
to = "b"
[[routes]]
from = "b"
to = "a"
END
}

for mode in poll interrupt; do
    echo "== $mode"
    ports $mode 0000:00:12.0 0000:00:14.0
    cangate run g.toml --json >sum 2>said &
    pid=$!
    ready g.toml
    candump can2 >dump2 &
    d2=$!
    candump can1 >dump1 &
    d1=$!
    sleep 0.05
    for frame in 123#1122334455667788 123# 12345678#DEADBEEF 7FF#R; do cansend can0 $frame; done
    for frame in 456#AA 1ABCDEF0#R 001#8899; do cansend can2 $frame; done
    cangen can0 -n 100 -g 1 -I i -L 8 -D i
    sleep 0.1
    # The FIFO has room for five of them.
    kill -STOP $pid
    cangen can0 -n 20 -g 1 -I 7F0 -L 8 -D i
    kill -CONT $pid
    sleep 0.1
    kill $d1 $d2
    echo "on can2: $(wc -l <dump2)"
    frames dump2 | head -5
    echo "on can1: $(wc -l <dump1)"
    frames dump1 | grep -v ' 8 \|^7F0\|\[8\]'
    cangate stats g.toml --json >stats
    tr -d ' ,' <stats | grep '"overrun"\|"received"\|"sent"\|"held"\|"lost"' | tr '\n' ' '
    echo
    # The card leaves under way.
    if [ $mode = poll ]; then kill $pid; else kill -9 $pid; fi
    wait $pid 2>/dev/null
    echo "status $?"
    back 0000:00:12.0
    back 0000:00:14.0
    echo "driver $(driver 0000:00:12.0) $(driver 0000:00:14.0)"
    echo "override $(cat /sys/bus/pci/devices/0000:00:12.0/driver_override)"
done

echo "== settings"
ip link set can1 down
ip link set can1 type can bitrate 250000 sample-point 0.8 restart-ms 70
ip link set can1 txqueuelen 77 up
look() { ip -details link show can1 | tr -s ' ' | grep -o 'state [A-Z]* \|qlen [0-9]*\|bitrate [0-9]*\|sample-point [0-9.]*\|restart-ms [0-9]*' | tr '\n' ' '; }
before=$(look)
echo "before $before"
ports poll can1 can2
cangate run g.toml >sum 2>said &
pid=$!
ready g.toml
echo "meanwhile $(ls -d /sys/class/net/can1 2>/dev/null)"
# Who else wants a card is told who has it.
sed 's/device = "can1"/device = "0000:00:11.0"/; s/device = "can2"/device = "0000:00:13.0"/' g.toml >h.toml
cangate run h.toml 2>&1 | grep -o 'another process drives the card [0-9a-f:.]*'
kill -9 $pid
wait $pid 2>/dev/null
back 0000:00:11.0
back 0000:00:13.0
n=0
until [ "$(look)" = "$before" ] || [ $n -gt 100 ]; do n=$((n + 1)); sleep 0.05; done
echo "after $(look)"
candump can1 >dump1 &
d1=$!
sleep 0.1
cansend can0 321#42
sleep 0.1
kill $d1
frames dump1

echo "== mistakes"
for change in 's/"can1"/"can9"/' 's/"can1"/"lo"/' 's/"can1"/"can1"\nbitrate = 300000/' \
    's/"can1"/"can1"\ndata_bitrate = "2M"/' 's/"can1"/"can1"\nchannel = 5/' 's/"can1"/"0000:00:08.0"/'; do
    sed "$change" g.toml >h.toml
    cangate run h.toml 2>&1 | grep 'error: a'
    echo "driver $(driver 0000:00:11.0)"
done
echo "== done"
