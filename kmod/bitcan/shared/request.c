// SPDX-License-Identifier: GPL-2.0
/* What a function asks for: requests in its message memory, each read once and then checked. */
#include "shared.h"

/* How many requests has it written? What it writes after this waits for the next look. */
void sc_look(struct sc_controller *c, int n)
{
	struct sc_function *f = &c->function[n];
	u32 tail = smp_load_acquire(&f->memory->request_tail);

	if (f->stuck || tail == f->known_tail)
		return;
	if (tail - f->taken <= VFCAN_RING && tail - f->taken > f->known_tail - f->taken) {
		f->known_tail = tail;
		return;
	}
	f->stuck = true;
	WRITE_ONCE(f->memory->stuck, 1);
	sc_changed(c, n, VFCAN_IRQ_STATE);
}

/* When the next request that is known and was not taken was written; BC_NEVER: there is none. */
u64 sc_next_request(struct sc_controller *c, int n, u64 now)
{
	struct sc_function *f = &c->function[n];
	const struct vfcan_request *r = &f->memory->requests[f->taken % VFCAN_RING];

	if (f->taken == f->known_tail)
		return BC_NEVER;
	if (!f->peeked)
		f->peeked_at = f->timed ? c->ops->written_at(c, n, READ_ONCE(r->written), now) : now;
	f->peeked = true;
	return f->peeked_at;
}

/* A frame that a controller can send, in a form without freedom; what is checked is the copy. */
static bool sound(const struct sc_controller *c, struct canfd_frame *frame, bool fd)
{
	if (frame->can_id & CAN_ERR_FLAG)
		return false;
	if (!(frame->can_id & CAN_EFF_FLAG))
		frame->can_id &= CAN_SFF_MASK | CAN_RTR_FLAG;
	if (fd) {
		frame->flags &= CANFD_BRS | CANFD_ESI;
		return c->fd && !(frame->can_id & CAN_RTR_FLAG) && frame->len <= CANFD_MAX_DLEN;
	}
	/* struct can_frame's padding; its last byte is len8_dlc. */
	frame->flags = 0;
	frame->__res0 = 0;
	frame->__res1 = 0;
	return frame->len <= CAN_MAX_DLEN;
}

/* Arbitration field, then FDF: classic goes before FD of the same identifier. */
static u64 key_of(const struct canfd_frame *frame, bool fd)
{
	return (u64)bc_key(frame, fd) << 1 | fd;
}

static u32 request(struct sc_controller *c, int n, struct canfd_frame *frame, bool fd, u64 ticket)
{
	struct sc_function *f = &c->function[n];
	struct sc_waiting *w;

	f->counters.requested++;
	if (!sound(c, frame, fd)) {
		f->counters.unsupported++;
		return VFCAN_REFUSED_UNSUPPORTED;
	}
	if (!sc_passes(c) || !f->started || f->listen_only) {
		f->counters.down++;
		return VFCAN_REFUSED_DOWN;
	}
	if (!sc_may_send(f, frame->can_id)) {
		f->counters.not_permitted++;
		return VFCAN_REFUSED_NOT_PERMITTED;
	}
	sc_sync(c, n);
	if (f->count + (f->done_head - f->done_tail) >= c->queue) {
		f->counters.full++;
		return VFCAN_REFUSED_FULL;
	}
	f->counters.accepted++;
	w = &f->waiting[f->count++];
	w->frame = *frame;
	w->fd = fd;
	w->unwanted = false;
	w->ticket = ticket;
	w->key = key_of(frame, fd);
	w->order = c->order++;
	bc_length(frame, fd, &w->length);
	w->bits = w->length.nominal + w->length.data + BC_INTERMISSION;
	sc_choose(f);
	return VFCAN_TAKEN;
}

/* Takes back all requests with this ticket; one on the wire is not tried again. */
static void abort_ticket(struct sc_controller *c, int n, u64 ticket, u64 now)
{
	struct sc_function *f = &c->function[n];
	u32 place = 0;

	while (place < f->count) {
		struct sc_waiting *w = &f->waiting[place];

		if (w->ticket != ticket) {
			place++;
		} else if (c->wire.function == n && c->wire.order == w->order) {
			w->unwanted = true;
			w->outcome = VFCAN_ABORTED;
			place++;
		} else {
			sc_complete(c, n, place, VFCAN_ABORTED, now);
		}
	}
}

/* Takes the request that sc_next_request() told of. */
void sc_take_request(struct sc_controller *c, int n, u64 now)
{
	struct sc_function *f = &c->function[n];
	struct vfcan_request *r = &f->memory->requests[f->taken % VFCAN_RING];
	u32 flags = READ_ONCE(r->flags), status = VFCAN_TAKEN;
	u64 ticket = READ_ONCE(r->ticket);
	bool fd = flags & VFCAN_FRAME_FD;
	struct canfd_frame frame;

	if (flags & VFCAN_REQUEST_ABORT) {
		abort_ticket(c, n, ticket, now);
	} else {
		memset(&frame, 0, sizeof(frame));
		memcpy(&frame, &r->frame, fd ? sizeof(frame) : sizeof(struct can_frame));
		/* The copy is what is checked and sent, whatever happens to the original. */
		barrier();
		status = request(c, n, &frame, fd, ticket);
	}
	f->peeked = false;
	WRITE_ONCE(r->status, status);
	smp_store_release(&f->memory->request_head, ++f->taken);
	if (status != VFCAN_TAKEN)
		sc_changed(c, n, VFCAN_IRQ_DONE);
}
