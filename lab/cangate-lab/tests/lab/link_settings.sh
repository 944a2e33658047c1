# Settings of a controller that the gateway's file sets, and interfaces chosen by their device. What each step prints
# follows its line `== name`.
cd /tmp
card=$(basename "$(readlink /sys/class/net/can1/device)")
other_bus=can2
. /lab/one_port.sh

echo "== all"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "250k"
sjw = 2
one_shot = true
triple_sampling = true
bus_errors = true
presume_ack = true
len8_dlc = true
loopback = false
txqueuelen = 5'
begin
shown can1
end
echo "== as it is"
# It is up with these settings: they are in force, and settings that the file does not have do not matter.
port 'interface = "can1"' 'bitrate = "250k"
one_shot = true'
begin
wait_for 'is up'
shown can1
end
echo "== other"
port 'interface = "can1"' 'bitrate = "250k"
one_shot = false'
refused
# Not 3: with the sample point of 87.5 %, this kernel shortens it to 2 without a word, and it is in force.
port 'interface = "can1"' 'bitrate = "250k"
sjw = 1'
refused
echo "== changed"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "250k"
one_shot = true
presume_ack = false'
begin
wait_for 'is up'
ip link set can1 down
ip link set can1 type can one-shot off
ip link set can1 up
wait_for 'grep -q "runs with" said'
grep -m1 -o 'can1 runs with.*' said
cangate reload g.toml >/dev/null || echo "reload: $?"
wait_for 'is up'
shown can1
end
echo "== listens"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "250k"
listen_only = true
one_shot = false'
begin
wait_for 'is up'
shown can1
cansend can2 123#11
wait_for 'cangate stats --json g.toml | grep -q "\"undeliverable\": 1"'
echo refused
end
echo "== termination"
ip link set can1 down
port 'interface = "can1"' 'bitrate = "250k"
termination = 120'
refused
echo "== device"
# The card returns under another name, because its own is taken meanwhile.
port "match = { device = \"$card\" }" 'bitrate = "250k"
listen_only = false'
begin
wait_for 'is up'
echo "$card" >/sys/bus/pci/drivers/kvaser_pci/unbind
wait_for '! is up'
modprobe vcan
ip link add can1 type vcan
echo "$card" >/sys/bus/pci/drivers/kvaser_pci/bind
wait_for 'is up'
other=$(ls "/sys/bus/pci/devices/$card/net")
[ "$other" != can1 ] && ip -details link show "$other" | grep -o 'bitrate 250000'
grep -o 'with device.* is gone\|can1 is gone' said | head -1
end
echo "== altname"
ip link property add dev "$other" altname body
port 'match = { altname = "body", driver = "kvaser_pci" }' ''
begin
wait_for 'is up'
cangate check g.toml | grep -o "Linux interface $other (altname body, driver kvaser_pci)" | sed "s/$other/NAME/"
end
echo "== several"
port 'match = { driver = "kvaser_pci" }' ''
cangate check g.toml 2>&1 | grep -o 'several interfaces have driver kvaser_pci: .*'
echo "== none"
port 'match = { usb = "1-9" }' ''
cangate check g.toml 2>&1 | grep -o 'no interface has usb 1-9; CAN interfaces: .*'
begin
is gone && echo waits
end
echo "== done"
