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
 *
 * Each instruction is noted before it is executed. One that QEMU begins twice (an access to a device in
 * the middle of a block) is noted twice. The functions below are those of QEMU's include/plugins/qemu-plugin.h,
 * interface version 7 (QEMU 11.1).
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
struct info {
	const char *target;
	struct {
		int min;
		int cur;
	} version;
};

typedef void (*exec_cb)(unsigned int vcpu, void *data);

extern size_t qemu_plugin_tb_n_insns(const struct tb *tb);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, exec_cb cb, int flags, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uintptr_t, uintptr_t, uintptr_t),
						  void *data);

EXPORT int qemu_plugin_version = 7;

static uint64_t self, at, nth, count, mask, next;
static uint64_t *ring;
static const char *out;
static bool done;

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

static void executes(unsigned int vcpu, void *pc)
{
	(void)vcpu;
	if (done)
		return;
	ring[next++ & mask] = (uint64_t)(uintptr_t)pc;
	if ((uint64_t)(uintptr_t)pc == at && ++count == nth)
		write_out();
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

		qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, 0, (void *)pc);
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
		else
			return -1;
	}
	if (!at || !nth || !out || keep > 28) {
		fprintf(stderr, "trace: at=, nth= and out= are needed; keep= is at most 28\n");
		return -1;
	}
	mask = (UINT64_C(1) << keep) - 1;
	ring = calloc(mask + 1, sizeof(*ring));
	if (!ring)
		return -1;
	self = id;
	(void)info;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	return 0;
}
