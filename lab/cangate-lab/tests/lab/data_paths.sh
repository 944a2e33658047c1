# One list of situations over the data paths that are its arguments: none, can-gw, bpf, auto. Each line
# `cell SITUATION PATH …` is one of them; see data_paths.rs, and the table "Where data paths differ" in docs/gateway-toml.md.
cd /tmp
modprobe -a can-raw can-gw vcan vxcan sch_ingress cls_bpf || exit 99
mkdir -p /tmp/run
export XDG_RUNTIME_DIR=/tmp/run
up() { for i in "$@"; do ip link set "$i" mtu 72 && ip link set "$i" up; done; }
pair() { ip link add "$1" type vxcan peer name "$2" && up "$1" "$2"; }
# Frames come in at a1 and leave at b0, as if from and to buses; a0 and b1 are the other ends.
pair a0 a1
pair b0 b1
ip link add v0 type vcan && ip link add v1 type vcan && up v0 v1

toml() { # keys of [gateway], interface in, interface out, keys of the route, keys of each port
    cat >g.toml <<END
[gateway]
offload = "$path"
$1
[ports.in]
kind = "socketcan"
interface = "$2"
$5
[ports.out]
kind = "socketcan"
interface = "$3"
$6
[[routes]]
name = "r"
from = "in"
to = "out"
kind = ["classic", "fd"]
$4
END
}
begin() { # the gateway; not true where it does not start
    cangate run g.toml >sum 2>said &
    G=$!
    for i in $(seq 200); do
        [ -S run/cangate/g.sock ] || [ -S run/g.sock ] && cangate stats g.toml >/dev/null 2>&1 && return
        kill -0 $G 2>/dev/null || break
        sleep 0.05
    done
    wait $G
    echo "cell $situation $path refused $(grep -m1 '^error' said)"
    return 1
}
finish() {
    kill -TERM $G
    wait $G 2>/dev/null
}
sends() { # where it is seen, how it is sent there, frames; what is seen, in one word
    seen=$1
    by=$2
    shift 2
    candump -L "$seen",0:0,#FFFFFFFF >got 2>/dev/null &
    D=$!
    for i in $(seq 100); do grep -q " $seen " /proc/net/can/rcvlist_all && break; sleep 0.05; done
    for frame in "$@"; do $by "$frame"; done
    sleep 0.3
    kill $D
    wait $D 2>/dev/null
    sed 's/.* //' got | tr '\n' ','
}
counted() { # where the route runs, and its numbers
    cangate routes g.toml --json | tr -d ' \n'
}
restored() { cangate stats g.toml --json | grep -o '"restored": [0-9]*' | tr -d ' "'; }
cell() { # what was seen, and more
    echo "cell $situation $path seen $1 restored $(restored) counted $(counted)"
}
from_a0() { cansend a0 "$1"; }
from_v0() { cansend v0 "$1"; }
from_c1() { ip netns exec c1 cansend can0 "$1"; }
until_seen() { # as `sends`, with one frame, until it is seen: the kernel looks through programs again, which takes time
    for i in $(seq 40); do
        got=$(sends "$@")
        [ "$got" ] && break
    done
    echo "$got"
}

for path in "$@"; do
    situation=plain
    toml '' a1 b0 ''
    begin && cell "$(sends b1 from_a0 123#01 123##1112233 123#R3)" && finish

    # Ports without FD frames, on interfaces that carry them.
    situation=no-fd-in
    toml '' a1 b0 '' 'fd = false'
    begin && cell "$(sends b1 from_a0 123##1112233 123#14)" && finish
    situation=no-fd-out
    toml '' a1 b0 '' '' 'fd = false'
    begin && cell "$(sends b1 from_a0 123##1112233 123#15)" && finish

    # Local programs at the interface to which the route leads.
    situation=near-end
    toml '' a1 b0 ''
    begin && cell "$(sends b0 from_a0 123#11)" && finish
    situation=near-end-echo
    toml '' a1 b0 'echo = true'
    begin && cell "$(sends b0 from_a0 123#12)" && finish

    situation=error-frame
    toml '' a1 b0 'error = true'
    begin && cell "$(sends b1 from_a0 20000004#0004000000000000)" && finish

    # The same, as can-gw can have it.
    situation=error-class
    toml '' a1 b0 'filter = ["000:20000004"]
