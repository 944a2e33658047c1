# `cangate send`, `watch` and `list` on real interfaces, with can-utils as the other side: each part
# prints `== NAME` and what came of it.
cd /tmp || exit 1

echo "== list"
ip link property add dev vcan0 altname body 2>/dev/null && echo "has altnames"
cangate list
cangate list --json > all.json && echo "status $?"
cangate list --json body vcan1 | grep '"interface"'
cangate list lo; echo "status $?"

echo "== send"
candump -L vcan0 > sent.log & dump=$!
sleep 1
cangate send vcan0 123#1122 18DAF110##1AABB 7FF#R; echo "status $?"
cangate send vcan0 321#01 --every 10ms --count 50 --json > every.json; echo "status $?"
printf '(1.0) can9 100#01\n101#02\n' | cangate send vcan0 --read -; echo "status $?"
sleep 1; kill $dump; wait $dump
cut -d' ' -f2- sent.log | grep -v '321#'
grep -c '321#01' sent.log
# From one frame to the next, in virtual time: the longest distance from 10 ms, in microseconds.
grep '321#01' sent.log | tr -d '()' | cut -d' ' -f1 | awk 'NR == 1 { first = $1 }
    { off = ($1 - first - (NR - 1) * 0.01) * 1e6; if (off < 0) off = -off; if (off > most) most = off }
    END { print (most < 5000 ? "no drift" : "drift " most) }'
ip link set vcan1 down
cangate send vcan1 123#11 --timeout 100ms; echo "status $?"
ip link set vcan1 up

echo "== watch"
cangate watch vcan0 vcan1 --lines --count 4 > seen.log & watch=$!
candump -L vcan0 vcan1 > other.log & dump=$!
sleep 1
cansend vcan0 123#1122; cansend vcan1 18DAF110##1AABB; cansend vcan0 7FF#R4
# Without a delay: the lines are there while the fourth frame is not.
sleep 1; wc -l < seen.log
cansend vcan1 00000123#
wait $watch; echo "status $?"
kill $dump; wait $dump
cmp seen.log other.log && echo "same lines as candump"

echo "== flood"
# As many as a busy bus has; those that are not shown are counted.
cangate watch vcan0 --lines --duration 20s > flood.log 2> flood.err & watch=$!
sleep 1; kill -STOP $watch; cangen vcan0 -g 0 -n 3000 -I 123 -L 4 -D i; kill -CONT $watch
wait $watch; echo "status $?"
echo "seen $(wc -l < flood.log)"
cat flood.err

echo "== capture"
cangate capture vcan0 --out - --format log 2>/dev/null > live.log & capture=$!
sleep 1; cansend vcan0 123#11; sleep 0.1; wc -l < live.log
kill -INT $capture; wait $capture

echo "== gateway"
cat > g.toml <<'TOML'
[gateway]
control = "/tmp/g.sock"
[ports.vcan0]
kind = "socketcan"
[ports.vcan1]
kind = "socketcan"
inject = true
[[routes]]
from = "vcan0"
to = "vcan1"
id = "100-1FF"
TOML
cangate run g.toml --quiet --json > end.json & gateway=$!
sleep 2
candump -L vcan1 > out.log & dump=$!
cangate watch --gateway g.toml --lines --count 4 > seen.log 2>/dev/null & watch=$!
sleep 1
cansend vcan0 123#1122
sleep 1
cangate send --to vcan1 --gateway g.toml 321#33; echo "status $?"
cangate send --to vcan0 --gateway g.toml 321#33; echo "status $?"
cansend vcan0 124#44
wait $watch; echo "status $?"
sleep 1; kill $dump; wait $dump
cut -d' ' -f2- seen.log
cut -d' ' -f2- out.log
kill -TERM $gateway; wait $gateway; echo "status $?"
tr -d ' \n' < end.json; echo

echo "== done"
