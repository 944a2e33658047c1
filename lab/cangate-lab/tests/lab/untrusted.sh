# Two machines (network namespaces a and b) on one Ethernet: frames from a to b and back, without protection, by WireGuard
# and by MACsec as docs/secure.md describes them. What each step prints follows its line `== name`.
modprobe -a veth wireguard macsec || exit 99
# What a host loads when MACsec gets its key; some are built in.
modprobe -a -q gcm ghash-generic ctr
cd /tmp
printf '(0.0) x 123#11223344AABBCCDD\n(0.0) x 18FEF100#55667788DEADBEEF\n' >sent.log
ip netns add a
ip netns add b
ip link add eth0 netns a address 02:00:00:00:00:06 type veth peer name eth0 netns b address 02:00:00:00:00:07
in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }
for side in a b; do
    ip -n $side link set lo up
    ip -n $side link set eth0 up
done
ip -n a addr add 192.0.2.6/24 dev eth0
ip -n b addr add 192.0.2.7/24 dev eth0

gateway() { # name, keys of its network port
    cat >$1.toml <<END
[gateway]
control = "/tmp/$1.sock"
[ports.drive]
kind = "log"
read = "$1.pipe"
[ports.result]
kind = "log"
write = "$1.log"
[ports.other]
kind = "ieee1722"
$2
[[routes]]
from = "drive"
to = "other"
[[routes]]
from = "other"
to = "result"
END
    rm -f $1.pipe $1.log
    mkfifo $1.pipe
}
passes() { # name of the step, keys of the ports of a and b
    gateway a "$2"
    gateway b "$3"
    in_b tcpdump -Z root --immediate-mode -i eth0 -U -w clear.pcap 2>tcpdump.said &
    T=$!
    in_a cangate run a.toml 2>a.said &
    A=$!
    in_b cangate run b.toml 2>b.said &
    B=$!
    for i in $(seq 200); do
        # The control sockets exist before the ports are open.
        grep -q ready: a.said && grep -q ready: b.said && [ -s clear.pcap ] && break
        sleep 0.05
    done
    # Both stay open for writing: the end of a log would not be the end of the run, but of its port.
    exec 7<>a.pipe 8<>b.pipe
    cat sent.log >a.pipe
    cat sent.log >b.pipe
    for i in $(seq 200); do
        [ "$(cat a.log b.log 2>/dev/null | wc -l)" -ge 4 ] && break
        sleep 0.05
    done
    sleep 0.3
    kill -TERM $A $B
    wait $A $B
    kill $T
    wait $T
    exec 7>&- 8>&-
    [ "$(cat a.log b.log | wc -l)" = 4 ] || cat a.said b.said tcpdump.said
    echo "== $1"
    sed 's/.* //' b.log a.log
    echo "== $1 on the network"
    # The number of packets, and that of payloads as they are on the bus. Lines of a packet's bytes begin with a tab.
    tcpdump -Z root -n -r clear.pcap 2>/dev/null | grep -c '^[^[:space:]]'
    od -A n -v -t x1 clear.pcap | tr -d ' \n' | grep -o '11223344aabbccdd\|55667788deadbeef' | wc -l
    rm -f clear.pcap a.sock* b.sock*
}

passes without 'listen = "192.0.2.6:17220"
connect = "192.0.2.7:17220"' 'listen = "192.0.2.7:17220"
connect = "192.0.2.6:17220"'

for side in a b; do
    mkdir -p $side
    (cd $side && ip netns exec $side sh -e /lab/wireguard-keys.sh >public.key)
done
key() { tail -n 1 $1/public.key; }
sed "s|OTHER_PUBLIC_KEY|$(key b)|" /lab/wireguard.sh >a/wireguard.sh
sed "s|OTHER_PUBLIC_KEY|$(key a)|; s|10.9.0.2/32|10.9.0.1/32|; s|192.0.2.7|192.0.2.6|; s|10.9.0.1/24|10.9.0.2/24|" \
    /lab/wireguard.sh >b/wireguard.sh
for side in a b; do
    (cd $side && ip netns exec $side sh -e wireguard.sh) || echo "WireGuard of $side: $?"
done
passes wireguard 'listen = "10.9.0.1:17220"
connect = "10.9.0.2:17220"' 'listen = "10.9.0.2:17220"
connect = "10.9.0.1:17220"'

one=00112233445566778899aabbccddeeff
two=ffeeddccbbaa99887766554433221100
sed "s|OWN_KEY_32_HEX_DIGITS|$one|; s|OTHER_KEY_32_HEX_DIGITS|$two|" /lab/macsec.sh >a/macsec.sh
sed "s|OWN_KEY_32_HEX_DIGITS|$two|; s|OTHER_KEY_32_HEX_DIGITS|$one|; s|02:00:00:00:00:07|02:00:00:00:00:06|g" \
    /lab/macsec.sh >b/macsec.sh
for side in a b; do
    ip netns exec $side sh -e $side/macsec.sh || echo "MACsec of $side: $?"
done
passes macsec 'interface = "macsec0"
peer = "02:00:00:00:00:07"' 'interface = "macsec0"
peer = "02:00:00:00:00:06"'
echo "== done"