error = true'
    begin && cell "$(sends b1 from_a0 20000004#0004000000000000)" && finish

    situation=vcan
    toml '' v0 v1 ''
    begin && cell "$(sends v1 from_v0 123#03)" && finish

    situation=vcan-both-ways
    toml '' v0 v1 '[[routes]]
name = "back"
from = "out"
to = "in"
kind = ["classic", "fd"]'
    begin && cell "$(sends v1 from_v0 123#04)" && finish

    situation=vcan-several-hops
    toml 'max_hops = 2' v0 v1 '[[routes]]
name = "back"
from = "out"
to = "in"
kind = ["classic", "fd"]'
    modprobe -r can-gw && modprobe can-gw max_hops=2
    begin && cell "$(sends v1 from_v0 123#05)" && finish
    modprobe -r can-gw && modprobe can-gw

    # A vcan whose driver echoes by itself: IFF_ECHO, and yet nobody at its other end.
    situation=vcan-with-echo
    ip link del v0
    ip link del v1
    modprobe -r vcan && modprobe vcan echo=1
    ip link add v0 type vcan && ip link add v1 type vcan && up v0 v1
    toml '' v0 v1 ''
    begin && cell "$(sends v1 from_v0 123#10)" && finish
    ip link del v0
    ip link del v1
    modprobe -r vcan && modprobe vcan
    ip link add v0 type vcan && ip link add v1 type vcan && up v0 v1

    # A container's interface, whose number in its namespace is that of the destination here.
    situation=same-number
    ip netns add c1
    number=$(cat /sys/class/net/b0/ifindex)
    ip -n c1 link add index "$number" name can0 type vxcan peer name host0 netns 1
    up host0
    ip -n c1 link set can0 mtu 72 up
    [ "$(ip netns exec c1 cat /sys/class/net/can0/ifindex)" = "$number" ] || echo "another number"
    toml '' host0 b0 ''
    begin && cell "$(sends b1 from_c1 123#06)" && finish

    # The incoming interface visits the other namespace.
    situation=other-namespace
    toml '' a1 b0 ''
    if begin; then
        ip link set a1 netns c1
        sleep 0.3
        away=$(sends b1 from_a0 123#07)
        ip -n c1 link set a1 netns 1
        up a1 a0
        cell "$away$(until_seen b1 from_a0 123#08)"
        finish
    fi
    ip link del host0
    ip netns del c1

    situation=absent-at-start
    ip link del b0
    toml '' a1 b0 ''
    if begin; then
        sends a1 from_a0 123#09 >/dev/null
        pair b0 b1
        cell "$(until_seen b1 from_a0 123#0A)"
        finish
    fi
    [ -d /sys/class/net/b0 ] || pair b0 b1

    # A vcan that is not yet there at the start.
    situation=absent-vcan
    ip link del v1
    toml '' v0 v1 ''
    if begin; then
        ip link add v1 type vcan && up v1
        sleep 1
        cell "$(until_seen v1 from_v0 123#0B)"
        grep -E 'in another data path now|chooses again' said
        finish
    fi
    [ -d /sys/class/net/v1 ] || { ip link add v1 type vcan && up v1; }

    # A vxcan goes, and a vcan of its name comes.
    situation=becomes-vcan
    toml '' a1 b0 ''
    if begin; then
        ip link del b0
        ip link add b0 type vcan && up b0
        sleep 1
        cell "$(until_seen b0 from_a0 123#16)"
        grep -E 'in another data path now|chooses again' said
        finish
    fi
    ip link del b0
    pair b0 b1

    situation=gone
    toml '' a1 b0 ''
    if begin; then
        ip link del b0
        # Until the gateway has noticed, BPF redirects to an interface that does not exist, and counts the frame as sent. On
        # a busy host a guest takes a while.
        sleep 1
        cansend a0 123#0C
        pair b0 b1
        cell "$(until_seen b1 from_a0 123#0D)"
        finish
    fi

    # Somebody else takes away what is in the kernel.
    situation=foreign-flush
    toml '' a1 b0 ''
    if begin; then
        one=$(sends b1 from_a0 123#0E)
        cangw -F
        tc qdisc del dev a1 clsact 2>/dev/null
        sleep 3
        cell "$one$(until_seen b1 from_a0 123#0F)"
        grep -o 'another program had removed [0-9]*' said
        finish
    fi
done
echo "== done"
