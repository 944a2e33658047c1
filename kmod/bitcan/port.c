// SPDX-License-Identifier: GPL-2.0
/* Network interfaces: what all models of controller have in common. */
#include <linux/can/skb.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>

#include "kernel.h"

LIST_HEAD(bitcan_ports);

static const struct bitcan_model *const models[] = { &bitcan_sja1000, &bitcan_mscan };

/* Fine enough for all usual bit rates to be exact. */
static const struct can_bittiming_const bittiming = {
	.name = "bitcan",
	.tseg1_min = 1,
	.tseg1_max = 256,
	.tseg2_min = 1,
	.tseg2_max = 128,
	.sjw_max = 128,
	.brp_min = 1,
	.brp_max = 1024,
	.brp_inc = 1,
};
#define CLOCK_HZ 80000000

static struct can_bittiming *data_bittiming(struct can_priv *can)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return &can->fd.data_bittiming;
#else
	return &can->data_bittiming;
#endif
}

/* ---- What drivers have in common ---- */

/* True: the frame was not for sending, and is gone. */
bool bitcan_xmit_check(struct sk_buff *skb, struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);

	/* Newer kernels look at listen-only themselves, older ones leave it to drivers. */
	if (can_dropped_invalid_skb(dev, skb))
		return true;
	if (port->can.ctrlmode & CAN_CTRLMODE_LISTENONLY ||
	    (can_is_canfd_skb(skb) && !(port->can.ctrlmode & CAN_CTRLMODE_FD))) {
		kfree_skb(skb);
		dev->stats.tx_dropped++;
		return true;
	}
	return false;
}

/* Fills a transmit buffer and requests its transmission. */
void bitcan_put(struct bitcan_port *port, struct sk_buff *skb, unsigned int slot, u64 rank,
		u32 enable)
{
	bool fd = can_is_canfd_skb(skb);
	struct canfd_frame frame;

	memcpy(&frame, skb->data, fd ? sizeof(frame) : sizeof(struct can_frame));
	if (!fd)
		frame.__res1 = 0;	/* DLC 9 to 15 only with cc-len8-dlc, which is not offered */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	can_put_echo_skb(skb, port->dev, slot, 0);
#else
	can_put_echo_skb(skb, port->dev, slot);
#endif
	bitcan_transmit(&port->ctl, slot, &frame, fd, rank, enable);
}

/* A buffer fell free: its frame was sent, or was not in one-shot mode. */
void bitcan_echo(struct bitcan_port *port, unsigned int slot, bool sent)
{
	struct net_device_stats *stats = &port->dev->stats;

	if (!sent) {
		stats->tx_errors++;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 13, 0)
		can_free_echo_skb(port->dev, slot, NULL);
#else
		can_free_echo_skb(port->dev, slot);
#endif
		return;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	stats->tx_bytes += can_get_echo_skb(port->dev, slot, NULL);
#else
	stats->tx_bytes += can_get_echo_skb(port->dev, slot);
#endif
	stats->tx_packets++;
}

/* The oldest frame in the FIFO as the stack wants it; NULL: none, or no memory. */
struct sk_buff *bitcan_read_frame(struct bitcan_port *port)
{
	struct net_device *dev = port->dev;
	struct net_device_stats *stats = &dev->stats;
	struct bitcan_received r;
	struct canfd_frame *cfd;
	struct can_frame *cf;
	struct sk_buff *skb;

	if (!bitcan_pop(&port->ctl, &r))
		return NULL;
	skb = r.fd ? alloc_canfd_skb(dev, &cfd) : alloc_can_skb(dev, &cf);
	if (!skb) {
		stats->rx_dropped++;
		return NULL;
	}
	if (r.fd) {
		cfd->can_id = r.frame.can_id;
		cfd->len = r.frame.len;
		cfd->flags |= r.frame.flags & (CANFD_BRS | CANFD_ESI);
		memcpy(cfd->data, r.frame.data, r.frame.len);
	} else {
		cf->can_id = r.frame.can_id;
		cf->can_dlc = r.frame.len;
		if (!(cf->can_id & CAN_RTR_FLAG))
			memcpy(cf->data, r.frame.data, r.frame.len);
	}
	stats->rx_packets++;
	if (!(r.frame.can_id & CAN_RTR_FLAG))
		stats->rx_bytes += r.frame.len;
	return skb;
}

