# One of two machines that send each other frames through a gateway: virtio.sh FRAMES. Both first say hello until each has
# heard the other; what is counted begins then.
frames=$1
received() { cat /sys/class/net/can0/statistics/rx_packets; }
ip link set can0 txqueuelen 1000 up
until [ "$(received)" -gt 0 ]; do cansend can0 7FF#; sleep 0.2; done
cansend can0 7FF#
sleep 3
before=$(received)
sleep 2
cangen can0 -g 0 -p 100 -n "$frames" -I i -L 8 -D i
# Until nothing has come for two seconds.
last=0
while [ "$(received)" -ne "$last" ]; do last=$(received); sleep 2; done
echo "received $(($(received) - before))"
echo "dropped $(cat /sys/class/net/can0/statistics/tx_dropped) $(cat /sys/class/net/can0/statistics/rx_dropped)"
# The other one may not be ready yet.
sleep 2
echo "== done"
