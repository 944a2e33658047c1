/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the core know of each other. */
#ifndef BITCAN_CORE_INSIDE_H
#define BITCAN_CORE_INSIDE_H

#include "core.h"

static inline bool bc_competes(const struct bc_node *node)
{
	return node->present && node->best >= 0 && node->state != BC_BUS_OFF;
}

static inline bool bc_on_bus(const struct bc_node *node, u64 start)
{
	return node->present && node->state != BC_BUS_OFF && node->joined <= start;
}

static inline u64 bc_max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 bc_start_of(const struct bc_bus *bus, const struct bc_node *node)
{
	u64 t = bc_max64(bus->free_from, bus->now);

	t = bc_max64(t, node->slots[node->best].ready);
	return bc_max64(t, node->suspended_until);
}

static inline bool bc_forced_esi(const struct bc_node *node, const struct bc_slot *slot)
{
	return node->state == BC_PASSIVE && slot->fd && !(slot->frame.flags & CANFD_ESI);
}

/* nodes.c */
void bc_choose(struct bc_bus *bus, struct bc_node *node);

/* start.c */
u64 bc_next_start(const struct bc_bus *bus);
void bc_choose_senders(struct bc_bus *bus, u64 t);
bool bc_plain(const struct bc_bus *bus, struct bc_length *length);
void bc_launch(struct bc_bus *bus);
void bc_arbitrate(struct bc_bus *bus);

/* confinement.c */
void bc_update_state(struct bc_bus *bus, int n);

/* end.c */
void bc_intermission(struct bc_bus *bus, u64 at, u64 recessive_since);
void bc_end_frame(struct bc_bus *bus);
void bc_disturbed_steps(struct bc_bus *bus);

#endif
