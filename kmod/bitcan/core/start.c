// SPDX-License-Identifier: GPL-2.0
/*
 * A start of frame: who sends, who has lost, and whether anything can go wrong with the frame.
 */
#include "inside.h"

#define NO_KEY 0xffffffffu

/* When the next frame starts, as things stand. */
u64 bc_next_start(const struct bc_bus *bus)
{
	u64 next = BC_NEVER, t;
	int i;

	if (!bus->pending || bus->phase != BC_FREE)
		return BC_NEVER;
	for (i = 0; i < bus->top; i++) {
		if (!bc_competes(&bus->nodes[i]))
			continue;
		t = bc_start_of(bus, &bus->nodes[i]);
		if (t < next)
			next = t;
	}
	return next;
}

/* The lowest arbitration field among the nodes that may send at `t`. */
void bc_choose_senders(struct bc_bus *bus, u64 t)
{
	u32 lowest = NO_KEY;
	int i;

	bus->sender_count = 0;
	for (i = 0; i < bus->top; i++) {
		const struct bc_node *node = &bus->nodes[i];
		u32 key;

		if (!bc_competes(node) || bc_start_of(bus, node) > t)
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

/*
 * The length of a frame in which nothing can go wrong: one sender, all understand it, somebody
 * acknowledges. False where something can.
 */
bool bc_plain(const struct bc_bus *bus, struct bc_length *length)
{
	const struct bc_node *node = &bus->nodes[bus->senders[0].node];
	const struct bc_slot *slot = &node->slots[node->best];

	if (bus->sender_count != 1 || bus->ackers < 2 || (slot->fd && bus->classic))
		return false;
	*length = slot->length;
	if (bc_forced_esi(node, slot)) {
		struct canfd_frame frame = slot->frame;

		frame.flags |= CANFD_ESI;
		bc_length(&frame, true, length);
	}
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

static u64 random64(u64 *seed)
{
	/* SplitMix64 */
	u64 z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
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

		if (!bc_on_bus(node, bus->start))
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
void bc_launch(struct bc_bus *bus)
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
		bus->senders[i].forced_esi = bc_forced_esi(node, slot);
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

		if (!node->one_shot || !bc_competes(node) || bc_start_of(bus, node) > bus->now)
			continue;
		for (s = 0; s < bus->sender_count; s++)
			sends |= bus->senders[s].node == i;
		if (sends)
			continue;
		node->dropped++;
		node->slots[slot].used = false;
		bc_choose(bus, node);
		bus->ops->dropped(bus, i, slot, BC_ONE_SHOT);
	}
}

/* A frame starts now. */
void bc_arbitrate(struct bc_bus *bus)
{
	struct bc_length length = {};
	struct bc_fault fault;
	bool fine, faulty = false;

	bc_choose_senders(bus, bus->now);
	if (!bus->sender_count)
		return;
	fine = bc_plain(bus, &length);
	bus->start = bus->now;
	if (bus->one_shots)
		give_up(bus);
	bc_launch(bus);
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
