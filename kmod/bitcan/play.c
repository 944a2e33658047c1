// SPDX-License-Identifier: GPL-2.0
/*
 * The tester on the buses: plays its list and takes stamps. All of it runs in the buses' timers,
 * under bitcan_lock, and takes its times from the buses: a late timer makes no frame late.
 */
#include "play.h"

struct play bitcan_play;

static void finished(struct play *p)
{
	p->running = false;
	p->deadline = BC_NEVER;
	if (p->header)
		WRITE_ONCE(p->header->state, BITCAN_STATE_DONE);
	irq_work_queue(&p->done);
}

/* ---- Stamps ---- */

static u16 number_of(const struct canfd_frame *frame)
{
	return frame->len < 2 ? 0 : frame->data[0] << 8 | frame->data[1];
}

static void stamp(struct play *p, const struct bitcan_bus *bus, u8 kind, u64 end, u64 start,
		  u16 node, const struct canfd_frame *frame, bool fd)
{
	struct bitcan_stamp *s;

	if (p->stamped >= p->room) {
		WRITE_ONCE(p->header->stamps_lost, ++p->lost);
		return;
	}
	s = &p->stamps[p->stamped++];
	s->end = end;
	s->duration = end - start;
	s->bus = bus->number;
	s->kind = kind;
	s->node = node;
	if (frame)
		memcpy(&s->frame, frame, fd ? sizeof(*frame) : sizeof(struct can_frame));
	WRITE_ONCE(p->header->stamps, p->stamped);
}

void bitcan_play_error(struct bitcan_bus *bus, int node, const struct bc_slot *slot)
{
	struct play *p = &bitcan_play;

	if (p->running)
		stamp(p, bus, BITCAN_STAMP_ERROR, bus->core.sim.end, bus->core.start,
		      bitcan_node_number(bus, node), &slot->frame, slot->fd);
}

void bitcan_play_bus_off(struct bitcan_bus *bus, int node)
{
	struct play *p = &bitcan_play;

	if (p->running)
		stamp(p, bus, BITCAN_STAMP_BUS_OFF, bus->core.now, bus->core.now,
		      bitcan_node_number(bus, node), NULL, false);
}

void bitcan_play_overrun(struct bitcan_bus *bus, int node, const struct canfd_frame *frame,
			 bool fd)
{
	struct play *p = &bitcan_play;

	if (p->running)
		stamp(p, bus, BITCAN_STAMP_OVERRUN, bus->core.now, bus->core.start,
		      bitcan_node_number(bus, node), frame, fd);
}

/* ---- The list ---- */

static void push(struct play *p, u32 i, u64 ready)
{
	const struct play_frame *f = &p->list[i];
	struct bitcan_bus *bus = bitcan_buses[f->bus];

	p->sending[f->bus] = i;
	bc_send(&bus->core, p->node[f->bus], 0, &f->frame, f->fd, &f->length, f->key, 0, ready,
		i);
}

static void set_deadline(struct play *p, u64 at)
{
	p->deadline = at;
	/* The timer looks at the deadline when it fires; it is not moved for every frame. */
	if (p->armed <= at)
		return;
	p->armed = at;
	hrtimer_start(&p->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_HARD);
}

/* One-at-a-time: the next one, ready at `t`. */
static void push_next(struct play *p, u64 t)
{
	struct bitcan_bus *bus;

	if (++p->current_frame >= p->count) {
		finished(p);
		return;
	}
	bus = bitcan_buses[p->list[p->current_frame].bus];
	push(p, p->current_frame, t);
	set_deadline(p, t + p->timeout);
	bitcan_arm(bus);
}

