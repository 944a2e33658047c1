// SPDX-License-Identifier: GPL-2.0
/*
 * The core on its own: reads schedules as text, prints what happens as text.
 *
 *   bus NOMINAL DATA                            a new bus; DATA 0: classic
 *   node MAILBOXES QUEUE ONE_SHOT LISTEN_ONLY FD RESTART_NS LIST
 *                                               RESTART_NS -1: not by itself. LIST 1: frames wait
 *                                               in the buffer for their time, as the tester's do
 *   fault NODE START KIND BIT VICTIM            NODE -1: the bus's n-th start; -1: any, all
 *   send NODE AT CAN_ID FD FLAGS LENGTH HEX TAG AT must not go back; CAN_ID in hex, as SocketCAN
 *                                               has it; HEX - for none
 *   restart NODE AT
 *   run UNTIL                                   plays it all; ends with `end`
 *   length CAN_ID FD FLAGS LENGTH HEX           prints nominal and data bits, by table and by bit
 *
 * Build: cc -O2 -o replay host/replay.c core/[a-z]*.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../core/core.h"

#define ACTIONS 65536

struct pending {
	struct canfd_frame frame;
	bool fd;
	u64 at, tag;
};

struct action {
	bool restart;
	int node;
	struct pending what;
};

struct host_node {
	int mailboxes;
	size_t room;
	bool list;
	struct pending *queue;
	size_t first, last;	/* of the queue, as ever growing places */
	u64 dropped;
};

static struct bc_bus bus;
static struct host_node nodes[BC_NODES];
static int node_count;
static struct action *actions;
static size_t action_count;

static const char *const kinds[] = { "Bit", "Stuff", "Form", "Crc", "Ack" };
static const char *const states[] = { "Active", "Warning", "Passive", "BusOff" };

static void fill(int n, int slot, const struct pending *p)
{
	struct bc_length length;
	u32 key = bc_key(&p->frame, p->fd);

	bc_length(&p->frame, p->fd, &length);
	bc_send(&bus, n, slot, &p->frame, p->fd, &length, key, key, p->at, p->tag);
}

static void move_up(int n, int slot)
{
	struct host_node *h = &nodes[n];

	if (h->first < h->last)
		fill(n, slot, &h->queue[h->first++ % ACTIONS]);
}

static void drop(int n, u64 tag, const char *why)
{
	nodes[n].dropped++;
	printf("D %" PRIu64 " %d %" PRIu64 " %s\n", bus.now, n, tag, why);
}

static void on_frame(struct bc_bus *b, int n, int slot, bool primary)
{
	const struct bc_slot *s = &b->nodes[n].slots[slot];
	struct canfd_frame frame;
	int i;

	bc_wire_frame(b, n, slot, &frame);
	printf("F %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %u %d %x %d to", b->start,
	       b->now, n, s->tag, s->ready, s->attempts, primary, frame.can_id,
	       s->fd && frame.flags & CANFD_ESI ? 1 : 0);
	for (i = 0; i < node_count && primary; i++)
		if (bc_receives(b, i))
			printf(" %d", i);
	printf("\n");
	move_up(n, slot);
}

static void on_error(struct bc_bus *b, int n, int slot, const struct bc_step *step, bool primary)
{
	printf("E %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64 " %s %d\n", b->start,
	       step->at, b->sim.end > step->at ? b->sim.end : step->at, n, step->by,
	       b->nodes[n].slots[slot].tag, kinds[step->kind], primary);
}

static void on_state(struct bc_bus *b, int n)
{
	struct host_node *h = &nodes[n];
	struct bc_node *node = &b->nodes[n];
	u64 after = 0;

	printf("S %" PRIu64 " %d %s\n", b->now, n, states[node->state]);
	if (node->state != BC_BUS_OFF)
		return;
	for (;;) {
		const struct bc_slot *oldest = NULL;
		int i;

		for (i = 0; i < BC_SLOTS; i++) {
			const struct bc_slot *s = &node->slots[i];

			if (s->used && s->order >= after && (!oldest || s->order < oldest->order))
				oldest = s;
		}
		if (!oldest)
			break;
		after = oldest->order + 1;
		drop(n, oldest->tag, "BusOff");
	}
	while (h->first < h->last)
		drop(n, h->queue[h->first++ % ACTIONS].tag, "BusOff");
}

static void on_dropped(struct bc_bus *b, int n, int slot, enum bc_why why)
{
	if (why != BC_ONE_SHOT)
		return;
	drop(n, b->nodes[n].slots[slot].tag, "OneShot");
	move_up(n, slot);
}

static const struct bc_ops ops = {
	.frame = on_frame, .error = on_error, .state = on_state, .dropped = on_dropped,
};

static void hand_in(int n, const struct pending *p)
{
	struct host_node *h = &nodes[n];
	int i;

	if (bus.nodes[n].state == BC_BUS_OFF) {
		drop(n, p->tag, "BusOff");
		return;
	}
	for (i = 0; i < h->mailboxes; i++) {
		if (!bus.nodes[n].slots[i].used) {
			fill(n, i, p);
			return;
		}
	}
	if (h->last - h->first >= h->room) {
		drop(n, p->tag, "QueueFull");
		return;
	}
	h->queue[h->last++ % ACTIONS] = *p;
}

