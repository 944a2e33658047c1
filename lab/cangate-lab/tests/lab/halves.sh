# Ways to receive and to transmit on controllers that echo what is sent (kvaser_pci): `cangate run`
# between gw0 and gw1 in namespace gw, with routes both ways that take everything. A gateway that
# received what it sent would route it back.
step() { echo "== $*"; }
toml() { # `receive` `transmit` [more]
    cat <<TOML
[gateway]
control = "/run/g.sock"
[ports.in]
kind = "socketcan"
interface = "gw0"
receive = "$1"
transmit = "$2"
$3
[ports.out]
kind = "socketcan"
interface = "gw1"
receive = "$1"
transmit = "$2"
$3
[[routes]]
name = "forth"
from = "in"
to = "out"
[[routes]]
name = "back"
from = "out"
to = "in"
TOML
}
gw() { ip netns exec gw "$@"; }
start() {
    ip netns exec gw cangate run /tmp/g.toml 2>/tmp/log &
    for i in $(seq 100); do
        cangate stats --socket /run/g.sock >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "does not start:"
    cat /tmp/log
    exit 98
}
try() { # `receive` `transmit` [more]
    step "$1 $2"
    toml "$@" >/tmp/g.toml
    start
    cangen can0 -I 123 -L 8 -n 40 -g 2
    cangen can2 -I 456 -L 4 -n 20 -g 2
    sleep 0.3
    cangate stats --socket /run/g.sock --json | tr -d '\n'
    echo
    kill $!
    wait $!
    echo "status $?"
}
# Until the kernel has noticed that the links are up; in virtual time this takes no time.
sleep 3
for receive in recvmmsg read-nonblock read-busypoll ring ring-busy; do
    try "$receive" write
    try "$receive" ring
done
try read sendmmsg
try ring ring "qdisc_bypass = true"
step done