/* A frame ended well, whoever sent it; before its sender is told. */
void bitcan_play_frame(struct bitcan_bus *bus, int node, const struct bc_slot *slot,
		       const struct canfd_frame *frame)
{
	struct play *p = &bitcan_play;
	u16 number;

	if (!p->running)
		return;
	number = number_of(frame);
	if (p->stamp_every <= 1 || number % p->stamp_every == 0)
		stamp(p, bus, slot->fd ? BITCAN_STAMP_FD : BITCAN_STAMP_FRAME, bus->core.now,
		      bus->core.start, bitcan_node_number(bus, node), frame, slot->fd);
	if (p->mode != BITCAN_MODE_ONE || bus->number != p->return_bus)
		return;
	if (node == p->node[bus->number] || number != p->list[p->current_frame].number)
		return;
	/* Not yet sent itself: somebody else uses the same numbers. */
	if (p->sending[p->list[p->current_frame].bus] == p->current_frame)
		return;
	push_next(p, bus->core.now);
}

/* The tester's own frame on this bus ended well. */
void bitcan_play_sent(struct bitcan_bus *bus)
{
	struct play *p = &bitcan_play;
	u32 i = p->sending[bus->number], next;

	p->sending[bus->number] = PLAY_END;
	if (!p->running || i == PLAY_END)
		return;
	WRITE_ONCE(p->header->sent, ++p->sent);
	if (p->mode == BITCAN_MODE_ONE) {
		set_deadline(p, bus->core.now + p->timeout);
		return;
	}
	p->left--;
	next = p->list[i].next;
	if (next != PLAY_END)
		push(p, next, p->started + p->list[next].at);
	if (!p->left)
		set_deadline(p, bus->core.now + p->timeout);
}

/* The tester went bus-off with a frame in its buffer: it goes on with it when it is back. */
void bitcan_play_dropped(struct bitcan_bus *bus, const struct bc_slot *slot)
{
	struct play *p = &bitcan_play;
	u32 i = p->sending[bus->number];

	if (p->running && i != PLAY_END)
		push(p, i, slot->ready);
}

static void on_deadline(struct play *p)
{
	const struct play_frame *f = &p->list[p->current_frame];

	if (p->mode == BITCAN_MODE_SCHEDULE) {
		finished(p);
		return;
	}
	if (p->sending[f->bus] == p->current_frame) {
		struct bitcan_bus *bus = bitcan_buses[f->bus];

		/* On the wire at this moment: it may still come. */
		if (!bc_cancel(&bus->core, p->node[f->bus], 0)) {
			set_deadline(p, p->deadline + p->timeout);
			return;
		}
		p->sending[f->bus] = PLAY_END;
	}
	WRITE_ONCE(p->header->timeouts, ++p->timeouts);
	push_next(p, p->deadline);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct play *p = &bitcan_play;
	u64 now = ktime_get_ns();
	int i;

	raw_spin_lock(&bitcan_lock);
	p->armed = BC_NEVER;
	if (p->running && p->deadline <= now) {
		/* What ended by then counts first. */
		for (i = 0; i < BITCAN_BUSES; i++) {
			if (!bitcan_buses[i])
				continue;
			bitcan_run_to(bitcan_buses[i], p->deadline);
			bitcan_arm(bitcan_buses[i]);
		}
	}
	if (p->running && p->deadline <= now)
		on_deadline(p);
	if (p->running && p->deadline != BC_NEVER)
		set_deadline(p, p->deadline);
	raw_spin_unlock(&bitcan_lock);
	return HRTIMER_NORESTART;
}

static void on_done(struct irq_work *work)
{
	wake_up(&bitcan_play.wait);
}

void bitcan_play_init(void)
{
	struct play *p = &bitcan_play;
	int i;

	for (i = 0; i < BITCAN_BUSES; i++)
		p->node[i] = -1;
	p->deadline = BC_NEVER;
	p->armed = BC_NEVER;
	init_waitqueue_head(&p->wait);
	init_irq_work(&p->done, on_done);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&p->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&p->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	p->timer.function = on_timer;
#endif
}

