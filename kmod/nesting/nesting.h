/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For a guest of the lab that runs KVM itself, on the processor that QEMU emulates.
 */
#ifndef NESTING_H
#define NESTING_H

#include <linux/kvm_host.h>

/* Before a machine is entered, with interrupts off. */
void inject_entry(struct kvm_vcpu *vcpu);
/* After it was left, before KVM looks why, or (kernels before 6.5) when it does. */
void inject_exit(struct kvm_vcpu *vcpu);

#endif
