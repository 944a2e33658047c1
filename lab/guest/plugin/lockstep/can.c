/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A CAN bus in bit time, of which each machine has a copy: kmod/bitcan/core, as in the kernel
 * module. The messages are the frames that machines' cards send, with their times. The copies do
 * the same with them.
 *
 * QEMU's cards report a frame as sent at once. So a node has a queue here, which is sent in its
 * order, as by a controller with one transmit buffer; a card reaches the end of a frame (its
 * reception) with the last bit of the end of frame, when Linux's controllers report it. A frame
 * cannot end sooner than `shortest` after it was sent.
 */
#include "../../../../kmod/bitcan/core/core.h"

#include "../qemu.h"
#include "arrivals.h"
#include "clock.h"
#include "fail.h"
#include "libc.h"
#include "links.h"
#include "record.h"

/*
 * Bits from start of frame to end of frame of a classic base frame without data and stuff bits (ISO
 * 11898-1).
 */
#define SHORTEST_BITS 44

_Static_assert(sizeof(struct can_frame) == 16 && sizeof(struct canfd_frame) == 72 &&
	       offsetof(struct can_frame, data) == 8, "the layouts are Linux's");

struct request {
	int64_t at;
	struct can_frame frame;
};

struct node {
	unsigned int machine;
	struct request *queue;
	unsigned int first, last;	/* as ever growing places */
};

static struct copy {
	struct bc_bus *bus;
	const struct link *link;
	struct node nodes[MACHINES];
	unsigned int node_count;
	unsigned int own;		/* this machine's node; MACHINES */
	int64_t shortest;
	struct request *requests;	/* since the last meeting, in the order of their times */
	unsigned int *request_nodes;
	unsigned int request_count;
	uint64_t foreseen;		/* starts of frame whose end is an arrival already */
} copies[LINKS];

/* A node of QEMU's bus, which stands for all other machines. */
static struct client {
	struct can_client_info *info;
	void *bus;
	char others[240];	/* CanBusClientState has less */
} clients[LINKS];

static struct copy *copy_of(const struct bc_bus *bus)
{
	struct copy *copy = copies;

	while (copy->bus != bus)
		copy++;
	return copy;
}

static void submit(struct copy *copy, unsigned int node, const struct request *request, int64_t ready)
{
	struct canfd_frame frame = { 0 };
	struct bc_length length;
	uint32_t key;

	memcpy(&frame, &request->frame, sizeof(request->frame));
	bc_length(&frame, false, &length);
	key = bc_key(&frame, false);
	bc_send(copy->bus, node, 0, &frame, false, &length, key, 0, ready, request->at);
}

static void submit_next(struct copy *copy, unsigned int n)
{
	struct node *node = &copy->nodes[n];

	if (node->first != node->last)
		submit(copy, n, &node->queue[node->first++ % copy->link->queue], copy->bus->now);
}

static void note(struct copy *copy, enum record_kind kind, unsigned int node, const struct bc_slot *slot)
{
	add_record(copy->link, kind, copy->nodes[node].machine, slot->tag, copy->bus->now, &slot->frame,
		   sizeof(struct can_frame));
}

static void on_frame(struct bc_bus *bus, int node, int slot, bool is_primary)
{
	struct copy *copy = copy_of(bus);

	(void)is_primary;
	if (copy->foreseen != bus->starts)
		fail("the end of a frame at %lld ns was not foreseen", (long long)bus->now);
	note(copy, RECORD_SENT, node, &bus->nodes[node].slots[slot]);
	submit_next(copy, node);
}

static void on_error(struct bc_bus *bus, int node, int slot, const struct bc_step *step, bool is_primary)
{
	(void)step;
	(void)is_primary;
	note(copy_of(bus), RECORD_ERROR, node, &bus->nodes[node].slots[slot]);
}

static void on_drop(struct bc_bus *bus, int node, int slot, enum bc_why why)
{
	struct copy *copy = copy_of(bus);

	(void)why;
	note(copy, RECORD_LOST, node, &bus->nodes[node].slots[slot]);
	if ((unsigned int)node == copy->own)
		links_counts(copy->link->number)->lost++;
	submit_next(copy, node);
}

static void on_state(struct bc_bus *bus, int node)
{
	(void)bus;
	(void)node;
}

static const struct bc_ops ops = { on_frame, on_error, on_state, on_drop, NULL };

/* The guest's card sends: at the instruction that tells it to. */
static bool is_ready(void *client)
{
	(void)client;
	return true;
}

static long receive(void *data, const struct qemu_can_frame *frames, size_t count)
{
	const struct link *link = &settings.links[(struct client *)data - clients];
	int64_t now = common_now();
	size_t i;

	if (is_off())
		return 0;
	for (i = 0; i < count; i++) {
		struct message *message = links_message(link, now);
		struct can_frame frame = { .can_id = frames[i].can_id };

		frame.len = frames[i].can_dlc < CAN_MAX_DLEN ? frames[i].can_dlc : CAN_MAX_DLEN;
		if (!(frame.can_id & CAN_RTR_FLAG))
			memcpy(frame.data, frames[i].data, frame.len);
		message->length = sizeof(frame);
		memcpy(message->bytes, &frame, sizeof(frame));
		message->ready = now;
		links_counts(link->number)->sent++;
		links_send(now + copies[link->number].shortest);
	}
	return count;
}

