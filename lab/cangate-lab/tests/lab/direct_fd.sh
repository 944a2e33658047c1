# FD frames through CTU CAN FD controllers that no driver of the kernel's has: from a log to card y, over the
# bus to card x, through the gateway to the other bus, and from there by card y into a log.
cd /tmp
rmmod ctucanfd_pci ctucanfd
gateway() {
    cat >g.toml <<END
[ports.play]
kind = "log"
read = "in.log"
interface = "play"
[ports.out]
kind = "log"
write = "out.log"
END
    for port in "x0 0000:00:10.0 0" "x1 0000:00:10.0 1" "y0 0000:00:11.0 0" "y1 0000:00:11.0 1"; do
        set -- $1 $port
        cat >>g.toml <<END
[ports.$2]
kind = "direct"
device = "$3"
channel = $4
data_bitrate = "2M"
mode = "$1"
END
    done
    cat >>g.toml <<END
[[routes]]
from = "play"
to = "y0"
[[routes]]
from = "x0"
to = "x1"
[[routes]]
from = "y1"
to = "out"
END
}
cat >in.log <<END
(1.000000) play 123##4112233
(1.001000) play 456##5$(printf '%0128d' 7)
(1.002000) play 12345678##7AABBCCDDEEFF0011223344
(1.003000) play 7FF#R
(1.004000) play 1ABCDEF0#0102030405060708
END
n=0
while [ $n -lt 200 ]; do
    printf '(1.%06d) play %03X##4%016X\n' $((5000 + 100 * n)) $n $n
    n=$((n + 1))
done >>in.log
for mode in poll interrupt; do
    echo "== $mode"
    gateway $mode
    : >out.log
    cangate run g.toml >sum 2>&1 &
    pid=$!
    n=0
    until [ "$(wc -l <out.log)" = 205 ] || [ $n -gt 200 ]; do n=$((n + 1)); sleep 0.05; done
    cangate stats g.toml | tail -1
    kill $pid
    wait $pid
    echo "status $?"
    sed 's/^.* out //' out.log | head -5
    echo "in order $(sed 1,5d in.log | sed 's/^.* play //' >want; sed 's/^.* out //' out.log | sed 1,5d | cmp - want && wc -l <want)"
    echo "driver $(ls /sys/bus/pci/devices/0000:00:10.0/driver 2>/dev/null)$(cat /sys/bus/pci/devices/0000:00:10.0/driver_override)"
done
echo "== done"
