/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A QEMU plugin for guests in virtual time: accounts for executed instructions before the processor halts.
 *
 * HLT (on ARM WFI) marks the processor as idle before QEMU has added the instructions of the current run to virtual time
 * (accel/tcg: the helper sets cpu->halted; icount_process_data() runs later). If QEMU's main loop looks in
 * between, it sees only idle processors, takes the distance to the next timer from the old time, and adds it:
 * the timer is late by these instructions. That depends on the host's load, so a guest that idles would not
 * repeat on a busy host. icount_update() before the HLT leaves nothing to account for.
 *
 * The plugin instruments no other instruction, and changes no time in runs that the race does not reach.
 *
 * The declarations are those of QEMU's include/plugins/qemu-plugin.h (interface version 7, QEMU 11.1), and of
 * two symbols that Debian's program exports: include/hw/core/cpu.h and include/exec/icount.h. There are no
 * headers and no C library, so that the compiler of a kernel's build tree is enough.
 */
typedef unsigned long word;

#define EXPORT __attribute__((visibility("default")))

struct tb;
struct insn;

/* qemu_plugin_info_t, as far as it is read. */
struct info {
	const char *target;
};

enum { NO_REGISTERS };

/* The longest instruction of an x86 processor. */
#define LONGEST 15

extern void qemu_plugin_register_vcpu_tb_trans_cb(word id, void (*translated)(struct tb *tb, void *data),
						 void *data);
extern word qemu_plugin_tb_n_insns(const struct tb *tb);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, word index);
extern word qemu_plugin_insn_data(const struct insn *insn, void *bytes, word size);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*executed)(unsigned int vcpu, void *data),
						   int registers, void *data);

extern __thread void *current_cpu;
extern void icount_update(void *cpu);

EXPORT int qemu_plugin_version = 7;

/* Runs before the instruction, in the thread of the processor. The instructions of a block are counted when it begins, so
 * the halting instruction, which ends its block, is accounted for, too. */
static void before_halt(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	icount_update(current_cpu);
}

/* Whether an instruction halts the processor: HLT and MWAIT of x86, WFI of A64 and T32. No instruction of the one
 * processor has the bytes and the length of another one's. */
static int halts(const unsigned char *bytes, word length)
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
		return 0;
	}
}

static void translated(struct tb *tb, void *data)
{
	unsigned char bytes[LONGEST];
	word count = qemu_plugin_tb_n_insns(tb);
	struct insn *last;

	(void)data;
	if (count == 0)
		return;
	/* A halting instruction ends its block. */
	last = qemu_plugin_tb_get_insn(tb, count - 1);
	if (halts(bytes, qemu_plugin_insn_data(last, bytes, sizeof(bytes))))
		qemu_plugin_register_vcpu_insn_exec_cb(last, before_halt, NO_REGISTERS, 0);
}

EXPORT int qemu_plugin_install(word id, const struct info *info, int argc, char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, 0);
	return 0;
}
