// SPDX-License-Identifier: GPL-2.0
/* shmcan.ko: a CAN interface for each memory that this machine shares with another one. */
#include <linux/can/dev.h>
#include <linux/can/skb.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "ring.h"
#include "shmcan.h"

struct shmcan {
	struct can_priv can;	/* must come first */
	struct net_device *dev;
	struct pci_dev *pdev;
	struct napi_struct napi;
	struct delayed_work beat;
	void *memory;
	size_t size;
	void __iomem *registers;
	unsigned int mine;
	int irq;
	spinlock_t lock;	/* rings */
	bool open;
	struct shmcan_rings rings;
	u64 sent, lost, malformed, broken;	/* of rings, as told to the interface's counters */
};

static void ring_other(struct shmcan *s)
{
	iowrite32((u32)!s->mine << 16, s->registers + SHMCAN_DOORBELL);
}

/* Tells the interface what became of frames, and whether frames pass; under the lock. */
static void account(struct shmcan *s)
{
	struct net_device_stats *stats = &s->dev->stats;
	struct shmcan_rings *r = &s->rings;

	stats->tx_packets += r->sent - s->sent;
	stats->tx_errors += r->lost - s->lost;
	stats->tx_aborted_errors += r->lost - s->lost;
	stats->rx_errors += r->malformed - s->malformed + r->broken - s->broken;
	stats->rx_frame_errors += r->malformed - s->malformed;
	s->sent = r->sent;
	s->lost = r->lost;
	s->malformed = r->malformed;
	s->broken = r->broken;
	if (shmcan_link(r) != SHMCAN_UP) {
		netif_carrier_off(s->dev);
		return;
	}
	netif_carrier_on(s->dev);
	if (netif_queue_stopped(s->dev) && shmcan_room(r))
		netif_wake_queue(s->dev);
}

static struct sk_buff *skb_of(struct shmcan *s, const struct shmcan_frame *f)
{
	struct net_device_stats *stats = &s->dev->stats;
	unsigned int data = f->id & CAN_RTR_FLAG ? 0 : f->len;
	struct canfd_frame *cfd;
	struct can_frame *cf;
	struct sk_buff *skb;

	skb = f->fd ? alloc_canfd_skb(s->dev, &cfd) : alloc_can_skb(s->dev, &cf);
	if (!skb) {
		stats->rx_dropped++;
		return NULL;
	}
	if (f->fd) {
		cfd->can_id = f->id;
		cfd->len = f->len;
		cfd->flags |= f->flags;
		memcpy(cfd->data, f->data, data);
	} else {
		cf->can_id = f->id;
		cf->can_dlc = f->len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
		cf->len8_dlc = f->len8_dlc;
#endif
		memcpy(cf->data, f->data, data);
	}
	stats->rx_packets++;
	stats->rx_bytes += data;
	return skb;
}

static int poll(struct napi_struct *napi, int budget)
{
	struct shmcan *s = container_of(napi, struct shmcan, napi);
	struct shmcan_frame frame;
	struct sk_buff *skb;
	bool ring = false, more;
	int done = 0, got;

	spin_lock(&s->lock);
	/* A side that has just come may not know of this one yet. */
	if (shmcan_look(&s->rings, ktime_get_ns()))
		ring = true;
	while (done < budget) {
		got = shmcan_receive(&s->rings, &frame);
		if (!got)
			break;
		done++;
		if (got < 0)
			continue;
		skb = skb_of(s, &frame);
		if (!skb)
			continue;
		spin_unlock(&s->lock);
		netif_receive_skb(skb);
		spin_lock(&s->lock);
	}
	if (shmcan_release(&s->rings))
		ring = true;
	account(s);
	spin_unlock(&s->lock);
	if (ring)
		ring_other(s);
	if (done == budget)
		return done;
	if (napi_complete_done(napi, done)) {
		spin_lock(&s->lock);
		/* Below half of it, whoever waits for room is told. */
		more = shmcan_arm(&s->rings, shmcan_room(&s->rings) < s->rings.slots / 2);
		spin_unlock(&s->lock);
		if (more)
			napi_schedule(napi);
	}
	return done;
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct shmcan *s = data;

	napi_schedule(&s->napi);
	return IRQ_HANDLED;
}

