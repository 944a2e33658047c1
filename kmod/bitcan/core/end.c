// SPDX-License-Identifier: GPL-2.0
/*
 * What a frame on the wire comes to: its end, or errors and the end of their flags. Counters and
 * states of all nodes follow.
 */
#include "inside.h"

#define RECESSIVE_END 8		/* bits: acknowledge delimiter and end of frame */

static int lowest_bit(u32 bits)
{
	return __builtin_ctz(bits);
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
		bc_choose(bus, node);
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
	bc_update_state(bus, step->node);
}

/* Intermission begins. */
void bc_intermission(struct bc_bus *bus, u64 at, u64 recessive_since)
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
		bc_update_state(bus, i);
	}
	bus->uneasy = uneasy;
}

/* The frame on the wire ends now, acknowledged. */
void bc_end_frame(struct bc_bus *bus)
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
			bc_choose(bus, node);
			bus->ops->frame(bus, n, node->in_flight, primary);
			primary = false;
		}
	}
	count_reception(bus);
	bc_intermission(bus, bus->now,
	       bus->off ? bus->now - bc_time(&bus->rate, RECESSIVE_END, 0) : bus->now);
}

void bc_disturbed_steps(struct bc_bus *bus)
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
			bc_end_frame(bus);
		} else {
			bc_intermission(bus, bus->now, bus->sim.recessive_since);
		}
	}
}
