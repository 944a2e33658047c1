// SPDX-License-Identifier: GPL-2.0
/*
 * A controller whose registers and FIFOs are mapped into a process: the MSCAN's three transmit buffers
 * and receive FIFO of four frames, without interface and network stack. See bitcan.h.
 *
 * The page of registers is shared with a process that can write anything to it at any time. So each of
 * its words is read once, and then checked; and what the module must know, it keeps outside.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "kernel.h"

#define CONTROLLERS 32
#define FILTERS ARRAY_SIZE(((struct bitcan_control *)NULL)->filter)

struct bitcan_mapped {
	struct bitcan_member member;
	struct bitcan_bus *bus;
	char name[32];
	unsigned int minor;
	bool open;			/* under bitcan_mutex */
	struct mutex mutex;		/* who starts and stops it */
	wait_queue_head_t wait;

	/* Under bitcan_lock. */
	int node;			/* in the core; -1: off */
	bool fd, listen_only;
	u8 pending;			/* transmit buffers, a bit each */
	u32 changes, rx_head, overruns, arbitration_lost, errors;
	u32 filters;
	struct can_filter filter[FILTERS];
	struct counts {
		u64 received, lost, sent, failed, unread, cut;
	} counts;			/* since it was made */

	struct bitcan_registers *regs;	/* in the mapping */
};

static struct bitcan_mapped *all[CONTROLLERS];	/* by minor; under bitcan_mutex */
static dev_t first_device;
static struct class *class;
static struct cdev cdev;

/* ---- The controller, under bitcan_lock ---- */

/* Something has changed; the line goes up if the process wants to know. */
static void change(struct bitcan_mapped *m, u32 irq)
{
	WRITE_ONCE(m->regs->changes, ++m->changes);
	/* Before irq_enable is read: whoever writes that and then looks at changes misses nothing. */
	smp_mb();
	if (READ_ONCE(m->regs->irq_enable) & irq)
		m->bus->raised |= BIT(m->node);
}

static bool wants(const struct bitcan_mapped *m, u32 id)
{
	u32 i;

	for (i = 0; i < m->filters; i++) {
		const struct can_filter *f = &m->filter[i];
		u32 want = f->can_id & ~CAN_INV_FILTER;

		if (((id ^ want) & f->can_mask) == 0 ? !(f->can_id & CAN_INV_FILTER) :
						       !!(f->can_id & CAN_INV_FILTER))
			return true;
	}
	return !m->filters;
}

/* Was a frame ready here when the one that has ended began? */
static bool lost_arbitration(const struct bc_bus *core, const struct bc_node *node)
{
	return node->best >= 0 && node->slots[node->best].ready <= core->start &&
	       node->suspended_until <= core->start && node->joined <= core->start;
}

