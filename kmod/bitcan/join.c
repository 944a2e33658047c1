// SPDX-License-Identifier: GPL-2.0
/*
 * A gateway without software: what one controller receives goes straight into a transmit buffer of
 * another one. No interrupt handler, no driver, no socket buffer; two copies, into the FIFO and into
 * the transmit buffer, as with every controller here. What is left is what this module itself costs,
 * so that a gateway's own share of a latency can be told.
 *
 * As with every controller here, a frame is in the FIFO when the bus's timer has run, and in the
 * transmit buffer when the CPU has put it there. Only while the outgoing controller is busy does the
 * next frame follow in bus time, as from a second transmit buffer.
 */
#include <linux/rtnetlink.h>

#include "kernel.h"

/* The oldest frame of the FIFO into the transmit buffer, ready at the outgoing bus's time. */
static void put_next(struct bitcan_port *to)
{
	struct bitcan_port *from = to->joined_from;
	struct bitcan_bus *bus = to->ctl.bus;
	const struct bitcan_received *r;
	struct bc_length length;

	if (to->joined_busy || !from || !from->ctl.fifo_count || to->ctl.node < 0)
		return;
	r = &from->ctl.received[from->ctl.fifo_head];
	bc_length(&r->frame, r->fd, &length);
	bc_send(&bus->core, to->ctl.node, 0, &r->frame, r->fd, &length, bc_key(&r->frame, r->fd), 0,
		bus->core.now, 0);
	from->ctl.fifo_head = (from->ctl.fifo_head + 1) % BITCAN_FIFO;
	from->ctl.fifo_count--;
	to->joined_busy = true;
}

/* A frame has ended on the incoming bus. */
void bitcan_joined_receive(struct bitcan_port *port, const struct canfd_frame *frame, bool fd)
{
	struct bitcan_received *r;

	if (port->ctl.fifo_count == BITCAN_FIFO) {
		port->dev->stats.rx_over_errors++;
		bitcan_play_overrun(port->ctl.bus, port->ctl.node, frame, fd);
		return;
	}
	r = &port->ctl.received[(port->ctl.fifo_head + port->ctl.fifo_count++) % BITCAN_FIFO];
	r->fd = fd;
	memcpy(&r->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	port->dev->stats.rx_packets++;
	port->ctl.bus->raised |= BIT(port->ctl.node);
}

/* In place of the interrupt: the timer of the incoming bus. */
void bitcan_joined_move(struct bitcan_port *port)
{
	struct bitcan_port *to = port->joined_to;

	bitcan_run_now(to->ctl.bus);
	put_next(to);
	bitcan_arm(to->ctl.bus);
}

/* The transmit buffer fell free, at the outgoing bus's time. */
void bitcan_joined_sent(struct bitcan_port *port, bool sent)
{
	if (sent)
		port->dev->stats.tx_packets++;
	else
		port->dev->stats.tx_errors++;
	port->joined_busy = false;
	put_next(port);
}

/* ---- The model of a joined controller: nothing of it is Linux's ---- */

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev->stats.tx_dropped++;
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static irqreturn_t no_interrupt(int irq, void *dev_id)
{
	return IRQ_NONE;
}

static unsigned int takes(const struct canfd_frame *frame, bool fd)
{
	return 1;
}

static const struct bitcan_fifo no_room = { .takes = takes };

/* Its FIFO has no room, so that other controllers' receptions need no further question. */
static const struct bitcan_model joined = {
	.name = "joined",
	.slots = 1,
	.xmit = drop,
	.interrupt = no_interrupt,
	.fifo = &no_room,
};

/* ---- Joining, under bitcan_mutex ---- */

int bitcan_join(struct bitcan_port *from, struct bitcan_port *to)
{
	unsigned long flags;

	if (from->ctl.bus == to->ctl.bus || from->model == &joined || to->model == &joined) {
		pr_err("bitcan: join: %s and %s must be on two buses, and not joined yet\n",
		       from->dev->name, to->dev->name);
		return -EINVAL;
	}
	/*
	 * While an interface is up, its driver has frames in the same buffers. It comes up and goes
	 * down under the lock of rtnetlink.
	 */
	rtnl_lock();
	if (netif_running(from->dev) || netif_running(to->dev)) {
		rtnl_unlock();
		pr_err("bitcan: join: set %s and %s down first\n", from->dev->name, to->dev->name);
		return -EBUSY;
	}
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	from->joined_to = to;
	to->joined_from = from;
	from->own_model = from->model;
	from->model = &joined;
	from->ctl.fifo = joined.fifo;
	to->own_model = to->model;
	to->model = &joined;
	to->ctl.fifo = joined.fifo;
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	rtnl_unlock();
	return 0;
}

/* Nothing passes any more; both stay silent until they are parted. */
void bitcan_cut(struct bitcan_port *port)
{
	struct bitcan_port *from = port->joined_to ? port : port->joined_from;
	unsigned long flags;

	if (!from)
		return;
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	from->ctl.fifo_count = 0;
	from->joined_to->joined_from = NULL;
	from->joined_to = NULL;
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
}

/* An ordinary controller again; so is the other end. */
int bitcan_part(struct bitcan_port *port)
{
	struct bitcan_port *ends[] = {
		port, port->joined_to ? port->joined_to : port->joined_from
	};
	int i;

	if (port->model != &joined) {
		pr_err("bitcan: part: %s is not joined\n", port->dev->name);
		return -EINVAL;
	}
	rtnl_lock();
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends[i] && netif_running(ends[i]->dev)) {
			rtnl_unlock();
			pr_err("bitcan: part: set %s down first\n", ends[i]->dev->name);
			return -EBUSY;
		}
	}
	bitcan_cut(port);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!ends[i])
			continue;
		ends[i]->model = ends[i]->own_model;
		ends[i]->ctl.fifo = ends[i]->model->fifo;
	}
	rtnl_unlock();
	return 0;
}

/* For what an interface was made as. */
const struct bitcan_model *bitcan_model_of(const struct bitcan_port *port)
{
	return port->model == &joined ? port->own_model : port->model;
}
