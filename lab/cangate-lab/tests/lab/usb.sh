# A USB adapter with two channels under the kernel's driver gs_usb: chosen by its serial number and by the place where it is
# plugged in, and its settings. What each step prints follows its line `== name`.
cd /tmp
other_bus=vcan0
. /lab/one_port.sh
modprobe vhci-hcd && modprobe gs_usb || exit 99
channels() { ls -d /sys/bus/usb/drivers/gs_usb/*/net/* 2>/dev/null | wc -l; }
plug() { # a serial number and a port of the controller
    /lab/usb_adapter "$1" "$2" >"$1.log" &
    adapter=$!
    wait_for '[ $(channels) = 2 ]'
}
unplug() {
    kill $adapter
    wait $adapter 2>/dev/null
    wait_for '[ $(channels) = 0 ]'
}

plug A7 0
echo "== list"
cangate list | grep -A2 '^can'
echo "== frames"
for name in can0 can1; do ip link set $name up type can bitrate 500000; done
cangate watch can1 --lines --count 2 >seen.log &
watch=$!
sleep 1
cangate send can0 123#1122 18DAF110#AABB
wait $watch
cut -d' ' -f2- seen.log
for name in can0 can1; do ip link set $name down; done
echo "== serial"
port 'match = { serial = "A7", channel = 1 }' 'bitrate = "500k"
termination = 120
listen_only = false'
begin
wait_for 'is up'
ip -details link show can1 | grep -o 'bitrate [0-9]*\|termination [0-9]*'
cansend vcan0 123#11
wait_for 'ip -s link show can1 | grep -A1 TX: | grep -q " 1 "'
# It comes back elsewhere, under another name.
unplug
wait_for 'is gone'
ip link add can1 type vcan
plug A7 2
wait_for 'is up'
other=$(basename "$(ls -d /sys/bus/usb/drivers/gs_usb/*/net/* | grep -v can0)")
echo "$other"
cangate list "$other" | grep -o 'usb [0-9.-]*, serial [A-Z0-9]*'
ip -details link show "$other" | grep -o 'bitrate [0-9]*\|termination [0-9]*'
end
grep -o 'can[0-9] is gone\|can2 is up again' said | sort -u
grep termination A7.log
ip link del can1
echo "== several"
port 'match = { serial = "A7" }' ''
cangate check g.toml 2>&1 | grep -o 'several interfaces have .*'
echo "== place"
unplug
port 'match = { usb = "1-1", channel = 0 }' 'bitrate = "500k"'
begin
plug B8 2
sleep 1
is gone && echo "not at another place"
unplug
plug B8 0
wait_for 'is up'
cangate list can0 | grep -o 'usb [0-9.-]*, serial [A-Z0-9]*'
end
echo "== refused"
ip link set can0 down
for setting in 'triple_sampling = true' 'termination = 60' 'bus_errors = true' 'data_bitrate = "2M"'; do
    port 'interface = "can0"' "bitrate = \"500k\"
$setting"
    refused
    ip link set can0 down
done
echo "== rounded"
# Up to Linux 6.2, a jump width that is too long is shortened; that is not an alarm.
port 'interface = "can0"' 'bitrate = "500k"
sjw = 8
sample_point = 0.81'
cangate run g.toml >sum 2>said &
pid=$!
wait_for 'cangate stats g.toml || ! kill -0 $pid'
wait_for 'is up || ! kill -0 $pid'
ip link set can0 down
ip link set can0 up
wait_for 'grep -q "up again" said || ! kill -0 $pid'
grep -o 'can0 runs with.*\|can0 has .*\|error:.*' said | sort -u
kill $pid 2>/dev/null
wait $pid
# Such an interface is in force, too.
cangate run g.toml >sum 2>said &
pid=$!
wait_for 'cangate stats g.toml || ! kill -0 $pid'
grep -o 'can0 runs with.*\|can0 has .*\|error:.*' said | sort -u
kill $pid 2>/dev/null
wait $pid
echo "== sample point"
ip link set can0 down
port 'interface = "can0"' 'bitrate = "500k"
sample_point = 0.875'
begin
wait_for 'is up'
ip link set can0 down
ip link set can0 type can bitrate 500000 sample-point 0.7
ip link set can0 up
wait_for 'grep -q "runs with" said'
grep -m1 -o 'can0 runs with.*' said
end
echo "== done"
