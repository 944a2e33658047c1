# Bit rates that the gateway's file sets. What each step prints follows its line `== name`.
cd /tmp
rate() { ip -details link show $1 | grep -o 'can state [A-Z-]*\|bitrate [0-9]*\|restart-ms [0-9]*' | tr '\n' ' '; }
port() {
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
# Waits until something holds, but not for ever.
wait_for() {
    n=0
    until eval "$1" >/dev/null 2>&1; do
        n=$((n + 1))
        [ $n -gt 200 ] && echo "never: $1" && break
        sleep 0.05
    done
}
is() { cangate stats g.toml | grep -q "^ a  *$1 "; }
begin() {
    cangate run g.toml >sum 2>said &
    pid=$!
    wait_for 'cangate stats g.toml'
}
end() { kill $pid; wait $pid 2>/dev/null; }

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
echo "== unset"
echo $card >/sys/bus/pci/drivers/kvaser_pci/unbind
echo $card >/sys/bus/pci/drivers/kvaser_pci/bind
wait_for '[ -d /sys/class/net/can1 ]'
port can1 ''
begin
end
grep -m1 -o 'can1 has no bit rate yet.*' said
echo "== done"
