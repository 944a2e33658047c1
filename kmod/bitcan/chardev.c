// SPDX-License-Identifier: GPL-2.0
/*
 * Controllers that are character devices (../canchar): the same registers as the interfaces' ones have,
 * under another driver.
 */
#include <linux/can/error.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../canchar/core.h"
#include "kernel.h"

#define MAX_IRQ 20		/* rounds of one interrupt, as sja1000.c has it */

struct bitcan_chardev {
	struct bitcan_controller ctl;
	struct canchar_dev *dev;
	struct list_head list;
	const struct canchar_model *model;
};

static LIST_HEAD(all);		/* under bitcan_mutex */
static u16 numbers;

static u32 state_of(enum bc_state state)
{
	static const u32 states[] = {
		[BC_ACTIVE] = CANCHAR_STATE_ACTIVE,
		[BC_WARNING] = CANCHAR_STATE_WARNING,
		[BC_PASSIVE] = CANCHAR_STATE_PASSIVE,
		[BC_BUS_OFF] = CANCHAR_STATE_BUS_OFF,
	};

	return states[state];
}

static void report_bus_error(struct bitcan_chardev *c)
{
	u32 class = CAN_ERR_PROT | CAN_ERR_BUSERROR;
	u8 what[8] = {};

	switch (c->ctl.error.kind) {
	case BC_BIT_ERROR:
		what[2] = CAN_ERR_PROT_BIT;
		break;
	case BC_FORM_ERROR:
		what[2] = CAN_ERR_PROT_FORM;
		break;
	case BC_STUFF_ERROR:
		what[2] = CAN_ERR_PROT_STUFF;
		break;
	case BC_CRC_ERROR:
		what[3] = CAN_ERR_PROT_LOC_CRC_SEQ;
		break;
	case BC_ACK_ERROR:
		class |= CAN_ERR_ACK;
		what[3] = CAN_ERR_PROT_LOC_ACK;
		break;
	}
	if (c->ctl.error_tx)
		what[2] |= CAN_ERR_PROT_TX;
	canchar_bus_error(c->dev, what, class);
}

static void transmitted(struct bitcan_chardev *c, u8 done, u8 failed)
{
	for (; done; done &= done - 1) {
		unsigned int n = __ffs(done);

		canchar_done(c->dev, n,
			     failed & BIT(n) ? CANCHAR_TX_FAILED : CANCHAR_TX_SENT);
	}
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct bitcan_chardev *c = data;
	struct canchar_dev *dev = c->dev;
	struct bitcan_received r;
	enum bc_state state;
	u8 done = 0, failed = 0;
	unsigned long flags;
	u16 tec, rec;
	int n = 0;
	u32 what;

	spin_lock_irqsave(&dev->lock, flags);
	while (n < MAX_IRQ) {
		what = bitcan_take(&c->ctl, BITCAN_ALL, &done, &failed);
		if (!what)
			break;
		n++;
		if (what & BITCAN_TX)
			transmitted(c, done, failed);
		if (what & BITCAN_RX)
			while (READ_ONCE(c->ctl.fifo_count) && bitcan_pop(&c->ctl, &r))
				canchar_received(dev, &r.frame, r.fd);
		if (what & BITCAN_OVERRUN)
			canchar_overrun(dev);
		if (what & BITCAN_ERROR)
			report_bus_error(c);
		if (what & (BITCAN_STATE | BITCAN_ERROR)) {
			bitcan_counters(&c->ctl, &state, &tec, &rec);
			canchar_state(dev, state_of(state), tec, rec);
		}
	}
	dev->stats.interrupts++;
	canchar_tell(dev);
	spin_unlock_irqrestore(&dev->lock, flags);
	/* A level-triggered line that is still up brings the next interrupt. */
	if (n == MAX_IRQ)
		bitcan_mask(&c->ctl, 0, BITCAN_ALL);
	return n ? IRQ_HANDLED : IRQ_NONE;
}

/* ---- What the core asks for ---- */

static int start(struct canchar_dev *dev)
{
	struct bitcan_chardev *c = canchar_data(dev);
	const struct canchar_control *control = &dev->control;
	const struct bitcan_wanted wanted = {
		.name = dev_name(&dev->device),
		.nominal = control->bitrate,
		.data = control->data_bitrate,
		.listen_only = control->flags & CANCHAR_LISTEN_ONLY,
		.one_shot = control->flags & CANCHAR_ONE_SHOT,
	};
	int err;

	/* Who opens it at once may be earlier than bitcan_chardev_add. */
	c->dev = dev;
	c->ctl.bus_errors = control->flags & CANCHAR_BUS_ERRORS;
	bitcan_reset(&c->ctl, BITCAN_ALL);
	err = request_irq(c->ctl.member.irq, interrupt, 0, dev_name(&dev->device), c);
	if (err)
		return err;
	err = bitcan_attach(c->ctl.bus, &wanted, &c->ctl.member, &c->ctl.node);
	if (err)
		free_irq(c->ctl.member.irq, c);
	return err;
}

static void stop(struct canchar_dev *dev)
{
	struct bitcan_chardev *c = canchar_data(dev);
	unsigned long flags;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	bitcan_leave(&c->ctl);
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	free_irq(c->ctl.member.irq, c);
}

static void recover(struct canchar_dev *dev)
{
	struct bitcan_chardev *c = canchar_data(dev);

	bitcan_recover(&c->ctl, BITCAN_ALL);
}

