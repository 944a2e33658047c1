/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A QEMU plugin: the addresses of the instructions that a guest executes, around the executions of one
 * of them. docs/performance.md says how to use it. Build: gcc -O2 -shared -fPIC -o trace.so trace.c
 *
 * Arguments (QEMU's -plugin FILE,NAME=VALUE,...):
 *   at=ADDR     the instruction that is waited for, hexadecimal
 *   nth=N       its so many-th execution ends the recording
 *   keep=N      so many instructions before it are kept, as a power of two
 *   out=FILE    where they are written, oldest first: 64 bits each, in the host's byte order
 *   switch=ADDR the guest's __switch_to, hexadecimal; with init=, the guest's init_task
 *   within=ADDR, first=ADDR the same of the kernel of the guest's machines (nested virtualization)
 *
 * Each instruction is noted before it is executed. One that QEMU begins twice (an access to a device in
 * the middle of a block) is noted twice. Between the addresses there are notes, which are no addresses
 * (bits 63 and 62 are 01):
 *   0x40 << 56 | ADDR  VMRUN was executed, with this physical address: a machine goes on until the instruction after it
 *   0x41 << 56 | ADDR  a kernel switches to the thread with this task_struct (its 56 lower bits); then, in two
 *                      words, the thread's name, 0 where it could not be read
 *
 * The functions below are those of QEMU's include/plugins/qemu-plugin.h, interface version 7 (QEMU 11.1), and GLib's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct tb;
struct insn;
struct reg;
struct info {
	const char *target;
	struct {
		int min;
		int cur;
	} version;
};

/* GArray and GByteArray. */
struct bytes {
	uint8_t *data;
	unsigned int len;
};

/* qemu_plugin_reg_descriptor */
struct described {
	struct reg *handle;
	const char *name;
	const char *feature;
	bool readonly;
};

enum { NO_REGS, READ_REGS };

typedef void (*exec_cb)(unsigned int vcpu, void *data);

extern size_t qemu_plugin_tb_n_insns(const struct tb *tb);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);
extern size_t qemu_plugin_insn_data(const struct insn *insn, void *dest, size_t len);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, exec_cb cb, int flags, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uintptr_t, uintptr_t, uintptr_t),
						  void *data);
extern void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uintptr_t, uintptr_t), void *data);
extern struct bytes *qemu_plugin_get_registers(void);
/* Its result's type is not the same in all versions: what has come says enough. */
extern void qemu_plugin_read_register(struct reg *handle, struct bytes *to);
extern bool qemu_plugin_read_memory_vaddr(uint64_t addr, struct bytes *to, size_t len);
extern struct bytes *g_byte_array_new(void);
extern struct bytes *g_byte_array_set_size(struct bytes *array, unsigned int len);

EXPORT int qemu_plugin_version = 7;

#define VMRUN (UINT64_C(0x40) << 56)
#define SWITCH (UINT64_C(0x41) << 56)
#define LOW ((UINT64_C(1) << 56) - 1)

/* A kernel whose threads have names. */
struct kernel {
	uint64_t at, init;
	/* Where a task_struct has its name; 0: not looked for yet, -1: not found. */
	int64_t name;
};

static const uint8_t vmrun[3] = { 0x0f, 0x01, 0xd8 };

static uint64_t self, at, nth, count, mask, next;
/* Where the guest goes on after its machine; 0: no machine runs. */
static uint64_t back;
static struct kernel outer, inner;
static uint64_t *ring;
static const char *out;
static bool done;
static struct reg *rax, *rsi;
static struct bytes *buffer;

static void write_out(void)
{
	uint64_t size = mask + 1, have = next < size ? next : size;
	FILE *file = fopen(out, "wb");

	done = true;
	if (!file) {
		perror(out);
		return;
	}
	for (uint64_t i = next - have; i != next; i++)
		fwrite(&ring[i & mask], sizeof(*ring), 1, file);
	if (fclose(file))
		perror(out);
}

static void note(uint64_t what)
{
	ring[next++ & mask] = what;
}

static void executes(unsigned int vcpu, void *data)
{
	uint64_t pc = (uint64_t)(uintptr_t)data;

	(void)vcpu;
	if (done)
		return;
	note(pc);
	if (pc == back)
		back = 0;
	/* Not what a machine has at the same place. */
	if (pc == at && !back && ++count == nth)
		write_out();
}

