/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Ethernet: a store-and-forward switch with a port for each machine. A packet
 *
 *   1. takes its time on the sender's line, one after the other;
 *   2. is forwarded `latency` after its last bit, and a random part of `jitter` later;
 *   3. waits at each port that it leaves by for the packets before it, and takes its time on that
 *      line;
 *   4. reaches the card with its last bit.
 *
 * The sender computes 1 and 2, and which packets are lost. The packets of all senders, in the order
 * of the times at which they are forwarded, are the same in each machine, which computes 3 for all
 * ports, so that the records are the same, too. The switch learns addresses as bridges do (IEEE
 * 802.1Q §8.7), without ageing.
 */
#include "../qemu.h"
#include "arrivals.h"
#include "clock.h"
#include "fail.h"
#include "libc.h"
#include "links.h"
#include "record.h"

#define NS_PER_S 1000000000ull
#define MILLION 1000000u

/*
 * Bytes on the line (IEEE 802.3): preamble and start delimiter, check sequence, the least packet
 * with it, the gap.
 */
#define PREAMBLE 8
#define CHECK 4
#define LEAST 64
#define GAP 12

#define ADDRESS 6
#define HEADER 14
#define ADDRESSES 256

/* NetClientDriver of qapi/net.json; only shown to users of the monitor. */
#define DRIVER_SOCKET 5
/* More than any NetClientState has. */
#define CLIENT_SIZE 4096

struct waiting {
	struct waiting *next;
	struct message message;
};

static struct port {
	void *client;
	int64_t in_free;	/* the sender's line */
	int64_t out_free[MACHINES];	/* the receivers' lines */
	struct waiting *first;	/* packets that the switch does not forward yet, in its order */
	unsigned int known;
	struct {
		uint8_t address[ADDRESS];
		uint8_t machine;
	} addresses[ADDRESSES];
} ports[LINKS];

static int64_t line_time(const struct link *link, uint64_t bytes)
{
	return link->rate ? (bytes * 8 * NS_PER_S + link->rate - 1) / link->rate : 0;
}

/* From the first bit of the preamble to the last bit of the check sequence. */
static int64_t packet_time(const struct link *link, uint64_t length)
{
	return line_time(link, PREAMBLE + (length + CHECK < LEAST ? LEAST : length + CHECK));
}

/* Whether so much time of a line is more than its queue has room for. */
static bool is_full(const struct link *link, int64_t wait)
{
	return wait > line_time(link, link->queue);
}

/* A number for this packet that is the same in each run (SplitMix64). */
static uint64_t random_number(const struct link *link, const struct message *message, uint64_t use)
{
	uint64_t z = link->seed * 0x9e3779b97f4a7c15ull + message->order * 64 + message->machine * 2 + use;
	int i;

	for (i = 0; i < 2; i++) {
		z += 0x9e3779b97f4a7c15ull;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		z ^= z >> 31;
	}
	return z;
}

static void send(const struct link *link, const uint8_t *bytes, size_t size)
{
	struct port *port = &ports[link->number];
	struct counts *counts = links_counts(link->number);
	int64_t now = common_now(), begin = later(now, port->in_free);
	struct message *message;

	counts->sent++;
	message = links_message(link, now);
	message->length = size < LONGEST ? size : LONGEST;
	memcpy(message->bytes, bytes, message->length);
	if (size < HEADER || size > LONGEST || is_full(link, begin - now)) {
		message->is_lost = true;
		/* Its place among the records; nothing that is sent later has an earlier one. */
		message->ready = now + packet_time(link, 0) + link->latency;
	} else {
		message->ready = begin + packet_time(link, size);
		port->in_free = message->ready + line_time(link, GAP);
		message->ready += link->latency;
		if (link->jitter)
			message->ready += random_number(link, message, 0) % (link->jitter + 1);
		message->is_lost = random_number(link, message, 1) % MILLION < link->loss;
	}
	counts->lost += message->is_lost;
	links_send(message->is_lost ? NEVER : message->ready + packet_time(link, size));
}

/* The guest's card sends: at the instruction that tells it to. */
static long receive(void *client, const uint8_t *bytes, size_t size)
{
	unsigned int i;

	for (i = 0; i < settings.link_count; i++) {
		if (ports[i].client == client && client) {
			/* QEMU's card has no more of it after this, lost or not. */
			if (!is_off())
				send(&settings.links[i], bytes, size);
			return size;
		}
	}
	fail("QEMU hands over a packet of an unknown client: its NetClientInfo differs");
}

