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
 *
 * Frames are Linux's, in messages and records, too: struct can_frame, or for FD struct canfd_frame,
 * which are told apart by their size.
 */
#include "../../../../kmod/bitcan/core/core.h"

#include "../qemu.h"
#include "arrivals.h"
#include "clock.h"
#include "fail.h"
#include "fd_card.h"
#include "libc.h"
#include "links.h"
#include "record.h"

/*
 * Bits from start of frame to end of frame of base frames without data and stuff bits (ISO
 * 11898-1): classic, and FD with BRS, at the bit rate and at the data bit rate. An FD frame without
 * BRS has 59 at the bit rate. docs/lockstep.md counts them.
 */
#define SHORTEST_BITS 44
#define SHORTEST_FD_BITS 27
#define SHORTEST_FD_DATA_BITS 32

#define ALL_FLAGS (QEMU_CAN_BRS | QEMU_CAN_ESI | QEMU_CAN_FD)

_Static_assert(sizeof(struct can_frame) == 16 && sizeof(struct canfd_frame) == 72 &&
	       offsetof(struct can_frame, data) == 8 && offsetof(struct canfd_frame, data) == 8,
	       "the layouts are Linux's");
_Static_assert(CANFD_BRS == QEMU_CAN_BRS && CANFD_ESI == QEMU_CAN_ESI, "the flags are the same");

struct request {
	int64_t at;
	bool is_fd;
	struct canfd_frame frame;
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

/* Nodes of QEMU's buses, each of which stands for all other machines. */
static struct can_client clients[LINKS];

static uint16_t size_of(bool is_fd)
{
	return is_fd ? sizeof(struct canfd_frame) : sizeof(struct can_frame);
}

static struct copy *copy_of(const struct bc_bus *bus)
{
	struct copy *copy = copies;

