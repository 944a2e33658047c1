// SPDX-License-Identifier: GPL-2.0
/*
 * Requests, confirmations and frames. The driver's own copies of its words count; what it reads from the
 * device is bounded before it is used.
 */
#include <linux/can.h>
#include <linux/string.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#include <asm/tsc.h>
#endif

#include "device.h"

/* The clock of `written`; 0 where there is none. */
static u64 clock(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return 0;
#endif
}

/* All is as at first, and then the function takes part. */
void vfcan_device_start(struct vfcan_device *d, bool listen_only)
{
	iowrite32(VFCAN_CONTROL_RESET, d->registers + VFCAN_REG_CONTROL);
	d->queue = clamp_t(u32, ioread32(d->registers + VFCAN_REG_QUEUE), 1, VFCAN_RING);
	d->request_tail = 0;
	d->done_tail = 0;
	d->received_tail = 0;
	d->reaped = 0;
	d->known = 0;
	d->busy = 0;
	WRITE_ONCE(d->memory->irq_enable, VFCAN_IRQ_RECEIVED | VFCAN_IRQ_DONE | VFCAN_IRQ_STATE);
	iowrite32(VFCAN_CONTROL_START | (listen_only ? VFCAN_CONTROL_LISTEN_ONLY : 0),
		  d->registers + VFCAN_REG_CONTROL);
}

void vfcan_device_stop(struct vfcan_device *d)
{
	iowrite32(VFCAN_CONTROL_RESET, d->registers + VFCAN_REG_CONTROL);
}

/* A ticket that is free; -1: as many as the queue holds are under way. */
int vfcan_ticket(const struct vfcan_device *d)
{
	u32 i;

	for (i = 0; i < d->queue; i++)
		if (!(d->busy & BIT_ULL(i)))
			return i;
	return -1;
}

/* Does the device look at requests by itself now? */
static bool is_quiet(const struct vfcan_device *d)
{
	const struct vfcan_memory *m = d->memory;
	u64 until, from, now;

	until = READ_ONCE(m->quiet_until);
	if (!until)
		return false;
	smp_rmb();
	from = READ_ONCE(m->quiet_from);
	smp_rmb();
	if (READ_ONCE(m->quiet_until) != until)
		return false;
	now = clock();
	return from <= now && now < until;
}

/* Asks for a frame to be sent, under a ticket of vfcan_ticket(). */
void vfcan_request(struct vfcan_device *d, u32 ticket, const struct canfd_frame *frame, bool fd,
		   bool ring)
{
	struct vfcan_memory *m = d->memory;
	struct vfcan_request *r = &m->requests[d->request_tail % VFCAN_RING];

	d->busy |= BIT_ULL(ticket);
	d->tickets[d->request_tail % VFCAN_RING] = ticket;
	r->flags = fd ? VFCAN_FRAME_FD : 0;
	r->ticket = ticket;
	memcpy(&r->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	r->written = clock();
	smp_store_release(&m->request_tail, ++d->request_tail);
	/* Before the device says whether it looks by itself. */
	smp_mb();
	if (is_quiet(d)) {
		d->quiet++;
	} else if (ring) {
		d->rings++;
		iowrite32(1, d->registers + VFCAN_REG_DOORBELL);
	}
}

/* To be called before the two that follow: what comes after this is told of again. */
void vfcan_look(struct vfcan_device *d)
{
	d->known = READ_ONCE(d->memory->changes);
	smp_rmb();
}

static bool finished(struct vfcan_device *d, struct vfcan_fate *fate)
{
	if (!(d->busy & BIT_ULL(fate->ticket)))
		return false;
	d->busy &= ~BIT_ULL(fate->ticket);
	return true;
}

/* What has become of a request that is not under way any more. */
bool vfcan_fate(struct vfcan_device *d, struct vfcan_fate *fate)
{
	struct vfcan_memory *m = d->memory;
	const struct vfcan_done *done;
	u32 status;

	while (d->reaped != d->request_tail && d->reaped != smp_load_acquire(&m->request_head)) {
		status = READ_ONCE(m->requests[d->reaped % VFCAN_RING].status);
		fate->ticket = d->tickets[d->reaped++ % VFCAN_RING];
		fate->outcome = VFCAN_RING + status;
		fate->end = 0;
		if (status != VFCAN_TAKEN && finished(d, fate))
			return true;
	}
	while (d->done_tail != smp_load_acquire(&m->done_head)) {
		done = &m->done[d->done_tail % VFCAN_RING];
		fate->ticket = READ_ONCE(done->ticket) % VFCAN_RING;
		fate->outcome = READ_ONCE(done->outcome);
		fate->end = READ_ONCE(done->end);
		smp_store_release(&m->done_tail, ++d->done_tail);
		if (finished(d, fate))
			return true;
	}
	return false;
}

/* The oldest frame of the FIFO. */
bool vfcan_receive(struct vfcan_device *d, struct canfd_frame *frame, bool *fd, u64 *end)
{
	struct vfcan_memory *m = d->memory;
	const struct vfcan_received *r = &m->received[d->received_tail % VFCAN_RING];

	if (d->received_tail == smp_load_acquire(&m->received_head))
		return false;
	*fd = READ_ONCE(r->flags) & VFCAN_FRAME_FD;
	*end = READ_ONCE(r->end);
	memcpy(frame, &r->frame, *fd ? sizeof(*frame) : sizeof(struct can_frame));
	frame->len = min_t(u8, frame->len, *fd ? CANFD_MAX_DLEN : CAN_MAX_DLEN);
	smp_store_release(&m->received_tail, ++d->received_tail);
	return true;
}

/* Interrupts are on again; true: something has changed since vfcan_look(), and none will come for it. */
bool vfcan_seen(struct vfcan_device *d)
{
	WRITE_ONCE(d->memory->seen, d->known);
	/* Before changes is read: the device writes that and then looks at seen. */
	smp_mb();
	return READ_ONCE(d->memory->changes) != d->known;
}
