# Records what comes on interface $1 in the background, with the real-time priority $2, until received.sh ends it.
rm -f /tmp/received*
chrt -f "$2" cangate capture -q --json --no-error-frames --out /tmp/received.log "$1" \
    </dev/null >/tmp/received.json 2>/tmp/received.said &
echo $! >/tmp/receiver
