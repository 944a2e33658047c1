# A life of `cangate run` with routes in the kernel, on two vxcan pairs: what is sent into a0 comes
# in at a1, is routed to b1, and comes out of b0. $1 is the `offload`.
modprobe vxcan || exit 99
# Guests have no modprobe where the kernel looks for it.
modprobe -a can-raw can-gw || exit 99
pair() { # its two ends
    ip link add "$1" type vxcan peer name "$2" && ip link set "$1" mtu 72 && ip link set "$2" mtu 72 &&
        ip link set "$1" up && ip link set "$2" up
}
pair a0 a1
pair b0 b1

step() { echo "== $*"; }
toml() { # further keys of [gateway] and further routes
    cat <<TOML
[gateway]
control = "/run/g.sock"
$1
[ports.in]
kind = "socketcan"
interface = "a1"
[ports.out]
kind = "socketcan"
interface = "b1"
$2
TOML
}
route() { # name, ID, further keys
    printf '[[routes]]\nname = "%s"\nfrom = "in"\nto = "out"\nkind = ["classic", "fd"]\nid = "%s"\n%s\n' "$@"
}
start() {
    cangate run /tmp/g.toml "$@" >/tmp/out 2>/tmp/log &
    G=$!
    for i in $(seq 50); do
        cangate stats --socket /run/g.sock >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "does not start:"
    cat /tmp/log
    exit 98
}
finish() { # with a signal; prints the status
    kill "-$1" $G
    wait $G
    echo "status $?"
}
sends() { # frames; prints what comes out
    candump -L b0 >/tmp/got &
    D=$!
    # A busy host lets a program wait for longer than any sleep.
    until grep -q " b0 " /proc/net/can/rcvlist_all; do sleep 0.05; done
    for frame in "$@"; do cansend a0 "$frame"; done
    sleep 0.3
    kill $D
    wait $D 2>/dev/null
    sed 's/.* //' /tmp/got
}
counts() { cangate routes --socket /run/g.sock --json | tr -d ' \n'; echo; }

first=$(route plain 123 '')
toml "offload = \"$1\"" "$first$(echo; route changed 200 'do = [{ xor = { data = "FF" } }]')" >/tmp/g.toml

step "without clsact"
cangate check /tmp/g.toml
tc qdisc show dev lo
modprobe -a sch_ingress cls_bpf || exit 99
step check
cangate check /tmp/g.toml | grep ^place
step run
start
sends 123#11 200#01 300#22 123#33
cangate routes --kernel
counts
step second
cangate run /tmp/g.toml 2>&1
echo "status $?"
step reload
toml "offload = \"$1\"" "$first$(echo; route other 300 '')" >/tmp/g.toml
cangate reload --socket /run/g.sock
sends 123#44 200#01 300#55
counts
step broken
echo nonsense >>/tmp/g.toml
cangate reload --socket /run/g.sock
sends 123#66
sed -i '/^nonsense/d' /tmp/g.toml
cp /tmp/g.toml /tmp/before.toml
moves() { # the changed route; where it runs is printed, and what it sends
    toml "offload = \"$1\"" "$2" >/tmp/g.toml
    cangate reload --socket /run/g.sock 2>&1
    cangate routes --socket /run/g.sock --json | grep '^    "data_path"'
    sends "$3"
}
step moved to can-gw
moves "$1" "$(route plain 123 'keep_stamp = true')" 123#67
step moved to process
moves "$1" "$(route plain 123 'keep_stamp = true
payload = [{ at = 0, value = "68" }]')" 123#68
step moved back
cp /tmp/before.toml /tmp/g.toml
cangate reload --socket /run/g.sock
sends 123#69
step gone
ip link del a0
sleep 0.3
pair a0 a1
# The kernel looks through the program again, which takes an emulated processor seconds.
for i in $(seq 100); do
    got=$(sends 123#77)
    [ "$got" ] && break
done
echo "$got"
step killed
finish KILL
cangate routes --kernel
start
sends 123#88
step end
finish TERM
sends 123#99
cangate routes --kernel
tc filter show dev a1 ingress
step persist
start --persist
sends 123#A1
finish TERM
cangate routes --kernel
sends 123#A2
start
sends 123#A3
counts
finish TERM
sends 123#A4
step process
start --persist
finish TERM
toml 'offload = "none"' "$first" >/tmp/g.toml
start
sends 123#B1
finish TERM
step "another place"
toml 'offload = "can-gw"' "$first" >/tmp/g.toml
start --persist
finish TERM
toml 'offload = "bpf"
tap = true' "$first" >/tmp/g.toml
start
sends 123#B2
cangate routes --kernel
finish TERM
step done