	while (copy->bus != bus)
		copy++;
	return copy;
}

static void submit(struct copy *copy, unsigned int node, const struct request *request, int64_t ready)
{
	struct bc_length length;
	uint32_t key = bc_key(&request->frame, request->is_fd);

	bc_length(&request->frame, request->is_fd, &length);
	bc_send(copy->bus, node, 0, &request->frame, request->is_fd, &length, key, 0, ready, request->at);
}

static void submit_next(struct copy *copy, unsigned int n)
{
	struct node *node = &copy->nodes[n];

	if (node->first != node->last)
		submit(copy, n, &node->queue[node->first++ % copy->link->queue], copy->bus->now);
}

static void note(struct copy *copy, enum record_kind kind, unsigned int node, unsigned int slot,
		 const struct canfd_frame *frame)
{
	const struct bc_slot *it = &copy->bus->nodes[node].slots[slot];

	add_record(copy->link, kind, copy->nodes[node].machine, it->tag, copy->bus->now, frame, size_of(it->fd));
}

/* What was on the wire, where an error-passive node sends ESI. */
static void note_on_wire(struct copy *copy, enum record_kind kind, unsigned int node, unsigned int slot)
{
	struct canfd_frame frame;

	bc_wire_frame(copy->bus, node, slot, &frame);
	note(copy, kind, node, slot, &frame);
}

static void on_frame(struct bc_bus *bus, int node, int slot, bool is_primary)
{
	struct copy *copy = copy_of(bus);

	(void)is_primary;
	if (copy->foreseen != bus->starts)
		fail("the end of a frame at %lld ns was not foreseen", (long long)bus->now);
	note_on_wire(copy, RECORD_SENT, node, slot);
	submit_next(copy, node);
}

static void on_error(struct bc_bus *bus, int node, int slot, const struct bc_step *step, bool is_primary)
{
	(void)step;
	(void)is_primary;
	note_on_wire(copy_of(bus), RECORD_ERROR, node, slot);
}

static void on_drop(struct bc_bus *bus, int node, int slot, enum bc_why why)
{
	struct copy *copy = copy_of(bus);

	(void)why;
	note(copy, RECORD_LOST, node, slot, &bus->nodes[node].slots[slot].frame);
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

/* Returns the size of the frame that Linux has for this one. */
static uint16_t to_linux(const struct link *link, const struct qemu_can_frame *from, struct canfd_frame *to)
{
	bool is_fd = from->flags & QEMU_CAN_FD;
	uint8_t most = is_fd ? CANFD_MAX_DLEN : CAN_MAX_DLEN;

	if (from->flags & ~ALL_FLAGS)
		fail("this build of QEMU has other CAN frames: one has the flags %#x", from->flags);
	if (is_fd && !link->data_rate)
		fail("a card sends a CAN FD frame, and its link has no data_bitrate");
	memset(to, 0, sizeof(*to));
	to->can_id = is_fd ? from->can_id & ~CAN_RTR_FLAG : from->can_id;
	to->len = from->can_dlc < most ? from->can_dlc : most;
	if (is_fd)
		to->flags = from->flags & (CANFD_BRS | CANFD_ESI);
	if (!(to->can_id & CAN_RTR_FLAG))
		memcpy(to->data, from->data, to->len);
	return size_of(is_fd);
}

static long receive(void *data, const struct qemu_can_frame *frames, size_t count)
{
	const struct link *link = &settings.links[(struct can_client *)data - clients];
	int64_t now = common_now();
	size_t i;

	if (is_off())
		return 0;
	for (i = 0; i < count; i++) {
		struct message *message = links_message(link, now);
		struct canfd_frame frame;

		message->length = to_linux(link, &frames[i], &frame);
		memcpy(message->bytes, &frame, message->length);
		message->ready = now;
		links_counts(link->number)->sent++;
		links_send(now + copies[link->number].shortest);
	}
	return count;
}

static void connect(const struct link *link)
{
	static struct can_client_info info = { is_ready, receive };
	struct can_client *client = &clients[link->number];
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
	if (link->data_rate)
		try_fd_card();
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
	if (!bc_rate_set(&copy->bus->rate, link->rate, link->data_rate))
		fail("a CAN bus cannot have %llu and %llu bit/s", (unsigned long long)link->rate,
		     (unsigned long long)link->data_rate);
	copy->shortest = bc_time(&copy->bus->rate, SHORTEST_BITS, 0);
	if (link->data_rate)
		copy->shortest = earlier(copy->shortest, bc_time(&copy->bus->rate, SHORTEST_FD_BITS,
								 SHORTEST_FD_DATA_BITS));
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
		if (!node->queue || bc_attach(copy->bus, false, false, link->data_rate, 0, NULL) !=
					    (int)copy->node_count)
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
	struct request *request;

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
	request = &copy->requests[i];
	memset(request, 0, sizeof(*request));
	request->at = message->sent;
	request->is_fd = message->length == size_of(true);
	memcpy(&request->frame, message->bytes, message->length);
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
			   size_of(request->is_fd));
		if (n == copy->own)
			links_counts(copy->link->number)->lost++;
	}
}

/* The frame on the wire reaches this machine's card at this end. */
static void foresee(struct copy *copy, int64_t end)
{
	const struct bc_bus *bus = copy->bus;
	const struct bc_node *sender = &bus->nodes[bus->senders[0].node];
	struct canfd_frame frame;

	if (copy->foreseen == bus->starts)
		return;
	copy->foreseen = bus->starts;
	if (copy->own == MACHINES || !bc_receives(bus, copy->own))
		return;
	bc_wire_frame(bus, bus->senders[0].node, sender->in_flight, &frame);
	add_arrival(copy->link, end, &frame, size_of(sender->slots[sender->in_flight].fd));
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

void can_deliver(const struct link *link, const uint8_t *bytes, uint16_t length)
{
	struct counts *counts = links_counts(link->number);
	struct qemu_can_frame to = { 0 };
	struct canfd_frame frame = { 0 };

	memcpy(&frame, bytes, length);
	to.can_id = frame.can_id;
	to.can_dlc = frame.len;
	if (length == size_of(true))
		to.flags = QEMU_CAN_FD | frame.flags;
	memcpy(to.data, frame.data, sizeof(frame.data));
	if (can_bus_client_send(&clients[link->number], &to, 1) > 0)
		counts->received++;
	else
		counts->refused++;
}
