// SPDX-License-Identifier: GPL-2.0
/*
 * Queues: a received frame into those of the files that want it, and frames of files into the
 * controller. All under dev->lock, most of it in the interrupt handler.
 */
#include <linux/can/error.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/poll.h>

#include "core.h"

#define MASK (CANCHAR_SLOTS - 1)

/* ---- Receiving ---- */

static bool wants(const struct canchar_file *file, u32 id)
{
	u32 i;

	if (file->all)
		return true;
	for (i = 0; i < file->filters.count; i++) {
		const struct can_filter *filter = &file->filters.filter[i];
		u32 mask = filter->can_mask & ~CAN_ERR_FLAG;
		bool same = !((id ^ filter->can_id) & mask & ~CAN_INV_FILTER);

		if (filter->can_id & CAN_INV_FILTER)
			same = (id ^ filter->can_id) & mask;
		if (same)
			return true;
	}
	return false;
}

/* Into the file's queue, if there is room; the process counts its tail, which may be any number. */
static void put(struct canchar_file *file, const struct canfd_frame *frame, u32 flags, u64 mark)
{
	struct canchar_area *area = file->area;
	struct canchar_frame *slot;

	if (file->rx_head - READ_ONCE(area->rx_tail) >= CANCHAR_SLOTS) {
		file->lost++;
		file->lost_ever++;
		WRITE_ONCE(area->rx_lost, (u32)file->lost_ever);
		return;
	}
	slot = &area->rx[file->rx_head & MASK];
	slot->time = ktime_get_real_ns();
	slot->flags = flags;
	slot->state = file->lost;
	if (flags & CANCHAR_FRAME_FD)
		slot->frame = *frame;
	else
		memcpy(&slot->frame, frame, sizeof(struct can_frame));
	slot->mark = mark;
	file->lost = 0;
	file->received++;
	file->woken = true;
	file->rx_head++;
	smp_store_release(&area->rx_head, file->rx_head);
}

void canchar_deliver(struct canchar_file *file, const struct canfd_frame *frame, u32 flags,
		     u64 mark)
{
	if (wants(file, frame->can_id))
		put(file, frame, flags, mark);
	else
		file->filtered++;
}

/* A frame from the bus. */
void canchar_received(struct canchar_dev *dev, const struct canfd_frame *frame, bool fd)
{
	u32 flags = fd ? CANCHAR_FRAME_FD : 0;
	struct canchar_file *file;

	dev->stats.received++;
	list_for_each_entry(file, &dev->files, list)
		canchar_deliver(file, frame, flags, 0);
}

/* An error frame, to those that want its class. */
static void error(struct canchar_dev *dev, struct canfd_frame *frame)
{
	struct canchar_file *file;

	frame->can_id |= CAN_ERR_FLAG;
	frame->len = CAN_ERR_DLC;
	list_for_each_entry(file, &dev->files, list)
		if (file->filters.errors & frame->can_id & CAN_ERR_MASK)
			put(file, frame, 0, 0);
}

/* At the end of an interrupt: those who wait for frames. */
void canchar_tell(struct canchar_dev *dev)
{
	struct canchar_file *file;

	list_for_each_entry(file, &dev->files, list) {
		if (!file->woken)
			continue;
		file->woken = false;
		if (wq_has_sleeper(&file->readable))
			wake_up_interruptible_poll(&file->readable, EPOLLIN | EPOLLRDNORM);
	}
}

/* ---- What happened on the bus ---- */

void canchar_overrun(struct canchar_dev *dev)
{
	struct canfd_frame frame = { .can_id = CAN_ERR_CRTL };
	struct canchar_file *file;

	dev->stats.overruns++;
	list_for_each_entry(file, &dev->files, list)
		WRITE_ONCE(file->area->overruns, (u32)dev->stats.overruns);
	frame.data[1] = CAN_ERR_CRTL_RX_OVERFLOW;
	error(dev, &frame);
}

/* `class` and `what` as linux/can/error.h has them. */
void canchar_bus_error(struct canchar_dev *dev, const u8 what[8], u32 class)
{
	struct canfd_frame frame = { .can_id = class };

	dev->stats.bus_errors++;
	memcpy(frame.data, what, 8);
	error(dev, &frame);
}

void canchar_arbitration_lost(struct canchar_dev *dev, u8 bit)
{
	struct canfd_frame frame = { .can_id = CAN_ERR_LOSTARB };

	dev->stats.arbitration_lost++;
	frame.data[0] = bit;
	error(dev, &frame);
}

static void publish(struct canchar_dev *dev, u32 state)
{
	struct canchar_file *file;

	dev->state = state;
	list_for_each_entry(file, &dev->files, list) {
		WRITE_ONCE(file->area->state, state);
		WRITE_ONCE(file->area->changes, READ_ONCE(file->area->changes) + 1);
		file->woken = true;
	}
}

