// SPDX-License-Identifier: GPL-2.0
/*
 * Between the controller and its bus. The best frame lies in a transmit buffer of the node, and is exchanged for
 * a better one until its start of frame. What functions have written is taken at the time at which they wrote
 * it, as far as that is known and the bus has not done later things already.
 */
#include "shared.h"

/* The bus has a node for it. */
void sc_attached(struct sc_controller *c, struct bc_bus *bus, int node, bool fd)
{
	c->bus = bus;
	c->node = node;
	c->fd = fd;
	c->offered.function = -1;
	c->flying.function = -1;
	sc_set_state(c, VFCAN_STATE_ACTIVE, bus->now);
}

/* It has none any more. */
void sc_detached(struct sc_controller *c, u64 now)
{
	c->node = -1;
	c->offered.function = -1;
	c->flying.function = -1;
	sc_set_state(c, VFCAN_STATE_STOPPED, now);
}

/* What was offered has begun. */
static void begin(struct sc_controller *c)
{
	if (c->offered.function < 0)
		return;
	sc_on_wire(c, &c->offered, c->bus->start);
	c->flying = c->offered;
	c->offered.function = -1;
}

/* Has what was offered begun meanwhile? */
static void see_start(struct sc_controller *c)
{
	const struct bc_bus *bus = c->bus;
	int i;

	if (bus->phase == BC_FREE)
		return;
	for (i = 0; i < bus->sender_count; i++)
		if (bus->senders[i].node == c->node && !bus->senders[i].failed)
			begin(c);
}

/* What competes from now on is the controller's best. */
void sc_offer(struct sc_controller *c)
{
	const struct sc_function *f;
	const struct sc_waiting *w;
	struct sc_candidate best;
	int place;

	if (c->node < 0 || c->flying.function >= 0)
		return;
	best = sc_best(c, c->bus->now);
	if (best.function == c->offered.function &&
	    (best.function < 0 || best.order == c->offered.order))
		return;
	if (c->offered.function >= 0)
		bc_cancel(c->bus, c->node, SC_SLOT);
	c->offered = best;
	if (best.function < 0)
		return;
	f = &c->function[best.function];
	place = sc_place(f, best.order);
	w = &f->waiting[place];
	bc_send(c->bus, c->node, SC_SLOT, &w->frame, w->fd, &w->length, bc_key(&w->frame, w->fd), 0,
		c->bus->now, 0);
}

/* The first thing that functions want before `now` that is not taken yet; BC_NEVER. */
static u64 next_before(struct sc_controller *c, u64 now, int *function)
{
	u64 next = sc_deadline(c, c->bus->now), at;
	int n;

	*function = -1;
	for (n = 0; n < (int)c->functions; n++) {
		at = sc_next_request(c, n, now);
		if (at >= next)
			continue;
		next = at;
		*function = n;
	}
	return next;
}

static bool budgeted(const struct sc_controller *c)
{
	u32 n;

	for (n = 0; n < c->functions; n++)
		if (c->function[n].bucket.budget.unit != SC_NO_BUDGET)
			return true;
	return false;
}

/* Lets the bus run until `now`, and does on the way what the functions have written. */
void sc_run(struct sc_controller *c, u64 now)
{
	struct bc_bus *bus = c->bus;
	bool steps = budgeted(c);
	int function;
	u32 n;

	for (n = 0; n < c->functions; n++) {
		sc_look(c, n);
		sc_sync(c, n);
	}
	for (;;) {
		u64 next = next_before(c, now, &function);

		/* An attempt pays, so that a budget's deadline can come up on the way. */
		if (steps && bc_next(bus) < (next < now ? next : now)) {
			bc_run(bus, bc_next(bus));
			see_start(c);
			continue;
		}
		if (next > now)
			break;
		if (next > bus->now)
			bc_run(bus, next);
		see_start(c);
		if (function >= 0)
			sc_take_request(c, function, bus->now);
		sc_offer(c);
	}
	bc_run(bus, now);
	see_start(c);
}

/* ---- What the bus tells ---- */

/* Its own frame has ended well. */
void sc_bus_frame(struct sc_controller *c, const struct canfd_frame *frame, bool fd)
{
	struct sc_candidate sent;

	begin(c);
	sent = c->flying;
	c->flying.function = -1;
	if (sent.function >= 0)
		sc_sent(c, &sent, frame, fd, c->bus->now);
	sc_offer(c);
}

/* Another node's frame has ended well, and the node has received it. */
void sc_bus_heard(struct sc_controller *c, const struct canfd_frame *frame, bool fd)
{
	sc_heard(c, frame, fd, c->bus->now);
}

/* The attempt has failed; the error frame ends at `end`. */
void sc_bus_error(struct sc_controller *c, u64 end)
{
	struct sc_candidate failed;

	begin(c);
	failed = c->flying;
	c->flying.function = -1;
	if (failed.function < 0)
		return;
	/* It lies in the buffer still. */
	c->offered = failed;
	sc_off_wire(c, &failed, end);
	sc_offer(c);
}

void sc_bus_state(struct sc_controller *c)
{
	static const u32 states[] = {
		[BC_ACTIVE] = VFCAN_STATE_ACTIVE,
		[BC_WARNING] = VFCAN_STATE_WARNING,
		[BC_PASSIVE] = VFCAN_STATE_PASSIVE,
		[BC_BUS_OFF] = VFCAN_STATE_BUS_OFF,
	};
	const struct bc_node *node = &c->bus->nodes[c->node];
	u32 n;

	for (n = 0; n < c->functions; n++) {
		WRITE_ONCE(c->function[n].memory->tec, node->tec);
		WRITE_ONCE(c->function[n].memory->rec, node->rec);
	}
	if (node->state == BC_BUS_OFF) {
		/* The bus empties the buffer. */
		c->offered.function = -1;
		c->flying.function = -1;
	}
	sc_set_state(c, states[node->state], c->bus->now);
	sc_offer(c);
}
