// SPDX-License-Identifier: GPL-2.0
/*
 * Error counters, error states, and the way back from bus-off (ISO 11898-1, fault confinement;
 * rules numbered as in Bosch's CAN specification 2.0).
 */
#include "inside.h"

#define WARNING 96
#define PASSIVE 128
#define BUS_OFF 256

/* Rule 3. */
void bc_tx_error(struct bc_node *node)
{
	node->tec = node->tec + 8 < BUS_OFF + 7 ? node->tec + 8 : BUS_OFF + 7;
}

/* Rule 1 with 1, rule 2 with 8. */
void bc_rx_error(struct bc_node *node, u16 by)
{
	node->rec = node->rec + by < 255 ? node->rec + by : 255;
}

/* Rule 7. */
void bc_sent(struct bc_node *node)
{
	if (node->tec)
		node->tec--;
}

/* Rule 8: back from error-passive to 127. */
void bc_received(struct bc_node *node)
{
	if (node->rec >= PASSIVE)
		node->rec = PASSIVE - 1;
	else if (node->rec)
		node->rec--;
}

/* Rules 9 to 11. */
enum bc_state bc_state_of(const struct bc_node *node)
{
	if (node->tec >= BUS_OFF)
		return BC_BUS_OFF;
	if (node->tec >= PASSIVE || node->rec >= PASSIVE)
		return BC_PASSIVE;
	if (node->tec >= WARNING || node->rec >= WARNING)
		return BC_WARNING;
	return BC_ACTIVE;
}

/* A node's counters have changed. */
void bc_update_state(struct bc_bus *bus, int n)
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
	if (bc_competes(node))
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

/* The way back begins: 128 runs of 11 recessive bits (rule 12). */
void bc_restart(struct bc_bus *bus, int n)
{
	struct bc_node *node = &bus->nodes[n];

	if (!node->present || node->state != BC_BUS_OFF || node->recovery != BC_WAITING)
		return;
	node->recovery = BC_COUNTING;
	node->recovery_done = 0;
	node->recovery_asked = bus->now;
	node->recovery_since = bus->phase == BC_FREE ? bus->now : BC_NEVER;
}

/* When a bus-off node takes its next step towards recovery, if the bus stays idle. */
static u64 timer(const struct bc_bus *bus, const struct bc_node *node)
{
	u32 left;

	if (!node->present || node->state != BC_BUS_OFF)
		return BC_NEVER;
	if (node->recovery == BC_WAITING)
		return node->recovery_at;
	if (node->recovery_since == BC_NEVER)
		return BC_NEVER;
	left = BC_RECOVERY_RUNS - node->recovery_done;
	return node->recovery_since + bc_time(&bus->rate, left * BC_RECOVERY_RUN, 0);
}

u64 bc_next_timer(const struct bc_bus *bus)
{
	u64 next = BC_NEVER, t;
	int i;

	if (!bus->off)
		return BC_NEVER;
	for (i = 0; i < bus->top; i++) {
		t = timer(bus, &bus->nodes[i]);
		if (t < next)
			next = t;
	}
	return next != BC_NEVER && next < bus->now ? bus->now : next;
}

void bc_recover(struct bc_bus *bus)
{
	int i;

	for (i = 0; i < bus->top; i++) {
		struct bc_node *node = &bus->nodes[i];

		if (timer(bus, node) > bus->now)
			continue;
		if (node->recovery == BC_WAITING) {
			bc_restart(bus, i);
			continue;
		}
		node->tec = 0;
		node->rec = 0;
		node->state = BC_ACTIVE;
		node->joined = bus->now;
		bus->listening |= 1u << i;
		bus->planned = false;
		bus->off--;
		if (!node->listen_only)
			bus->ackers++;
		if (!node->fd)
			bus->classic++;
		if (node->best >= 0)
			bus->pending++;
		bus->ops->state(bus, i);
	}
}

/* The bus leaves a recessive stretch. */
void bc_end_recessive(struct bc_bus *bus)
{
	int i;

	for (i = 0; i < bus->top; i++) {
		struct bc_node *node = &bus->nodes[i];
		u64 runs;

		if (!node->present || node->state != BC_BUS_OFF ||
		    node->recovery != BC_COUNTING || node->recovery_since == BC_NEVER)
			continue;
		runs = div64_u64(bc_count(&bus->rate, bus->now - node->recovery_since),
				 BC_RECOVERY_RUN) + node->recovery_done;
		node->recovery_done = runs < BC_RECOVERY_RUNS ? runs : BC_RECOVERY_RUNS;
		node->recovery_since = BC_NEVER;
	}
}

/* The bus has been recessive since this time, and is free for more. */
void bc_begin_recessive(struct bc_bus *bus, u64 from)
{
	int i;

	for (i = 0; i < bus->top; i++) {
		struct bc_node *node = &bus->nodes[i];

		if (node->present && node->state == BC_BUS_OFF && node->recovery == BC_COUNTING)
			node->recovery_since = from > node->recovery_asked ?
					       from : node->recovery_asked;
	}
}
