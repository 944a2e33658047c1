// SPDX-License-Identifier: GPL-2.0
/* The controller: what the physical function sets, and the arbitration module between functions and bus. */
#include "shared.h"

/* Off its bus; functions are stopped and may do nothing. Their memories are set. */
void sc_init(struct sc_controller *c, const struct sc_ops *ops, u32 functions, u32 queue, u32 fifo)
{
	u32 n;

	c->ops = ops;
	c->functions = functions;
	c->queue = queue;
	c->fifo = fifo;
	c->state = VFCAN_STATE_STOPPED;
	c->node = -1;
	c->wire.function = -1;
	c->offered.function = -1;
	c->flying.function = -1;
	for (n = 0; n < functions; n++)
		sc_clear(c, n);
}

/* Frames that may not be sent any more are given up, but for one on the wire; the budget begins anew. */
void sc_set_rights(struct sc_controller *c, int n, const struct sc_rights *rights, u64 now)
{
	struct sc_function *f = &c->function[n];
	u32 place = 0;

	f->rights = *rights;
	sc_bucket_fill(&f->bucket, &rights->budget, now);
	while (place < f->count) {
		struct sc_waiting *w = &f->waiting[place];

		if (sc_may_send(f, w->frame.can_id)) {
			place++;
		} else if (c->wire.function == n && c->wire.order == w->order) {
			w->unwanted = true;
			w->outcome = VFCAN_DROPPED;
			place++;
		} else {
			sc_complete(c, n, place, VFCAN_DROPPED, now);
		}
	}
}

/* The oldest first: confirmations are in the order of the requests. */
static void drop_all(struct sc_controller *c, int n, u64 now)
{
	struct sc_function *f = &c->function[n];
	u32 i, oldest;

	while (f->count) {
		for (oldest = 0, i = 1; i < f->count; i++)
			if (f->waiting[i].order < f->waiting[oldest].order)
				oldest = i;
		sc_complete(c, n, oldest, VFCAN_DROPPED, now);
	}
}

/* How the controller takes part in its bus; all are told. When frames pass no more, all are given up. */
void sc_set_state(struct sc_controller *c, u32 state, u64 now)
{
	u32 n;

	if (c->state == state)
		return;
	c->state = state;
	for (n = 0; n < c->functions; n++) {
		WRITE_ONCE(c->function[n].memory->state, state);
		if (!sc_passes(c))
			drop_all(c, n, now);
		sc_changed(c, n, VFCAN_IRQ_STATE);
	}
	if (!sc_passes(c))
		c->wire.function = -1;
}

/* What is to be offered to the bus: the highest priority of all functions whose budgets allow it. */
struct sc_candidate sc_best(const struct sc_controller *c, u64 now)
{
	struct sc_candidate best = { .function = -1, .order = 0 };
	const struct sc_waiting *first = NULL;
	u32 n;

	if (c->wire.function >= 0 || !sc_passes(c))
		return best;
	for (n = 0; n < c->functions; n++) {
		const struct sc_function *f = &c->function[n];
		const struct sc_waiting *w;

		if (f->best < 0)
			continue;
		w = &f->waiting[f->best];
		if (first && (w->key > first->key ||
			      (w->key == first->key && w->order > first->order)))
			continue;
		if (sc_bucket_allows_at(&f->bucket, w->bits, now) > now)
			continue;
		first = w;
		best.function = n;
		best.order = w->order;
	}
	return best;
}

/* When a budget allows a frame that it does not allow now; BC_NEVER. */
u64 sc_deadline(const struct sc_controller *c, u64 now)
{
	u64 next = BC_NEVER, at;
	u32 n;

	for (n = 0; n < c->functions; n++) {
		const struct sc_function *f = &c->function[n];

		if (f->best < 0 || f->bucket.budget.unit == SC_NO_BUDGET)
			continue;
		at = sc_bucket_allows_at(&f->bucket, f->waiting[f->best].bits, now);
		if (at > now && at < next)
			next = at;
	}
	return next;
}

/* A candidate has won the arbitration, with this start of frame: its budget pays. */
void sc_on_wire(struct sc_controller *c, const struct sc_candidate *candidate, u64 now)
{
	struct sc_function *f = &c->function[candidate->function];
	int place = sc_place(f, candidate->order);

	f->counters.attempts++;
	if (place < 0)
		return;
	sc_bucket_pay(&f->bucket, f->waiting[place].bits, now);
	c->wire = *candidate;
}

/* The attempt has failed; the frame competes again, unless it was taken back. */
void sc_off_wire(struct sc_controller *c, const struct sc_candidate *candidate, u64 now)
{
	struct sc_function *f = &c->function[candidate->function];
	int place = sc_place(f, candidate->order);

	c->wire.function = -1;
	if (place >= 0 && f->waiting[place].unwanted)
		sc_complete(c, candidate->function, place, f->waiting[place].outcome, now);
}

/* It was sent and acknowledged. All other functions hear it. */
void sc_sent(struct sc_controller *c, const struct sc_candidate *candidate,
	     const struct canfd_frame *frame, bool fd, u64 end)
{
	int n, place = sc_place(&c->function[candidate->function], candidate->order);

	c->wire.function = -1;
	for (n = 0; n < (int)c->functions; n++) {
		if (n != candidate->function)
			sc_hear(c, n, frame, fd, end);
		else if (place >= 0)
			sc_complete(c, n, place, VFCAN_SENT, end);
	}
}

/* A frame of another node has ended. */
void sc_heard(struct sc_controller *c, const struct canfd_frame *frame, bool fd, u64 end)
{
	u32 n;

	for (n = 0; n < c->functions; n++)
		sc_hear(c, n, frame, fd, end);
}
