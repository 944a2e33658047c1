# What `cangate run` says of interfaces, and the frames that the kernel's filters keep from it. What is
# sent into a0 comes in at a1; v0 is a vcan, on which local programs send.
modprobe -a vcan vxcan can-raw || exit 99
ip link add v0 type vcan && ip link set v0 up || exit 99
pair() { ip link add "$1" type vxcan peer name "$2" && ip link set "$1" up && ip link set "$2" up; }
pair a0 a1
pair b0 b1

step() { echo "== $*"; }
toml() { # `offload`
    cat <<TOML
[gateway]
control = "/run/g.sock"
offload = "$1"
[ports.in]
kind = "socketcan"
interface = "a1"
[ports.local]
kind = "socketcan"
interface = "v0"
[ports.out]
kind = "socketcan"
interface = "b1"
[[routes]]
name = "through"
from = "in"
to = "out"
kind = ["classic", "fd"]
id = "123"
TOML
}
more() { # routes that go over the vcan
    cat <<TOML
[[routes]]
name = "to local"
from = "in"
to = "local"
id = "125"
[[routes]]
name = "from local"
from = "local"
to = "out"
id = "124"
TOML
}
start() {
    cangate run --log-format json "$@" /tmp/g.toml 2>/tmp/log &
    G=$!
    for i in $(seq 100); do
        cangate stats --socket /run/g.sock >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "does not start:"
    cat /tmp/log
    exit 98
}
send() { # interface, ID, how many, milliseconds between them
    cangen "$1" -I "$2" -L 8 -n "$3" -g "${4:-1}" || echo "cangen failed"
}
stats() { cangate stats --socket /run/g.sock --json | tr -d '\n'; echo; }
said() { # waits until the log has this so many times
    for i in $(seq 100); do
        [ "$(grep -c "$1" /tmp/log)" -ge "$2" ] && return
        sleep 0.1
    done
    echo "never said: $1"
}
finish() {
    kill $G
    wait $G
    echo "status $?"
    cat /tmp/log
}

step filtered
{ toml none; more; } >/tmp/g.toml
start
send a0 123 256
send a0 125 50
send a0 300 344
send v0 124 20
send v0 301 30
sleep 0.5
stats
cangate stats --socket /run/g.sock
step lost
# More than the socket's buffer holds, while nobody takes them; none comes after them.
kill -STOP $G
send a0 123 5000 0
kill -CONT $G
sleep 0.5
stats
step sockets
ip link set a1 down
said '"now":"down"' 1
ip link set a1 up
said '"now":"up"' 1
ip link del a0
said '"now":"gone"' 1
pair a0 a1
said '"now":"up"' 2
stats
finish
modprobe -a sch_ingress cls_bpf || exit 99
step bpf
toml bpf | sed '/ports.local/,/v0/d' >/tmp/g.toml
start
send a0 123 10
send a0 300 7
stats
ip link set a1 down
said '"now":"down"' 1
cangate stats --socket /run/g.sock
ip link set a1 up
said '"now":"up"' 1
finish
step "down from the start"
ip link set b1 down
start
said '"now":"down"' 1
cangate stats --socket /run/g.sock
finish
ip link set b1 up
step can-gw
modprobe can-gw || exit 99
sed -i 's/offload = "bpf"/offload = "can-gw"/; s/\["classic", "fd"\]/"classic"/' /tmp/g.toml
start
send a0 123 10
stats
ip link set b1 down
said '"now":"down"' 1
ip link set b1 up
said '"now":"up"' 1
finish
step done