void bitcan_mapped_receive(struct bitcan_member *member, const struct canfd_frame *frame, bool fd)
{
	struct bitcan_mapped *m = container_of(member, struct bitcan_mapped, member);
	const struct bc_bus *core = &m->bus->core;
	struct bitcan_registers *regs = m->regs;
	struct bitcan_rx *rx;

	if (m->pending && lost_arbitration(core, &core->nodes[m->node]))
		WRITE_ONCE(regs->arbitration_lost, ++m->arbitration_lost);
	if (m->filters && !wants(m, frame->can_id))
		return;
	if (m->rx_head - READ_ONCE(regs->rx_tail) >= BITCAN_MAPPED_RX) {
		m->counts.lost++;
		WRITE_ONCE(regs->overruns, ++m->overruns);
		bitcan_play_overrun(m->bus, m->node, frame, fd);
		change(m, BITCAN_IRQ_STATE);
		return;
	}
	rx = &regs->rx[m->rx_head % BITCAN_MAPPED_RX];
	rx->end = core->now;
	rx->flags = fd ? BITCAN_FRAME_FD : 0;
	memcpy(&rx->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	m->counts.received++;
	smp_store_release(&regs->rx_head, ++m->rx_head);
	change(m, BITCAN_IRQ_RX);
}

/* What has become of the frame in a transmit buffer, once for each. */
void bitcan_mapped_done(struct bitcan_member *member, int slot, u32 state)
{
	struct bitcan_mapped *m = container_of(member, struct bitcan_mapped, member);
	struct bitcan_tx *tx = &m->regs->tx[slot];

	m->pending &= ~BIT(slot);
	if (state == BITCAN_TX_SENT)
		m->counts.sent++;
	else
		m->counts.failed++;
	tx->end = m->bus->core.now;
	smp_store_release(&tx->state, state);
	change(m, BITCAN_IRQ_TX);
}

static void write_state(struct bitcan_mapped *m)
{
	static const u8 states[] = {
		[BC_ACTIVE] = BITCAN_ERROR_ACTIVE,
		[BC_WARNING] = BITCAN_ERROR_WARNING,
		[BC_PASSIVE] = BITCAN_ERROR_PASSIVE,
		[BC_BUS_OFF] = BITCAN_ERROR_BUS_OFF,
	};
	const struct bc_node *node = &m->bus->core.nodes[m->node];

	WRITE_ONCE(m->regs->tec, min_t(u16, node->tec, 255));
	WRITE_ONCE(m->regs->rec, node->rec);
	WRITE_ONCE(m->regs->state, states[node->state]);
}

void bitcan_mapped_state(struct bitcan_member *member)
{
	struct bitcan_mapped *m = container_of(member, struct bitcan_mapped, member);

	write_state(m);
	change(m, BITCAN_IRQ_STATE);
}

/* It flags an error. */
void bitcan_mapped_error(struct bitcan_member *member)
{
	struct bitcan_mapped *m = container_of(member, struct bitcan_mapped, member);

	WRITE_ONCE(m->regs->errors, ++m->errors);
	write_state(m);
	change(m, BITCAN_IRQ_STATE);
}

/* As a UIO driver's: whoever waits is woken; the rest is the process's. */
static irqreturn_t interrupt(int irq, void *data)
{
	struct bitcan_mapped *m = data;

	wake_up_interruptible(&m->wait);
	return IRQ_HANDLED;
}

/* ---- What a process does with it ---- */

/* The frame that the process has put into a buffer, which it may be writing to meanwhile. */
static bool take(const struct bitcan_mapped *m, int slot, struct canfd_frame *frame, bool *fd)
{
	const struct bitcan_tx *tx = &m->regs->tx[slot];

	*fd = READ_ONCE(tx->flags) & BITCAN_FRAME_FD;
	memcpy(frame, &tx->frame, *fd ? sizeof(*frame) : sizeof(struct can_frame));
	/* The copy is what is checked and sent, whatever happens to the original. */
	barrier();
	if (frame->can_id & CAN_ERR_FLAG || m->listen_only || (*fd && !m->fd))
		return false;
	if (!(frame->can_id & CAN_EFF_FLAG))
		frame->can_id &= CAN_SFF_MASK | CAN_RTR_FLAG;
	if (*fd) {
		frame->can_id &= ~CAN_RTR_FLAG;
		frame->flags &= CANFD_BRS | CANFD_ESI;
		return frame->len <= CANFD_MAX_DLEN;
	}
	/* struct can_frame's padding; its last byte is len8_dlc. */
	frame->flags = 0;
	frame->__res0 = 0;
	frame->__res1 = 0;
	return frame->len <= CAN_MAX_DLEN;
}

#ifdef CONFIG_X86
/* When the process made its write, which is not after now; what it says otherwise is not believed. */
static u64 rang_at(u64 rang)
{
	u64 tsc = rdtsc_ordered(), now = ktime_get_ns();

	if (!rang || rang > tsc || tsc - rang > NSEC_PER_MSEC || !tsc_khz)
		return now;
	return now - div_u64((tsc - rang) * 1000000, tsc_khz);
}
#else
static u64 rang_at(u64 rang)
{
	return ktime_get_ns();
}
#endif

static int ring(struct bitcan_mapped *m, unsigned int i, u64 at)
{
	struct bc_bus *core = &m->bus->core;
	struct canfd_frame frame;
	struct bc_length length;
	bool fd;

	if (m->pending & BIT(i))
		return -EBUSY;
	if (!take(m, i, &frame, &fd)) {
		WRITE_ONCE(m->regs->tx[i].state, BITCAN_TX_INVALID);
		return -EINVAL;
	}
	m->pending |= BIT(i);
	WRITE_ONCE(m->regs->tx[i].state, BITCAN_TX_PENDING);
	bc_length(&frame, fd, &length);
	/* All of one rank: in the order in which they come here. */
	bc_send(core, m->node, i, &frame, fd, &length, bc_key(&frame, fd), 0, at, 0);
	return 0;
}

/* The doorbell. */
static loff_t mapped_llseek(struct file *file, loff_t slots, int whence)
{
	struct bitcan_mapped *m = file->private_data;
	u64 at = rang_at(READ_ONCE(m->regs->rang));
	struct bc_bus *core = &m->bus->core;
	int err = 0, i;

	if (whence != SEEK_SET || slots < 0 || slots >= BIT(BITCAN_MAPPED_TX))
		return -EINVAL;
	raw_spin_lock_irq(&bitcan_lock);
	if (m->node < 0 || core->nodes[m->node].state == BC_BUS_OFF) {
		err = -ENETDOWN;
	} else {
		/* What has happened by then is not changed any more. */
		bitcan_run_to(m->bus, max(at, core->now));
		for (i = 0; i < BITCAN_MAPPED_TX; i++)
			if (slots & BIT(i))
				err = ring(m, i, core->now) ?: err;
		bitcan_arm(m->bus);
	}
	raw_spin_unlock_irq(&bitcan_lock);
	return err;
}

/* Takes back what is not on the wire. */
static long abort_slots(struct bitcan_mapped *m, unsigned long slots)
{
	int i;

	if (slots >= BIT(BITCAN_MAPPED_TX))
		return -EINVAL;
	raw_spin_lock_irq(&bitcan_lock);
	if (m->node >= 0) {
		bitcan_run_now(m->bus);
		for (i = 0; i < BITCAN_MAPPED_TX; i++)
			if (slots & m->pending & BIT(i) && bc_cancel(&m->bus->core, m->node, i))
				bitcan_mapped_done(&m->member, i, BITCAN_TX_ABORTED);
		bitcan_arm(m->bus);
	}
	raw_spin_unlock_irq(&bitcan_lock);
	return 0;
}

/* After bus-off. */
static long recover(struct bitcan_mapped *m)
{
	long err = 0;

	raw_spin_lock_irq(&bitcan_lock);
	if (m->node >= 0) {
		bitcan_run_now(m->bus);
		bc_restart(&m->bus->core, m->node);
		bitcan_arm(m->bus);
	} else {
		err = -ENETDOWN;
	}
	raw_spin_unlock_irq(&bitcan_lock);
	return err;
}

/* Off the bus: what was under way is cut, and counted as that. */
static void leave(struct bitcan_mapped *m)
{
	u32 unread;
	int i;

	raw_spin_lock_irq(&bitcan_lock);
	if (m->node >= 0) {
		bitcan_detach(m->bus, &m->node);
		unread = m->rx_head - READ_ONCE(m->regs->rx_tail);
		m->counts.unread += min_t(u32, unread, BITCAN_MAPPED_RX);
		for (i = 0; i < BITCAN_MAPPED_TX; i++) {
			if (!(m->pending & BIT(i)))
				continue;
			m->counts.cut++;
			WRITE_ONCE(m->regs->tx[i].state, BITCAN_TX_ABORTED);
		}
		m->pending = 0;
	}
	raw_spin_unlock_irq(&bitcan_lock);
}

static int read_control(struct bitcan_control *c, const void __user *from)
{
	if (copy_from_user(c, from, sizeof(*c)))
		return -EFAULT;
	if (c->version != BITCAN_VERSION)
		return -EPROTO;
	if (c->filters > FILTERS ||
	    c->flags & ~(BITCAN_CONTROL_LISTEN_ONLY | BITCAN_CONTROL_ONE_SHOT | BITCAN_CONTROL_FD))
		return -EINVAL;
	return 0;
}

static void set_filters(struct bitcan_mapped *m, const struct bitcan_control *c)
{
	memcpy(m->filter, c->filter, sizeof(m->filter));
	m->filters = c->filters;
}

static long filter(struct bitcan_mapped *m, const void __user *arg)
{
	struct bitcan_control c;
	int err = read_control(&c, arg);

	if (err)
		return err;
	raw_spin_lock_irq(&bitcan_lock);
	bitcan_run_now(m->bus);
	set_filters(m, &c);
	bitcan_arm(m->bus);
	raw_spin_unlock_irq(&bitcan_lock);
	return 0;
}

/* On to the bus. */
static long start(struct bitcan_mapped *m, const void __user *arg)
{
	struct bitcan_control c;
	struct bitcan_wanted wanted;
	int err = read_control(&c, arg);

	if (err)
		return err;
	if (m->node >= 0)
		return -EBUSY;
	wanted.name = m->name;
	wanted.nominal = c.bitrate;
	wanted.data = c.flags & BITCAN_CONTROL_FD ? c.data_bitrate : 0;
	wanted.listen_only = c.flags & BITCAN_CONTROL_LISTEN_ONLY;
	wanted.one_shot = c.flags & BITCAN_CONTROL_ONE_SHOT;
	if (c.flags & BITCAN_CONTROL_FD && !c.data_bitrate)
		return -EINVAL;
	/* Nobody else looks at these while it is off the bus. */
	m->fd = wanted.data;
	m->listen_only = wanted.listen_only;
	m->changes = 0;
	m->rx_head = 0;
	m->overruns = 0;
	m->arbitration_lost = 0;
	m->errors = 0;
	set_filters(m, &c);
	memset(m->regs, 0, sizeof(*m->regs));
	m->regs->version = BITCAN_VERSION;
	return bitcan_attach(m->bus, &wanted, &m->member, &m->node);
}

static long mapped_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct bitcan_mapped *m = file->private_data;
	long ret;

	mutex_lock(&m->mutex);
	switch (cmd) {
	case BITCAN_CONTROL:
		ret = start(m, (const void __user *)arg);
		break;
	case BITCAN_FILTER:
		ret = filter(m, (const void __user *)arg);
		break;
	case BITCAN_LEAVE:
		leave(m);
		ret = 0;
		break;
	case BITCAN_ABORT:
		ret = abort_slots(m, arg);
		break;
	case BITCAN_RECOVER:
		ret = recover(m);
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&m->mutex);
	return ret;
}