/* Says that this machine is there, and looks whether the other one is. */
static void beat(struct work_struct *work)
{
	struct shmcan *s = container_of(to_delayed_work(work), struct shmcan, beat);

	local_bh_disable();
	napi_schedule(&s->napi);
	local_bh_enable();
	schedule_delayed_work(&s->beat, nsecs_to_jiffies(SHMCAN_BEAT));
}

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct shmcan *s = netdev_priv(dev);
	struct canfd_frame *cfd = (struct canfd_frame *)skb->data;
	bool fd = can_is_canfd_skb(skb), ring;
	struct shmcan_frame frame;
	enum shmcan_sent sent;

	if (can_dropped_invalid_skb(dev, skb))
		return NETDEV_TX_OK;
	memset(&frame, 0, sizeof(frame));
	frame.id = cfd->can_id;
	frame.len = cfd->len;
	frame.fd = fd;
	if (fd)
		frame.flags = cfd->flags & (CANFD_BRS | CANFD_ESI);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	else if (frame.len == CAN_MAX_DLEN)
		frame.len8_dlc = ((struct can_frame *)skb->data)->len8_dlc;
	if (frame.len8_dlc <= CAN_MAX_DLEN || frame.len8_dlc > 15)
		frame.len8_dlc = 0;
#endif
	if (!(frame.id & CAN_RTR_FLAG))
		memcpy(frame.data, cfd->data, frame.len);

	spin_lock(&s->lock);
	sent = shmcan_send(&s->rings, &frame);
	if (sent == SHMCAN_FULL) {
		/* The queue is stopped before this happens. */
		netif_stop_queue(dev);
		spin_unlock(&s->lock);
		return NETDEV_TX_BUSY;
	}
	ring = shmcan_publish(&s->rings);
	if (sent == SHMCAN_OK) {
		dev->stats.tx_bytes += frame.id & CAN_RTR_FLAG ? 0 : frame.len;
		if (!shmcan_room(&s->rings)) {
			shmcan_progress(&s->rings);
			if (!shmcan_room(&s->rings)) {
				netif_stop_queue(dev);
				/* Whoever reads rings; perhaps it has just read. */
				if (shmcan_arm(&s->rings, true))
					napi_schedule(&s->napi);
			}
		}
	} else {
		dev->stats.tx_dropped++;
	}
	spin_unlock(&s->lock);
	if (ring)
		ring_other(s);
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static int open(struct net_device *dev)
{
	struct shmcan *s = netdev_priv(dev);
	struct shmcan_rings *r = &s->rings;
	u32 life;
	int err;

	get_random_bytes(&life, sizeof(life));
	memset(r, 0, sizeof(*r));
	if (!shmcan_begin(r, s->memory, s->size, s->mine, life, ktime_get_ns()))
		return -ENOSPC;
	s->sent = s->lost = s->malformed = s->broken = 0;
	netif_carrier_off(dev);
	napi_enable(&s->napi);
	err = request_irq(s->irq, interrupt, 0, dev->name, s);
	if (err) {
		napi_disable(&s->napi);
		shmcan_leave(r);
		return err;
	}
	netif_start_queue(dev);
	s->can.state = CAN_STATE_ERROR_ACTIVE;
	ring_other(s);
	/* Looks at once, and from time to time. */
	schedule_delayed_work(&s->beat, 0);
	return 0;
}