static void connect(const struct link *link)
{
	static struct can_client_info info = { is_ready, receive };
	struct client *client = &clients[link->number];
	char path[32];
	void *bus;

	snprintf(path, sizeof(path), "/objects/b%u", link->place);
	bus = object_resolve_path(path, NULL);
	if (!bus)
		fail("the machine has no CAN bus %s", path);
	client->info = &info;
	can_bus_insert_client(bus, client);
	if (client->bus != bus)
		fail("this build of QEMU has other CAN clients: CanBusClientState differs");
}

void can_open(const struct link *link)
{
	struct copy *copy = &copies[link->number];
	unsigned int i;

	bc_wire_init();
	copy->link = link;
	copy->own = MACHINES;
	copy->bus = calloc(1, sizeof(*copy->bus));
	copy->requests = calloc(MACHINES * RING, sizeof(*copy->requests));
	copy->request_nodes = calloc(MACHINES * RING, sizeof(*copy->request_nodes));
	if (!copy->bus || !copy->requests || !copy->request_nodes || !link->queue)
		fail("no memory for a CAN bus");
	bc_init(copy->bus, &ops, 0);
	if (!bc_rate_set(&copy->bus->rate, link->rate, 0))
		fail("a CAN bus cannot have %llu bit/s", (unsigned long long)link->rate);
	copy->shortest = bc_time(&copy->bus->rate, SHORTEST_BITS, 0);
	for (i = 0; i < settings.machines; i++) {
		struct node *node = &copy->nodes[copy->node_count];

		if (!is_member(link, i))
			continue;
		node->machine = i;
		node->queue = calloc(link->queue, sizeof(*node->queue));
		/*
		 * Bus-off, a node recovers as soon as ISO 11898-1 allows: its machine does not know
		 * of it.
		 */
		if (!node->queue || bc_attach(copy->bus, false, false, false, 0, NULL) != (int)copy->node_count)
			fail("no memory for a node of a CAN bus");
		if (i == settings.machine)
			copy->own = copy->node_count;
		copy->node_count++;
	}
	if (link->place)
		connect(link);
}

void can_take(const struct link *link, const struct message *message)
{
	struct copy *copy = &copies[link->number];
	unsigned int i = copy->request_count++, node = 0;

	if (i == MACHINES * RING)
		fail("too many frames between two meetings");
	while (copy->nodes[node].machine != message->machine)
		node++;
	/*
	 * Frames of one time keep the order of their machines, whose messages are read in that
	 * order.
	 */
	while (i && copy->requests[i - 1].at > message->sent) {
		copy->requests[i] = copy->requests[i - 1];
		copy->request_nodes[i] = copy->request_nodes[i - 1];
		i--;
	}
	copy->requests[i].at = message->sent;
	memcpy(&copy->requests[i].frame, message->bytes, sizeof(copy->requests[i].frame));
	copy->request_nodes[i] = node;
}

static void ask(struct copy *copy, unsigned int n, const struct request *request)
{
	struct node *node = &copy->nodes[n];

	bc_run(copy->bus, request->at);
	if (!copy->bus->nodes[n].slots[0].used) {
		submit(copy, n, request, request->at);
	} else if (node->last - node->first < copy->link->queue) {
		node->queue[node->last++ % copy->link->queue] = *request;
	} else {
		add_record(copy->link, RECORD_LOST, node->machine, request->at, request->at, &request->frame,
			   sizeof(request->frame));
		if (n == copy->own)
			links_counts(copy->link->number)->lost++;
	}
}

/* The frame on the wire reaches this machine's card at this end. */
static void foresee(struct copy *copy, int64_t end)
{
	const struct bc_bus *bus = copy->bus;
	const struct bc_node *sender = &bus->nodes[bus->senders[0].node];

	if (copy->foreseen == bus->starts)
		return;
	copy->foreseen = bus->starts;
	if (copy->own != MACHINES && bc_receives(bus, copy->own))
		add_arrival(copy->link, end, &sender->slots[sender->in_flight].frame, sizeof(struct can_frame));
}

void can_run(const struct link *link, int64_t now, int64_t *quiet, int64_t *next)
{
	struct copy *copy = &copies[link->number];
	struct bc_bus *bus = copy->bus;
	unsigned int i;

	for (i = 0; i < copy->request_count; i++)
		ask(copy, copy->request_nodes[i], &copy->requests[i]);
	copy->request_count = 0;
	bc_run(bus, now);
	if (bus->phase == BC_FRAME) {
		foresee(copy, bus->end);
		*quiet = earlier(*quiet, bus->end);
	} else if (bus->phase == BC_DISTURBED) {
		if (bus->sim.success)
			foresee(copy, bus->sim.end);
		*quiet = earlier(*quiet, bus->sim.end);
	}
	if (bus->phase == BC_FREE ? bus->pending || bus->off : bus->off) {
		/* Another frame may start: its end has to be foreseen at a meeting before. */
		int64_t end = later(now, bus->phase == BC_FREE && !bus->off ? (int64_t)bus->free_from : now) +
			      copy->shortest;

		*quiet = earlier(*quiet, end);
		*next = earlier(*next, end - 1);
	}
}

void can_deliver(const struct link *link, const uint8_t *bytes)
{
	struct counts *counts = links_counts(link->number);
	struct qemu_can_frame to = { 0 };
	struct can_frame frame;

	memcpy(&frame, bytes, sizeof(frame));
	to.can_id = frame.can_id;
	to.can_dlc = frame.len;
	memcpy(to.data, frame.data, sizeof(frame.data));
	if (can_bus_client_send(&clients[link->number], &to, 1) > 0)
		counts->received++;
	else
		counts->refused++;
}
