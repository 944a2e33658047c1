# Bit rates that the gateway's file sets. What each step prints follows its line `== name`.
cd /tmp
other_bus=can2
. /lab/one_port.sh
rate() { ip -details link show $1 | grep -o 'can state [A-Z-]*\|bitrate [0-9]*\|restart-ms [0-9]*' | tr '\n' ' '; }
port() { # here, the port under test receives
    cat >g.toml <<END
[ports.a]
kind = "socketcan"
interface = "$1"
$2
[ports.b]
kind = "socketcan"
interface = "can2"
[[routes]]
from = "a"
to = "b"
END
}
echo "== set"
ip link set can1 down
port can1 'bitrate = "250k"
sample_point = 0.8
restart = "70ms"'
begin
rate can1
# It runs at these rates already: taken as it is.
end
begin
wait_for 'is up'
echo up
echo "== returns"
# The card is unplugged, and plugged in again: the interface is another one, and down.
card=$(basename "$(readlink /sys/class/net/can1/device)")
echo $card >/sys/bus/pci/drivers/kvaser_pci/unbind
wait_for '! is up'
echo $card >/sys/bus/pci/drivers/kvaser_pci/bind
wait_for 'is up'
rate can1
end
echo "== other"
port can1 'bitrate = "500k"'
cangate run g.toml 2>&1 | grep '^error'
echo "== impossible"
ip link set can1 down
port can1 'bitrate = "500k"
data_bitrate = "2M"'
cangate run g.toml 2>&1 | grep '^error'
ip -brief link show can1 | tr -s ' ' | cut -d' ' -f2
modprobe vcan
ip link add vcan7 type vcan
port vcan7 'bitrate = "500k"'
cangate run g.toml 2>&1 | grep '^error'
# The case `bitrate-changed`: somebody else sets another one while the gateway runs. A reload sets back what it had set up.
foreign() {
    : >said
    ip link set can1 down
    ip link set can1 type can bitrate 125000
    ip link set can1 up
    wait_for 'grep -q "runs at" said'
    grep -m1 -o 'can1 runs at.*' said
}
echo "== changed"
ip link set can1 down
port can1 'bitrate = "500k"
restart = "70ms"'
begin
wait_for 'is up'
foreign
cangate reload g.toml >/dev/null || echo "reload: $?"
wait_for 'is up'
rate can1
echo "== other file"
port can1 'bitrate = "250k"
restart = "70ms"'
cangate reload g.toml >/dev/null || echo "reload: $?"
wait_for 'is up'
rate can1
end
echo "== not ours"
begin
wait_for 'is up'
foreign
cangate reload g.toml 2>&1 | grep -o 'can1 is up at.*'
rate can1
ip link set can1 down
cangate reload g.toml >/dev/null || echo "reload: $?"
wait_for 'is up'
rate can1
end
echo "== absent"
echo $card >/sys/bus/pci/drivers/kvaser_pci/unbind
begin
grep -o 'there is no interface can1; .*' said
is gone || cangate stats g.toml
echo $card >/sys/bus/pci/drivers/kvaser_pci/bind
wait_for 'is up'
rate can1
end
echo "== unset"
echo $card >/sys/bus/pci/drivers/kvaser_pci/unbind
echo $card >/sys/bus/pci/drivers/kvaser_pci/bind
wait_for '[ -d /sys/class/net/can1 ]'
port can1 ''
begin
end
grep -m1 -o 'can1 has no bit rate yet.*' said
echo "== done"