static int stop(struct net_device *dev)
{
	struct shmcan *s = netdev_priv(dev);
	bool ring;

	netif_stop_queue(dev);
	cancel_delayed_work_sync(&s->beat);
	free_irq(s->irq, s);
	napi_disable(&s->napi);
	s->can.state = CAN_STATE_STOPPED;
	/* xmit does not run any more: the queue is dead. */
	spin_lock_bh(&s->lock);
	shmcan_progress(&s->rings);
	s->rings.lost += shmcan_held(&s->rings);
	s->rings.written = s->rings.passed;
	account(s);
	ring = shmcan_leave(&s->rings);
	spin_unlock_bh(&s->lock);
	netif_carrier_off(dev);
	if (ring)
		ring_other(s);
	return 0;
}

static const struct net_device_ops ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = xmit,
};

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *dev;
	struct shmcan *s;
	u32 position;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = pci_request_regions(pdev, KBUILD_MODNAME);
	if (err)
		return err;
	dev = alloc_candev(sizeof(struct shmcan), 0);
	if (!dev) {
		err = -ENOMEM;
		goto no_device;
	}
	s = netdev_priv(dev);
	s->dev = dev;
	s->pdev = pdev;
	spin_lock_init(&s->lock);
	INIT_DELAYED_WORK(&s->beat, beat);
	s->registers = pci_iomap(pdev, SHMCAN_REGISTERS, 0);
	s->size = pci_resource_len(pdev, SHMCAN_MEMORY);
	s->memory = memremap(pci_resource_start(pdev, SHMCAN_MEMORY), s->size, MEMREMAP_WB);
	if (!s->registers || !s->memory) {
		err = -ENOMEM;
		goto no_memory;
	}
	if (s->size < SHMCAN_LEAST) {
		dev_err(&pdev->dev, "%zu bytes of memory are too few: %u at least\n", s->size,
			SHMCAN_LEAST);
		err = -ENOSPC;
		goto no_memory;
	}
	position = ioread32(s->registers + SHMCAN_POSITION);
	if (position > 1) {
		dev_err(&pdev->dev, "peer %d: memory is shared by the peers 0 and 1\n",
			(int)position);
		err = -ENODEV;
		goto no_memory;
	}
	s->mine = position;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (err < 0) {
		dev_err(&pdev->dev, "no message-signalled interrupt: is it ivshmem-doorbell?\n");
		goto no_memory;
	}
	s->irq = pci_irq_vector(pdev, 0);
	dev->netdev_ops = &ops;
	dev->mtu = CANFD_MTU;
	s->can.ctrlmode = CAN_CTRLMODE_FD;
	s->can.ctrlmode_supported = CAN_CTRLMODE_FD;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	s->can.ctrlmode |= CAN_CTRLMODE_CC_LEN8_DLC;
	s->can.ctrlmode_supported |= CAN_CTRLMODE_CC_LEN8_DLC;
#endif
	/* Local listeners hear what is sent by the stack's own loopback. */
	dev->flags &= ~IFF_ECHO;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	netif_napi_add(dev, &s->napi, poll);
#else
	netif_napi_add(dev, &s->napi, poll, NAPI_POLL_WEIGHT);
#endif
	SET_NETDEV_DEV(dev, &pdev->dev);
	pci_set_drvdata(pdev, s);
	err = register_candev(dev);
	if (err)
		goto no_interface;
	return 0;

no_interface:
	netif_napi_del(&s->napi);
	pci_free_irq_vectors(pdev);
no_memory:
	if (s->memory)
		memunmap(s->memory);
	if (s->registers)
		pci_iounmap(pdev, s->registers);
	free_candev(dev);
no_device:
	pci_release_regions(pdev);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct shmcan *s = pci_get_drvdata(pdev);

	unregister_candev(s->dev);
	netif_napi_del(&s->napi);
	pci_free_irq_vectors(pdev);
	memunmap(s->memory);
	pci_iounmap(pdev, s->registers);
	pci_release_regions(pdev);
	free_candev(s->dev);
}

static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(SHMCAN_VENDOR, SHMCAN_DEVICE) },
	{},
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver shmcan_driver = {
	.name = "shmcan",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};
module_pci_driver(shmcan_driver);
MODULE_DESCRIPTION("CAN interfaces in memory that is shared with another machine");
MODULE_LICENSE("GPL");