/* In the steps that bc_next() gives, as the kernel's timer does, so that it is tried too. */
static void run_to(u64 t)
{
	while (bc_next(&bus) <= t)
		bc_run(&bus, bc_next(&bus));
	bc_run(&bus, t);
}

static void run(u64 until)
{
	size_t i;
	int n;

	/* The lists of LIST nodes are known from the beginning. */
	for (i = 0; i < action_count; i++)
		if (!actions[i].restart && nodes[actions[i].node].list)
			hand_in(actions[i].node, &actions[i].what);
	for (i = 0; i < action_count; i++) {
		const struct action *a = &actions[i];

		if (!a->restart && nodes[a->node].list)
			continue;
		run_to(a->what.at);
		if (a->restart)
			bc_restart(&bus, a->node);
		else
			hand_in(a->node, &a->what);
	}
	run_to(until);
	for (n = 0; n < node_count; n++) {
		const struct bc_node *node = &bus.nodes[n];

		printf("N %d %u %u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n,
		       node->tec, node->rec, states[node->state], node->sent, node->received,
		       nodes[n].dropped, node->failed);
	}
	printf("end\n");
}

static bool frame_of(struct pending *p, unsigned int fd, unsigned int flags, unsigned int length,
		     const char *hex)
{
	unsigned int i, byte;

	p->fd = fd;
	p->frame.flags = flags;
	p->frame.len = length;
	if (length > 64)
		return false;
	for (i = 0; i < length && hex[0] != '-'; i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		p->frame.data[i] = byte;
	}
	return true;
}

static bool new_node(const char *line)
{
	int mailboxes, one_shot, listen_only, fd, list;
	long long restart;
	size_t room;
	struct host_node *h;

	if (sscanf(line, "node %d %zu %d %d %d %lld %d", &mailboxes, &room, &one_shot, &listen_only,
		   &fd, &restart, &list) != 7 || node_count == BC_NODES || mailboxes < 1 ||
	    mailboxes > BC_SLOTS)
		return false;
	h = &nodes[node_count];
	h->mailboxes = mailboxes;
	h->room = room < ACTIONS ? room : ACTIONS;
	h->list = list;
	h->first = 0;
	h->last = 0;
	h->dropped = 0;
	if (!h->queue)
		h->queue = calloc(ACTIONS, sizeof(*h->queue));
	return h->queue && bc_attach(&bus, listen_only, one_shot, fd,
				     restart < 0 ? BC_NEVER : (u64)restart, NULL) == node_count++;
}

static bool command(const char *line)
{
	struct bc_fault fault;
	struct bc_length length;
	struct pending p = { 0 };
	unsigned int a, b, fd, flags, len;
	u8 bits[BC_BITS];
	char hex[256];
	u64 until;
	u32 i, count;
	int n, kind;

	if (sscanf(line, "bus %u %u", &a, &b) == 2) {
		bc_init(&bus, &ops, 0);
		node_count = 0;
		action_count = 0;
		return bc_rate_set(&bus.rate, a, b);
	}
	if (!strncmp(line, "node ", 5))
		return new_node(line);
	if (sscanf(line, "fault %d %" SCNu64 " %d %d %d", &fault.node, &fault.start, &kind,
		   &fault.bit, &fault.victim) == 5) {
		fault.kind = kind;
		return bc_plan_fault(&bus, &fault);
	}
	if (sscanf(line, "send %d %" SCNu64 " %x %u %u %u %255s %" SCNu64, &n, &p.at,
		   &p.frame.can_id, &fd, &flags, &len, hex, &p.tag) == 8) {
		if (n < 0 || n >= node_count || action_count == ACTIONS ||
		    !frame_of(&p, fd, flags, len, hex))
			return false;
		actions[action_count++] = (struct action){ .node = n, .what = p };
		return true;
	}
	if (sscanf(line, "restart %d %" SCNu64, &n, &p.at) == 2) {
		if (n < 0 || n >= node_count || action_count == ACTIONS)
			return false;
		actions[action_count++] = (struct action){ .restart = true, .node = n, .what = p };
		return true;
	}
	if (sscanf(line, "run %" SCNu64, &until) == 1) {
		run(until);
		return true;
	}
	if (sscanf(line, "length %x %u %u %u %255s", &p.frame.can_id, &fd, &flags, &len, hex) == 5) {
		if (!frame_of(&p, fd, flags, len, hex))
			return false;
		bc_length(&p.frame, p.fd, &length);
		count = bc_encode(&p.frame, p.fd, bits);
		for (a = 0, i = 0; i < count; i++)
			a += !!(bits[i] & BC_FAST);
		printf("L %u %u %u %u\n", length.nominal, length.data, count - a, a);
		return true;
	}
	return false;
}

int main(void)
{
	char line[512];

	bc_wire_init();
	actions = calloc(ACTIONS, sizeof(*actions));
	if (!actions)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		if (!command(line)) {
			fprintf(stderr, "replay: cannot do: %s", line);
			return 1;
		}
	}
	return 0;
}
