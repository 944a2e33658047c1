// SPDX-License-Identifier: GPL-2.0
/*
 * A controller that shares itself (shared/) as a node of a bus in the kernel: its time, its interrupts, and the
 * registers of its functions. Which controllers there are is in physical.c, what the physical function sets in pf.c.
 */
#include <linux/eventfd.h>
#include <linux/module.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "functions.h"

static struct bitcan_shared *of(struct bitcan_member *member)
{
	return container_of(member, struct bitcan_shared, member);
}

static struct bitcan_shared *around(struct sc_controller *c)
{
	return container_of(c, struct bitcan_shared, ctl);
}

/* ---- A function's clock: the time stamp counter, which virtual machines have with an offset ---- */

#ifdef CONFIG_X86
static u64 ns_of(u64 tsc)
{
	u64 has = rdtsc_ordered(), now = ktime_get_ns();

	if (!tsc || tsc > has || has - tsc > NSEC_PER_MSEC || !tsc_khz)
		return now;
	return now - div_u64((has - tsc) * 1000000, tsc_khz);
}

/* Up to a second away. */
static u64 tsc_of(u64 ns)
{
	u64 has = rdtsc_ordered(), now = ktime_get_ns();

	if (ns < now)
		return has - div_u64(min_t(u64, now - ns, NSEC_PER_SEC) * tsc_khz, 1000000);
	return has + div_u64(min_t(u64, ns - now, NSEC_PER_SEC) * tsc_khz, 1000000);
}
#else
static u64 ns_of(u64 tsc)
{
	return ktime_get_ns();
}

static u64 tsc_of(u64 ns)
{
	return 0;
}
#endif

/* When a function wrote a request, as it says: not in the future, not long ago, not before what has happened. */
static u64 written_at(struct sc_controller *c, int n, u64 written, u64 now)
{
	u64 at = written ? ns_of(written - around(c)->function[n].clock) : now;

	return clamp(at, min(c->bus->now, now), now);
}

static void on_interrupt(struct sc_controller *c, int n)
{
	struct bitcan_shared *s = around(c);

	s->told |= BIT(n);
	if (c->node >= 0)
		s->bus->raised |= BIT(c->node);
}

const struct sc_ops bitcan_shared_ops = { .interrupt = on_interrupt, .written_at = written_at };

/* ---- What the bus does, under bitcan_lock ---- */

void bitcan_shared_run(struct bitcan_shared *s, u64 t)
{
	sc_run(&s->ctl, t);
}

u64 bitcan_shared_deadline(const struct bitcan_shared *s)
{
	return sc_deadline(&s->ctl, s->bus->core.now);
}

/* The timer is set: while a frame is on the wire, functions need not ring. */
void bitcan_shared_armed(struct bitcan_shared *s)
{
	const struct bc_bus *core = &s->bus->core;
	u64 from = 0, until = 0;
	u32 n;

	if (core->phase == BC_FRAME) {
		from = core->start;
		until = core->end;
	} else if (core->phase == BC_FREE && core->planned) {
		from = core->plan_start;
		until = core->plan_end;
	}
	if (until) {
		from = tsc_of(from);
		until = tsc_of(until);
	}
	for (n = 0; n < s->ctl.functions; n++) {
		struct sc_function *f = &s->ctl.function[n];
		s64 clock = s->function[n].clock;

		if (f->timed && f->started)
			sc_set_quiet(f, until ? from + clock : 0, until ? until + clock : 0);
	}
}

void bitcan_shared_receive(struct bitcan_member *member, const struct canfd_frame *frame, bool fd)
{
	if (of(member)->ctl.node >= 0)
		sc_bus_heard(&of(member)->ctl, frame, fd);
}

void bitcan_shared_sent(struct bitcan_member *member, const struct canfd_frame *frame, bool fd)
{
	sc_bus_frame(&of(member)->ctl, frame, fd);
}

void bitcan_shared_failed(struct bitcan_member *member, u64 end)
{
	sc_bus_error(&of(member)->ctl, end);
}

void bitcan_shared_state(struct bitcan_member *member)
{
	if (of(member)->ctl.node >= 0)
		sc_bus_state(&of(member)->ctl);
}

/* To the machines, by whatever stands behind the event. */
irqreturn_t bitcan_shared_interrupt(int irq, void *data)
{
	struct bitcan_shared *s = data;
	unsigned long flags;
	u32 told, n;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	told = s->told;
	s->told = 0;
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	spin_lock_irqsave(&s->trigger_lock, flags);
	for (n = 0; n < s->ctl.functions; n++) {
		if (!(told & BIT(n)) || !s->function[n].trigger)
			continue;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
		eventfd_signal(s->function[n].trigger);
#else
		eventfd_signal(s->function[n].trigger, 1);
#endif
	}
	spin_unlock_irqrestore(&s->trigger_lock, flags);
	return IRQ_HANDLED;
}

/* ---- The registers of a function ---- */

