# `cangate send`, `watch` and `capture` of CAN XL on virtual interfaces that carry it: each part prints `== NAME` and what came
# of it.
cd /tmp || exit 1
XL='45123#81:00:12345678#AA 123#80:03:00000001#00112233445566778899'

echo "== classic"
# An interface that does not carry XL refuses it.
cangate send vcan0 $XL; echo "status $?"
for name in vcan0 vcan1; do ip link set $name down; ip link set $name mtu 2060 || exit 99; ip link set $name up; done
cangate list vcan0 | grep -o 'XL'

echo "== send"
cangate watch vcan0 --lines --count 4 > seen.log & watch=$!
cangate capture vcan0 --out got.log --quiet & capture=$!
sleep 1
cangate send vcan0 123#11 $XL 18DAF110##1AABB; echo "status $?"
wait $watch; echo "status $?"
cut -d' ' -f2- seen.log
sleep 1; kill -INT $capture; wait $capture; echo "status $?"
cut -d' ' -f2- got.log | cmp - <(cut -d' ' -f2- seen.log) && echo "as recorded"

echo "== longest"
long="7FF#80:FF:FFFFFFFF#$(head -c 4096 /dev/zero | tr '\0' A)"
cangate watch vcan0 --lines --count 2 > seen.log & watch=$!
sleep 1
echo "$long" | cangate send vcan0 --read -; echo "status $?"
# A copy: the log grows by what is sent.
cp seen.log again.log; cangate send vcan0 --read again.log; echo "status $?"
wait $watch
[ "$(cut -d' ' -f3 seen.log | sort -u)" = "00$long" ] && echo "2048 bytes"
echo "${long}AA" | cangate send vcan0 --read -; echo "status $?"

echo "== gateway"
cat > g.toml <<'TOML'
[gateway]
control = "/tmp/g.sock"
[ports.vcan0]
kind = "socketcan"
xl = true
[ports.vcan1]
kind = "socketcan"
xl = true
inject = true
[[routes]]
from = "vcan0"
to = "vcan1"
TOML
cangate run g.toml --quiet > end.txt & gateway=$!
sleep 2
cangate watch vcan1 --lines --count 2 > out.log & out=$!
cangate watch --gateway g.toml --lines --count 3 > seen.log 2>/dev/null & watch=$!
sleep 1
cangate send vcan0 ${XL% *}; echo "status $?"
sleep 1
cangate send --to vcan1 --gateway g.toml ${XL#* }; echo "status $?"
wait $watch; echo "status $?"
wait $out; echo "status $?"
cut -d' ' -f2- seen.log
cut -d' ' -f2- out.log
kill $gateway; wait $gateway; echo "status $?"
echo "== done"