/* The controller is in this state; what it cannot send any more is final. */
void canchar_state(struct canchar_dev *dev, u32 state, u32 tec, u32 rec)
{
	static const u8 worse_tx[] = {
		[CANCHAR_STATE_ACTIVE] = CAN_ERR_CRTL_ACTIVE,
		[CANCHAR_STATE_WARNING] = CAN_ERR_CRTL_TX_WARNING,
		[CANCHAR_STATE_PASSIVE] = CAN_ERR_CRTL_TX_PASSIVE,
	};
	static const u8 worse_rx[] = {
		[CANCHAR_STATE_ACTIVE] = CAN_ERR_CRTL_ACTIVE,
		[CANCHAR_STATE_WARNING] = CAN_ERR_CRTL_RX_WARNING,
		[CANCHAR_STATE_PASSIVE] = CAN_ERR_CRTL_RX_PASSIVE,
	};
	struct canfd_frame frame = { .can_id = CAN_ERR_CRTL };
	u32 before = dev->state;

	if (before == state)
		return;
	publish(dev, state);
	if (state == CANCHAR_STATE_STOPPED || before == CANCHAR_STATE_STOPPED)
		return;
	if (state == CANCHAR_STATE_BUS_OFF) {
		dev->stats.bus_offs++;
		canchar_abort_buffers(dev, CANCHAR_TX_BUS_OFF);
		canchar_abort_waiting(dev, NULL, CANCHAR_TX_BUS_OFF);
		frame.can_id = CAN_ERR_BUSOFF;
		if (dev->control.restart_ms)
			schedule_delayed_work(&dev->restart,
					      msecs_to_jiffies(dev->control.restart_ms));
	} else if (before == CANCHAR_STATE_BUS_OFF) {
		dev->stats.restarts++;
		frame.can_id = CAN_ERR_RESTARTED;
	} else {
		if (state > before && state == CANCHAR_STATE_WARNING)
			dev->stats.warnings++;
		if (state > before && state == CANCHAR_STATE_PASSIVE)
			dev->stats.passives++;
		frame.data[1] = (tec >= rec ? worse_tx[state] : 0) | (rec >= tec ? worse_rx[state] : 0);
#ifdef CAN_ERR_CNT
		frame.can_id |= CAN_ERR_CNT;
#endif
		frame.data[6] = min_t(u32, tec, 255);
		frame.data[7] = min_t(u32, rec, 255);
	}
	error(dev, &frame);
}

/* ---- Sending ---- */

/* The order in which frames would win the arbitration (ISO 11898-1): the lower the earlier. */
static u32 priority(const struct canfd_frame *frame)
{
	u32 id = frame->can_id, rtr = !!(id & CAN_RTR_FLAG);

	if (!(id & CAN_EFF_FLAG))
		return (id & CAN_SFF_MASK) << 21 | rtr << 20;
	/* SRR and IDE are recessive. */
	return (id & CAN_EFF_MASK) >> 18 << 21 | 3 << 19 | (id & 0x3ffff) << 1 | rtr;
}

/* Can the controller send it, as it is set? */
bool canchar_valid(const struct canchar_dev *dev, const struct canchar_frame *frame)
{
	static const u8 lengths[] = { 12, 16, 20, 24, 32, 48, 64 };
	const struct canfd_frame *f = &frame->frame;
	int i;

	if (frame->flags & ~CANCHAR_FRAME_FD || f->can_id & CAN_ERR_FLAG)
		return false;
	if (!(f->can_id & CAN_EFF_FLAG) && f->can_id & CAN_EFF_MASK & ~CAN_SFF_MASK)
		return false;
	if (!(frame->flags & CANCHAR_FRAME_FD))
		return f->len <= CAN_MAX_DLEN;
	if (!(dev->control.flags & CANCHAR_FD) || f->can_id & CAN_RTR_FLAG)
		return false;
	if (f->flags & ~(CANFD_BRS | CANFD_ESI | 0x04))
		return false;
	if (f->len <= CAN_MAX_DLEN)
		return true;
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		if (f->len == lengths[i])
			return true;
	return false;
}

/* Is the next slot of its transmit queue free? */
bool canchar_has_room(const struct canchar_file *file)
{
	return !file->pending[file->tx_taken & MASK].busy;
}

/* What became of a frame that a file handed over. */
static void finish(struct canchar_file *file, u32 at, u32 state)
{
	struct canchar_area *area = file->area;
	struct canchar_frame *slot = &area->tx[at];

	file->pending[at].busy = false;
	slot->time = ktime_get_real_ns();
	if (state == CANCHAR_TX_SENT) {
		file->sent++;
		WRITE_ONCE(area->tx_sent, (u32)file->sent);
	} else {
		file->failed++;
		file->dev->stats.failed++;
		WRITE_ONCE(area->tx_failed, (u32)file->failed);
	}
	smp_store_release(&slot->state, state);
	if (wq_has_sleeper(&file->writable))
		wake_up_interruptible_poll(&file->writable, EPOLLOUT | EPOLLWRNORM);
}

