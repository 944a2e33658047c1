# Ends what beside.sh has started as identifier $1. It must have sent until then: one that has ended may still have its
# number, until somebody asks for its status.
id=$(cat "/tmp/sender-$1") || exit 1
if ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$id/status" || ! kill "$id"; then
    echo "the program that sends $1 has ended by itself:" >&2
    cat "/tmp/sends-$1" >&2
    exit 1
fi
