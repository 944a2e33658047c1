# Frames that pass one BPF program as often as each argument says: what is sent into a0 comes in at a1, goes through the
# pair v0, v1 again and again with another ID each time, to b1, and comes out of b0. On the bench
# with cards so does what a card receives.
modprobe vxcan || exit 99
modprobe -a can-raw sch_ingress cls_bpf || exit 99
gw() { ip netns exec gw "$@"; }
for pair in a v b; do
    ip -n gw link add "${pair}0" type vxcan peer name "${pair}1" || exit 99
    for end in 0 1; do
        ip -n gw link set "$pair$end" mtu 72
        ip -n gw link set "$pair$end" up
    done
done

for N in "$@"; do
echo "== $N"
{
    printf '[gateway]\ncontrol = "/run/g.sock"\noffload = "bpf"\nmax_hops = %s\n' "$N"
    for port in gw0 a1 v0 v1 b1; do printf '[ports.%s]\nkind = "socketcan"\n' $port; done
    for pass in $(seq "$N"); do
        from='"v1"' to=v0
        [ "$pass" = 1 ] && from='"a1", "gw0"'
        [ "$pass" = "$N" ] && to=b1
        printf '[[routes]]\nname = "pass %s"\nfrom = [%s]\nto = "%s"\nkind = ["classic", "fd"]\n' \
            "$pass" "$from" $to
        printf 'id = "%X"\ndo = [{ set = { id = "%X" } }]\n' $((0xFF + pass)) $((0x100 + pass))
    done
} >/tmp/g.toml
ip netns exec gw cangate run /tmp/g.toml >/tmp/log 2>&1 &
GATEWAY=$!
for i in $(seq 100); do
    cangate stats --socket /run/g.sock >/dev/null 2>&1 && break
    sleep 0.1
done
ip netns exec gw candump -L b0 >/tmp/got &
DUMP=$!
# candump receives from here on: a busy host lets a program wait for longer than any sleep.
until ip netns exec gw grep -q " b0 " /proc/net/can/rcvlist_all; do sleep 0.05; done
gw cansend a0 100#1122334455667788
gw cansend a0 100##5$(printf '%02X' $(seq 64))
cansend can0 100#AA
sleep 1
cat /tmp/log
cangate stats --socket /run/g.sock
sed 's/.* //' /tmp/got
kill $DUMP $GATEWAY
wait
done
echo "== done"
