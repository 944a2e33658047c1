// SPDX-License-Identifier: GPL-2.0
/* One virtual function: what waits, confirmations, its receive FIFO, and what it is told of. */
#include "shared.h"

/* Something has changed; an interrupt if the function wants to know, once for each `seen`. */
void sc_changed(struct sc_controller *c, int n, u32 irq)
{
	struct sc_function *f = &c->function[n];
	u32 seen;

	WRITE_ONCE(f->memory->changes, ++f->changes);
	/* Before `seen` is read: who writes that and then looks at changes misses nothing. */
	smp_mb();
	if (!(READ_ONCE(f->memory->irq_enable) & irq))
		return;
	seen = READ_ONCE(f->memory->seen);
	if (!f->armed && seen == f->fired)
		return;
	f->armed = false;
	f->fired = seen;
	c->ops->interrupt(c, n);
}

/* As it was at first: nothing waits, nothing is to be read. A frame on the wire is on the wire. */
void sc_clear(struct sc_controller *c, int n)
{
	struct sc_function *f = &c->function[n];
	struct vfcan_memory *m = f->memory;

	sc_sync(c, n);
	f->counters.reset += f->count;
	f->counters.discarded += f->received_head - f->received_tail;
	f->started = false;
	f->listen_only = false;
	f->stuck = false;
	f->armed = true;
	f->peeked = false;
	f->changes = 0;
	f->taken = 0;
	f->known_tail = 0;
	f->done_head = 0;
	f->done_tail = 0;
	f->received_head = 0;
	f->received_tail = 0;
	f->overruns = 0;
	f->count = 0;
	f->best = -1;
	memset(m, 0, sizeof(*m));
	WRITE_ONCE(m->state, c->state);
}

/* While the function's clock is in this span, the device looks at requests by itself; 0, 0: never. */
void sc_set_quiet(struct sc_function *f, u64 from, u64 until)
{
	struct vfcan_memory *m = f->memory;

	/* Who reads the same quiet_until before and after quiet_from has read a pair. */
	WRITE_ONCE(m->quiet_until, 0);
	smp_wmb();
	WRITE_ONCE(m->quiet_from, from);
	smp_wmb();
	WRITE_ONCE(m->quiet_until, until);
}

/* It takes part from now on. */
void sc_start(struct sc_controller *c, int n, bool listen_only)
{
	c->function[n].started = true;
	c->function[n].listen_only = listen_only;
}

/* A tail as the function says it is, if it makes sense: between the last one and the head. */
static u32 tail_of(u32 said, u32 last, u32 head)
{
	return said - last <= head - last ? said : last;
}

/* What has the function read? */
void sc_sync(struct sc_controller *c, int n)
{
	struct sc_function *f = &c->function[n];
	u32 received;

	/* It has copied the entries before it said so: they can be written now. */
	received = tail_of(smp_load_acquire(&f->memory->received_tail), f->received_tail,
			   f->received_head);
	f->counters.read += received - f->received_tail;
	f->received_tail = received;
	f->done_tail = tail_of(smp_load_acquire(&f->memory->done_tail), f->done_tail, f->done_head);
}

int sc_place(const struct sc_function *f, u64 order)
{
	u32 i;

	for (i = 0; i < f->count; i++)
		if (f->waiting[i].order == order)
			return i;
	return -1;
}

/* Which frame goes first: the lowest arbitration field, of these the oldest. */
void sc_choose(struct sc_function *f)
{
	u32 i;

	f->best = -1;
	for (i = 0; i < f->count; i++) {
		const struct sc_waiting *w = &f->waiting[i], *b;

		b = f->best < 0 ? NULL : &f->waiting[f->best];
		if (!b || w->key < b->key || (w->key == b->key && w->order < b->order))
			f->best = i;
	}
}

/* Takes a frame out with its fate. */
void sc_complete(struct sc_controller *c, int n, u32 place, u32 outcome, u64 at)
{
	struct sc_function *f = &c->function[n];
	struct vfcan_done *done = &f->memory->done[f->done_head % VFCAN_RING];

	if (outcome == VFCAN_SENT)
		f->counters.sent++;
	else if (outcome == VFCAN_ABORTED)
		f->counters.aborted++;
	else
		f->counters.dropped++;
	/* There is room: a frame has its place until its confirmation is read. */
	done->ticket = f->waiting[place].ticket;
	done->end = at;
	done->outcome = outcome;
	f->waiting[place] = f->waiting[--f->count];
	sc_choose(f);
	smp_store_release(&f->memory->done_head, ++f->done_head);
	sc_changed(c, n, VFCAN_IRQ_DONE);
}

static bool matches(const struct sc_rule *rules, u32 count, u32 can_id)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!((can_id ^ rules[i].id) & rules[i].mask))
			return true;
	return false;
}

bool sc_may_send(const struct sc_function *f, u32 can_id)
{
	return matches(f->rights.send, f->rights.sends, can_id);
}

/* A frame of somebody else. */
void sc_hear(struct sc_controller *c, int n, const struct canfd_frame *frame, bool fd, u64 at)
{
	struct sc_function *f = &c->function[n];
	struct vfcan_received *to;

	if (!f->started || !matches(f->rights.receive, f->rights.receives, frame->can_id))
		return;
	f->counters.heard++;
	sc_sync(c, n);
	if (f->received_head - f->received_tail >= c->fifo) {
		f->counters.overrun++;
		WRITE_ONCE(f->memory->overruns, ++f->overruns);
		sc_changed(c, n, VFCAN_IRQ_STATE);
		return;
	}
	f->counters.received++;
	to = &f->memory->received[f->received_head % VFCAN_RING];
	to->end = at;
	to->flags = fd ? VFCAN_FRAME_FD : 0;
	memcpy(&to->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	smp_store_release(&f->memory->received_head, ++f->received_head);
	sc_changed(c, n, VFCAN_IRQ_RECEIVED);
}
