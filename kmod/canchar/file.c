// SPDX-License-Identifier: GPL-2.0
/* Open files. See canchar.h for what each call does. */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "core.h"

#define MASK (CANCHAR_SLOTS - 1)
#define FRAME sizeof(struct canchar_frame)

static int canchar_open(struct inode *inode, struct file *filp)
{
	struct canchar_dev *dev = container_of(inode->i_cdev, struct canchar_dev, cdev);
	struct canchar_file *file = kvzalloc(sizeof(*file), GFP_KERNEL);
	int i;

	if (!file)
		return -ENOMEM;
	file->area = vmalloc_user(PAGE_ALIGN(CANCHAR_AREA));
	if (!file->area) {
		kvfree(file);
		return -ENOMEM;
	}
	file->dev = dev;
	file->area->version = CANCHAR_VERSION;
	file->filters.count = 1;
	file->filters.flags = CANCHAR_WANT_SENT;
	file->all = true;
	init_waitqueue_head(&file->readable);
	init_waitqueue_head(&file->writable);
	mutex_init(&file->reading);
	for (i = 0; i < CANCHAR_SLOTS; i++)
		INIT_LIST_HEAD(&file->pending[i].list);
	filp->private_data = file;
	get_device(&dev->device);
	spin_lock_irq(&dev->lock);
	file->area->state = dev->state;
	file->area->overruns = dev->stats.overruns;
	list_add_tail(&file->list, &dev->files);
	spin_unlock_irq(&dev->lock);
	return 0;
}

/* What waits is given up; what is in the controller goes its way, and nobody asks what became of it. */
static int canchar_release(struct inode *inode, struct file *filp)
{
	struct canchar_file *file = filp->private_data;
	struct canchar_dev *dev = file->dev;
	int n;

	spin_lock_irq(&dev->lock);
	canchar_abort_waiting(dev, file, CANCHAR_TX_ABORTED);
	for (n = 0; n < CANCHAR_BUFFERS; n++)
		if (dev->buffer[n].file == file)
			dev->buffer[n].file = NULL;
	list_del(&file->list);
	spin_unlock_irq(&dev->lock);
	vfree(file->area);
	kvfree(file);
	put_device(&dev->device);
	return 0;
}

/* ---- read ---- */

/* How many frames wait; what the process made of its tail is looked at here. */
static int waiting(const struct canchar_file *file)
{
	u32 count = READ_ONCE(file->rx_head) - READ_ONCE(file->area->rx_tail);

	return count <= CANCHAR_SLOTS ? count : -EIO;
}

static ssize_t canchar_read(struct file *filp, char __user *to, size_t size, loff_t *at)
{
	struct canchar_file *file = filp->private_data;
	struct canchar_area *area = file->area;
	size_t room = size / FRAME, n;
	int count, err;
	u32 tail;

	if (!room)
		return -EINVAL;
	if (mutex_lock_interruptible(&file->reading))
		return -ERESTARTSYS;
	while (!(count = waiting(file))) {
		err = READ_ONCE(file->dev->gone) ? -ENODEV : 0;
		if (!err && filp->f_flags & O_NONBLOCK)
			err = -EAGAIN;
		if (!err)
			err = wait_event_interruptible(file->readable,
						       waiting(file) ||
						       READ_ONCE(file->dev->gone));
		if (err) {
			mutex_unlock(&file->reading);
			return err;
		}
	}
	if (count < 0) {
		mutex_unlock(&file->reading);
		return count;
	}
	/* The frames themselves, not only their number. */
	smp_rmb();
	tail = READ_ONCE(area->rx_tail);
	room = min_t(size_t, room, count);
	for (n = 0; n < room; n++) {
		if (copy_to_user(to + n * FRAME, &area->rx[(tail + n) & MASK], FRAME))
			break;
	}
	/* Read first, given back then. */
	smp_store_release(&area->rx_tail, (u32)(tail + n));
	mutex_unlock(&file->reading);
	return n ? n * FRAME : -EFAULT;
}

/* ---- write ---- */

/* Under dev->lock. */
static int may_send(const struct canchar_dev *dev)
{
	if (dev->gone)
		return -ENODEV;
	if (dev->state == CANCHAR_STATE_STOPPED || dev->state == CANCHAR_STATE_BUS_OFF)
		return -ENETDOWN;
	return dev->control.flags & CANCHAR_LISTEN_ONLY ? -EPERM : 0;
}

