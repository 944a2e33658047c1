# Recording a character device beside an interface of the same bus: each part prints `== NAME` and what came of it.
cd /tmp || exit 1
# A gateway starts both devices, and sends on gw0.
. /lab/two_devices.sh
printf '[[routes]]\nfrom = "gw1"\nto = "gw0"\n' >> gateway.toml
# Ends a recording and says how it ended.
end() { kill -INT "$1"; wait "$1"; echo "status $?"; }

echo "== stopped"
cangate capture /dev/gw0 --out z.log --quiet 2> z.txt & z=$!
sleep 1
cangate run gateway.toml 2> said & gateway=$!
sleep 2
end $z; cat z.txt

echo "== same"
candump -L can0 > candump.log & dump=$!
cangate capture /dev/gw0 --out a.log --direction --json > a.json & a=$!
cangate capture can0 /dev/gw0 --out b.log --json > b.json & b=$!
cangate capture /dev/gw0,200:700 --filter 12345678 --out c.pcapng --json > c.json & c=$!
sleep 1
# In both directions at once: what comes from can1 the gateway sends on gw0.
cangen can1 -g 1 -n 100 -I 100 -L 8 -D i & other=$!
cangen can0 -g 0 -n 500 -I 200 -L 4 -D i
wait $other
cansend can0 12345678#R3; cansend can0 7FF#; cansend can0 000#0102030405060708; cansend can1 001#FF
sleep 2
kill $dump; end $a; end $b; end $c
cat a.json b.json c.json
frames() { cut -d' ' -f3 "$@"; }
frames candump.log > expected
frames a.log | cmp - expected && echo "same frames as candump"
echo "sent $(grep -c ' T$' a.log) received $(grep -c ' R$' a.log)"
grep ' can0 ' b.log | cmp - candump.log && echo "the interface is candump's"
grep ' /dev/gw0 ' b.log | frames | cmp - expected && echo "same frames beside it"
cut -d' ' -f1 b.log | sort -c && echo "in the order of the stamps"

echo "== errors"
cangate capture /dev/gw0 --out d.log --quiet & d=$!
cangate capture /dev/gw0 --out e.log --no-error-frames --quiet & e=$!
sleep 1
# 32 times in a row a bit error of gw0: warning, passive, bus-off, and the gateway's restart.
echo fault bus=0 node=gw0 frame=1 count=32 kind=bit bit=20 > /dev/bitcan
cansend can1 111#
sleep 1
cansend can0 222#
sleep 1
end $d; end $e
echo "bus-off $(grep -c ' 200000[4-7]' d.log) restarted $(grep -c ' 2000010' d.log)"
echo "without $(frames e.log)"

echo "== lost"
cangate capture /dev/gw0 --out f.log --json > f.json & f=$!
sleep 1; kill -STOP $f; cangen can0 -g 0 -n 300 -I 200 -L 8 -D i; sleep 1; kill -CONT $f; sleep 1; cansend can0 123#; sleep 1
end $f; cat f.json; grep '^#' f.log

echo "== gone"
cangate capture can0 /dev/gw0 --out g.log --json > g.json 2> g.txt & g=$!
sleep 1; cansend can0 101#; sleep 1
echo del gw0 > /dev/bitcan
sleep 1
echo add gw0 bus=0 model=chardev-sja1000 > /dev/bitcan
sleep 2; cansend can0 102#; sleep 1
end $g; grep '^/dev' g.txt; frames g.log

echo "== end"
cangate capture /dev/gw0 --out h.log -n 25 --quiet & h=$!
sleep 1; cangen can0 -g 0 -n 60 -I 200 -L 8 -D i; wait $h; echo "status $?"; wc -l < h.log
kill $gateway; wait $gateway
echo "== done"
