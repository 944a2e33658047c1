# Frames that `cangate run` sends from a ring, and a can-gw behind it.
modprobe -a can-gw vxcan can-raw || exit 99
for pair in "c0 c1" "a0 a1" "b0 b1"; do
    set -- $pair
    ip link add "$1" type vxcan peer name "$2" && ip link set "$1" up && ip link set "$2" up || exit 99
done
cangw -A -s a1 -d b0 -e || exit 99
try() { # lines of the port that sends
    cat >/tmp/g.toml <<TOML
[gateway]
control = "/run/g.sock"
[ports.in]
kind = "socketcan"
interface = "c1"
[ports.out]
kind = "socketcan"
interface = "a0"
$1
[[routes]]
name = "forth"
from = "in"
to = "out"
TOML
    cangate run /tmp/g.toml 2>/tmp/log &
    G=$!
    for i in $(seq 100); do
        cangate stats --socket /run/g.sock >/dev/null 2>&1 && break
        sleep 0.1
    done
    candump -L b1 >/tmp/dump &
    D=$!
    # A busy host lets a program wait for longer than any sleep.
    until grep -q " b1 " /proc/net/can/rcvlist_all; do sleep 0.05; done
    cangen c0 -I 321 -L 8 -n 25 -g 2
    sleep 0.5
    kill $G $D || cat /tmp/log
    wait $G $D
    echo "$(wc -l </tmp/dump) of 25"
}
try 'transmit = "sendmmsg"'
try 'transmit = "ring"'
try 'transmit = "ring"
qdisc_bypass = true'
echo "== done"
