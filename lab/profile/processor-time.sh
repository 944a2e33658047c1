#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The processor time that a frame costs by each pair of ways, at 2000 frames/s: all instructions that the
# guest executes, less those with an ideal gateway. A guest that idles executes none. docs/ways.md has the table.
#
#     lab/profile/processor-time.sh CANGATE [GATEWAY]...
#
# profile.sh says what it needs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cangate=$1
shift
[ $# -gt 0 ] || set -- can-gw direct:irq \
    user:read-write user:read-sendmmsg user:read-ring user:read-ring-bypass user:read-io_uring \
    user:recvmmsg-write user:recvmmsg-sendmmsg user:recvmmsg-ring user:recvmmsg-io_uring \
    user:ring-write user:ring-sendmmsg user:ring-ring user:ring-ring-bypass user:ring-io_uring \
    user:io_uring-write user:io_uring-sendmmsg user:io_uring-ring user:io_uring-io_uring
# The bench's buses tell the end of a frame twice: on the way in and on the way out.
of() {
    "$here/profile.sh" "$cangate" on_frame 1201 --top=1 --cpu board --traffic period:500 --frames 800 \
        --gateway "$1" 2>/dev/null | awk '/ frames, .* instructions each/ { print 2 * $3 }'
}
floor=$(of ideal)
echo "ideal: $floor instructions a frame"
for gateway; do
    all=$(of "$gateway")
    awk -v gateway="$gateway" -v all="$all" -v floor="$floor" 'BEGIN {
        printf "%-24s %6d instructions a frame, %5.1f µs at 4 ns each\n", gateway, all - floor, (all - floor) * 0.004
    }'
done
