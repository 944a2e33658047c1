// SPDX-License-Identifier: GPL-2.0
/* /dev/bitcan-tester: the tester's device. See bitcan.h. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "play.h"

#define MOST (1u << 24)		/* frames, or stamps */

static DEFINE_MUTEX(mutex);	/* all below, and who may start and stop */
static bool is_open;
static void *area;
static u64 area_size, frames_at;
static u32 frames_room;
static struct play_frame *list;

static int tester_open(struct inode *inode, struct file *file)
{
	int err = 0;

	mutex_lock(&mutex);
	if (is_open)
		err = -EBUSY;
	is_open = true;
	mutex_unlock(&mutex);
	if (err)
		return err;
	mutex_lock(&bitcan_mutex);
	bitcan_play_attach();
	mutex_unlock(&bitcan_mutex);
	return 0;
}

static void stop(void)
{
	bitcan_play_stop();
	hrtimer_cancel(&bitcan_play.timer);
	bitcan_play.armed = BC_NEVER;
	irq_work_sync(&bitcan_play.done);
	vfree(list);
	list = NULL;
}

static void drop_area(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	bitcan_play.header = NULL;
	bitcan_play.stamps = NULL;
	bitcan_play.room = 0;
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	/* Pages that are still mapped live on until they are not. */
	vfree(area);
	area = NULL;
}

static int tester_release(struct inode *inode, struct file *file)
{
	mutex_lock(&mutex);
	stop();
	bitcan_play_detach();
	drop_area();
	is_open = false;
	mutex_unlock(&mutex);
	return 0;
}

static long setup(void __user *arg)
{
	struct bitcan_setup s;
	unsigned long flags;
	u64 stamps_at;

	if (copy_from_user(&s, arg, sizeof(s)))
		return -EFAULT;
	if (s.version != BITCAN_VERSION)
		return -EPROTO;
	if (s.frames > MOST || s.stamps > MOST)
		return -EINVAL;
	stop();
	drop_area();
	frames_at = ALIGN(sizeof(struct bitcan_header), 64);
	stamps_at = ALIGN(frames_at + (u64)s.frames * sizeof(struct bitcan_frame), 64);
	area_size = PAGE_ALIGN(stamps_at + (u64)s.stamps * sizeof(struct bitcan_stamp));
	area = vmalloc_user(area_size);
	if (!area)
		return -ENOMEM;
	frames_room = s.frames;
	s.frames_at = frames_at;
	s.stamps_at = stamps_at;
	s.size = area_size;
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	bitcan_play.header = area;
	bitcan_play.header->version = BITCAN_VERSION;
	bitcan_play.stamps = area + stamps_at;
	bitcan_play.room = s.stamps;
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	return copy_to_user(arg, &s, sizeof(s)) ? -EFAULT : 0;
}

/* One frame of the mapping, which its owner may be writing to meanwhile. */
static int take_frame(struct play_frame *to, const struct bitcan_frame *from)
{
	to->at = from->at;
	to->bus = READ_ONCE(from->bus);
	to->fd = READ_ONCE(from->flags) & BITCAN_FRAME_FD;
	to->frame = from->frame;
	if (to->bus >= BITCAN_BUSES || to->frame.can_id & CAN_ERR_FLAG ||
	    to->frame.len > (to->fd ? CANFD_MAX_DLEN : CAN_MAX_DLEN))
		return -EINVAL;
	if (!(to->frame.can_id & CAN_EFF_FLAG))
		to->frame.can_id &= CAN_SFF_MASK | CAN_RTR_FLAG;
	if (to->fd) {
		to->frame.can_id &= ~CAN_RTR_FLAG;
		to->frame.flags &= CANFD_BRS | CANFD_ESI;
	} else {
		/* struct can_frame's padding; its last byte is len8_dlc. */
		to->frame.flags = 0;
		to->frame.__res0 = 0;
	}
	return 0;
}

static long start(const void __user *arg)
{
	const struct bitcan_frame *frames;
	struct bitcan_start s;
	int err = 0;
	u32 i;

	if (copy_from_user(&s, arg, sizeof(s)))
		return -EFAULT;
	if (!area)
		return -ENXIO;
	if (READ_ONCE(bitcan_play.running))
		return -EBUSY;
	if (s.mode > BITCAN_MODE_ONE || s.count > frames_room || s.return_bus >= BITCAN_BUSES ||
	    s.timeout > (u64)S64_MAX / 4)
		return -EINVAL;
	stop();
	list = vmalloc(array_size(max_t(u32, s.count, 1), sizeof(*list)));
	if (!list)
		return -ENOMEM;
	frames = area + frames_at;
	for (i = 0; i < s.count && !err; i++)
		err = take_frame(&list[i], &frames[i]);
	if (!err) {
		mutex_lock(&bitcan_mutex);
		bitcan_play_attach();
		mutex_unlock(&bitcan_mutex);
		err = bitcan_play_start(&s, list);
	}
	if (err) {
		vfree(list);
		list = NULL;
	}
	return err;
}

static long tester_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	long ret;

	mutex_lock(&mutex);
	switch (cmd) {
	case BITCAN_SETUP:
		ret = setup((void __user *)arg);
		break;
	case BITCAN_START:
		ret = start((const void __user *)arg);
		break;
	case BITCAN_STOP:
		stop();
		ret = 0;
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&mutex);
	return ret;
}

static int tester_mmap(struct file *file, struct vm_area_struct *vma)
{
	int err;

	mutex_lock(&mutex);
	err = area ? remap_vmalloc_range(vma, area, vma->vm_pgoff) : -ENXIO;
	mutex_unlock(&mutex);
	return err;
}

static __poll_t tester_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &bitcan_play.wait, wait);
	return READ_ONCE(bitcan_play.running) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = tester_open,
	.release = tester_release,
	.unlocked_ioctl = tester_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = tester_mmap,
	.poll = tester_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bitcan-tester",
	.fops = &fops,
	.mode = 0600,
};

int bitcan_tester_init(void)
{
	bitcan_play_init();
	return misc_register(&device);
}

void bitcan_tester_exit(void)
{
	misc_deregister(&device);
	hrtimer_cancel(&bitcan_play.timer);
	irq_work_sync(&bitcan_play.done);
}
