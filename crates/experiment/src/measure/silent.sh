# Ends what beside.sh has started as identifier $1. It must be there until then.
id=$(cat "/tmp/sender-$1") || exit 1
kill "$id" || { cat "/tmp/sends-$1" >&2; exit 1; }
