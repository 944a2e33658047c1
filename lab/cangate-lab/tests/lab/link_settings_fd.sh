# Settings of a controller with CAN FD, and interfaces without any settings. What each step prints follows its line `== name`.
cd /tmp
other_bus=can2
. /lab/one_port.sh
fd() { # the settings of the data phase
    ip -details link show "$1" | grep -o 'can <[A-Z0-9,-]*>\|dbitrate [0-9]*\|dsample-point [0-9.]*\|tdco [0-9]*'
    ip -details link show "$1" | grep -o 'dsjw [0-9]*' | head -1
}

echo "== all"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "500k"
data_bitrate = "2M"
data_sample_point = 0.75
sjw = 2
data_sjw = 2
non_iso = true
one_shot = true
bus_errors = true
presume_ack = true
loopback = false'
begin
wait_for 'is up'
shown can1
fd can1
# A frame of FD passes.
cansend can2 123##1AABB
wait_for 'cangate stats --json g.toml | grep -q "\"sent\": 1"'
ip link set can1 down
ip link set can1 up
wait_for 'grep -q "up again" said'
grep -o 'can1 has.*\|can1 runs with.*' said
end
echo "== changed"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "500k"
data_bitrate = "2M"
non_iso = true'
begin
wait_for 'is up'
ip link set can1 down
ip link set can1 type can fd-non-iso off
ip link set can1 up
wait_for 'grep -q "runs with" said'
grep -m1 -o 'can1 runs with.*' said
end
echo "== refused"
for setting in 'triple_sampling = true' 'len8_dlc = true' 'termination = 120' 'tdc = { offset = 20 }'; do
    ip link set can1 down
    port 'interface = "can1"' "bitrate = \"500k\"
data_bitrate = \"2M\"
$setting"
    refused
done
echo "== virtual"
modprobe -a vcan vxcan
ip link add vcan9 type vcan
ip link add vx0 type vxcan peer name vx1
for name in vcan9 vx0; do
    port "interface = \"$name\"" 'bitrate = "500k"
listen_only = true'
    refused
done
echo "== done"