/* The file's next frame, which is valid; there is room. */
void canchar_take(struct canchar_file *file, const struct canchar_frame *frame)
{
	struct canchar_dev *dev = file->dev;
	u32 at = file->tx_taken & MASK;
	struct canchar_pending *p = &file->pending[at], *other;
	struct list_head *after = &dev->waiting;

	p->file = file;
	p->busy = true;
	p->fd = frame->flags & CANCHAR_FRAME_FD;
	if (p->fd) {
		p->frame = frame->frame;
	} else {
		memcpy(&p->frame, &frame->frame, sizeof(struct can_frame));
		p->frame.flags = 0;
		p->frame.__res0 = 0;
		p->frame.__res1 = 0;
	}
	p->mark = frame->mark;
	p->key = dev->control.flags & CANCHAR_PRIORITY ? priority(&p->frame) : 0;
	p->rank = (u64)p->key << 32 | (u32)dev->sequence++;
	list_for_each_entry_reverse(other, &dev->waiting, list) {
		if (other->key <= p->key) {
			after = &other->list;
			break;
		}
	}
	list_add(&p->list, after);
	file->tx_taken++;
	file->taken++;
	WRITE_ONCE(file->area->tx[at].state, CANCHAR_TX_PENDING);
	WRITE_ONCE(file->area->tx_taken, file->tx_taken);
}

/* The frames that a process has put into its mapped queue; how many were taken over. */
int canchar_take_mapped(struct canchar_file *file)
{
	u32 head = READ_ONCE(file->area->tx_head);
	struct canchar_frame frame;
	int taken = 0;

	if (head - file->tx_taken > CANCHAR_SLOTS)
		return -EINVAL;
	while (file->tx_taken != head && canchar_has_room(file)) {
		/* Once: what the process does to it meanwhile is the process's affair. */
		memcpy(&frame, &file->area->tx[file->tx_taken & MASK], sizeof(frame));
		barrier();
		if (canchar_valid(file->dev, &frame)) {
			canchar_take(file, &frame);
		} else {
			u32 at = file->tx_taken++ & MASK;

			file->taken++;
			WRITE_ONCE(file->area->tx_taken, file->tx_taken);
			finish(file, at, CANCHAR_TX_INVALID);
		}
		taken++;
	}
	return taken;
}

/* From the queue into free transmit buffers. */
void canchar_feed(struct canchar_dev *dev)
{
	u32 all = BIT(dev->model->buffers) - 1;

	while (!list_empty(&dev->waiting) && dev->full != all) {
		struct canchar_pending *p =
			list_first_entry(&dev->waiting, struct canchar_pending, list);
		unsigned int n = __ffs(~dev->full);
		struct canchar_buffer *buffer = &dev->buffer[n];

		list_del_init(&p->list);
		buffer->file = p->file;
		buffer->slot = p - p->file->pending;
		buffer->fd = p->fd;
		memcpy(&buffer->frame, &p->frame, p->fd ? sizeof(p->frame) : sizeof(struct can_frame));
		buffer->mark = p->mark;
		dev->full |= BIT(n);
		dev->model->ops->transmit(dev, n, &buffer->frame, p->fd, p->rank);
	}
}

/* A transmit buffer has fallen free. */
void canchar_done(struct canchar_dev *dev, unsigned int n, u32 state)
{
	struct canchar_buffer *buffer = &dev->buffer[n];
	struct canchar_file *file;

	if (!(dev->full & BIT(n)))
		return;
	dev->full &= ~BIT(n);
	if (state == CANCHAR_TX_SENT) {
		u32 flags = CANCHAR_FRAME_SENT | (buffer->fd ? CANCHAR_FRAME_FD : 0);

		dev->stats.sent++;
		list_for_each_entry(file, &dev->files, list) {
			if (file == buffer->file) {
				if (file->filters.flags & CANCHAR_WANT_OWN)
					canchar_deliver(file, &buffer->frame,
							flags | CANCHAR_FRAME_OWN, buffer->mark);
			} else if (file->filters.flags & CANCHAR_WANT_SENT) {
				canchar_deliver(file, &buffer->frame, flags, 0);
			}
		}
	}
	if (buffer->file)
		finish(buffer->file, buffer->slot, state);
	else if (state != CANCHAR_TX_SENT)
		dev->stats.failed++;
	canchar_feed(dev);
}

/* What waits, of this file or of all (NULL), is final. */
void canchar_abort_waiting(struct canchar_dev *dev, struct canchar_file *file, u32 state)
{
	struct canchar_pending *p, *next;

	list_for_each_entry_safe(p, next, &dev->waiting, list) {
		if (file && p->file != file)
			continue;
		list_del_init(&p->list);
		finish(p->file, p - p->file->pending, state);
	}
}

/* What is in the controller is final, because it has left the bus. */
void canchar_abort_buffers(struct canchar_dev *dev, u32 state)
{
	unsigned int n;

	for (n = 0; n < dev->model->buffers; n++) {
		struct canchar_buffer *buffer = &dev->buffer[n];

		if (!(dev->full & BIT(n)))
			continue;
		dev->full &= ~BIT(n);
		if (buffer->file)
			finish(buffer->file, buffer->slot, state);
		else
			dev->stats.failed++;
	}
}
