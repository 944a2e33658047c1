# Sends on interface $1 in the background, as identifier $2, with a gap of $3 ms. A program that sends waits in its
# socket: the interface's queue is longer than what the sockets of all programs may have under way.
ip link set "$1" txqueuelen 10000 || exit 1
cangen "$1" -g "$3" -I "$2" -L 8 -D AAAAAAAAAAAAAAAA </dev/null >"/tmp/sends-$2" 2>&1 &
echo $! >"/tmp/sender-$2"
