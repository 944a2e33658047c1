# Three machines send at once by virtual functions of one controller: one is killed, one is paused, and one goes on. Then the
# controller is thrown off its bus. What each step prints follows its line `== name`.
cd /tmp
tell() { echo "$@" >/dev/bitcan; }
# NAME of function $1: how many
count() { grep "^pf0/$1 " /dev/bitcan | tr ' ' '\n' | sed -n "s/^$2=//p"; }
heard() { grep -c " $1#" heard.log; }
node() { ip -n gw -s -j link show gw1 | grep -o '"over_errors":[0-9]*' | head -n 1; }
# The frames that function $1 took, and what became of them.
sums() {
    rest=$(($(count $1 accepted) - $(count $1 sent) - $(count $1 aborted) - $(count $1 dropped) - $(count $1 reset) - $(count $1 waiting)))
    echo "unexplained $rest"
}
# Waits until function $1 has sent so many more than $2.
sent() { until [ "$(count $1 sent)" -ge "$2" ]; do sleep 0.05; done; }

ip -n gw link set gw0 down
tell add pf0 bus=0 model=shared functions=3 queue=64 fifo=64
tell pf pf0 up bitrate=1000000
for n in 0 1 2; do
    id=00000000-0000-4000-8000-00000000000$n
    echo $id >/sys/class/bitcan-pf/pf0/mdev_supported_types/bitcan-pf-function/create
    tell vf pf0 $n send=all receive=none
done
ip netns exec gw chrt -f 95 candump -L -r 4000000 gw1 >heard.log &
dump=$!

# Each sends frames from the moment when it hears 000, so many; machine 0 does it once more.
machine() {
    cangate lab inner --name m$1 --pci /sys/bus/mdev/devices/00000000-0000-4000-8000-00000000000$1 -- bash -c "
        ip link set can0 txqueuelen 1000 up
        for n in \$(seq $3); do
            candump -n 1 can0,000:7FF >/dev/null
            cangen can0 -g 0.2 -n $2 -I 70$1 -L 8 -D i
        done
        sleep 1
        echo said \$(cat /sys/class/net/can0/statistics/tx_packets)" >m$1.said 2>&1 &
}
machine 0 4000 2
zero=$!
machine 1 100000 1
machine 2 3000 1
two=$!
for n in 0 1 2; do
    tell vf pf0 $n send=all receive=000:7FF
    until [ "$(count $n started)" = 1 ]; do sleep 0.2; done
done
sleep 1
# The machine itself: its monitor.
monitor() { pgrep -f "m$1.agent" | tail -n 1; }
begin() { ip netns exec gw cansend gw1 000#; }

echo "== killed"
begin
sent 1 300
kill -9 "$(monitor 1)"
sleep 0.2
echo "used $(count 1 used) $(sums 1)"
echo "== paused"
sent 2 300
kill -STOP "$(monitor 2)"
before=$(count 0 sent)
sent 0 $((before + 500))
kill -CONT "$(monitor 2)"
wait $two
sent 0 4000
cat m2.said
echo "heard $(heard 700) $(heard 702)"
echo "== bus-off"
sleep 0.2
begin
sent 0 4300
tell fault bus=0 node=pf0 frame=1 count=32 kind=bit bit=20
until grep -q '^pf0 .*state=bus-off' /dev/bitcan; do sleep 0.01; done
sleep 0.1
echo "dropped $([ "$(count 0 dropped)" -gt 0 ] && echo some)"
tell pf pf0 restart
wait $zero
echo "said $([ "$(cat m0.said)" = "said $(count 0 sent)" ] && echo "what was sent")"
echo "== all"
for n in 0 1 2; do
    echo "$n: $(sums $n), $([ "$(heard 70$n)" = "$(count $n sent)" ] && echo heard || echo "$(heard 70$n) of $(count $n sent)")"
done
node
echo "== done"
kill $dump
