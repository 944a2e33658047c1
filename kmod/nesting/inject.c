// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that KVM injects into a machine, on the processor that QEMU emulates (TCG, 11.1 and before).
 *
 * Its VMRUN (helper_vmrun in target/i386/tcg/system/svm_helper.c) delivers an injected external interrupt at once, and
 * leaves its vector in `exception_index`. Whoever next ends the run of translated code without an event of his own, as
 * each expiry of a virtual timer does, has the vector found there, and delivered a second time as if it were an
 * exception: whether the machine has interrupts enabled is not asked. A kernel that is interrupted where it holds a
 * lock then waits for itself. Whatever is delivered, or an exit, clears `exception_index`, so that the danger lasts
 * from the injection to the next exit.
 *
 * In kernel mode the interrupt is injected as a software interrupt of the same vector here: that one QEMU
 * delivers as an exception from the start, and clears. In user mode it cannot be: the gate's privilege would be
 * checked. There, an interrupt of the processor's own ends the run at the first instruction of the handler,
 * which costs one more exit.
 *
 * Where the delivery itself exits (a page that is not there), KVM is told that it was an external interrupt.
 */
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/svm.h>
#include "nesting.h"

/* The first vector that is no exception's, and the one software interrupt that Linux uses (int 0x80). */
#define FIRST	0x20
#define SYSCALL	0x80

/*
 * KVM's struct vcpu_svm begins with the vcpu and a pointer to the machine's control block (arch/x86/kvm/svm/svm.h; 5.12
 * and newer).
 */
static struct vmcb *vmcb_of(struct kvm_vcpu *vcpu)
{
	struct vmcb *vmcb = *(struct vmcb **)(vcpu + 1);

	if (WARN_ON_ONCE(!vmcb || !PAGE_ALIGNED(vmcb)))
		return NULL;
	return vmcb;
}

static bool is_ours(u8 vector)
{
	return vector >= FIRST && vector != SYSCALL;
}

static void interrupt_myself(void)
{
#ifdef smp_send_reschedule
	/* Since 6.4 a macro that traces, too. */
	arch_smp_send_reschedule(smp_processor_id());
#else
	smp_send_reschedule(smp_processor_id());
#endif
}

void inject_entry(struct kvm_vcpu *vcpu)
{
	struct vmcb *vmcb = vmcb_of(vcpu);
	u32 event;

	if (!vmcb)
		return;
	event = vmcb->control.event_inj;
	if (!(event & SVM_EVTINJ_VALID) || (event & SVM_EVTINJ_TYPE_MASK) != SVM_EVTINJ_TYPE_INTR ||
	    !is_ours(event & SVM_EVTINJ_VEC_MASK))
		return;
	if (vmcb->save.cpl == 0)
		vmcb->control.event_inj = (event & ~SVM_EVTINJ_TYPE_MASK) | SVM_EVTINJ_TYPE_SOFT;
	else
		interrupt_myself();
}

void inject_exit(struct kvm_vcpu *vcpu)
{
	struct vmcb *vmcb = vmcb_of(vcpu);
	u32 event;

	if (!vmcb)
		return;
	/*
	 * QEMU leaves the type of what was delivered where nothing is valid any more. Since 6.14, KVM takes a type alone for
	 * a delivery that was interrupted (svm_check_emulate_instruction).
	 */
	event = vmcb->control.exit_int_info;
	if (!(event & SVM_EVTINJ_VALID))
		vmcb->control.exit_int_info = 0;
	/* Not looked at by KVM yet ... */
	else if ((event & SVM_EVTINJ_TYPE_MASK) == SVM_EVTINJ_TYPE_SOFT &&
	    is_ours(event & SVM_EVTINJ_VEC_MASK))
		vmcb->control.exit_int_info = event & ~SVM_EVTINJ_TYPE_MASK; /* SVM_EVTINJ_TYPE_INTR is 0 */
	/* ... or already. */
	if (vcpu->arch.interrupt.injected && vcpu->arch.interrupt.soft && is_ours(vcpu->arch.interrupt.nr))
		vcpu->arch.interrupt.soft = false;
}
