// SPDX-License-Identifier: GPL-2.0
/*
 * The bus: what happens next, and when. The order at equal times is that of crate `bus`: ends of
 * frames and errors, recoveries, what the caller sends, and last the start of a frame, which
 * happens when time passes that point and not before.
 */
#include "core.h"

#define NO_KEY 0xffffffffu
#define RECESSIVE_END 8		/* bits: acknowledge delimiter and end of frame */

void bc_init(struct bc_bus *bus, const struct bc_ops *ops, u64 now)
{
	memset(bus, 0, sizeof(*bus));
	bus->ops = ops;
	bus->now = now;
	bus->free_from = now;
}

static int lowest_bit(u32 bits)
{
	return __builtin_ctz(bits);
}

static u64 random64(u64 *seed)
{
	/* SplitMix64 */
	u64 z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool competes(const struct bc_node *node)
{
	return node->present && node->best >= 0 && node->state != BC_BUS_OFF;
}

static bool on_bus(const struct bc_node *node, u64 start)
{
	return node->present && node->state != BC_BUS_OFF && node->joined <= start;
}

/* Which of a node's buffers competes has changed, perhaps. */
static void choose(struct bc_bus *bus, struct bc_node *node)
{
	bool had = competes(node);
	int i;

	node->best = -1;
	for (i = 0; i < BC_SLOTS; i++) {
		const struct bc_slot *s = &node->slots[i], *b;

		if (!s->used)
			continue;
		b = node->best < 0 ? NULL : &node->slots[node->best];
		if (!b || s->rank < b->rank || (s->rank == b->rank && s->order < b->order))
			node->best = i;
	}
	bus->pending += competes(node) - had;
	bus->planned = false;
}

/* Takes part from the next start of frame on; -1: no place. */
int bc_attach(struct bc_bus *bus, bool listen_only, bool one_shot, bool fd, u64 restart,
	      void *owner)
{
	struct bc_node *node;
	int i;

	for (i = 0; i < BC_NODES; i++)
		if (!bus->nodes[i].present)
			break;
	if (i == BC_NODES)
		return -1;
	if (i >= bus->top)
		bus->top = i + 1;
	node = &bus->nodes[i];
	memset(node, 0, sizeof(*node));
	node->present = true;
	node->listen_only = listen_only;
	node->one_shot = one_shot;
	node->fd = fd;
	node->restart = restart;
	node->owner = owner;
	node->best = -1;
	node->joined = bus->now;
	bus->listening |= 1u << i;
	bus->planned = false;
	if (one_shot)
		bus->one_shots |= 1u << i;
	if (!listen_only)
		bus->ackers++;
	if (!fd)
		bus->classic++;
	return i;
}

static void finish(struct bc_bus *bus, u64 at, u64 recessive_since);
static void update_state(struct bc_bus *bus, int n);

/*
 * Gone, buffers and all. A frame that it is sending breaks off: the others find six recessive
 * bits, flag and wait.
 */
void bc_detach(struct bc_bus *bus, int n)
{
	struct bc_node *node = &bus->nodes[n];
	bool sends = false, others = false;
	int i;

	if (!node->present)
		return;
	bus->one_shots &= ~(1u << n);
	for (i = 0; bus->phase != BC_FREE && i < bus->sender_count; i++) {
		if (bus->senders[i].failed)
			continue;
		if (bus->senders[i].node == n)
			sends = true;
		else
			others = true;
	}
	if (competes(node))
		bus->pending--;
	if (node->state == BC_BUS_OFF) {
		bus->off--;
	} else {
		if (!node->listen_only)
			bus->ackers--;
		if (!node->fd)
			bus->classic--;
	}
	node->present = false;
	node->best = -1;
	bus->listening &= ~(1u << n);
	bus->hearing &= ~(1u << n);
	bus->planned = false;
	while (bus->top && !bus->nodes[bus->top - 1].present)
		bus->top--;
	/* Steps of the frame under way that are about this node come to nothing. */
	for (i = 0; i < bus->sender_count; i++)
		if (bus->senders[i].node == n)
			bus->senders[i--] = bus->senders[--bus->sender_count];
	if (!sends || others)
		return;
	bus->uneasy = true;
	bus->sender_count = 0;
	for (i = 0; i < bus->top; i++) {
		struct bc_node *other = &bus->nodes[i];

		if (!on_bus(other, bus->start) || other->listen_only)
			continue;
		bc_rx_error(other, 1);
		update_state(bus, i);
	}
	/* Six bits until it is noticed, six of flag, eight of delimiter. */
	finish(bus, bus->now + bc_time(&bus->rate, 20, 0), bus->now);
}

/* Puts a frame into a free buffer. `ready` may be in the future. */
void bc_send(struct bc_bus *bus, int n, int i, const struct canfd_frame *frame, bool fd,
	     const struct bc_length *length, u32 key, u64 rank, u64 ready, u64 tag)
{
	struct bc_node *node = &bus->nodes[n];
	struct bc_slot *slot = &node->slots[i];

	slot->used = true;
	slot->fd = fd;
	slot->length = *length;
	slot->key = key;
	slot->attempts = 0;
	slot->rank = rank;
	slot->order = node->order++;
	slot->ready = ready;
	slot->tag = tag;
	memcpy(&slot->frame, frame, fd ? sizeof(struct canfd_frame) : sizeof(struct can_frame));
	choose(bus, node);
}

/* Takes a frame out again, unless it is on the wire. */
bool bc_cancel(struct bc_bus *bus, int n, int slot)
{
	struct bc_node *node = &bus->nodes[n];
	int i;

	if (bus->phase != BC_FREE && node->in_flight == slot)
		for (i = 0; i < bus->sender_count; i++)
			if (bus->senders[i].node == n && !bus->senders[i].failed)
				return false;
	node->slots[slot].used = false;
	choose(bus, node);
	return true;
}

bool bc_plan_fault(struct bc_bus *bus, const struct bc_fault *fault)
{
	if (bus->fault_count == BC_FAULTS)
		return false;
	bus->faults[bus->fault_count++] = *fault;
	bus->planned = false;
	return true;
}

/* The frame as it is on the wire: an error-passive sender's ESI is recessive. */
void bc_wire_frame(const struct bc_bus *bus, int n, int slot, struct canfd_frame *frame)
{
	const struct bc_slot *s = &bus->nodes[n].slots[slot];
	int i;

	memcpy(frame, &s->frame, s->fd ? sizeof(*frame) : sizeof(struct can_frame));
	for (i = 0; i < bus->sender_count; i++)
		if (bus->senders[i].node == n && bus->senders[i].forced_esi)
			frame->flags |= CANFD_ESI;
}

static u64 max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 start_of(const struct bc_bus *bus, const struct bc_node *node)
{
	u64 t = max64(bus->free_from, bus->now);

	t = max64(t, node->slots[node->best].ready);
	return max64(t, node->suspended_until);
}

/* When the next frame starts, as things stand. */
static u64 next_start(const struct bc_bus *bus)
{
	u64 next = BC_NEVER, t;
	int i;

	if (!bus->pending || bus->phase != BC_FREE)
		return BC_NEVER;
	for (i = 0; i < bus->top; i++) {
		if (!competes(&bus->nodes[i]))
			continue;
		t = start_of(bus, &bus->nodes[i]);
		if (t < next)
			next = t;
	}
	return next;
}

/* When something other than a start of frame happens next. */
static u64 next_step(const struct bc_bus *bus)
{
	u64 next = bc_next_timer(bus), t = BC_NEVER;

	if (bus->phase == BC_FRAME)
		t = bus->end;
	else if (bus->phase == BC_DISTURBED)
		t = bus->step < bus->sim.step_count ? bus->sim.steps[bus->step].at : bus->sim.end;
	return t < next ? t : next;
}

/* The lowest arbitration field among the nodes that may send at `t`. */
static void choose_senders(struct bc_bus *bus, u64 t)
{
	u32 lowest = NO_KEY;
	int i;

	bus->sender_count = 0;
	for (i = 0; i < bus->top; i++) {
		const struct bc_node *node = &bus->nodes[i];
		u32 key;

		if (!competes(node) || start_of(bus, node) > t)
			continue;
		key = node->slots[node->best].key;
		if (key > lowest)
			continue;
		if (key < lowest) {
			lowest = key;
			bus->sender_count = 0;
		}
		bus->senders[bus->sender_count].node = i;
		bus->senders[bus->sender_count].failed = false;
		bus->senders[bus->sender_count].forced_esi = false;
		bus->sender_count++;
	}
}

static bool forced_esi(const struct bc_node *node, const struct bc_slot *slot)
{
	return node->state == BC_PASSIVE && slot->fd && !(slot->frame.flags & CANFD_ESI);
}

/*
 * The length of a frame in which nothing can go wrong: one sender, all understand it, somebody
 * acknowledges. False where something can.
 */
static bool plain(const struct bc_bus *bus, struct bc_length *length)
{
	const struct bc_node *node = &bus->nodes[bus->senders[0].node];
	const struct bc_slot *slot = &node->slots[node->best];

	if (bus->sender_count != 1 || bus->ackers < 2 || (slot->fd && bus->classic))
		return false;
	*length = slot->length;
	if (forced_esi(node, slot)) {
		struct canfd_frame frame = slot->frame;

		frame.flags |= CANFD_ESI;
		bc_length(&frame, true, length);
	}
	return true;
}

/* The fault of this start of frame, taken off the plan. */
static bool draw(struct bc_bus *bus, struct bc_fault *fault)
{
	bool found = false;
	int i, s;

	for (i = 0; i < bus->fault_count; i++) {
		const struct bc_fault *f = &bus->faults[i];
		bool now = f->node < 0 && f->start == bus->starts;

		for (s = 0; f->node >= 0 && s < bus->sender_count; s++)
			now |= f->node == bus->senders[s].node &&
			       f->start == bus->nodes[f->node].starts;
		if (!now)
			continue;
		/* One of the bus (-1) goes before one of a node. */
		if (!found || f->node < fault->node)
			*fault = *f;
		found = true;
		memmove(&bus->faults[i], &bus->faults[i + 1],
			(bus->fault_count - i - 1) * sizeof(*f));
		bus->fault_count--;
		i--;
	}
	if (!bus->fault_ppm)
		return found;
	if (random64(&bus->fault_seed) % 1000000 < bus->fault_ppm && !found) {
		fault->kind = bus->fault_kind;
		fault->bit = -1;
		fault->victim = -1;
		found = true;
	}
	return found;
}

static void simulate(struct bc_bus *bus, const struct bc_fault *fault)
{
	struct bc_sim *sim = &bus->sim;
	int i, s;

	for (i = 0; i < bus->sender_count; i++) {
		const struct bc_node *node = &bus->nodes[bus->senders[i].node];
		struct canfd_frame frame;

		bc_wire_frame(bus, bus->senders[i].node, node->in_flight, &frame);
		sim->length[i] = bc_encode(&frame, node->slots[node->in_flight].fd, sim->bits[i]);
	}
	sim->count = 0;
	for (i = 0; i < bus->top; i++) {
		const struct bc_node *node = &bus->nodes[i];
		struct bc_station *station = &sim->stations[sim->count];

		if (!on_bus(node, bus->start))
			continue;
		station->node = i;
		station->sends = -1;
		for (s = 0; s < bus->sender_count; s++)
			if (bus->senders[s].node == i)
				station->sends = s;
		station->passive = node->state == BC_PASSIVE;
		station->listen_only = node->listen_only;
		station->fd = node->fd;
		sim->count++;
	}
	sim->disturb = BC_NO_DISTURBANCE;
	if (fault)
		bc_place(sim, fault, random64(&bus->fault_seed));
	bc_simulate(sim, bus->start, &bus->rate, bus->sender_count);
	bus->phase = BC_DISTURBED;
	bus->step = 0;
}

/* What the senders put on the wire; the others hear it. */
static void launch(struct bc_bus *bus)
{
	int i;

	bus->planned = false;
	bus->starts++;
	bus->hearing = bus->listening;
	for (i = 0; i < bus->sender_count; i++) {
		struct bc_node *node = &bus->nodes[bus->senders[i].node];
		struct bc_slot *slot = &node->slots[node->best];

		bus->hearing &= ~(1u << bus->senders[i].node);
		node->in_flight = node->best;
		node->starts++;
		slot->attempts++;
		bus->senders[i].forced_esi = forced_esi(node, slot);
	}
}

/* One-shot nodes that have lost this arbitration give up their frame. */
static void give_up(struct bc_bus *bus)
{
	int i, s;

	for (i = 0; i < bus->top; i++) {
		struct bc_node *node = &bus->nodes[i];
		int slot = node->best;
		bool sends = false;

		if (!node->one_shot || !competes(node) || start_of(bus, node) > bus->now)
			continue;
		for (s = 0; s < bus->sender_count; s++)
			sends |= bus->senders[s].node == i;
		if (sends)
			continue;
		node->dropped++;
		node->slots[slot].used = false;
		choose(bus, node);
		bus->ops->dropped(bus, i, slot, BC_ONE_SHOT);
	}
}

/* A frame starts now. */
static void arbitrate(struct bc_bus *bus)
{
	struct bc_length length = {};
	struct bc_fault fault;
	bool fine, faulty = false;

	choose_senders(bus, bus->now);
	if (!bus->sender_count)
		return;
	fine = plain(bus, &length);
	bus->start = bus->now;
	if (bus->one_shots)
		give_up(bus);
	launch(bus);
	if (bus->off)
		bc_end_recessive(bus);
	if (bus->fault_count || bus->fault_ppm)
		faulty = draw(bus, &fault);
	if (fine && !faulty) {
		bus->phase = BC_FRAME;
		bus->end = bus->now + bc_time(&bus->rate, length.nominal, length.data);
	} else {
		simulate(bus, faulty ? &fault : NULL);
	}
}

/* A node's counters have changed. */
static void update_state(struct bc_bus *bus, int n)
{
	struct bc_node *node = &bus->nodes[n];
	enum bc_state state = bc_state_of(node);
	int i;

	if (state == node->state || node->state == BC_BUS_OFF)
		return;
	bus->planned = false;
	if (state != BC_BUS_OFF) {
		node->state = state;
		bus->ops->state(bus, n);
		return;
	}
	if (competes(node))
		bus->pending--;
	node->state = state;
	node->best = -1;
	bus->listening &= ~(1u << n);
	bus->hearing &= ~(1u << n);
	bus->off++;
	if (!node->listen_only)
		bus->ackers--;
	if (!node->fd)
		bus->classic--;
	node->recovery = BC_WAITING;
	node->recovery_at = node->restart == BC_NEVER ? BC_NEVER : bus->now + node->restart;
	bus->ops->state(bus, n);
	for (i = 0; i < BC_SLOTS; i++) {
		if (!node->slots[i].used)
			continue;
		node->slots[i].used = false;
		node->dropped++;
		bus->ops->dropped(bus, n, i, BC_WENT_OFF);
	}
}

/* A sender's attempt has failed. */
static void fail(struct bc_bus *bus, const struct bc_step *step)
{
	struct bc_node *node = &bus->nodes[step->node];
	int slot = node->in_flight, i;
	bool first = true;

	for (i = 0; i < bus->sender_count; i++)
		first &= !bus->senders[i].failed;
	for (i = 0; i < bus->sender_count; i++)
		if (bus->senders[i].node == step->node)
			bus->senders[i].failed = true;
	node->failed++;
	bus->ops->error(bus, step->node, slot, step, first && !bus->sim.success);
	if (node->one_shot && node->slots[slot].used) {
		node->dropped++;
		node->slots[slot].used = false;
		choose(bus, node);
		bus->ops->dropped(bus, step->node, slot, BC_ONE_SHOT);
	}
}

static void apply(struct bc_bus *bus, const struct bc_step *step)
{
	struct bc_node *node = &bus->nodes[step->node];

	if (!node->present || node->joined > bus->start)
		return;
	bus->uneasy = true;
	switch (step->what) {
	case BC_FAILED:
		fail(bus, step);
		return;
	case BC_DEAF:
		bus->hearing &= ~(1u << step->node);
		return;
	case BC_TX_ERROR:
		bc_tx_error(node);
		break;
	case BC_RX_ERROR:
		bc_rx_error(node, 1);
		break;
	case BC_RX_ERROR_FIRST:
		bc_rx_error(node, 8);
		break;
	}
	if (bus->ops->flagged && step->what != BC_RX_ERROR_FIRST)
		bus->ops->flagged(bus, step);
	update_state(bus, step->node);
}

/* Intermission begins. */
static void finish(struct bc_bus *bus, u64 at, u64 recessive_since)
{
	int i;

	bus->phase = BC_FREE;
	bus->free_from = at + bc_time(&bus->rate, BC_INTERMISSION, 0);
	for (i = 0; i < bus->sender_count; i++) {
		struct bc_node *node = &bus->nodes[bus->senders[i].node];

		if (node->state == BC_PASSIVE)
			node->suspended_until = at +
				bc_time(&bus->rate, BC_INTERMISSION + BC_SUSPEND, 0);
	}
	if (bus->off)
		bc_begin_recessive(bus, recessive_since);
}

/* Counters after a frame that was sent. */
static void count_reception(struct bc_bus *bus)
{
	bool uneasy = false;
	int i, s;

	if (!bus->uneasy && bus->sender_count == 1) {
		u32 hears;

		/* The usual case: all counters are 0, and stay so. */
		for (hears = bus->hearing; hears; hears &= hears - 1)
			bus->nodes[lowest_bit(hears)].received++;
		return;
	}
	for (i = 0; i < bus->top; i++) {
		struct bc_node *node = &bus->nodes[i];

		if (!node->present)
			continue;
		for (s = 0; s < bus->sender_count; s++)
			if (bus->senders[s].node == i)
				break;
		if (s < bus->sender_count) {
			if (!bus->senders[s].failed)
				bc_sent(node);
		} else if (bc_receives(bus, i)) {
			node->received++;
			bc_received(node);
		}
		uneasy |= node->tec || node->rec;
		update_state(bus, i);
	}
	bus->uneasy = uneasy;
}

/* The frame on the wire ends now, acknowledged. */
static void end_frame(struct bc_bus *bus)
{
	bool primary = true;
	int s;

	for (s = 0; s < bus->sender_count; s++) {
		int n = bus->senders[s].node;
		struct bc_node *node = &bus->nodes[n];

		if (bus->senders[s].failed)
			continue;
		node->sent++;
		if (node->slots[node->in_flight].used) {
			node->slots[node->in_flight].used = false;
			choose(bus, node);
			bus->ops->frame(bus, n, node->in_flight, primary);
			primary = false;
		}
	}
	count_reception(bus);
	finish(bus, bus->now,
	       bus->off ? bus->now - bc_time(&bus->rate, RECESSIVE_END, 0) : bus->now);
}

static void disturbed_steps(struct bc_bus *bus)
{
	while (bus->phase == BC_DISTURBED) {
		if (bus->step < bus->sim.step_count) {
			const struct bc_step *step = &bus->sim.steps[bus->step];

			if (step->at != bus->now)
				return;
			bus->step++;
			apply(bus, step);
		} else if (bus->sim.end != bus->now) {
			return;
		} else if (bus->sim.success) {
			end_frame(bus);
		} else {
			finish(bus, bus->now, bus->sim.recessive_since);
		}
	}
}

/* Does all that is to be done now, short of starting a frame. */
static void do_steps(struct bc_bus *bus)
{
	if (bus->phase == BC_FRAME && bus->end == bus->now)
		end_frame(bus);
	else
		disturbed_steps(bus);
	if (bus->off)
		bc_recover(bus);
}

/*
 * Lets time pass until `t`. A frame that could start exactly at `t` does not start yet, so that
 * what is sent at `t` takes part in that arbitration.
 */
void bc_run(struct bc_bus *bus, u64 t)
{
	if (bus->planned && bus->plan_end <= t) {
		/* The timer at a frame's end, and nothing came between: the usual case. */
		bus->start = bus->plan_start;
		bus->now = bus->plan_end;
		bus->phase = BC_FRAME;
		launch(bus);
		end_frame(bus);
	}
	while (!bc_idle(bus)) {
		u64 start = next_start(bus), step = next_step(bus);

		if (step <= t && step <= start) {
			bus->now = max64(bus->now, step);
			do_steps(bus);
		} else if (start < t) {
			bus->now = start;
			arbitrate(bus);
		} else {
			break;
		}
	}
	bus->now = max64(bus->now, t);
}

/*
 * The time to which the bus must run for the next thing to be reported, if nobody does anything:
 * the end of a frame that has not started yet, where it is known; BC_NEVER: nothing will happen.
 */
u64 bc_next(struct bc_bus *bus)
{
	u64 start = next_start(bus), step = next_step(bus), end;
	struct bc_length length;

	if (start == BC_NEVER)
		return step;
	if (bus->planned)
		return bus->plan_end;
	choose_senders(bus, start);
	if (bus->fault_count || bus->fault_ppm || bus->one_shots || !plain(bus, &length))
		return start + 1 < step ? start + 1 : step;
	end = start + bc_time(&bus->rate, length.nominal, length.data);
	if (end > step)
		return step;
	/* A way back from bus-off counts the time between frames: no short cut then. */
	bus->planned = !bus->off;
	bus->plan_start = start;
	bus->plan_end = end;
	return end;
}
