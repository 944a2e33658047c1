# In the driver VM: until the port $1, of another machine, says that somebody is at the other side of the memory.
tries=0
until cangate stats /tmp/gateway.toml 2>/dev/null | grep -q "^ $1  *up "; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
        cat /tmp/gateway.said >&2
        cangate stats /tmp/gateway.toml >&2
        exit 1
    fi
    sleep 0.1
done