/* Its interrupt goes here from now on; NULL: nowhere. The caller keeps it. */
void bitcan_function_trigger(struct bitcan_shared *s, int n, struct eventfd_ctx *trigger)
{
	unsigned long flags;

	spin_lock_irqsave(&s->trigger_lock, flags);
	s->function[n].trigger = trigger;
	spin_unlock_irqrestore(&s->trigger_lock, flags);
}
EXPORT_SYMBOL_GPL(bitcan_function_trigger);

static u64 counter(struct bitcan_shared *s, int n, u32 i)
{
	const struct sc_function *f = &s->ctl.function[n];
	u64 value;

	raw_spin_lock_irq(&bitcan_lock);
	sc_sync(&s->ctl, n);
	value = ((const u64 *)&f->counters)[i];
	raw_spin_unlock_irq(&bitcan_lock);
	return value;
}

/* A word of 32 bits; unknown registers are 0. The time is read at once: its halves are the caller's to keep. */
u32 bitcan_function_read(struct bitcan_shared *s, int n, u32 reg)
{
	const struct sc_function *f = &s->ctl.function[n];
	u32 at = reg - VFCAN_REG_COUNTERS;

	if (at < sizeof(struct vfcan_counters))
		return counter(s, n, at / 8) >> (at & 4 ? 32 : 0);
	switch (reg) {
	case VFCAN_REG_MAGIC:
		return VFCAN_MAGIC;
	case VFCAN_REG_VERSION:
		return VFCAN_VERSION;
	case VFCAN_REG_FUNCTION:
		return n;
	case VFCAN_REG_QUEUE:
		return s->ctl.queue;
	case VFCAN_REG_FIFO:
		return s->ctl.fifo;
	case VFCAN_REG_FEATURES:
		return (READ_ONCE(s->data) ? VFCAN_FEATURE_FD : 0) |
		       (f->timed ? VFCAN_FEATURE_WRITTEN : 0);
	case VFCAN_REG_CONTROL:
		return (f->started ? VFCAN_CONTROL_START : 0) |
		       (f->listen_only ? VFCAN_CONTROL_LISTEN_ONLY : 0);
	case VFCAN_REG_BITRATE:
		return READ_ONCE(s->nominal);
	case VFCAN_REG_DATA_BITRATE:
		return READ_ONCE(s->data);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(bitcan_function_read);

/* What functions have written by now is done. */
void bitcan_shared_look(struct bitcan_shared *s)
{
	if (s->ctl.node >= 0)
		bitcan_run_now(s->bus);
}

/* What was changed takes part in the next arbitration. */
void bitcan_shared_settle(struct bitcan_shared *s)
{
	if (s->ctl.node < 0)
		return;
	sc_offer(&s->ctl);
	bitcan_arm(s->bus);
}

static void control(struct bitcan_shared *s, int n, u32 value)
{
	bitcan_shared_look(s);
	if (value & VFCAN_CONTROL_START)
		sc_start(&s->ctl, n, value & VFCAN_CONTROL_LISTEN_ONLY);
	else
		sc_clear(&s->ctl, n);
	bitcan_shared_settle(s);
}

void bitcan_function_write(struct bitcan_shared *s, int n, u32 reg, u32 value)
{
	raw_spin_lock_irq(&bitcan_lock);
	if (reg == VFCAN_REG_CONTROL) {
		control(s, n, value);
	} else if (reg == VFCAN_REG_DOORBELL) {
		bitcan_shared_look(s);
		bitcan_shared_settle(s);
	}
	raw_spin_unlock_irq(&bitcan_lock);
}
EXPORT_SYMBOL_GPL(bitcan_function_write);

/* ---- Whose functions are ---- */

/* The first that nobody has, for a machine; -ENOSPC. It is as at first. */
int bitcan_function_claim(struct bitcan_shared *s)
{
	int n, found = -ENOSPC;

	raw_spin_lock_irq(&bitcan_lock);
	for (n = 0; n < (int)s->ctl.functions && found < 0; n++) {
		if (s->function[n].used)
			continue;
		s->function[n].used = true;
		found = n;
	}
	raw_spin_unlock_irq(&bitcan_lock);
	return found;
}
EXPORT_SYMBOL_GPL(bitcan_function_claim);

/* Its rights and its clock are forgotten, too: they were for this machine. */
void bitcan_function_release(struct bitcan_shared *s, int n)
{
	static const struct sc_rights none;

	bitcan_function_trigger(s, n, NULL);
	raw_spin_lock_irq(&bitcan_lock);
	bitcan_shared_look(s);
	sc_clear(&s->ctl, n);
	sc_set_rights(&s->ctl, n, &none, s->bus->core.now);
	s->ctl.function[n].timed = false;
	s->function[n].used = false;
	bitcan_shared_settle(s);
	raw_spin_unlock_irq(&bitcan_lock);
}
EXPORT_SYMBOL_GPL(bitcan_function_release);

/* How many nobody has. */
unsigned int bitcan_functions_free(struct bitcan_shared *s)
{
	unsigned int n, count = 0;

	for (n = 0; n < s->ctl.functions; n++)
		count += !READ_ONCE(s->function[n].used);
	return count;
}
EXPORT_SYMBOL_GPL(bitcan_functions_free);
