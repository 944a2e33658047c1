# The case `restart-unsupported`: an adapter whose driver has no restart after bus-off. What each step prints follows its line
# `== name`.
cd /tmp
modprobe slcan || exit 99
/lab/slcan_adapter >adapter.log &
until [ -s pts ]; do sleep 0.05; done
sleep 600 | slcan_attach -w "$(cat pts)" >/dev/null 2>&1 &
until N=$(ls /sys/class/net | grep -E '^(slcan|can)[0-9]'); do sleep 0.05; done
ip link set "$N" name usb0
port() { # keys of the port
    cat >s.toml <<END
[ports.usb]
kind = "socketcan"
interface = "usb0"
$1
[ports.v]
kind = "socketcan"
interface = "vcan0"
[[routes]]
from = "v"
to = "usb"
END
}
attempt() { # a frame; what the adapter got of it, and what was said
    cangate run s.toml >sum 2>said &
    pid=$!
    for i in $(seq 100); do
        grep -q ' ready: ' said && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    if kill -0 $pid 2>/dev/null; then
        sleep 1.5 # the interface's carrier can take a second
        cansend vcan0 "$1"
        sleep 0.5
        kill $pid
        wait $pid
        grep '^t123' adapter.log
        : >adapter.log
        ip -details link show usb0 | grep -o 'bitrate [0-9]*\|restart-ms [0-9]*' | tr '\n' ' '
        ip link set usb0 down
    fi
    grep -o 'error: .*\|usb0 is set up without.*' said
}
echo "== default"
port 'bitrate = 500000'
attempt 123#11
echo "== asked"
port 'bitrate = 500000
restart = "70ms"'
attempt 123#22
echo "== never"
port 'bitrate = 500000
restart = "never"'
attempt 123#33
echo "== odd"
port 'bitrate = 333333'
attempt 123#44
echo "== fd"
port 'bitrate = 500000
data_bitrate = 2000000'
attempt 123#55
echo "== done"
