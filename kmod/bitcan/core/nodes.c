// SPDX-License-Identifier: GPL-2.0
/*
 * Who takes part, and what each wants to send: nodes and their transmit buffers.
 */
#include "inside.h"

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
	if (bc_competes(node))
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

		if (!bc_on_bus(other, bus->start) || other->listen_only)
			continue;
		bc_rx_error(other, 1);
		bc_update_state(bus, i);
	}
	/* Six bits until it is noticed, six of flag, eight of delimiter. */
	bc_intermission(bus, bus->now + bc_time(&bus->rate, 20, 0), bus->now);
}

/* Which of a node's buffers competes has changed, perhaps. */
void bc_choose(struct bc_bus *bus, struct bc_node *node)
{
	bool had = bc_competes(node);
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
	bus->pending += bc_competes(node) - had;
	bus->planned = false;
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
	bc_choose(bus, node);
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
	bc_choose(bus, node);
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