/* Takes one frame, or says why not: EAGAIN: there is no room. */
static int take_one(struct canchar_file *file, const struct canchar_frame *frame)
{
	struct canchar_dev *dev = file->dev;
	struct canchar_area *area = file->area;
	unsigned long flags;
	int err;

	spin_lock_irqsave(&dev->lock, flags);
	err = may_send(dev);
	if (!err && !canchar_valid(dev, frame))
		err = -EINVAL;
	/* A process that uses both ways has what it put into the queue sent first. */
	if (!err && READ_ONCE(area->tx_head) != file->tx_taken)
		err = min(canchar_take_mapped(file), 0);
	if (!err && !canchar_has_room(file))
		err = -EAGAIN;
	if (!err) {
		canchar_take(file, frame);
		WRITE_ONCE(area->tx_head, file->tx_taken);
		canchar_feed(dev);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	return err;
}

static bool can_go_on(struct canchar_file *file)
{
	struct canchar_dev *dev = file->dev;
	unsigned long flags;
	bool can;

	spin_lock_irqsave(&dev->lock, flags);
	can = may_send(dev) || canchar_has_room(file);
	spin_unlock_irqrestore(&dev->lock, flags);
	return can;
}

static ssize_t canchar_write(struct file *filp, const char __user *from, size_t size, loff_t *at)
{
	struct canchar_file *file = filp->private_data;
	size_t count = size / FRAME, n = 0;
	struct canchar_frame frame;
	int err = 0;

	if (!count || size % FRAME)
		return -EINVAL;
	while (n < count) {
		if (copy_from_user(&frame, from + n * FRAME, FRAME)) {
			err = -EFAULT;
			break;
		}
		err = take_one(file, &frame);
		if (!err) {
			n++;
			continue;
		}
		if (err != -EAGAIN || n || filp->f_flags & O_NONBLOCK)
			break;
		err = wait_event_interruptible(file->writable, can_go_on(file));
		if (err)
			break;
	}
	return n ? n * FRAME : err;
}

/* The doorbell of the mapped queue; nothing else can be sought here. */
static loff_t canchar_llseek(struct file *filp, loff_t offset, int whence)
{
	struct canchar_file *file = filp->private_data;
	struct canchar_dev *dev = file->dev;
	unsigned long flags;
	int taken;

	if (offset || whence != SEEK_END)
		return -ESPIPE;
	if (!(filp->f_mode & FMODE_WRITE))
		return -EBADF;
	spin_lock_irqsave(&dev->lock, flags);
	taken = may_send(dev);
	if (!taken) {
		taken = canchar_take_mapped(file);
		canchar_feed(dev);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	return taken;
}

/* Waits until all that was handed over is final. */
static int canchar_fsync(struct file *filp, loff_t start, loff_t end, int datasync)
{
	struct canchar_file *file = filp->private_data;

	return wait_event_interruptible(file->writable,
					READ_ONCE(file->taken) ==
						READ_ONCE(file->sent) + READ_ONCE(file->failed));
}

static __poll_t canchar_poll(struct file *filp, poll_table *table)
{
	struct canchar_file *file = filp->private_data;
	__poll_t asked = poll_requested_events(table), mask = 0;

	/* A reader is not to be woken by what was sent, nor entered where nobody tells it. */
	if (asked & (EPOLLIN | EPOLLRDNORM | EPOLLHUP) || !(asked & (EPOLLOUT | EPOLLWRNORM)))
		poll_wait(filp, &file->readable, table);
	if (asked & (EPOLLOUT | EPOLLWRNORM)) {
		poll_wait(filp, &file->writable, table);
		if (can_go_on(file))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	if (waiting(file))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(file->dev->gone))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

static int canchar_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct canchar_file *file = filp->private_data;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start > PAGE_ALIGN(CANCHAR_AREA))
		return -EINVAL;
	return remap_vmalloc_range(vma, file->area, 0);
}

/* ---- ioctl ---- */

static int set_filters(struct canchar_file *file, const void __user *from)
{
	struct canchar_filters *filters = memdup_user(from, sizeof(*filters));
	struct canchar_dev *dev = file->dev;
	const struct can_filter *only;

	if (IS_ERR(filters))
		return PTR_ERR(filters);
	if (filters->count > CANCHAR_FILTERS || filters->reserved ||
	    filters->flags & ~(CANCHAR_WANT_SENT | CANCHAR_WANT_OWN)) {
		kfree(filters);
		return -EINVAL;
	}
	only = &filters->filter[0];
	spin_lock_irq(&dev->lock);
	file->filters = *filters;
	file->all = filters->count == 1 && !(only->can_mask & ~CAN_ERR_FLAG) &&
		    !(only->can_id & CAN_INV_FILTER);
	spin_unlock_irq(&dev->lock);
	kfree(filters);
	return 0;
}

static int flush(struct canchar_file *file, unsigned long which)
{
	struct canchar_dev *dev = file->dev;

	if (which & ~3ul)
		return -EINVAL;
	spin_lock_irq(&dev->lock);
	if (which & 1)
		WRITE_ONCE(file->area->rx_tail, file->rx_head);
	if (which & 2)
		canchar_abort_waiting(dev, file, CANCHAR_TX_ABORTED);
	spin_unlock_irq(&dev->lock);
	return 0;
}

static int tell_stats(struct canchar_file *file, void __user *to)
{
	struct canchar_dev *dev = file->dev;
	struct canchar_stats stats;

	spin_lock_irq(&dev->lock);
	stats = dev->stats;
	stats.tec = 0;
	stats.rec = 0;
	if (!dev->gone)
		dev->model->ops->counters(dev, &stats.tec, &stats.rec);
	stats.file_received = file->received;
	stats.file_lost = file->lost_ever;
	stats.file_filtered = file->filtered;
	stats.file_taken = file->taken;
	stats.file_sent = file->sent;
	stats.file_failed = file->failed;
	spin_unlock_irq(&dev->lock);
	return copy_to_user(to, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static int tell_info(struct canchar_dev *dev, void __user *to)
{
	const struct canchar_model *model = dev->model;
	struct canchar_info info = {
		.version = CANCHAR_VERSION,
		.supports = model->supports,
		.clock = model->clock,
		.buffers = model->buffers,
		.fifo = model->fifo,
		.control = dev->control,
	};

	strscpy(info.controller, model->controller, sizeof(info.controller));
	strscpy(info.bus, dev->bus, sizeof(info.bus));
	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static long control(struct canchar_file *file, unsigned int cmd, unsigned long arg)
{
	void __user *at = (void __user *)arg;
	struct canchar_dev *dev = file->dev;
	struct canchar_control wanted;

	switch (cmd) {
	case CANCHAR_START:
		if (copy_from_user(&wanted, at, sizeof(wanted)))
			return -EFAULT;
		return canchar_start(dev, &wanted);
	case CANCHAR_STOP:
		canchar_stop(dev);
		return 0;
	case CANCHAR_RECOVER:
		return canchar_recover(dev);
	case CANCHAR_FILTER:
		return set_filters(file, at);
	case CANCHAR_FLUSH:
		return flush(file, arg);
	case CANCHAR_INFO:
		return tell_info(dev, at);
	case CANCHAR_STATS:
		return tell_stats(file, at);
	}
	return -ENOTTY;
}

static long canchar_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct canchar_file *file = filp->private_data;
	bool changes = cmd == CANCHAR_START || cmd == CANCHAR_STOP || cmd == CANCHAR_RECOVER;
	long err;

	if (changes && !(filp->f_mode & FMODE_WRITE))
		return -EBADF;
	if (mutex_lock_interruptible(&file->dev->mutex))
		return -ERESTARTSYS;
	err = file->dev->gone ? -ENODEV : control(file, cmd, arg);
	mutex_unlock(&file->dev->mutex);
	return err;
}

const struct file_operations canchar_fops = {
	.owner = THIS_MODULE,
	.open = canchar_open,
	.release = canchar_release,
	.read = canchar_read,
	.write = canchar_write,
	.llseek = canchar_llseek,
	.fsync = canchar_fsync,
	.poll = canchar_poll,
	.mmap = canchar_mmap,
	.unlocked_ioctl = canchar_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