void bitcan_count_overrun(struct bitcan_port *port, struct can_frame *cf)
{
	port->dev->stats.rx_over_errors++;
	port->dev->stats.rx_errors++;
	if (cf) {
		cf->can_id |= CAN_ERR_CRTL;
		cf->data[1] |= CAN_ERR_CRTL_RX_OVERFLOW;
	}
}

/* Takes over the controller's error state; bus-off stops the interface. */
void bitcan_report_state(struct bitcan_port *port, struct can_frame *cf, enum bc_state state,
			 u16 tec, u16 rec)
{
	static const enum can_state states[] = {
		[BC_ACTIVE] = CAN_STATE_ERROR_ACTIVE,
		[BC_WARNING] = CAN_STATE_ERROR_WARNING,
		[BC_PASSIVE] = CAN_STATE_ERROR_PASSIVE,
		[BC_BUS_OFF] = CAN_STATE_BUS_OFF,
	};
	enum can_state new = states[state];

	if (cf && state != BC_BUS_OFF) {
#ifdef CAN_ERR_CNT
		cf->can_id |= CAN_ERR_CNT;
#endif
		cf->data[6] = tec;
		cf->data[7] = rec;
	}
	if (new == port->can.state || port->can.state > CAN_STATE_BUS_OFF)
		return;
	can_change_state(port->dev, cf, tec >= rec ? new : 0, tec <= rec ? new : 0);
	if (new == CAN_STATE_BUS_OFF)
		can_bus_off(port->dev);
}

/* ---- The interface ---- */

static int join_bus(struct bitcan_port *port)
{
	u32 mode = port->can.ctrlmode;
	const struct bitcan_wanted wanted = {
		.name = port->dev->name,
		.nominal = port->can.bittiming.bitrate,
		.data = mode & CAN_CTRLMODE_FD ? data_bittiming(&port->can)->bitrate : 0,
		.listen_only = mode & CAN_CTRLMODE_LISTENONLY,
		.one_shot = mode & CAN_CTRLMODE_ONE_SHOT,
	};

	port->ctl.member.number = port->dev->ifindex & 0xffff;
	port->ctl.bus_errors = mode & CAN_CTRLMODE_BERR_REPORTING;
	bitcan_reset(&port->ctl, port->model->enabled);
	return bitcan_attach(port->ctl.bus, &wanted, &port->ctl.member, &port->ctl.node);
}

static void leave_bus(struct bitcan_port *port)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	if (port->ctl.node >= 0)
		port->joined_busy = false;
	bitcan_leave(&port->ctl);
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
}

static int port_open(struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);
	int err;

	err = open_candev(dev);
	if (err)
		return err;
	err = request_irq(port->ctl.member.irq, port->model->interrupt, 0, dev->name, dev);
	if (err)
		goto no_irq;
	port->can.state = CAN_STATE_ERROR_ACTIVE;
	if (port->model->open)
		port->model->open(port);
	err = join_bus(port);
	if (err)
		goto no_bus;
	netif_start_queue(dev);
	return 0;

no_bus:
	if (port->model->close)
		port->model->close(port);
	port->can.state = CAN_STATE_STOPPED;
	free_irq(port->ctl.member.irq, dev);
no_irq:
	close_candev(dev);
	return err;
}

static int port_stop(struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);

	netif_stop_queue(dev);
	leave_bus(port);
	free_irq(port->ctl.member.irq, dev);
	if (port->model->close)
		port->model->close(port);
	port->can.state = CAN_STATE_STOPPED;
	close_candev(dev);
	return 0;
}

static netdev_tx_t port_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct bitcan_port *port = netdev_priv(dev);

	return port->model->xmit(skb, dev);
}

/* After bus-off: the controller begins to count recessive bits. */
static int port_set_mode(struct net_device *dev, enum can_mode mode)
{
	struct bitcan_port *port = netdev_priv(dev);

	if (mode != CAN_MODE_START)
		return -EOPNOTSUPP;
	if (port->model->restart)
		port->model->restart(port);
	port->can.state = CAN_STATE_ERROR_ACTIVE;
	bitcan_recover(&port->ctl, port->model->enabled);
	netif_wake_queue(dev);
	return 0;
}

static int port_get_berr(const struct net_device *dev, struct can_berr_counter *bec)
{
	struct bitcan_port *port = netdev_priv(dev);
	enum bc_state state;

	bitcan_counters(&port->ctl, &state, &bec->txerr, &bec->rxerr);
	return 0;
}

