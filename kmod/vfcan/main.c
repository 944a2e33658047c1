// SPDX-License-Identifier: GPL-2.0
/*
 * vfcan.ko: a CAN interface for each virtual function of a controller that shares itself. Bit rate, error states
 * and the way back from bus-off are the physical function's; this interface is told.
 */
#include <linux/can/dev.h>
#include <linux/can/skb.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>

#include "device.h"

struct vfcan {
	struct can_priv can;	/* must come first */
	struct net_device *dev;
	struct napi_struct napi;
	struct vfcan_device device;
	int irq;
	u32 overruns;
	spinlock_t lock;	/* requests and their fates */
};

static void free_echo(struct vfcan *v, u32 ticket)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 13, 0)
	can_free_echo_skb(v->dev, ticket, NULL);
#else
	can_free_echo_skb(v->dev, ticket);
#endif
}

/* Local listeners hear a frame when it was on the bus. */
static void finish(struct vfcan *v, const struct vfcan_fate *fate)
{
	struct net_device_stats *stats = &v->dev->stats;

	if (fate->outcome == VFCAN_SENT) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
		stats->tx_bytes += can_get_echo_skb(v->dev, fate->ticket, NULL);
#else
		stats->tx_bytes += can_get_echo_skb(v->dev, fate->ticket);
#endif
		stats->tx_packets++;
		return;
	}
	free_echo(v, fate->ticket);
	stats->tx_errors++;
	if (fate->outcome < VFCAN_RING)
		stats->tx_aborted_errors++;
	else
		stats->tx_dropped++;
}

static void reap(struct vfcan *v)
{
	struct vfcan_fate fate;

	spin_lock(&v->lock);
	while (vfcan_fate(&v->device, &fate))
		finish(v, &fate);
	if (netif_queue_stopped(v->dev) && vfcan_ticket(&v->device) >= 0)
		netif_wake_queue(v->dev);
	spin_unlock(&v->lock);
}

static bool receive(struct vfcan *v)
{
	struct net_device_stats *stats = &v->dev->stats;
	struct canfd_frame frame, *cfd;
	struct can_frame *cf;
	unsigned int data;
	struct sk_buff *skb;
	bool fd;
	u64 end;

	if (!vfcan_receive(&v->device, &frame, &fd, &end))
		return false;
	data = frame.can_id & CAN_RTR_FLAG ? 0 : frame.len;
	skb = fd ? alloc_canfd_skb(v->dev, &cfd) : alloc_can_skb(v->dev, &cf);
	if (!skb) {
		stats->rx_dropped++;
		return true;
	}
	if (fd) {
		cfd->can_id = frame.can_id;
		cfd->len = frame.len;
		cfd->flags |= frame.flags & (CANFD_BRS | CANFD_ESI);
		memcpy(cfd->data, frame.data, data);
	} else {
		cf->can_id = frame.can_id;
		cf->can_dlc = frame.len;
		memcpy(cf->data, frame.data, data);
	}
	/* The device's clock; VFCAN_REG_TIME relates it to another one. */
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(end);
	stats->rx_packets++;
	stats->rx_bytes += data;
	netif_receive_skb(skb);
	return true;
}

static void count_overruns(struct vfcan *v)
{
	u32 overruns = READ_ONCE(v->device.memory->overruns);

	v->dev->stats.rx_over_errors += overruns - v->overruns;
	v->dev->stats.rx_errors += overruns - v->overruns;
	v->overruns = overruns;
}

