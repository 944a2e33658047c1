# What a recording has to stand: each part prints `== NAME` and what came of it.
cd /tmp || exit 1
# Sends that many frames; cangen is real, so that frames come from another program.
send() { cangen "$1" -g 0 -n "$2" -I 123 -L 4 -D i; }
# Ends a recording and says how it ended.
end() { kill -INT "$1"; wait "$1"; echo "status $?"; }

echo "== forms"
candump -L vcan0 > candump.log & dump=$!
cangate capture vcan0 vcan1 --out a.log --json > a.json & a=$!
cangate capture any --out b.pcapng.gz --json > b.json & b=$!
cangate capture vcan0 --out c.parquet --json > c.json & c=$!
cangate capture vcan0,123:C00007FF vcan1,456:C00007FF --filter 300-3FF --out d.log.zst --json > d.json & d=$!
sleep 1
send vcan0 500
send vcan1 100
cansend vcan0 12345678#R3; cansend vcan0 123##5AABB; cansend vcan1 456#; cansend vcan0 300#01
cansend vcan0 20000004#0001000000000000
sleep 1
kill $dump; end $a; end $b; end $c; end $d
cat a.json b.json c.json
# The same lines as candump's; it leaves out error frames if nobody asks for them, and versions differ
# in the flags of FD frames.
grep -v '##' candump.log > b.log
grep vcan0 a.log | grep -v -e ' 20000004#' -e '##' | cmp - b.log && echo "same lines"
echo "filtered $(sed 's/.*"recorded":\([0-9]*\).*/\1/' d.json)"
tail -n 1 a.log | cut -d' ' -f2-
zcat b.pcapng.gz | od -A n -t x4 -N 12

echo "== loss"
cangate capture vcan0 --out e.pcapng --ring 512KiB --json > e.json & e=$!
sleep 1; kill -STOP $e; send vcan0 20000; kill -CONT $e; sleep 1; send vcan0 100; sleep 1
end $e; cat e.json

echo "== losses"
# Of three interfaces, two lose; which, and how many, the program before the ring counts.
ip link add vcan2 type vcan; ip link set vcan2 up
cangate capture vcan0 vcan1 vcan2 --out m.log --ring 512KiB --json > m.json & m=$!
sleep 1; send vcan2 40; sleep 1; kill -STOP $m; send vcan0 9000; send vcan1 3000; kill -CONT $m; sleep 1
end $m; cat m.json

echo "== direction"
# A pair of interfaces: what one end sends, the other receives, and the same frame goes both ways.
ip link add vx0 type vxcan peer name vx1; ip link set vx0 up; ip link set vx1 up
cangate capture vx0 vx1 vcan0 -x --out n.log --quiet & n=$!
cangate capture vx0 -x --out n.pcapng --json > n.json & o=$!
cangate capture vx0 -x --out n.parquet --json > p.json & p=$!
candump -L -x vx0 > vx0.log & dump=$!
sleep 1
# cansend has closed its socket before a frame that waits could come back; these do not wait.
for i in 1 2 3; do cansend vx0 123#0$i; cansend vx1 123#0$i; cansend vx1 12345678#R; done
cangen vx0 -g 0 -n 300 -I 123 -L 1 -D i & cangen vx1 -g 0 -n 300 -I 123 -L 1 -D i; wait $!
cansend vcan0 300#; cansend vx0 456#0102030405060708
sleep 1; kill $dump; end $n; end $o; end $p
grep vx0 n.log | cmp - vx0.log && echo "same as candump -x"
echo "sent $(grep -c 'vx0.* T$' n.log) received $(grep -c 'vx0.* R$' n.log)"
echo "sent $(grep -c 'vx1.* T$' n.log) received $(grep -c 'vx1.* R$' n.log)"
grep vcan0 n.log | cut -d' ' -f2-
cat n.json p.json

echo "== kill"
cangate capture vcan0 --out f.log --quiet & f=$!
sleep 1; send vcan0 700; sleep 2; kill -9 $f; wait $f 2>/dev/null
wc -l < f.log; tail -c 1 f.log | od -A n -t x1

echo "== full"
mkdir -p full; mount -t tmpfs -o size=128k none full
cangate capture vcan0 --out full/g.log --json > g.json & g=$!
sleep 1; send vcan0 6000; sleep 2; dd if=/dev/zero of=full/h bs=1k count=1 2>/dev/null
end $g; cat g.json; wc -l < full/g.log

echo "== gone"
cangate capture vcan1 --out i.log --json > i.json & i=$!
sleep 1; send vcan1 10; sleep 1
ip link set vcan1 down; sleep 1; ip link set vcan1 up; sleep 1; send vcan1 20; sleep 1
ip link del vcan1; sleep 1; ip link add vcan1 type vcan; ip link set vcan1 up; sleep 1
send vcan1 30; sleep 1
end $i; cat i.json

echo "== trigger"
cangate capture vcan0 --out j.log --keep 60s --after 1s --trigger 7E8#03XX22,signal --json > j.json & j=$!
sleep 1; send vcan0 50; cansend vcan0 7E8#031122; sleep 4; kill -USR1 $j; sleep 4
end $j; cat j.json; wc -l j.0*.log; tail -n 1 j.000001.log | cut -d' ' -f2-

echo "== end"
cangate capture vcan0 --out k.log -n 25 --rotate 4096 --quiet & k=$!
sleep 1; send vcan0 400; wait $k; echo "status $?"; wc -l < k.log
echo "== done"