static uint64_t value(struct reg *reg)
{
	uint64_t it = 0;

	g_byte_array_set_size(buffer, 0);
	if (!reg)
		return 0;
	qemu_plugin_read_register(reg, buffer);
	if (buffer->len >= sizeof(it))
		memcpy(&it, buffer->data, sizeof(it));
	return it;
}

static bool memory(uint64_t addr, size_t len)
{
	g_byte_array_set_size(buffer, 0);
	return qemu_plugin_read_memory_vaddr(addr, buffer, len) && buffer->len >= len;
}

/* The first thread of a kernel has this name. */
static void find_name(struct kernel *k)
{
	static const char first[] = "swapper";

	k->name = -1;
	for (unsigned int page = 0; page < 4 && k->name < 0; page++) {
		if (!k->init || !memory(k->init + page * 2048, 2048 + 16))
			return;
		for (unsigned int i = 0; i < 2048 && k->name < 0; i += 8) {
			if (!memcmp(buffer->data + i, first, sizeof(first) - 1))
				k->name = page * 2048 + i;
		}
	}
}

static void runs_machine(unsigned int vcpu, void *pc)
{
	if (done)
		return;
	executes(vcpu, pc);
	note(VMRUN | (value(rax) & LOW));
	back = (uint64_t)(uintptr_t)pc + sizeof(vmrun);
}

static void switches(unsigned int vcpu, void *pc)
{
	struct kernel *k = (uint64_t)(uintptr_t)pc == outer.at ? &outer : &inner;
	uint64_t task, name[2] = { 0, 0 };

	if (done)
		return;
	executes(vcpu, pc);
	task = value(rsi);
	if (!k->name)
		find_name(k);
	if (k->name > 0 && memory(task + (uint64_t)k->name, sizeof(name)))
		memcpy(name, buffer->data, sizeof(name));
	note(SWITCH | (task & LOW));
	note(name[0]);
	note(name[1]);
}

static bool is_vmrun(const struct insn *insn)
{
	uint8_t data[sizeof(vmrun)];

	return qemu_plugin_insn_data(insn, data, sizeof(data)) == sizeof(data) &&
	       !memcmp(data, vmrun, sizeof(data));
}

/* Version 7 passes the block first, those before it the plugin's number. */
static void translated(uintptr_t one, uintptr_t two, uintptr_t three)
{
	const struct tb *tb = (const void *)(one == self ? two : one);
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)three;
	for (size_t i = 0; i < n; i++) {
		struct insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uintptr_t pc = (uintptr_t)qemu_plugin_insn_vaddr(insn);

		if (pc == outer.at || pc == inner.at)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, switches, READ_REGS, (void *)pc);
		else if (is_vmrun(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, runs_machine, READ_REGS, (void *)pc);
		else
			qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, NO_REGS, (void *)pc);
	}
}

static void initialized(uintptr_t one, uintptr_t two)
{
	struct bytes *all = qemu_plugin_get_registers();
	const struct described *each = (const void *)all->data;

	(void)one;
	(void)two;
	for (unsigned int i = 0; i < all->len; i++) {
		if (!strcmp(each[i].name, "rax"))
			rax = each[i].handle;
		else if (!strcmp(each[i].name, "rsi"))
			rsi = each[i].handle;
	}
}

EXPORT int qemu_plugin_install(uint64_t id, const struct info *info, int argc, char **argv)
{
	uint64_t keep = 22;

	for (int i = 0; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		if (!value)
			return -1;
		value++;
		if (!strncmp(argv[i], "at=", 3))
			at = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "nth=", 4))
			nth = strtoull(value, NULL, 10);
		else if (!strncmp(argv[i], "keep=", 5))
			keep = strtoull(value, NULL, 10);
		else if (!strncmp(argv[i], "out=", 4))
			out = value;
		else if (!strncmp(argv[i], "switch=", 7))
			outer.at = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "init=", 5))
			outer.init = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "within=", 7))
			inner.at = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "first=", 6))
			inner.init = strtoull(value, NULL, 16);
		else
			return -1;
	}
	if (!at || !nth || !out || keep > 28) {
		fprintf(stderr, "trace: at=, nth= and out= are needed; keep= is at most 28\n");
		return -1;
	}
	mask = (UINT64_C(1) << keep) - 1;
	ring = calloc(mask + 1, sizeof(*ring));
	buffer = g_byte_array_new();
	if (!ring || !buffer)
		return -1;
	self = id;
	(void)info;
	qemu_plugin_register_vcpu_init_cb(id, initialized, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	return 0;
}
