# A gateway from a fast bus to a slow one, first in first out and by priority, under Linux's drivers: burst.log is played on the
# fast bus. What each part prints is a recording of both buses, and at its end the gateway's counts.
for name in src:2:mscan in:2:mscan out:3:sja1000 dst:3:mscan; do
    IFS=: read -r port bus model <<<"$name"
    echo add $port bus=$bus model=$model >/dev/bitcan || exit 99
    rate=500000
    [ $bus = 3 ] && rate=125000
    ip link set $port type can bitrate $rate || exit 99
    # What waits in the interface's own queue cannot be overtaken.
    [ $port = out ] && ip link set out txqueuelen 1
    ip link set $port up || exit 99
done
# The kernel says up to a second late that an interface is ready.
for port in src in out dst; do
    until ip -brief link show $port | grep -q ' UP '; do sleep 0.1; done
done
for order in fifo priority; do
    echo "== $order"
    cat >/tmp/g.toml <<TOML
[gateway]
control = "/run/g.sock"
[ports.in]
kind = "socketcan"
interface = "in"
[ports.out]
kind = "socketcan"
interface = "out"
queue = 64
order = "$order"
[[routes]]
from = "in"
to = "out"
TOML
    cangate run /tmp/g.toml >/dev/null 2>/tmp/said &
    gateway=$!
    until cangate stats --socket /run/g.sock >/dev/null 2>&1; do
        kill -0 $gateway 2>/dev/null || { cat /tmp/said; exit 98; }
        sleep 0.1
    done
    candump -L src dst -n 90 >/tmp/seen &
    recorder=$!
    sleep 0.2
    canplayer -g 0 -I /lab/burst.log src=fast
    # 45 frames on each bus.
    for i in $(seq 50); do
        kill -0 $recorder 2>/dev/null || break
        sleep 0.1
    done
    kill $recorder 2>/dev/null
    cat /tmp/seen
    cangate stats --socket /run/g.sock --json | tr -d '\n'
    echo
    kill $gateway
    wait $gateway
done
echo "== done"