static const struct net_device_ops netdev_ops = {
	.ndo_open = port_open,
	.ndo_stop = port_stop,
	.ndo_start_xmit = port_xmit,
#ifdef BITCAN_CHANGE_MTU
	.ndo_change_mtu = can_change_mtu,
#endif
};

static const struct ethtool_ops ethtool_ops = {
	.get_ts_info = ethtool_op_get_ts_info,
};

struct net *bitcan_net(void)
{
	return current->nsproxy ? current->nsproxy->net_ns : &init_net;
}

/* The interface of this name, in this namespace if there is one, else in any. */
struct bitcan_port *bitcan_find(const char *name, struct net *net)
{
	struct bitcan_port *port, *found = NULL;

	list_for_each_entry(port, &bitcan_ports, list) {
		if (strcmp(port->dev->name, name))
			continue;
		if (net_eq(dev_net(port->dev), net))
			return port;
		found = port;
	}
	return found;
}

/* Under bitcan_mutex, as is bitcan_del. */
int bitcan_add(const char *name, unsigned int number, const char *model, struct net *net)
{
	struct bitcan_bus *bus;
	struct bitcan_port *port;
	struct net_device *dev;
	int err, i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i]->name, model))
			break;
	if (!strcmp(model, "mapped"))
		return bitcan_mapped_add(name, number);
	if (!strncmp(model, "chardev-", 8))
		return bitcan_chardev_add(name, number, model + 8);
	if (i == ARRAY_SIZE(models)) {
		pr_err("bitcan: no model %s: it is sja1000, mscan, chardev-sja1000, chardev-mscan or mapped\n", model);
		return -EINVAL;
	}
	if (!dev_valid_name(name)) {
		pr_err("bitcan: %s is no name for an interface\n", name);
		return -EINVAL;
	}
	bus = bitcan_bus_get(number);
	if (!bus) {
		pr_err("bitcan: no bus %u: they go from 0 to %u\n", number, BITCAN_BUSES - 1);
		return number < BITCAN_BUSES ? -ENOMEM : -EINVAL;
	}
	dev = alloc_candev(sizeof(*port), models[i]->slots);
	if (!dev)
		return -ENOMEM;
	port = netdev_priv(dev);
	port->dev = dev;
	port->ctl.bus = bus;
	port->model = models[i];
	port->ctl.fifo = port->model->fifo;
	port->ctl.node = -1;
	port->can.clock.freq = CLOCK_HZ;
	port->can.bittiming_const = &bittiming;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	port->can.fd.data_bittiming_const = &bittiming;
#else
	port->can.data_bittiming_const = &bittiming;
#endif
	port->can.ctrlmode_supported = port->model->ctrlmodes;
	port->can.do_set_mode = port_set_mode;
	port->can.do_get_berr_counter = port_get_berr;
	dev->netdev_ops = &netdev_ops;
	dev->ethtool_ops = &ethtool_ops;
	dev->flags |= IFF_ECHO;
	dev_net_set(dev, net);
	strscpy(dev->name, name, IFNAMSIZ);
	if (port->model->setup)
		port->model->setup(port);
	port->ctl.member.irq = bitcan_irq_alloc();
	if (port->ctl.member.irq < 0) {
		err = port->ctl.member.irq;
		goto no_irq;
	}
	dev->irq = port->ctl.member.irq;
	err = register_candev(dev);
	if (err)
		goto no_dev;
	list_add_tail(&port->list, &bitcan_ports);
	return 0;

no_dev:
	bitcan_irq_free(port->ctl.member.irq);
no_irq:
	if (port->model->teardown)
		port->model->teardown(port);
	free_candev(dev);
	return err;
}

static void remove(struct bitcan_port *port)
{
	list_del(&port->list);
	unregister_candev(port->dev);
	bitcan_cut(port);
	bitcan_irq_free(port->ctl.member.irq);
	if (bitcan_model_of(port)->teardown)
		bitcan_model_of(port)->teardown(port);
	free_candev(port->dev);
}

int bitcan_del(const char *name, struct net *net)
{
	struct bitcan_port *port = bitcan_find(name, net);

	if (!port) {
		pr_err("bitcan: no interface %s here\n", name);
		return -ENODEV;
	}
	remove(port);
	return 0;
}

void bitcan_del_all(void)
{
	struct bitcan_port *port, *next;

	mutex_lock(&bitcan_mutex);
	list_for_each_entry_safe(port, next, &bitcan_ports, list)
		remove(port);
	mutex_unlock(&bitcan_mutex);
}
