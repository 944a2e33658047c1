// SPDX-License-Identifier: GPL-2.0
/*
 * The MSCAN of the MPC5200 and what Linux's driver for it does (drivers/net/can/mscan): three
 * transmit buffers, which the chip sends in the order of a local priority; the driver gives
 * priorities so that frames leave in the order in which they came. A receive FIFO of four frames,
 * read in NAPI with the receive interrupts off.
 */
#include <linux/can/error.h>

#include "kernel.h"

#define WEIGHT 8		/* frames a poll */
#define FIFO_FRAMES 4

/* Bits of port->flags. */
#define RX_PROGRESS 0
#define TX_PROGRESS 1
#define TX_WAIT_ALL 2

#define RX_IRQS (BITCAN_RX | BITCAN_OVERRUN | BITCAN_STATE)

static unsigned int takes(const struct canfd_frame *frame, bool fd)
{
	return 1;
}

const struct bitcan_fifo bitcan_mscan_fifo = {
	.takes = takes,
	.size = FIFO_FRAMES,
};

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);
	unsigned int free, slot;

	if (bitcan_xmit_check(skb, dev))
		return NETDEV_TX_OK;
	bitcan_mask(&port->ctl, BITCAN_TX, 0);
	free = ~port->tx_active & 7;
	slot = ffs(free) - 1;
	switch (hweight8(free)) {
	case 0:
		netif_stop_queue(dev);
		netdev_err(dev, "transmit buffers full when queue awake\n");
		return NETDEV_TX_BUSY;
	case 1:
		/* The next frame could only go to a buffer that the chip prefers. */
		netif_stop_queue(dev);
		fallthrough;
	case 2:
		if (slot < port->prev_buf_id) {
			port->cur_pri++;
			if (port->cur_pri == 0xff) {
				set_bit(TX_WAIT_ALL, &port->flags);
				netif_stop_queue(dev);
			}
		}
		set_bit(TX_PROGRESS, &port->flags);
		break;
	}
	port->prev_buf_id = slot;
	port->tx_order[port->tx_count++] = slot;
	port->tx_active |= BIT(slot);
	/* The chip prefers the lower priority number, and then the lower buffer. */
	bitcan_put(port, skb, slot, (u64)port->cur_pri << 2 | slot, BITCAN_TX);
	return NETDEV_TX_OK;
}

static void transmitted(struct net_device *dev, u8 done, u8 failed)
{
	struct bitcan_port *port = netdev_priv(dev);
	u8 i, kept = 0;

	for (i = 0; i < port->tx_count; i++) {
		u8 slot = port->tx_order[i];

		if (!(done & BIT(slot))) {
			port->tx_order[kept++] = slot;
			continue;
		}
		port->tx_active &= ~BIT(slot);
		bitcan_echo(port, slot, !(failed & BIT(slot)));
	}
	port->tx_count = kept;
	if (!kept) {
		clear_bit(TX_WAIT_ALL, &port->flags);
		clear_bit(TX_PROGRESS, &port->flags);
		port->cur_pri = 0;
	}
	if (!test_bit(TX_WAIT_ALL, &port->flags))
		netif_wake_queue(dev);
}

static irqreturn_t interrupt(int irq, void *dev_id)
{
	struct net_device *dev = dev_id;
	struct bitcan_port *port = netdev_priv(dev);
	irqreturn_t ret = IRQ_NONE;
	u8 done = 0, failed = 0;

	if (READ_ONCE(port->ctl.enabled) & BITCAN_TX &&
	    bitcan_take(&port->ctl, BITCAN_TX, &done, &failed)) {
		transmitted(dev, done, failed);
		ret = IRQ_HANDLED;
	}
	if (bitcan_peek(&port->ctl) & RX_IRQS && !test_and_set_bit(RX_PROGRESS, &port->flags)) {
		bitcan_mask(&port->ctl, RX_IRQS, 0);
		napi_schedule(&port->napi);
		ret = IRQ_HANDLED;
	}
	return ret;
}

static struct sk_buff *error_frame(struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);
	struct can_frame *cf = NULL;
	enum bc_state state;
	struct sk_buff *skb;
	u16 tec, rec;
	u32 what;

	what = bitcan_take(&port->ctl, BITCAN_OVERRUN | BITCAN_STATE, NULL, NULL);
	skb = alloc_can_err_skb(dev, &cf);
	bitcan_counters(&port->ctl, &state, &tec, &rec);
	if (what & BITCAN_OVERRUN)
		bitcan_count_overrun(port, cf);
	bitcan_report_state(port, cf, state, tec, rec);
	return skb;
}

static int poll(struct napi_struct *napi, int quota)
{
	struct bitcan_port *port = container_of(napi, struct bitcan_port, napi);
	int done = 0;

	while (done < quota) {
		u32 what = bitcan_peek(&port->ctl) & RX_IRQS;
		struct sk_buff *skb;

		if (!what)
			break;
		skb = what & BITCAN_RX ? bitcan_read_frame(port) : error_frame(port->dev);
		done++;
		if (skb)
			netif_receive_skb(skb);
	}
	if (done < quota && napi_complete_done(napi, done)) {
		clear_bit(RX_PROGRESS, &port->flags);
		if (port->can.state < CAN_STATE_BUS_OFF)
			bitcan_mask(&port->ctl, 0, RX_IRQS);
	}
	return done;
}

static void setup(struct bitcan_port *port)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
	netif_napi_add_weight(port->dev, &port->napi, poll, WEIGHT);
#else
	netif_napi_add(port->dev, &port->napi, poll, WEIGHT);
#endif
}

static void teardown(struct bitcan_port *port)
{
	netif_napi_del(&port->napi);
}

/* Also after bus-off, with NAPI on. */
static void restart(struct bitcan_port *port)
{
	port->cur_pri = 0;
	port->prev_buf_id = 0;
	port->tx_active = 0;
	port->tx_count = 0;
	clear_bit(TX_WAIT_ALL, &port->flags);
	clear_bit(TX_PROGRESS, &port->flags);
}

static void open(struct bitcan_port *port)
{
	port->flags = 0;
	restart(port);
	napi_enable(&port->napi);
}

static void close(struct bitcan_port *port)
{
	napi_disable(&port->napi);
}

const struct bitcan_model bitcan_mscan = {
	.name = "mscan",
	.slots = 3,
	.ctrlmodes = CAN_CTRLMODE_LISTENONLY | CAN_CTRLMODE_ONE_SHOT | CAN_CTRLMODE_FD,
	.enabled = RX_IRQS,
	.xmit = xmit,
	.interrupt = interrupt,
	.fifo = &bitcan_mscan_fifo,
	.setup = setup,
	.teardown = teardown,
	.open = open,
	.close = close,
	.restart = restart,
};
