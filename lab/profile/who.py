#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Instructions by who executes them, of a trace of a guest that may have machines in it (trace.c).

    who.py PROGRAM KALLSYMS WITHIN TRACE ADDR --who[:N[:WHO]] | --steps[:N[:WHO]] | --worst:THREAD[:WHO]

PROGRAM, KALLSYMS, TRACE and ADDR are profile.py's; WITHIN is /proc/kallsyms of a machine in the guest. --who sums the
instructions up by machine or thread, and by what it does, divided by every N-th (default: first) time that the guest
comes to ADDR; with WHO, a part of who it is, the 60 functions with the most instructions. --steps lists the last N of these spans: who executes, in their order; with WHO, its functions in
their order. --worst does so for the longest span between two times that this thread of the hypervisor comes to ADDR.
"""

import array
import bisect
import re
import sys
from collections import Counter, defaultdict

import profile

VMRUN, SWITCH = 0x40, 0x41
# What VMRUN is long.
LENGTH = 3

# What the hypervisor's kernel does, and by which functions: the first that fits.
KINDS = [
    ("bench: the bus and its controllers", r"\[bitcan\]$"),
    ("KVM: entries and exits", r"\[(kvm|kvm_amd|nesting|irqbypass|vfio\w*)\]$"),
    ("scheduler, switching, waking", r"sched|switch|wake|ttwu|pick_|put_prev|set_next|enqueue_(task|rt|top|pushable)"
     r"|dequeue_(task|rt|top|pushable)|activate_task|update_(curr|rq|load|min)|_rt$|rt_(rq|se)|_fair|cpuacct|psi_|cpupri|sum_group|balance|reweight"
     r"|resched|prepare_task|finish_task|fpu|pushable|place_entity|available_idle|cpu_util|__calc_delta|idle|select_task|task_rq|rq_|prepare_to_wait|finish_wait"),
    ("calls: in and out", r"SYSCALL|syscall|user_mode|SYSRET|amd_clear|sys_call|retpoline|return_thunk"),
    ("polling and event descriptors", r"poll|eventfd|futex|wait_queue|hrtimeout"),
    ("the CAN interface and its sockets", r"can|skb|raw_|net|xmit|dev_|sk_|sock_|queue_|qdisc|sch_|napi|sendmsg|recvmsg|packet"
     r"|kmem|kmalloc|kfree|slab|memset|alloc"),
    ("interrupts and timers", r"irq|apic|timer|ktime|tick_|clock|error_(entry|return)|rb_|tsc|radix|iret|softirq|rcu"),
]
# How an interrupt begins in the kernel.
ENTRY = re.compile(r"asm_(common_interrupt|sysvec_|exc_)|irq_entries_start$")


def words(trace, i):
    """The name in two words."""
    text = b"".join(trace[j].to_bytes(8, "little") for j in (i, i + 1))
    return text.split(b"\0", 1)[0].decode("ascii", "replace")


class Context:
    """Who executes: the machine that runs, and in each kernel the thread and how deep it is in interrupts."""

    def __init__(self):
        self.machine = None
        self.back = None
        # By machine (None: the hypervisor).
        self.thread = defaultdict(lambda: (0, ""))
        # By machine and thread.
        self.depth = Counter()
        # The machine that a thread runs.
        self.runs = {}

    def key(self):
        thread = self.thread[self.machine]
        return self.machine, thread, self.depth[self.machine, thread[0]] > 0


def segments(trace, at, hypervisor, machines):
    """Parts of the trace and who executes them, and where the hypervisor comes to `at`."""
    begins, ends, calls = set(), set(), set()
    for kernel in (hypervisor, machines):
        for address, name in kernel:
            bare = name.split(" ")[0]
            if ENTRY.match(bare):
                begins.add(address)
            elif bare == "native_irq_return_iret":
                ends.add(address)
            elif bare == "entry_SYSCALL_64":
                calls.add(address)
    special = begins | ends | calls | {at}
    now, parts, hits = Context(), [], []
    start, i = 0, 0
    after = False

    def cut(end):
        if end > start:
            parts.append((start, end, now.key()))

    while i < len(trace):
        pc = trace[i]
        if pc >> 62 == 1:
            what, value = pc >> 56, pc & ((1 << 56) - 1)
            if what == VMRUN:
                cut(i)
                now.runs[now.thread[None][0]] = value
                now.machine, now.back = value, trace[i - 1] + LENGTH
                special.add(now.back)
                i += 1
            elif what == SWITCH:
                cut(i)
                now.thread[now.machine] = (value, words(trace, i + 1))
                i += 3
            else:
                i += 1
            start = i
            continue
        if after:
            # The instruction after an interrupt's last one.
            cut(i)
            start, after = i, False
            key = now.machine, now.thread[now.machine][0]
            now.depth[key] = max(0, now.depth[key] - 1)
        if pc in special:
            if now.machine is not None and pc == now.back:
                cut(i)
                start, now.machine = i, None
            if pc == at and now.machine is None:
                hits.append((i, now.thread[None][1]))
            key = now.machine, now.thread[now.machine][0]
            if pc in begins:
                cut(i)
                start = i
                now.depth[key] += 1
            elif pc in calls:
                cut(i)
                start = i
                now.depth[key] = 0
            elif pc in ends:
                after = True
        i += 1
    cut(i)
    return parts, hits, now


class Reader:
    """What the addresses and threads are."""

    def __init__(self, program, kallsyms, within):
        self.hypervisor = profile.Names(program, kallsyms)
        self.machines = profile.Names(program, within)
        self.numbers = {}
        self.runs = {}
        self.known = {}

    def number(self, machine):
        return self.numbers.setdefault(machine, len(self.numbers) + 1)

    def who(self, key, pc):
        """Who, and what it does."""
        got = self.known.get((key, pc))
        if got is None:
            got = self.known[key, pc] = self.find(key, pc)
        return got

    def find(self, key, pc):
        machine, (task, name), interrupted = key
        kernel = pc >> 63
        if machine is not None:
            who = f"machine {self.number(machine)}"
            if not kernel:
                return who, "its programs"
            return who, "its kernel, in interrupts" if interrupted else "its kernel"
        monitor = self.runs.get(task)
        who = f"thread that runs machine {self.number(monitor)}" if monitor else f"thread {name or 'that is not known'}"
        if name.startswith("swapper"):
            who = "no thread (idle)"
        if not kernel:
            return who, "its own code"
        function = self.hypervisor.of(pc)
        what = next((words for words, pattern in KINDS if re.search(pattern, function)), "the rest of the kernel")
        return ("interrupts" if interrupted else who), what


def steps(trace, parts, reader, first, last, only):
    """Who executes, one after the other; or what, of one of them."""
    steps = []
    for start, end, key in parts:
        for i in range(max(start, first), min(end, last)):
            pc = trace[i]
            who, _ = reader.who(key, pc)
            if not steps or steps[-1][0] != who:
                steps.append([who, 0, Counter(), []])
            steps[-1][1] += 1
            names = reader.hypervisor if key[0] is None else reader.machines
            name = names.of(pc)
            steps[-1][2][name] += 1
            way = steps[-1][3]
            if only and (not way or way[-1][0] != name):
                way.append([name, 0])
            if only:
                way[-1][1] += 1
    for who, count, functions, way in steps:
        if only:
            if only in who:
                print(f"{count:7} {who}")
                print("".join(f"{part:15} {name}\n" for name, part in way), end="")
            continue
        most = ", ".join(name for name, _ in functions.most_common(3))
        print(f"{count:7} {who}: {most}")


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    program, kallsyms, within, file, address, how = sys.argv[1:]
    how, each, only = (how + "::").split(":")[:3]
    thread, each = (each, 1) if how == "--worst" else (None, int(each or 1))
    reader = Reader(program, kallsyms, within)
    trace = array.array("Q")
    with open(file, "rb") as data:
        trace.frombytes(data.read())
    parts, hits, now = segments(trace, int(address, 16), reader.hypervisor.kernels, reader.machines.kernels)
    reader.runs = now.runs
    hits = [i for i, name in hits if thread is None or name == thread]
    if len(hits) <= each:
        sys.exit(f"{file}: {address} is in it {len(hits)} times: record more instructions (KEEP=)")
    if how == "--worst":
        spans = sorted((last - first, first, last) for first, last in zip(hits, hits[1:]))
        print(f"{len(spans)} spans: the median has {spans[len(spans) // 2][0]} instructions, this one {spans[-1][0]}")
        steps(trace, parts, reader, *spans[-1][1:], only)
        return
    if how == "--steps":
        first, last = hits[-1 - each], hits[-1]
        steps(trace, parts, reader, first, last, only)
        return
    spans = (len(hits) - 1) // each
    first, last = hits[-1 - spans * each], hits[-1]
    counts, alone = Counter(), Counter()
    threads = defaultdict(Counter)
    functions = Counter()
    for start, end, key in parts:
        start, end = max(start, first), min(end, last)
        if start >= end:
            continue
        for pc, count in Counter(trace[start:end]).items():
            who, what = reader.who(key, pc)
            counts[who, what] += count
            alone[who] += count
            if only and only in who:
                functions[(reader.hypervisor if key[0] is None else reader.machines).of(pc)] += count
            if key[0] is not None and not pc >> 63:
                threads[who][key[1][1]] += count
    if only:
        for name, count in functions.most_common(60):
            print(f"{count / spans:10.1f} {name}")
        return
    total = sum(alone.values())
    print(f"{spans} spans, {total / spans:.0f} instructions each")
    for who, count in alone.most_common():
        programs = ", ".join(name for name, _ in threads[who].most_common(3) if name)
        print(f"{count / spans:10.0f} {who}{f' ({programs})' if programs else ''}")
        for (one, what), part in counts.most_common():
            if one == who and part / spans >= 0.5:
                print(f"{part / spans:20.0f} {what}")


if __name__ == "__main__":
    main()