/* Takes over the controller's state. */
static void take_state(struct vfcan *v)
{
	static const enum can_state states[] = {
		[VFCAN_STATE_STOPPED] = CAN_STATE_STOPPED,
		[VFCAN_STATE_ACTIVE] = CAN_STATE_ERROR_ACTIVE,
		[VFCAN_STATE_WARNING] = CAN_STATE_ERROR_WARNING,
		[VFCAN_STATE_PASSIVE] = CAN_STATE_ERROR_PASSIVE,
		[VFCAN_STATE_BUS_OFF] = CAN_STATE_BUS_OFF,
	};
	struct vfcan_memory *m = v->device.memory;
	u32 said = READ_ONCE(m->state), tec = READ_ONCE(m->tec), rec = READ_ONCE(m->rec);
	enum can_state new = said < ARRAY_SIZE(states) ? states[said] : CAN_STATE_STOPPED;
	struct can_frame *cf = NULL;
	struct sk_buff *skb;

	if (new == v->can.state)
		return;
	if (new == CAN_STATE_STOPPED || v->can.state >= CAN_STATE_BUS_OFF) {
		/* On or off the bus: nothing that an error frame could say. */
		v->can.state = new;
	} else {
		skb = alloc_can_err_skb(v->dev, &cf);
		can_change_state(v->dev, cf, tec >= rec ? new : 0, tec <= rec ? new : 0);
		if (skb) {
			cf->data[6] = min_t(u32, tec, 255);
			cf->data[7] = min_t(u32, rec, 255);
			netif_receive_skb(skb);
		}
	}
	if (new >= CAN_STATE_BUS_OFF)
		netif_carrier_off(v->dev);
	else
		netif_carrier_on(v->dev);
}

static int poll(struct napi_struct *napi, int budget)
{
	struct vfcan *v = container_of(napi, struct vfcan, napi);
	int done = 0;

	vfcan_look(&v->device);
	take_state(v);
	reap(v);
	count_overruns(v);
	while (done < budget && receive(v))
		done++;
	if (done < budget && napi_complete_done(napi, done) && vfcan_seen(&v->device))
		napi_schedule(napi);
	return done;
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct vfcan *v = data;

	/* The device sends no other one until vfcan_seen(). */
	napi_schedule(&v->napi);
	return IRQ_HANDLED;
}

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct vfcan *v = netdev_priv(dev);
	bool fd = can_is_canfd_skb(skb), full;
	struct canfd_frame frame = { 0 };
	int ticket;

	if (can_dropped_invalid_skb(dev, skb))
		return NETDEV_TX_OK;
	memcpy(&frame, skb->data, fd ? sizeof(frame) : sizeof(struct can_frame));
	spin_lock(&v->lock);
	ticket = vfcan_ticket(&v->device);
	if (ticket < 0) {
		/* The queue is stopped before this happens. */
		netif_stop_queue(dev);
		spin_unlock(&v->lock);
		return NETDEV_TX_BUSY;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	can_put_echo_skb(skb, dev, ticket, 0);
#else
	can_put_echo_skb(skb, dev, ticket);
#endif
	full = hweight64(v->device.busy) + 1 >= v->device.queue;
	if (full)
		netif_stop_queue(dev);
	vfcan_request(&v->device, ticket, &frame, fd, full || !netdev_xmit_more());
	spin_unlock(&v->lock);
	return NETDEV_TX_OK;
}

static int open(struct net_device *dev)
{
	struct vfcan *v = netdev_priv(dev);
	int err;

	v->can.bittiming.bitrate = ioread32(v->device.registers + VFCAN_REG_BITRATE);
	v->can.state = CAN_STATE_STOPPED;
	v->overruns = 0;
	netif_carrier_off(dev);
	napi_enable(&v->napi);
	err = request_irq(v->irq, interrupt, 0, dev->name, v);
	if (err) {
		napi_disable(&v->napi);
		return err;
	}
	vfcan_device_start(&v->device, v->can.ctrlmode & CAN_CTRLMODE_LISTENONLY);
	netif_start_queue(dev);
	/* What the state is; and interrupts are on from the first `seen`. */
	local_bh_disable();
	napi_schedule(&v->napi);
	local_bh_enable();
	return 0;
}

static int stop(struct net_device *dev)
{
	struct vfcan *v = netdev_priv(dev);

	netif_stop_queue(dev);
	free_irq(v->irq, v);
	napi_disable(&v->napi);
	vfcan_device_stop(&v->device);
	netif_carrier_off(dev);
	v->can.state = CAN_STATE_STOPPED;
	/* What was under way is given up by the reset. */
	close_candev(dev);
	return 0;
}

