# One of two machines that send each other frames through a gateway: virtio.sh FRAMES EXPECTED. It sends so many, and the other's
# are so many. Both first say hello until each has heard the other; what is counted begins then. Machines and gateway share the
# host's processors with other work, so that a machine can stand still for seconds.
frames=$1 expected=$2
received() { cat /sys/class/net/can0/statistics/rx_packets; }
ip link set can0 txqueuelen 1000 up
until [ "$(received)" -gt 0 ]; do cansend can0 7FF#; sleep 0.2; done
cansend can0 7FF#
sleep 3
before=$(received)
sleep 5
cangen can0 -g 0 -p 100 -n "$frames" -I i -L 8 -D i
# Until all are there, or nothing has come for half a minute.
last=0 silent=0
while [ $(($(received) - before)) -lt "$expected" ] && [ $silent -lt 60 ]; do
    silent=$((silent + 1))
    [ "$(received)" -ne "$last" ] && silent=0
    last=$(received)
    sleep 0.5
done
# One too many would come now.
sleep 1
echo "received $(($(received) - before))"
echo "dropped $(cat /sys/class/net/can0/statistics/tx_dropped) $(cat /sys/class/net/can0/statistics/rx_dropped)"
# The other one may not be ready yet.
sleep 5
echo "== done"