/* A node on every bus that exists, for as long as the device is open. Under bitcan_mutex. */
void bitcan_play_attach(void)
{
	struct play *p = &bitcan_play;
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	for (i = 0; i < BITCAN_BUSES; i++) {
		if (!bitcan_buses[i] || p->node[i] >= 0)
			continue;
		bitcan_run_now(bitcan_buses[i]);
		/* Back from bus-off by itself, at once. */
		p->node[i] = bc_attach(&bitcan_buses[i]->core, false, false, true, 0, NULL);
		p->sending[i] = PLAY_END;
		bitcan_arm(bitcan_buses[i]);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
}

void bitcan_play_detach(void)
{
	struct play *p = &bitcan_play;
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	for (i = 0; i < BITCAN_BUSES; i++) {
		if (p->node[i] < 0)
			continue;
		bitcan_run_now(bitcan_buses[i]);
		bc_detach(&bitcan_buses[i]->core, p->node[i]);
		p->node[i] = -1;
		bitcan_arm(bitcan_buses[i]);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
}

/* The list is the tester's from here on, unless this fails. */
int bitcan_play_start(const struct bitcan_start *start, struct play_frame *list)
{
	struct play *p = &bitcan_play;
	u32 first[BITCAN_BUSES], last[BITCAN_BUSES];
	unsigned long flags;
	int bus, err = 0;
	u32 i;

	for (bus = 0; bus < BITCAN_BUSES; bus++)
		first[bus] = PLAY_END;
	for (i = 0; i < start->count; i++) {
		struct play_frame *f = &list[i];

		bc_length(&f->frame, f->fd, &f->length);
		f->key = bc_key(&f->frame, f->fd);
		f->number = number_of(&f->frame);
		f->next = PLAY_END;
		if (first[f->bus] == PLAY_END)
			first[f->bus] = i;
		else
			list[last[f->bus]].next = i;
		last[f->bus] = i;
	}
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	for (bus = 0; bus < BITCAN_BUSES && !err; bus++) {
		bool used = first[bus] != PLAY_END ||
			    (start->mode == BITCAN_MODE_ONE && bus == start->return_bus);

		if (used && (!bitcan_buses[bus] || !bitcan_buses[bus]->up))
			err = -ENETDOWN;
		else if (used && p->node[bus] < 0)
			err = -ENOSPC;
	}
	if (err)
		goto out;
	for (bus = 0; bus < BITCAN_BUSES; bus++)
		if (bitcan_buses[bus])
			bitcan_run_now(bitcan_buses[bus]);
	p->list = list;
	p->count = start->count;
	p->left = start->count;
	p->mode = start->mode;
	p->timeout = start->timeout;
	p->return_bus = start->return_bus;
	p->stamp_every = start->stamp_every;
	p->sent = 0;
	p->timeouts = 0;
	p->stamped = 0;
	p->lost = 0;
	p->started = ktime_get_ns();
	p->deadline = BC_NEVER;
	p->running = true;
	p->header->sent = 0;
	p->header->timeouts = 0;
	p->header->stamps = 0;
	p->header->stamps_lost = 0;
	p->header->started = p->started;
	WRITE_ONCE(p->header->state, BITCAN_STATE_RUNNING);
	if (!p->count) {
		set_deadline(p, p->started);
	} else if (p->mode == BITCAN_MODE_ONE) {
		p->current_frame = PLAY_END;	/* the one before the first */
		push_next(p, p->started);
	} else {
		for (bus = 0; bus < BITCAN_BUSES; bus++) {
			if (first[bus] == PLAY_END)
				continue;
			push(p, first[bus], p->started + list[first[bus]].at);
			bitcan_arm(bitcan_buses[bus]);
		}
	}
out:
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	return err;
}

/* Nothing of the list is sent after this; the list is the caller's again. */
void bitcan_play_stop(void)
{
	struct play *p = &bitcan_play;
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&bitcan_lock, flags);
	if (p->running)
		finished(p);
	for (i = 0; i < BITCAN_BUSES; i++) {
		if (p->node[i] < 0 || p->sending[i] == PLAY_END)
			continue;
		bitcan_run_now(bitcan_buses[i]);
		bc_cancel(&bitcan_buses[i]->core, p->node[i], 0);
		p->sending[i] = PLAY_END;
		bitcan_arm(bitcan_buses[i]);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
}
