/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A part of QEMU plugins for guests in virtual time: accounts for executed instructions before the
 * processor halts.
 *
 * HLT (on ARM WFI) marks the processor as idle before QEMU has added the instructions of the
 * current run to virtual time (accel/tcg: the helper sets cpu->halted; icount_process_data() runs
 * later). If QEMU's main loop looks in between, it sees only idle processors, takes the distance to
 * the next timer from the old time, and adds it: the timer is late by these instructions. That
 * depends on the host's load, so a guest that idles would not repeat on a busy host.
 * icount_update() before the HLT leaves nothing to account for.
 *
 * No other instruction is instrumented, and no time changes in runs that the race does not reach.
 */
#include "halt.h"
#include "qemu.h"

/* The longest instruction of an x86 processor. */
#define LONGEST 15

/*
 * Runs before the instruction, in the thread of the processor. The instructions of a block are
 * counted when it begins, so the halting instruction, which ends its block, is accounted for, too.
 */
static void before_halt(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	icount_update(current_cpu);
}

/*
 * Whether an instruction halts the processor: HLT and MWAIT of x86, WFI of A64 and T32. No
 * instruction of the one processor has the bytes and the length of another one's.
 */
static bool halts(const unsigned char *bytes, size_t length)
{
	switch (length) {
	case 1:
		return bytes[0] == 0xf4;
	case 2:
		return bytes[0] == 0x30 && bytes[1] == 0xbf;
	case 3:
		return bytes[0] == 0x0f && bytes[1] == 0x01 && bytes[2] == 0xc9;
	case 4:
		return bytes[0] == 0x7f && bytes[1] == 0x20 && bytes[2] == 0x03 && bytes[3] == 0xd5;
	default:
		return false;
	}
}

static void translated(struct tb *tb, void *data)
{
	unsigned char bytes[LONGEST];
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct insn *last;

	(void)data;
	if (count == 0)
		return;
	/* A halting instruction ends its block. */
	last = qemu_plugin_tb_get_insn(tb, count - 1);
	if (halts(bytes, qemu_plugin_insn_data(last, bytes, sizeof(bytes))))
		qemu_plugin_register_vcpu_insn_exec_cb(last, before_halt, NO_REGISTERS, NULL);
}

void account_before_halts(uint64_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
}