static int mapped_open(struct inode *inode, struct file *file)
{
	unsigned int minor = iminor(inode);
	struct bitcan_mapped *m;
	int err = 0;

	mutex_lock(&bitcan_mutex);
	m = minor < CONTROLLERS ? all[minor] : NULL;
	if (!m)
		err = -ENXIO;
	else if (m->open)
		err = -EBUSY;
	else
		m->open = true;
	mutex_unlock(&bitcan_mutex);
	if (err)
		return err;
	file->private_data = m;
	return 0;
}

/* Also when the process has died. */
static int mapped_release(struct inode *inode, struct file *file)
{
	struct bitcan_mapped *m = file->private_data;

	leave(m);
	mutex_lock(&bitcan_mutex);
	m->open = false;
	mutex_unlock(&bitcan_mutex);
	return 0;
}

static int mapped_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct bitcan_mapped *m = file->private_data;

	return remap_vmalloc_range(vma, m->regs, vma->vm_pgoff);
}

static bool is_up(struct bitcan_mapped *m)
{
	return READ_ONCE(m->changes) != READ_ONCE(m->regs->seen);
}

static __poll_t mapped_poll(struct file *file, poll_table *wait)
{
	struct bitcan_mapped *m = file->private_data;

	poll_wait(file, &m->wait, wait);
	return is_up(m) ? EPOLLIN | EPOLLRDNORM : 0;
}

