# A gateway by io_uring between a pair of vxcan and a bit-timed bus: what is sent into a0 comes in at a1,
# goes out at b1 and is seen at b0.
modprobe vxcan || exit 99
ip link add a0 type vxcan peer name a1 || exit 99
for end in 0 1; do
    ip link set "a$end" mtu 72
    ip link set "a$end" up
    echo "add b$end bus=2 model=mscan" > /dev/bitcan || exit 99
    ip link set "b$end" type can bitrate 50000 dbitrate 200000 fd on || exit 99
    ip link set "b$end" up || exit 99
done
# The kernel looks at carriers at most once a second; until it has, b1 is down for the gateway.
for end in a1 b0 b1; do
    until grep -q up "/sys/class/net/$end/operstate"; do sleep 0.05; done
done
{
    printf '[gateway]\ncontrol = "/run/g.sock"\n'
    for port in a1 b1; do
        printf '[ports.%s]\nkind = "socketcan"\nqueue = 2048\nreceive_buffer = 4194304\n' $port
        printf 'receive = "io_uring"\ntransmit = "io_uring"\n'
    done
    printf '[[routes]]\nfrom = "a1"\nto = "b1"\nkind = ["classic", "fd"]\n'
} >/tmp/g.toml
cangate run --json /tmp/g.toml >/tmp/summary 2>/tmp/log &
GATEWAY=$!
for i in $(seq 100); do
    cangate stats --socket /run/g.sock >/dev/null 2>&1 && break
    sleep 0.1
done
# Appended, so that the file can be emptied.
: >/tmp/got
# candump receives from here on: a busy host lets a program wait for longer than any sleep.
heard() {
    until grep -q " $1 " /proc/net/can/rcvlist_all; do sleep 0.05; done
}
candump -L b0 >>/tmp/got &
DUMP=$!
heard b0

echo "== kinds"
cansend a0 123#1122334455667788
cansend a0 18FEF100#AA
cansend a0 123#R4
cansend a0 100##5$(printf '%02X' $(seq 64))
# What the gateway's own interface sends is not received again, what others send on it is.
cansend b1 7FF#
sleep 0.5
sed 's/.* //' /tmp/got

echo "== full"
# Room for ten frames, each of which takes its time: all others wait in the gateway, in order.
: >/tmp/got
cangen a0 -n 300 -g 0 -I 321 -L 4 -D i
for i in $(seq 100); do
    [ "$(wc -l </tmp/got)" -ge 300 ] && break
    sleep 0.1
done
sed 's/.*#//' /tmp/got

echo "== again"
: >/tmp/got
ip link set a1 down
sleep 0.3
ip link set a1 up
sleep 1.5
cansend a0 124#01
ip link set b1 down
sleep 0.3
cansend a0 124#02
sleep 0.3
ip link set b1 up
sleep 1.5
cansend a0 124#03
sleep 0.5
ip link del a0
sleep 0.3
ip link add a0 type vxcan peer name a1
ip link set a0 up
ip link set a1 up
sleep 1.5
cansend a0 124#04
sleep 0.5
sed 's/.* //' /tmp/got

kill -INT $GATEWAY
wait $GATEWAY
echo "== log"
cat /tmp/log
echo "== summary"
cat /tmp/summary
kill $DUMP
echo "== done"
