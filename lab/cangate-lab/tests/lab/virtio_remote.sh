# Remote frames between a gateway and a machine with Linux's own driver. The machine says that it is there by frames with
# the ID 7FF, gets frames until one has the ID 7A2, and sends remote frames of its own.
ip link set can0 up
candump -L can0 >/tmp/got &
sleep 1
n=0
until grep -q 7A2# /tmp/got || [ $n -gt 150 ]; do
    n=$((n + 1))
    cansend can0 7FF#
    sleep 0.2
done
for frame in 7A3#R 7A3#R5 1A3#R8 7A4#02; do cansend can0 $frame; done
sleep 1
echo "== got"
sed 's/.* //' /tmp/got | grep '^7A[12]'
echo "== driver"
dmesg | grep 'RX:'
echo "== counted"
cat /sys/class/net/can0/statistics/rx_packets
echo "== done"