static ssize_t mapped_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct bitcan_mapped *m = file->private_data;
	u32 changes;
	int err;

	if (size != sizeof(changes))
		return -EINVAL;
	if (!is_up(m) && file->f_flags & O_NONBLOCK)
		return -EAGAIN;
	err = wait_event_interruptible(m->wait, is_up(m));
	if (err)
		return err;
	changes = READ_ONCE(m->changes);
	return copy_to_user(to, &changes, sizeof(changes)) ? -EFAULT : sizeof(changes);
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = mapped_open,
	.release = mapped_release,
	.read = mapped_read,
	.poll = mapped_poll,
	.unlocked_ioctl = mapped_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = mapped_mmap,
	.llseek = mapped_llseek,
};

/* ---- Which there are, under bitcan_mutex ---- */

static struct bitcan_mapped *find(const char *name)
{
	int i;

	for (i = 0; i < CONTROLLERS; i++)
		if (all[i] && !strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

struct bitcan_member *bitcan_mapped_find(const char *name, struct bitcan_bus **bus)
{
	struct bitcan_mapped *m = find(name);

	if (!m)
		return NULL;
	*bus = m->bus;
	return &m->member;
}

void bitcan_mapped_show(struct seq_file *seq)
{
	int i;

	for (i = 0; i < CONTROLLERS; i++) {
		struct bitcan_mapped *m = all[i];
		struct counts now;
		u8 pending;

		if (!m)
			continue;
		raw_spin_lock_irq(&bitcan_lock);
		now = m->counts;
		pending = m->pending;
		raw_spin_unlock_irq(&bitcan_lock);
		/* Each frame once: sent + failed + cut + pending were rung for. */
		seq_printf(seq, "%s bus=%u model=mapped received=%llu overrun=%llu unread=%llu sent=%llu failed=%llu cut=%llu pending=%u\n",
			   m->name, m->bus->number, now.received, now.lost, now.unread, now.sent,
			   now.failed, now.cut, hweight8(pending));
	}
}

static void drop(struct bitcan_mapped *m)
{
	free_irq(m->member.irq, m);
	bitcan_irq_free(m->member.irq);
	vfree(m->regs);
	kfree(m);
}

int bitcan_mapped_add(const char *name, unsigned int number)
{
	struct bitcan_mapped *m;
	struct device *device;
	unsigned int minor;
	int err;

	if (!dev_valid_name(name) || !strcmp(name, "tester") || strchr(name, '%')) {
		pr_err("bitcan: %s is no name for a controller\n", name);
		return -EINVAL;
	}
	for (minor = 0; minor < CONTROLLERS; minor++)
		if (!all[minor])
			break;
	if (find(name) || minor == CONTROLLERS) {
		pr_err("bitcan: there is a controller %s, or there are %u already\n", name,
		       CONTROLLERS);
		return -EEXIST;
	}
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->bus = bitcan_bus_get(number);
	if (!m->bus) {
		pr_err("bitcan: no bus %u: they go from 0 to %u\n", number, BITCAN_BUSES - 1);
		err = number < BITCAN_BUSES ? -ENOMEM : -EINVAL;
		goto no_bus;
	}
	strscpy(m->name, name, sizeof(m->name));
	m->minor = minor;
	m->node = -1;
	m->member.kind = BITCAN_MAPPED;
	m->member.number = BITCAN_NODE_MAPPED + minor;
	mutex_init(&m->mutex);
	init_waitqueue_head(&m->wait);
	BUILD_BUG_ON(sizeof(struct bitcan_registers) > PAGE_SIZE);
	BUILD_BUG_ON(BITCAN_MAPPED_TX > BC_SLOTS);
	m->regs = vmalloc_user(PAGE_SIZE);
	if (!m->regs) {
		err = -ENOMEM;
		goto no_bus;
	}
	m->member.irq = bitcan_irq_alloc();
	if (m->member.irq < 0) {
		err = m->member.irq;
		goto no_irq;
	}
	err = request_irq(m->member.irq, interrupt, 0, m->name, m);
	if (err)
		goto no_handler;
	device = device_create(class, NULL, first_device + minor, NULL, "bitcan-%s", name);
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		drop(m);
		return err;
	}
	all[minor] = m;
	return 0;

no_handler:
	bitcan_irq_free(m->member.irq);
no_irq:
	vfree(m->regs);
no_bus:
	kfree(m);
	return err;
}

static void remove(struct bitcan_mapped *m)
{
	all[m->minor] = NULL;
	device_destroy(class, first_device + m->minor);
	drop(m);
}

int bitcan_mapped_del(const char *name)
{
	struct bitcan_mapped *m = find(name);

	if (!m) {
		pr_err("bitcan: no interface or controller %s here\n", name);
		return -ENODEV;
	}
	if (m->open) {
		pr_err("bitcan: /dev/bitcan-%s is in use: end its process first\n", name);
		return -EBUSY;
	}
	remove(m);
	return 0;
}

int bitcan_mapped_init(void)
{
	int err;

	err = alloc_chrdev_region(&first_device, 0, CONTROLLERS, "bitcan");
	if (err)
		return err;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	class = class_create("bitcan");
#else
	class = class_create(THIS_MODULE, "bitcan");
#endif
	if (IS_ERR(class)) {
		err = PTR_ERR(class);
		goto no_class;
	}
	cdev_init(&cdev, &fops);
	cdev.owner = THIS_MODULE;
	err = cdev_add(&cdev, first_device, CONTROLLERS);
	if (err)
		goto no_cdev;
	return 0;

no_cdev:
	class_destroy(class);
no_class:
	unregister_chrdev_region(first_device, CONTROLLERS);
	return err;
}

/* When nobody has one open, which the module's count of users sees to. */
void bitcan_mapped_exit(void)
{
	int i;

	cdev_del(&cdev);
	mutex_lock(&bitcan_mutex);
	for (i = 0; i < CONTROLLERS; i++)
		if (all[i])
			remove(all[i]);
	mutex_unlock(&bitcan_mutex);
	class_destroy(class);
	unregister_chrdev_region(first_device, CONTROLLERS);
}
