# Functions for scripts that run a gateway with a port `a` under test, which sends what the port `b` on the interface
# $other_bus receives.
shown() { # the settings of an interface, in the words of ip
    ip -details link show "$1" | grep -o 'can <[A-Z0-9,-]*>\|qlen [0-9]*' | tr '\n' ' '
    ip -details link show "$1" | grep -o 'sjw [0-9]*' | head -1
}
port() { # the key that chooses the interface, and other keys
    cat >g.toml <<END
[ports.a]
kind = "socketcan"
$1
$2
[ports.b]
kind = "socketcan"
interface = "$other_bus"
[[routes]]
from = "b"
to = "a"
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
refused() { timeout 20 cangate run g.toml 2>&1 | grep -o 'error: .*'; }
