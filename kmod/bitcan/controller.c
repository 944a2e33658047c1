// SPDX-License-Identifier: GPL-2.0
/*
 * A controller as its driver finds it: a receive FIFO, transmit buffers, interrupts. The same for
 * drivers of network interfaces and of character devices.
 */
#include "kernel.h"

/* ---- What the bus does, under bitcan_lock ---- */

void bitcan_raise(struct bitcan_controller *c, u32 flags)
{
	c->pending |= flags;
	if (c->pending & c->enabled && c->node >= 0)
		c->bus->raised |= BIT(c->node);
}

void bitcan_receive(struct bitcan_controller *c, const struct canfd_frame *frame, bool fd)
{
	unsigned int takes = c->fifo->takes(frame, fd);
	struct bitcan_received *r;

	if (c->fifo_used + takes > c->fifo->size || c->fifo_count == BITCAN_FIFO) {
		if (c->member.kind == BITCAN_INTERFACE && bitcan_port_of(c)->joined_to) {
			bitcan_joined_receive(bitcan_port_of(c), frame, fd);
			return;
		}
		bitcan_play_overrun(c->bus, c->node, frame, fd);
		bitcan_raise(c, BITCAN_OVERRUN);
		return;
	}
	r = &c->received[(c->fifo_head + c->fifo_count++) % BITCAN_FIFO];
	r->fd = fd;
	r->takes = takes;
	memcpy(&r->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	c->fifo_used += takes;
	bitcan_raise(c, BITCAN_RX);
}

/* ---- What a driver does to its registers ---- */

/* Reads and clears these interrupts; BITCAN_RX stays while the FIFO holds a frame. */
u32 bitcan_take(struct bitcan_controller *c, u32 flags, u8 *tx_done, u8 *tx_failed)
{
	unsigned long irqflags;
	u32 taken;

	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	taken = c->pending & flags;
	c->pending &= ~taken;
	if (c->fifo_count)
		c->pending |= BITCAN_RX;
	if (taken & BITCAN_TX) {
		*tx_done = c->tx_done;
		*tx_failed = c->tx_failed;
		c->tx_done = 0;
		c->tx_failed = 0;
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
	return taken;
}

u32 bitcan_peek(struct bitcan_controller *c)
{
	return READ_ONCE(c->pending);
}

/* Turns interrupts off and on. */
void bitcan_mask(struct bitcan_controller *c, u32 off, u32 on)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	c->enabled = (c->enabled & ~off) | on;
	if (c->pending & on) {
		bitcan_raise(c, 0);
		bitcan_arm(c->bus);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
}

void bitcan_counters(struct bitcan_controller *c, enum bc_state *state, u16 *tec, u16 *rec)
{
	const struct bc_node *node;
	unsigned long irqflags;

	*state = BC_ACTIVE;
	*tec = 0;
	*rec = 0;
	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	if (c->node >= 0) {
		node = &c->bus->core.nodes[c->node];
		*state = node->state;
		*tec = min_t(u16, node->tec, 255);
		*rec = node->rec;
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
}

/* Fills a transmit buffer and requests its transmission; these interrupts are on from now. */
void bitcan_transmit(struct bitcan_controller *c, unsigned int slot,
		     const struct canfd_frame *frame, bool fd, u64 rank, u32 enable)
{
	struct bitcan_bus *bus = c->bus;
	struct bc_length length;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	c->enabled |= enable;
	if (c->node >= 0) {
		/* A controller computes nothing: what follows is not the frame's time. */
		bitcan_run_now(bus);
		if (c->pending & enable)
			bitcan_raise(c, 0);
		bc_length(frame, fd, &length);
		bc_send(&bus->core, c->node, slot, frame, fd, &length, bc_key(frame, fd), rank,
			bus->core.now, 0);
		bitcan_arm(bus);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
}

/* Before a controller goes on to its bus. */
void bitcan_reset(struct bitcan_controller *c, u32 enabled)
{
	c->pending = 0;
	c->tx_done = 0;
	c->tx_failed = 0;
	c->fifo_count = 0;
	c->fifo_used = 0;
	c->enabled = enabled;
}

/* Off the bus. Under bitcan_lock. */
void bitcan_leave(struct bitcan_controller *c)
{
	if (c->node >= 0)
		bitcan_detach(c->bus, &c->node);
}

/* After bus-off: all transmit buffers are empty, and recessive bits are counted. */
void bitcan_recover(struct bitcan_controller *c, u32 enabled)
{
	struct bitcan_bus *bus = c->bus;
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	if (c->node >= 0) {
		bitcan_run_now(bus);
		for (i = 0; i < BC_SLOTS; i++)
			bc_cancel(&bus->core, c->node, i);
		c->tx_done = 0;
		c->tx_failed = 0;
		c->pending &= BITCAN_RX;
		c->enabled = enabled;
		bc_restart(&bus->core, c->node);
		bitcan_arm(bus);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
}
