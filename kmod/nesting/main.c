// SPDX-License-Identifier: GPL-2.0
/*
 * What a hypervisor on QEMU's emulated processor needs beside KVM: a workaround for how that processor injects
 * interrupts (inject.c), and a cost for each exit.
 *
 * QEMU counts what KVM does for an exit. What hardware takes for #VMEXIT and VMRUN themselves, and for caches and TLBs
 * that are refilled, it does not: `exit_ns` nanoseconds are spent for it at each exit. 0 is none.
 */
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <asm/tsc.h>
#include "nesting.h"

static unsigned int exit_ns;
module_param(exit_ns, uint, 0644);
MODULE_PARM_DESC(exit_ns, "nanoseconds that each exit takes besides what KVM does for it");

/* Exported by kvm.ko; their declarations are not among the headers. */
extern struct tracepoint __tracepoint_kvm_entry;
extern struct tracepoint __tracepoint_kvm_exit;

static void entry(void *data, struct kvm_vcpu *vcpu)
{
	inject_entry(vcpu);
}

static void leave(void *data, struct kvm_vcpu *vcpu)
{
	unsigned int ns = READ_ONCE(exit_ns);

	inject_exit(vcpu);
	if (ns) {
		u64 end = rdtsc() + (u64)ns * tsc_khz / 1000000;

		while ((s64)(rdtsc() - end) < 0)
			;
	}
}

static int __init nesting_init(void)
{
	int error = tracepoint_probe_register(&__tracepoint_kvm_entry, entry, NULL);

	if (error)
		return error;
	error = tracepoint_probe_register(&__tracepoint_kvm_exit, leave, NULL);
	if (error)
		tracepoint_probe_unregister(&__tracepoint_kvm_entry, entry, NULL);
	return error;
}

static void __exit nesting_exit(void)
{
	tracepoint_probe_unregister(&__tracepoint_kvm_exit, leave, NULL);
	tracepoint_probe_unregister(&__tracepoint_kvm_entry, entry, NULL);
	tracepoint_synchronize_unregister();
}

module_init(nesting_init);
module_exit(nesting_exit);
MODULE_DESCRIPTION("KVM on an emulated processor: injected interrupts, and a cost of exits");
MODULE_LICENSE("GPL");