void ethernet_open(const struct link *link)
{
	static struct net_client_info info = { DRIVER_SOCKET, CLIENT_SIZE, receive, { 0 } };
	struct port *port = &ports[link->number];

	if (!link->place)
		return;
	port->client = qemu_new_net_client(&info, NULL, "lockstep", "lockstep");
	/* NetClientState begins with this pointer. */
	if (*(void **)port->client != &info)
		fail("this build of QEMU has other network clients: NetClientState differs");
	net_hub_add_port(link->place, NULL, port->client);
}

void ethernet_take(const struct link *link, const struct message *message)
{
	struct waiting **place = &ports[link->number].first, *waiting;

	waiting = malloc(sizeof(*waiting));
	if (!waiting)
		fail("no memory for a packet");
	memcpy(&waiting->message, message, sizeof(*message));
	/*
	 * Messages of one time keep the order of their machines, whose messages are read in that
	 * order.
	 */
	while (*place && ((*place)->message.ready < message->ready ||
			  ((*place)->message.ready == message->ready &&
			   (*place)->message.machine <= message->machine)))
		place = &(*place)->next;
	waiting->next = *place;
	*place = waiting;
}

/* Where an address is, as far as the switch has learned it: a machine; MACHINES. */
static unsigned int place_of(const struct port *port, const uint8_t *address)
{
	unsigned int i;

	for (i = 0; i < port->known; i++)
		if (!memcmp(port->addresses[i].address, address, ADDRESS))
			return port->addresses[i].machine;
	return MACHINES;
}

static void learn(struct port *port, const uint8_t *address, unsigned int machine)
{
	unsigned int i;

	if (address[0] & 1)
		return;
	for (i = 0; i < port->known; i++)
		if (!memcmp(port->addresses[i].address, address, ADDRESS))
			break;
	/* A full table learns no more, and packets to others leave by all ports. */
	if (i == ADDRESSES)
		return;
	if (i == port->known)
		port->known++;
	memcpy(port->addresses[i].address, address, ADDRESS);
	port->addresses[i].machine = machine;
}

/* The packet leaves by the port of a machine. */
static void leave(const struct link *link, unsigned int machine, const struct message *message)
{
	struct port *port = &ports[link->number];
	int64_t end = later(message->ready, port->out_free[machine]);

	if (is_full(link, end - message->ready)) {
		add_record(link, RECORD_CROWDED, machine, message->sent, message->ready, message->bytes,
			   message->length);
		return;
	}
	end += packet_time(link, message->length);
	port->out_free[machine] = end + line_time(link, GAP);
	if (machine == settings.machine)
		add_arrival(link, end, message->bytes, message->length);
}

static void forward(const struct link *link, const struct message *message)
{
	struct port *port = &ports[link->number];
	unsigned int to, i;

	if (message->is_lost) {
		add_record(link, RECORD_LOST, message->machine, message->sent, message->ready, message->bytes,
			   message->length);
		return;
	}
	to = place_of(port, message->bytes);
	learn(port, message->bytes + ADDRESS, message->machine);
	add_record(link, RECORD_SENT, message->machine, message->sent, message->ready, message->bytes, message->length);
	for (i = 0; i < settings.machines; i++)
		if (is_member(link, i) && i != message->machine && (to == MACHINES || to == i))
			leave(link, i, message);
}

void ethernet_run(const struct link *link, int64_t quiet)
{
	struct port *port = &ports[link->number];
	/* What is sent from `quiet` on is forwarded at or after this. */
	int64_t known = quiet + packet_time(link, 0) + link->latency;

	while (port->first && port->first->message.ready < known) {
		struct waiting *waiting = port->first;

		port->first = waiting->next;
		forward(link, &waiting->message);
		free(waiting);
	}
}

int64_t ethernet_waiting(const struct link *link)
{
	const struct port *port = &ports[link->number];

	return port->first ? port->first->message.ready + packet_time(link, 0) : NEVER;
}

void ethernet_deliver(const struct link *link, const uint8_t *bytes, uint16_t length)
{
	struct counts *counts = links_counts(link->number);
	void *client = ports[link->number].client;

	/*
	 * Else QEMU would keep the packet and hand it over later. Its e1000 takes none in the
	 * second after its driver has written the receive control, as for a new multicast group.
	 */
	if (!qemu_can_send_packet(client)) {
		counts->refused++;
		return;
	}
	counts->received++;
	qemu_send_packet(client, bytes, length);
}
