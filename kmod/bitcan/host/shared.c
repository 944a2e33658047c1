// SPDX-License-Identifier: GPL-2.0
/*
 * The controller that shares itself, on its own: reads schedules as text, prints what happens as text. This
 * program is the virtual machines, too: it writes and reads the functions' message memories.
 *
 *   bus NOMINAL DATA                            a new bus; DATA 0: classic
 *   shared FUNCTIONS QUEUE FIFO FD RESTART_NS   the controller, node 0; RESTART_NS -1: not by itself
 *   node FD                                     another node, with three transmit buffers
 *   fault START KIND BIT                        of the bus's n-th start
 * Then in the order of AT:
 *   rights N AT UNIT AMOUNT PER BURST RECEIVES SENDS ID MASK …   UNIT: 0 none, 1 frames, 2 bits
 *   start N AT LISTEN_ONLY
 *   reset N AT
 *   request N AT LATE CAN_ID FD FLAGS LENGTH HEX TICKET          LATE: the device looks at the next command
 *   abort N AT TICKET
 *   receive N AT
 *   completion N AT
 *   send NODE AT CAN_ID FD FLAGS LENGTH HEX
 *   restart AT
 *   hostile N                                   nothing that this one finds is looked at
 *   poke N AT ADD OFFSET VALUE                  writes a word of its memory, or adds to it
 *   run UNTIL                                   ends with `end`
 *
 * Build: cc -O2 -o shared host/shared.c core/[a-z]*.c shared/[a-z]*.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/shared.h"

#define REQUESTS 65536

/* As docs/vcontroller.md has it. */
#define AT(field, offset) \
	_Static_assert(offsetof(struct vfcan_memory, field) == (offset), #field)
AT(changes, 0x000);
AT(received_head, 0x010);
AT(stuck, 0x020);
AT(quiet_from, 0x028);
AT(quiet_until, 0x030);
AT(request_tail, 0x080);
AT(seen, 0x090);
AT(requests, 0x0100);
AT(done, 0x1900);
AT(received, 0x1f00);
_Static_assert(sizeof(struct vfcan_request) == 96 && sizeof(struct vfcan_done) == 24 &&
	       sizeof(struct vfcan_received) == 88, "entries");
_Static_assert(sizeof(struct vfcan_memory) <= VFCAN_MEMORY_SIZE, "BAR 2");

static struct bc_bus bus;
static struct sc_controller ctl;
/* Each on its own, so that a sanitizer sees what leaves it. */
static struct vfcan_memory *memories[SC_FUNCTIONS];
static bool hostile[SC_FUNCTIONS];
static bool fired[SC_FUNCTIONS];	/* an interrupt since `seen` was written */
static u32 statuses[REQUESTS];		/* of all requests, in their order */
static u32 number[SC_FUNCTIONS][VFCAN_RING];	/* of the requests in the rings */
static u32 reaped[SC_FUNCTIONS];
static u32 count;

static const char *const kinds[] = { "Bit", "Stuff", "Form", "Crc", "Ack" };
static const char *const states[] = { "Stopped", "Active", "Warning", "Passive", "BusOff" };
static const char *const outcomes[] = { "Sent", "Aborted", "Dropped" };
static const char *const refusals[] = {
	[VFCAN_TAKEN] = "Taken",
	[VFCAN_REFUSED_UNSUPPORTED] = "Unsupported",
	[VFCAN_REFUSED_DOWN] = "Down",
	[VFCAN_REFUSED_NOT_PERMITTED] = "NotPermitted",
	[VFCAN_REFUSED_FULL] = "Full",
};

static void fail(const char *why, int n)
{
	fprintf(stderr, "function %d: %s\n", n, why);
	exit(1);
}

static void on_interrupt(struct sc_controller *c, int n)
{
	(void)c;
	if (fired[n] && !hostile[n])
		fail("two interrupts for one `seen`", n);
	fired[n] = true;
}

static u64 written_at(struct sc_controller *c, int n, u64 written, u64 now)
{
	(void)n;
	return written > now || written < c->bus->now ? now : written;
}

static const struct sc_ops shared_ops = { .interrupt = on_interrupt, .written_at = written_at };

static void on_frame(struct bc_bus *b, int n, int slot, bool primary)
{
	const struct bc_slot *s = &b->nodes[n].slots[slot];
	struct canfd_frame frame;
	bool fd = s->fd;

	memset(&frame, 0, sizeof(frame));
	bc_wire_frame(b, n, slot, &frame);
	printf("F %" PRIu64 " %" PRIu64 " %d %x %d %u\n", b->start, b->now, n, frame.can_id, fd,
	       frame.len);
	if (primary && n != ctl.node && bc_receives(b, ctl.node))
		sc_bus_heard(&ctl, &frame, fd);
	if (n == ctl.node)
		sc_bus_frame(&ctl, &frame, fd);
}

static void on_error(struct bc_bus *b, int n, int slot, const struct bc_step *step, bool primary)
{
	u64 end = b->sim.end > step->at ? b->sim.end : step->at;

	(void)slot;
	(void)primary;
	printf("E %" PRIu64 " %" PRIu64 " %d %s\n", b->start, end, n, kinds[step->kind]);
	if (n == ctl.node)
		sc_bus_error(&ctl, end);
}

static void on_state(struct bc_bus *b, int n)
{
	if (n != ctl.node)
		return;
	sc_bus_state(&ctl);
	printf("S %" PRIu64 " %s\n", b->now, states[ctl.state]);
}

static void on_dropped(struct bc_bus *b, int n, int slot, enum bc_why why)
{
	(void)b;
	(void)n;
	(void)slot;
	(void)why;
}

static const struct bc_ops ops = {
	.frame = on_frame, .error = on_error, .state = on_state, .dropped = on_dropped,
};

/* What a virtual machine finds when it looks: what became of its requests. */
static void reap(int n)
{
	struct vfcan_memory *m = memories[n];

	if (hostile[n]) {
		fired[n] = false;
		return;
	}
	for (; reaped[n] != m->request_head; reaped[n]++)
		statuses[number[n][reaped[n] % VFCAN_RING]] =
			m->requests[reaped[n] % VFCAN_RING].status;
	if (m->changes != m->seen && !fired[n])
		fail("something changed, and there was no interrupt", n);
	m->seen = m->changes;
	fired[n] = false;
	if (m->stuck)
		fail("stuck", n);
}

static void reap_all(void)
{
	u32 n;

	for (n = 0; n < ctl.functions; n++)
		reap(n);
}

/*
 * In the steps of the kernel's timer; or late, in one, as where the timer comes late: only then can functions have
 * written something that the device has not seen yet.
 */
static void run_to(u64 t, bool late)
{
	u32 n;

	for (n = 0; n < ctl.functions; n++)
		late |= memories[n]->request_tail != memories[n]->request_head;
	for (;;) {
		u64 next = bc_next(&bus), budget = sc_deadline(&ctl, bus.now);

		next = budget < next ? budget : next;
		if (late || next > t)
			break;
		sc_run(&ctl, next);
	}
	sc_run(&ctl, t);
	reap_all();
}

static bool frame_of(struct canfd_frame *frame, unsigned int flags, unsigned int length,
		     const char *hex)
{
	unsigned int i, byte;

	frame->flags = flags;
	frame->len = length;
	if (length > 64)
		return false;
	for (i = 0; i < length && hex[0] != '-'; i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		frame->data[i] = byte;
	}
	return true;
}

static void write_request(int n, const struct vfcan_request *request)
{
	struct vfcan_memory *m = memories[n];

	m->requests[m->request_tail % VFCAN_RING] = *request;
	number[n][m->request_tail % VFCAN_RING] = count++;
	m->request_tail++;
}

static void print_received(int n)
{
	struct vfcan_memory *m = memories[n];
	const struct vfcan_received *r = &m->received[m->received_tail % VFCAN_RING];
	const struct canfd_frame *f = &r->frame;
	int i;

	if (m->received_tail == m->received_head) {
		printf("R %d -\n", n);
		return;
	}
	printf("R %d %" PRIu64 " %x %u %u ", n, (u64)r->end, f->can_id, r->flags,
	       r->flags & VFCAN_FRAME_FD ? f->flags & CANFD_ESI : 0);
	for (i = 0; i < f->len && !(f->can_id & CAN_RTR_FLAG); i++)
		printf("%02x", f->data[i]);
	printf(".\n");
	m->received_tail++;
}

static void print_completion(int n)
{
	struct vfcan_memory *m = memories[n];
	const struct vfcan_done *d = &m->done[m->done_tail % VFCAN_RING];

	if (m->done_tail == m->done_head) {
		printf("C %d -\n", n);
		return;
	}
	printf("C %d %" PRIu64 " %s %" PRIu64 "\n", n, (u64)d->ticket, outcomes[d->outcome],
	       (u64)d->end);
	m->done_tail++;
}

static void finish(u64 until)
{
	u32 n, i;

	run_to(until, false);
	for (i = 0; i < count; i++)
		printf("Q %u %s\n", i, statuses[i] ? refusals[statuses[i]] : "Nothing");
	for (n = 0; n < ctl.functions; n++) {
		const u64 *c = (const u64 *)&ctl.function[n].counters;

		printf("N %u", n);
		for (i = 0; i < sizeof(struct vfcan_counters) / sizeof(u64); i++)
			printf(" %" PRIu64, c[i]);
		printf("\n");
	}
	printf("end\n");
}

static bool rights(const char *line)
{
	struct sc_rights r = { 0 };
	int n, unit, at = 0, more = 0;
	u64 when;
	u32 i;

	if (sscanf(line, "rights %d %" SCNu64 " %d %u %" SCNu64 " %u %u %u%n", &n, &when, &unit,
		   &r.budget.amount, &r.budget.per, &r.budget.burst, &r.receives, &r.sends,
		   &at) != 8 || r.receives > SC_RULES || r.sends > SC_RULES)
		return false;
	r.budget.unit = unit;
	for (i = 0; i < r.receives + r.sends; i++) {
		struct sc_rule *rule = i < r.receives ? &r.receive[i] : &r.send[i - r.receives];

		line += at;
		at = 0;
		if (sscanf(line, " %x %x%n", &rule->id, &rule->mask, &more) != 2)
			return false;
		at = more;
	}
	if (!sc_budget_fits(&r.budget))
		return false;
	run_to(when, false);
	sc_set_rights(&ctl, n, &r, bus.now);
	sc_offer(&ctl);
	reap_all();
	return true;
}

static bool set_up(const char *line)
{
	unsigned int a, b, functions, queue, fifo, fd;
	struct bc_fault fault = { .node = -1, .victim = -1 };
	long long restart;
	int kind, node;
	u32 n;

	if (sscanf(line, "bus %u %u", &a, &b) == 2) {
		bc_init(&bus, &ops, 0);
		return bc_rate_set(&bus.rate, a, b);
	}
	if (sscanf(line, "shared %u %u %u %u %lld", &functions, &queue, &fifo, &fd, &restart) == 5) {
		if (functions > SC_FUNCTIONS || queue > VFCAN_RING || fifo > VFCAN_RING)
			return false;
		memset(&ctl, 0, sizeof(ctl));
		memset(hostile, 0, sizeof(hostile));
		memset(fired, 0, sizeof(fired));
		memset(statuses, 0, sizeof(statuses));
		memset(reaped, 0, sizeof(reaped));
		count = 0;
		for (n = 0; n < functions; n++) {
			free(memories[n]);
			memories[n] = calloc(1, sizeof(*memories[n]));
			if (!memories[n])
				return false;
			ctl.function[n].memory = memories[n];
			ctl.function[n].timed = true;
		}
		sc_init(&ctl, &shared_ops, functions, queue, fifo);
		for (n = 0; n < functions; n++)
			memories[n]->irq_enable = 7;
		node = bc_attach(&bus, false, false, fd, restart < 0 ? BC_NEVER : (u64)restart, NULL);
		sc_attached(&ctl, &bus, node, fd);
		return node == 0;
	}
	if (sscanf(line, "node %u", &fd) == 1)
		return bc_attach(&bus, false, false, fd, BC_NEVER, NULL) > 0;
	if (sscanf(line, "fault %" SCNu64 " %d %d", &fault.start, &kind, &fault.bit) == 3) {
		fault.kind = kind;
		return bc_plan_fault(&bus, &fault);
	}
	return false;
}

static bool command(const char *line)
{
	struct vfcan_request request = { 0 };
	struct bc_length length;
	unsigned int late, fd, flags, len;
	char hex[256];
	int n, listen;
	u64 at, ticket;

	if (sscanf(line, "request %d %" SCNu64 " %u %x %u %u %u %255s %" SCNu64, &n, &at, &late,
		   &request.frame.can_id, &fd, &flags, &len, hex, &ticket) == 9) {
		request.ticket = ticket;
		request.flags = fd ? VFCAN_FRAME_FD : 0;
		request.written = at;
		if (!frame_of(&request.frame, flags, len, hex))
			return false;
		if (memories[n]->request_tail - memories[n]->request_head == VFCAN_RING)
			run_to(at, true);
		write_request(n, &request);
		if (!late)
			run_to(at, true);
		return count < REQUESTS;
	}
	if (sscanf(line, "abort %d %" SCNu64 " %" SCNu64, &n, &at, &ticket) == 3) {
		request.ticket = ticket;
		run_to(at, true);
		request.flags = VFCAN_REQUEST_ABORT;
		request.written = at;
		write_request(n, &request);
		run_to(at, true);
		return true;
	}
	if (sscanf(line, "send %d %" SCNu64 " %x %u %u %u %255s", &n, &at, &request.frame.can_id,
		   &fd, &flags, &len, hex) == 7) {
		if (!frame_of(&request.frame, flags, len, hex))
			return false;
		run_to(at, false);
		for (listen = 0; listen < BC_SLOTS; listen++)
			if (!bus.nodes[n].slots[listen].used)
				break;
		bc_length(&request.frame, fd, &length);
		if (listen < BC_SLOTS && bus.nodes[n].state != BC_BUS_OFF)
			bc_send(&bus, n, listen, &request.frame, fd, &length,
				bc_key(&request.frame, fd), bc_key(&request.frame, fd), at, 0);
		return true;
	}
	if (!strncmp(line, "rights ", 7))
		return rights(line);
	if (sscanf(line, "hostile %d", &n) == 1) {
		hostile[n] = true;
		return true;
	}
	if (sscanf(line, "poke %d %" SCNu64 " %u %x %x", &n, &at, &late, &flags, &len) == 5) {
		u32 *word = (u32 *)memories[n] + flags / 4;

		if (flags >= sizeof(*memories[n]))
			return false;
		*word = late ? *word + len : len;
		run_to(at, true);
		return true;
	}
	if (sscanf(line, "start %d %" SCNu64 " %d", &n, &at, &listen) == 3) {
		run_to(at, false);
		sc_start(&ctl, n, listen);
	} else if (sscanf(line, "reset %d %" SCNu64, &n, &at) == 2) {
		run_to(at, true);
		sc_clear(&ctl, n);
		sc_offer(&ctl);
		reaped[n] = 0;
		fired[n] = false;
		memories[n]->irq_enable = 7;
	} else if (sscanf(line, "receive %d %" SCNu64, &n, &at) == 2) {
		run_to(at, false);
		print_received(n);
	} else if (sscanf(line, "completion %d %" SCNu64, &n, &at) == 2) {
		run_to(at, true);
		print_completion(n);
	} else if (sscanf(line, "restart %" SCNu64, &at) == 1) {
		run_to(at, false);
		bc_restart(&bus, ctl.node);
	} else if (sscanf(line, "run %" SCNu64, &at) == 1) {
		finish(at);
	} else {
		return set_up(line);
	}
	return true;
}

int main(void)
{
	char line[2048];

	bc_wire_init();
	while (fgets(line, sizeof(line), stdin)) {
		if (!command(line)) {
			fprintf(stderr, "not understood: %s", line);
			return 2;
		}
	}
	return 0;
}
