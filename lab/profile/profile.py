#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Instructions a frame, by function or by kind, of a trace that trace.c has written.

    profile.py PROGRAM KALLSYMS TRACE ADDR [--kinds | --way | --top=N]

PROGRAM is the cangate that ran in the guest, KALLSYMS the guest's /proc/kallsyms, ADDR (hexadecimal) an
instruction that each frame comes to once. The instructions between the first and the last time are divided
by the frames. --kinds sums them up by kind of work, --way lists the last frame's functions in their order.
"""

import array
import bisect
import re
import subprocess
import sys
from collections import Counter

# Where the kernel puts a program with a fixed place (`norandmaps`).
BASE = 0x555555554000

# A kind of work, and the functions that do it: the first that fits.
KINDS = [
    ("bench: the bus and its tester", r"\[bitcan\]$"),
    ("interrupts and their timer", r"hrtimer|timerqueue|apic|ktime|tick_|clockevents|(?<!lock_)irq|error_(entry|return)|rb_|read_tsc"
                        r"|radix|fast_mix|randomness|note_interrupt|iret"),
    ("poll", r"poll|eventfd|wait_queue"),
    ("allocate and free", r"kmem|kmalloc|kfree|slab|memset|skb_(release|free)|alloc_skb|consume_skb|build_skb"
                          r"|skb_clone|copy_skb_header|cache_from|netdev_alloc|kmalloc_reserve|can_skb"),
    ("soft interrupts and NAPI", r"softirq|napi|net_rx|net_tx|netif_receive|xfrm_dev_backlog|local_bh"),
    ("CAN protocol and sockets", r"raw_rcv|can_rcv|can_receive|can_send|\[can|sock_queue_rcv|sk_filter|sock_def"),
    ("packet ring", r"tpacket|packet_|prb|skb_copy_bits"),
    ("calls: read and write", r"vfs|ksys|sock_(read|write)_iter|recvmsg|sendmsg|sock_alloc|copy|iov|check_|virt_addr"
                              r"|recv_datagram|recv_from_queue|security|aa_|apparmor|tomoyo|fget|fdget|rw_verify|fsnotify"),
    ("calls: in and out", r"SYSCALL|syscall|user_mode|SYSRET|amd_clear|fpregs|sys_call"),
    ("queue and driver", r"queue_xmit|xmit|sch_|netdev_core|skb_network|netif_skb|sock_wfree|dev_get|skb_set_owner"),
]


def symbols(program, kallsyms):
    """Two sorted lists of (address, name): the program's and the kernel's."""
    listed = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True)
    ours, kernels = [], []
    for line in listed.stdout.splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWiI":
            ours.append((int(address, 16) + BASE, re.sub(r"::h[0-9a-f]{16}$", "", name)))
    with open(kallsyms, encoding="ascii") as lines:
        for line in lines:
            address, kind, name, *module = line.split()
            if kind in "tTwW":
                kernels.append((int(address, 16), " ".join([name, *module])))
    return sorted(ours), sorted(kernels)


class Names:
    """The function of an address."""

    def __init__(self, program, kallsyms):
        self.ours, self.kernels = symbols(program, kallsyms)
        self.known = {}

    def of(self, pc):
        if pc not in self.known:
            self.known[pc] = self.find(pc)
        return self.known[pc]

    def find(self, pc):
        if pc >> 63:
            return self.kernels[bisect.bisect_right(self.kernels, (pc, "\x7f")) - 1][1]
        if BASE <= pc <= self.ours[-1][0] + (1 << 16):
            return "cangate " + self.ours[bisect.bisect_right(self.ours, (pc, "\x7f")) - 1][1]
        return f"other user {pc >> 12:x}"


def kind(name):
    if name.startswith("cangate "):
        return "cangate"
    if name.startswith("other user"):
        return "C library, vDSO"
    for words, pattern in KINDS:
        if re.search(pattern, name):
            return words
    return "the rest of the kernel"


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    program, kallsyms, file, address, *how = sys.argv[1:]
    how = how[0] if how else "--top="
    names, at = Names(program, kallsyms), int(address, 16)
    trace = array.array("Q")
    with open(file, "rb") as data:
        trace.frombytes(data.read())
    # Notes between the addresses.
    if any(word >> 62 == 1 for word in trace):
        trace = array.array("Q", (word for word in trace if word >> 62 != 1))
    hits = [i for i, pc in enumerate(trace) if pc == at]
    if len(hits) < 2:
        sys.exit(f"{file}: {address} is not in it twice: record more instructions (keep=)")
    if how == "--way":
        last = None
        for pc in trace[hits[-2] : hits[-1]]:
            name = names.of(pc)
            if last and last[0] == name:
                last[1] += 1
            else:
                if last:
                    print(f"{last[1]:6} {last[0]}")
                last = [name, 1]
        return
    frames = len(hits) - 1
    counts = Counter()
    for pc, count in Counter(trace[hits[0] : hits[-1]]).items():
        name = names.of(pc)
        counts[kind(name) if how == "--kinds" else name] += count
    print(f"{frames} frames, {sum(counts.values()) / frames:.0f} instructions each")
    for name, count in counts.most_common(int(how[6:]) if how[:6] == "--top=" and how[6:] else None):
        print(f"{count / frames:10.1f} {name}")


if __name__ == "__main__":
    main()
