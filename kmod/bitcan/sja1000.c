// SPDX-License-Identifier: GPL-2.0
/*
 * The SJA1000 and what Linux's driver for it does (drivers/net/can/sja1000): one transmit buffer;
 * a receive FIFO of 64 bytes, read in the interrupt; frames handed to netif_rx.
 */
#include <linux/can/error.h>

#include "kernel.h"

#define MAX_IRQ 20		/* rounds of one interrupt, as the driver has it */
#define FIFO_BYTES 64

/* Frame information, two or four bytes of identifier, data. The chip knows no FD: see README. */
static unsigned int takes(const struct canfd_frame *frame, bool fd)
{
	unsigned int header = frame->can_id & CAN_EFF_FLAG ? 5 : 3;

	if (!fd && frame->can_id & CAN_RTR_FLAG)
		return header;
	return header + min_t(unsigned int, frame->len, 8);
}

const struct bitcan_fifo bitcan_sja1000_fifo = {
	.takes = takes,
	.size = FIFO_BYTES,
};

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *dev)
{
	if (bitcan_xmit_check(skb, dev))
		return NETDEV_TX_OK;
	netif_stop_queue(dev);
	bitcan_put(netdev_priv(dev), skb, 0, 0, 0);
	return NETDEV_TX_OK;
}

static void report_bus_error(struct bitcan_port *port, struct can_frame *cf)
{
	port->can.can_stats.bus_error++;
	if (port->ctl.error_tx)
		port->dev->stats.tx_errors++;
	else
		port->dev->stats.rx_errors++;
	if (!cf)
		return;
	cf->can_id |= CAN_ERR_PROT | CAN_ERR_BUSERROR;
	switch (port->ctl.error.kind) {
	case BC_BIT_ERROR:
		cf->data[2] = CAN_ERR_PROT_BIT;
		break;
	case BC_FORM_ERROR:
		cf->data[2] = CAN_ERR_PROT_FORM;
		break;
	case BC_STUFF_ERROR:
		cf->data[2] = CAN_ERR_PROT_STUFF;
		break;
	case BC_CRC_ERROR:
		cf->data[3] = CAN_ERR_PROT_LOC_CRC_SEQ;
		break;
	case BC_ACK_ERROR:
		cf->can_id |= CAN_ERR_ACK;
		cf->data[3] = CAN_ERR_PROT_LOC_ACK;
		break;
	}
	if (port->ctl.error_tx)
		cf->data[2] |= CAN_ERR_PROT_TX;
}

static void report(struct net_device *dev, u32 isrc)
{
	struct bitcan_port *port = netdev_priv(dev);
	struct can_frame *cf = NULL;
	enum bc_state state;
	struct sk_buff *skb;
	u16 tec, rec;

	skb = alloc_can_err_skb(dev, &cf);
	bitcan_counters(&port->ctl, &state, &tec, &rec);
	if (isrc & BITCAN_OVERRUN)
		bitcan_count_overrun(port, cf);
	if (isrc & BITCAN_ERROR)
		report_bus_error(port, cf);
	bitcan_report_state(port, cf, state, tec, rec);
	if (skb)
		netif_rx(skb);
}

static irqreturn_t interrupt(int irq, void *dev_id)
{
	struct net_device *dev = dev_id;
	struct bitcan_port *port = netdev_priv(dev);
	u8 done = 0, failed = 0;
	struct sk_buff *skb;
	int n = 0;
	u32 isrc;

	while (n < MAX_IRQ) {
		isrc = bitcan_take(&port->ctl, BITCAN_ALL, &done, &failed);
		if (!isrc)
			break;
		n++;
		if (isrc & BITCAN_TX) {
			bitcan_echo(port, 0, !failed);
			netif_wake_queue(dev);
		}
		if (isrc & BITCAN_RX) {
			while (READ_ONCE(port->ctl.fifo_count)) {
				skb = bitcan_read_frame(port);
				if (skb)
					netif_rx(skb);
			}
		}
		if (isrc & (BITCAN_OVERRUN | BITCAN_STATE | BITCAN_ERROR))
			report(dev, isrc);
	}
	/* A level-triggered line that is still up brings the next interrupt. */
	if (n == MAX_IRQ)
		bitcan_mask(&port->ctl, 0, BITCAN_ALL);
	return n ? IRQ_HANDLED : IRQ_NONE;
}

const struct bitcan_model bitcan_sja1000 = {
	.name = "sja1000",
	.slots = 1,
	.ctrlmodes = CAN_CTRLMODE_LISTENONLY | CAN_CTRLMODE_ONE_SHOT |
		     CAN_CTRLMODE_BERR_REPORTING | CAN_CTRLMODE_FD,
	.enabled = BITCAN_ALL,
	.xmit = xmit,
	.interrupt = interrupt,
	.fifo = &bitcan_sja1000_fifo,
};