static void transmit(struct canchar_dev *dev, unsigned int buffer, const struct canfd_frame *frame,
		     bool fd, u64 rank)
{
	struct bitcan_chardev *c = canchar_data(dev);

	bitcan_transmit(&c->ctl, buffer, frame, fd, rank, 0);
}

static void counters(struct canchar_dev *dev, u32 *tec, u32 *rec)
{
	struct bitcan_chardev *c = canchar_data(dev);
	enum bc_state state;
	u16 both[2];

	bitcan_counters(&c->ctl, &state, &both[0], &both[1]);
	*tec = both[0];
	*rec = both[1];
}

static const struct canchar_ops ops = {
	.start = start,
	.stop = stop,
	.recover = recover,
	.transmit = transmit,
	.counters = counters,
};

#define SUPPORTS \
	(CANCHAR_LISTEN_ONLY | CANCHAR_ONE_SHOT | CANCHAR_FD | CANCHAR_BUS_ERRORS | CANCHAR_PRIORITY)

static const struct canchar_model models[] = {
	{
		.ops = &ops,
		.controller = "sja1000",
		.supports = SUPPORTS,
		.clock = 80000000,
		.buffers = 1,
		.fifo = 64,
	},
	{
		.ops = &ops,
		.controller = "mscan",
		.supports = SUPPORTS,
		.clock = 80000000,
		.buffers = 3,
		.fifo = 4,
	},
};

static const struct bitcan_fifo *const fifos[] = { &bitcan_sja1000_fifo, &bitcan_mscan_fifo };

/* ---- There, under bitcan_mutex ---- */

int bitcan_chardev_add(const char *name, unsigned int number, const char *model)
{
	struct bitcan_bus *bus = bitcan_bus_get(number);
	struct bitcan_chardev *c;
	char where[32];
	int i, err;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i].controller, model))
			break;
	if (i == ARRAY_SIZE(models)) {
		pr_err("bitcan: no model chardev-%s: it is chardev-sja1000 or chardev-mscan\n", model);
		return -EINVAL;
	}
	if (!*name || strlen(name) >= IFNAMSIZ || strchr(name, '/')) {
		pr_err("bitcan: %s is no name for a device\n", name);
		return -EINVAL;
	}
	if (!bus) {
		pr_err("bitcan: no bus %u: they go from 0 to %u\n", number, BITCAN_BUSES - 1);
		return number < BITCAN_BUSES ? -ENOMEM : -EINVAL;
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->model = &models[i];
	c->ctl.fifo = fifos[i];
	c->ctl.bus = bus;
	c->ctl.node = -1;
	c->ctl.member.kind = BITCAN_DEVICE;
	c->ctl.member.number = BITCAN_NODE_DEVICE + numbers++ % (BITCAN_NODE_MAPPED - BITCAN_NODE_DEVICE);
	c->ctl.member.irq = bitcan_irq_alloc();
	if (c->ctl.member.irq < 0) {
		err = c->ctl.member.irq;
		goto no_irq;
	}
	snprintf(where, sizeof(where), "bitcan bus %u", number);
	c->dev = canchar_register(c->model, name, where, NULL, c);
	if (IS_ERR(c->dev)) {
		err = PTR_ERR(c->dev);
		pr_err("bitcan: /dev/%s cannot be made: %d\n", name, err);
		goto no_device;
	}
	list_add_tail(&c->list, &all);
	return 0;

no_device:
	bitcan_irq_free(c->ctl.member.irq);
no_irq:
	kfree(c);
	return err;
}

static void drop(struct bitcan_chardev *c)
{
	list_del(&c->list);
	canchar_unregister(c->dev);
	bitcan_irq_free(c->ctl.member.irq);
	kfree(c);
}

static struct bitcan_chardev *find(const char *name)
{
	struct bitcan_chardev *c;

	list_for_each_entry(c, &all, list)
		if (!strcmp(dev_name(&c->dev->device), name))
			return c;
	return NULL;
}

/* -ENOENT: there is none of this name. */
int bitcan_chardev_del(const char *name)
{
	struct bitcan_chardev *c = find(name);

	if (!c)
		return -ENOENT;
	drop(c);
	return 0;
}

void bitcan_chardev_del_all(void)
{
	struct bitcan_chardev *c, *next;

	mutex_lock(&bitcan_mutex);
	list_for_each_entry_safe(c, next, &all, list)
		drop(c);
	mutex_unlock(&bitcan_mutex);
}

struct bitcan_member *bitcan_chardev_find(const char *name, struct bitcan_bus **bus)
{
	struct bitcan_chardev *c = find(name);

	if (!c)
		return NULL;
	*bus = c->ctl.bus;
	return &c->ctl.member;
}

void bitcan_chardev_show(struct seq_file *seq)
{
	struct bitcan_chardev *c;

	list_for_each_entry(c, &all, list) {
		struct canchar_dev *dev = c->dev;
		struct canchar_stats stats;
		struct canchar_pending *p;
		unsigned int pending;

		spin_lock_irq(&dev->lock);
		stats = dev->stats;
		pending = hweight32(dev->full);
		list_for_each_entry(p, &dev->waiting, list)
			pending++;
		spin_unlock_irq(&dev->lock);
		seq_printf(seq, "%s bus=%u model=chardev-%s received=%llu overrun=%llu sent=%llu failed=%llu pending=%u\n",
			   dev_name(&dev->device), c->ctl.bus->number, c->model->controller,
			   stats.received, stats.overruns, stats.sent, stats.failed, pending);
	}
}
