#!/bin/sh
# What ports cost that are there and get nothing: a gateway between gw0 and gw1 of the timed bench, with N
# virtual interfaces besides, one frame at a time.
#
#   cangate lab exec --bench timed --cpu board --file lab/profile/many-ports.sh -- sh /lab/profile/many-ports.sh N
set -e
n=${1:?how many ports}
modprobe vcan
port() { # name interface
    printf '[ports.%s]\nkind = "socketcan"\ninterface = "%s"\nreceive = "read"\ntransmit = "write"\n' "$1" "$2"
}
route() { # name
    printf '[[routes]]\nfrom = "%s"\nto = "b"\n' "$1"
}
{
    port a gw0
    port b gw1
    route a
    for i in $(seq "$n"); do
        ip -n gw link add "v$i" type vcan
        ip -n gw link set "v$i" up
        port "v$i" "v$i"
        route "v$i"
    done
} >/tmp/gateway.toml
ip netns exec gw cangate run /tmp/gateway.toml 2>/tmp/log &
sleep 2
grep ready /tmp/log
cangate bench --bitcan --frames 300