/* The way back from bus-off is the physical function's. */
static int set_mode(struct net_device *dev, enum can_mode mode)
{
	return -EOPNOTSUPP;
}

static int get_counters(const struct net_device *dev, struct can_berr_counter *counter)
{
	const struct vfcan *v = netdev_priv(dev);

	counter->txerr = READ_ONCE(v->device.memory->tec);
	counter->rxerr = READ_ONCE(v->device.memory->rec);
	return 0;
}

static const struct net_device_ops ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = xmit,
};

static int map(struct vfcan *v, struct pci_dev *pdev)
{
	struct vfcan_device *d = &v->device;

	d->registers = pcim_iomap(pdev, VFCAN_REGISTERS_BAR, 0);
	if (!d->registers || pci_resource_len(pdev, VFCAN_MEMORY_BAR) < sizeof(*d->memory))
		return -ENODEV;
	/* Memory without side effects. */
	d->memory = devm_memremap(&pdev->dev, pci_resource_start(pdev, VFCAN_MEMORY_BAR),
				  VFCAN_MEMORY_SIZE, MEMREMAP_WB);
	if (IS_ERR(d->memory))
		return PTR_ERR(d->memory);
	if (ioread32(d->registers + VFCAN_REG_MAGIC) != VFCAN_MAGIC ||
	    ioread32(d->registers + VFCAN_REG_VERSION) != VFCAN_VERSION) {
		dev_err(&pdev->dev, "not a virtual function of version %u\n", VFCAN_VERSION);
		return -ENODEV;
	}
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *dev;
	struct vfcan *v;
	u32 features;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	dev = alloc_candev(sizeof(struct vfcan), VFCAN_RING);
	if (!dev)
		return -ENOMEM;
	v = netdev_priv(dev);
	v->dev = dev;
	spin_lock_init(&v->lock);
	err = map(v, pdev);
	if (err)
		goto no_interrupt;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (err < 0)
		goto no_interrupt;
	v->irq = pci_irq_vector(pdev, 0);
	features = ioread32(v->device.registers + VFCAN_REG_FEATURES);
	dev->netdev_ops = &ops;
	dev->flags |= IFF_ECHO;
	v->can.do_set_mode = set_mode;
	v->can.do_get_berr_counter = get_counters;
	v->can.ctrlmode_supported = CAN_CTRLMODE_LISTENONLY;
	if (features & VFCAN_FEATURE_FD) {
		dev->mtu = CANFD_MTU;
		v->can.ctrlmode = CAN_CTRLMODE_FD;
		v->can.ctrlmode_supported |= CAN_CTRLMODE_FD;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	netif_napi_add(dev, &v->napi, poll);
#else
	netif_napi_add(dev, &v->napi, poll, NAPI_POLL_WEIGHT);
#endif
	SET_NETDEV_DEV(dev, &pdev->dev);
	pci_set_drvdata(pdev, v);
	err = register_candev(dev);
	if (err)
		goto no_interface;
	return 0;

no_interface:
	netif_napi_del(&v->napi);
	pci_free_irq_vectors(pdev);
no_interrupt:
	free_candev(dev);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct vfcan *v = pci_get_drvdata(pdev);

	unregister_candev(v->dev);
	dev_info(&pdev->dev, "doorbells rung: %llu, not needed: %llu\n", v->device.rings,
		 v->device.quiet);
	netif_napi_del(&v->napi);
	pci_free_irq_vectors(pdev);
	free_candev(v->dev);
}

static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(VFCAN_PCI_VENDOR, VFCAN_PCI_DEVICE) },
	{},
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver vfcan_driver = {
	.name = "vfcan",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};
module_pci_driver(vfcan_driver);
MODULE_DESCRIPTION("CAN interfaces of virtual functions of a controller that shares itself");
MODULE_LICENSE("GPL");
