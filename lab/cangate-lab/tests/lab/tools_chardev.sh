# `cangate send` and `watch` on a character device, with candump on an interface of the same bus: each part prints `== NAME`
# and what came of it.
cd /tmp || exit 1
. /lab/two_devices.sh

echo "== stopped"
cangate send /dev/gw0 123#11 --timeout 200ms; echo "status $?"

# From here on, a gateway has started both devices.
cangate run gateway.toml --quiet > end.txt 2> said & gateway=$!
sleep 2

echo "== send"
candump -L can0 > sent.log & dump=$!
sleep 1
cangate send /dev/gw0 123#1122 18DAF110#AABB 7FF#R; echo "status $?"
cangate send /dev/gw0 321#01 --every 10ms --count 50 --json > every.json; echo "status $?"
cangate send /dev/gw0 123##0AA; echo "status $?"
# A burst of more frames than the device's queue has places.
seq 300 | while read n; do printf '200#%04X\n' "$n"; done | cangate send /dev/gw0 --read -; echo "status $?"
printf '[ports.bus]\nkind = "chardev"\ndevice = "/dev/gw0"\n' > one.toml
cangate send --config one.toml --port bus 124#; echo "status $?"
sleep 1; kill $dump; wait $dump
cut -d' ' -f3 sent.log | grep -v '^321#\|^200#'
grep -c ' 321#01' sent.log
# The times of the bus: the longest distance of a frame from its period, in microseconds.
grep ' 321#01' sent.log | tr -d '()' | cut -d' ' -f1 | awk 'NR == 1 { first = $1 }
    { off = ($1 - first - (NR - 1) * 0.01) * 1e6; if (off < 0) off = -off; if (off > most) most = off }
    END { print (most < 5000 ? "no drift" : "drift " most) }'
grep ' 200#' sent.log | cut -d'#' -f2 | sort -uc && grep -c ' 200#' sent.log

echo "== watch"
cangate watch /dev/gw0 can1 --lines --count 5 > seen.log & watch=$!
sleep 1
cansend can0 123#1122; cansend can0 18DAF110#AABB; sleep 0.2; cansend can1 7FF#R4; sleep 0.2
# Its own and other programs' frames, too; without a delay.
cangate send /dev/gw0 333#33 --quiet
sleep 1; wc -l < seen.log
cansend can0 00000123#
wait $watch; echo "status $?"
cut -d' ' -f2- seen.log

echo "== unplugged"
cangate watch /dev/gw0 --lines --count 1 > seen.log 2> watched & watch=$!
sleep 1
echo del gw0 > /dev/bitcan
sleep 1
cangate send /dev/gw0 123#11 --timeout 200ms; echo "status $?"
echo add gw0 bus=0 model=chardev-sja1000 > /dev/bitcan
sleep 2
cansend can0 777#
wait $watch; echo "status $?"
cut -d' ' -f2- seen.log
kill $gateway; wait $gateway; echo "status $?"
echo "== done"
