#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in a guest of the bench `vm`: starts an inner machine, kills its monitor, and prints which functions of the kernel took more
# than a millisecond meanwhile, with all that they call (ftrace, `function_graph`). A program with the priority 95 wants the
# processor every 0.5 ms. To trace takes time itself: what is long without it is here ten times as long.
#
#     cangate lab exec --bench vm --timeout 1600 --file lab/profile/machine-end.sh=machine-end.sh -- bash /lab/machine-end.sh
set -u
T=/sys/kernel/tracing
mount -t tracefs nodev $T 2>/dev/null
uname -r
cat /sys/kernel/debug/sched/preempt
echo
cangate lab inner -- sh -c 'echo up; sleep 1000' >/tmp/inner.log 2>&1 &
for _ in $(seq 1 600); do
    grep -q up /tmp/inner.log && break
    sleep 0.1
done
sleep 0.5
qemu=$(ps | grep qemu | grep -v grep | awk '{print $1}' | sort -n | tail -1)
grep RssShmem "/proc/$qemu/status"
cyclictest -m -q -p 95 -i 500 -l 4000 >/tmp/latency.log 2>&1 &
sleep 0.3
echo 0 >$T/tracing_on
echo 30000 >$T/buffer_size_kb
echo 1000 >$T/tracing_thresh
echo function_graph >$T/current_tracer
echo 1 >$T/tracing_on
kill -9 "$qemu"
sleep 1
echo 0 >$T/tracing_on
grep -v '^#' $T/trace
