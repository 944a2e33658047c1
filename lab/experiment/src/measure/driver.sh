# In the driver VM: its controller's interface gets its name and goes up, then the gateway of $1 runs.
folder=/sys/bus/pci/devices/0000:00:10.0/net
name=$(ls "$folder") || exit 1
ip link set "$name" name bus && ip link set bus up || exit 1
echo "$1" >/tmp/gateway.toml
cangate run -q /tmp/gateway.toml </dev/null >/tmp/gateway.sum 2>/tmp/gateway.said &
tries=0
until cangate stats /tmp/gateway.toml >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
        cat /tmp/gateway.said >&2
        exit 1
    fi
    sleep 0.1
done
