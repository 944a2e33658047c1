/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The smallest tunnel of CAN frames, one end of one direction: the latency of the kernel and the
 * network, without a gateway. A frame travels as struct can_frame.
 *
 *     floor WAY FROM TO
 *
 *   WAY       wait: the thread sleeps in recv() until a frame comes; SCHED_FIFO.
 *             poll: recv() never sleeps. ring: no call to receive; the thread reads memory that
 *             the kernel fills (PACKET_MMAP, version 2), on CAN and Ethernet only.
 *   FROM, TO  can:INTERFACE, udp:ADDRESS (of the other end), eth:INTERFACE
 *
 * Build: gcc -O2 -static -o floor floor.c
 */
#include <arpa/inet.h>
#include <linux/can.h>
#include <linux/can/raw.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* EtherType: IEEE 802, for experiments. A slot has room for its headers and a frame. */
enum { PORT = 20000, LOCAL_EXPERIMENTAL = 0x88B5, BLOCK = 4096, SLOTS = 16, SLOT = BLOCK / SLOTS };

/* An Ethernet packet (to all). On the other media, only its frame is sent. */
static struct {
	char unused[2];
	struct ethhdr header;
	struct can_frame frame;
} packet = { .header = { .h_dest = { 255, 255, 255, 255, 255, 255 } } };

static int check(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
	return result;
}

static int bound(int family, int type, int protocol, const void *address, socklen_t length)
{
	int fd = check(socket(family, type, protocol), "socket");

	check(bind(fd, address, length), "bind");
	return fd;
}

static int packets(const char *interface, int protocol)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol) };

	address.sll_ifindex = if_nametoindex(interface);
	return bound(AF_PACKET, SOCK_RAW, 0, &address, sizeof address);
}

static int opened(const char *medium, int receives)
{
	const char *name = strchr(medium, ':') + 1;
	int one = 1, fd;

	if (*medium == 'c') {
		struct sockaddr_can address = { .can_family = AF_CAN, .can_ifindex = if_nametoindex(name) };

		fd = bound(AF_CAN, SOCK_RAW, CAN_RAW, &address, sizeof address);
		if (!receives)
			check(setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FILTER, NULL, 0), "CAN_RAW_FILTER");
	} else if (*medium == 'u') {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };

		fd = bound(AF_INET, SOCK_DGRAM, 0, &address, sizeof address);
		check(inet_pton(AF_INET, name, &address.sin_addr) - 1, "address");
		check(connect(fd, (void *)&address, sizeof address), "connect");
	} else {
		packet.header.h_proto = htons(LOCAL_EXPERIMENTAL);
		fd = packets(name, receives ? LOCAL_EXPERIMENTAL : 0);
		check(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one), "PACKET_QDISC_BYPASS");
	}
	return fd;
}

static void relay(int from, size_t before, int to, size_t first, int flags)
{
	char *in = (char *)&packet.frame - before, *out = (char *)&packet.frame - first;

	for (;;)
		if (recv(from, in, before + sizeof packet.frame, flags) > 0)
			send(to, out, first + sizeof packet.frame, 0);
}

static void relay_ring(const char *medium, int to, size_t first)
{
	int fd = packets(strchr(medium, ':') + 1, *medium == 'c' ? ETH_P_CAN : LOCAL_EXPERIMENTAL);
	struct tpacket_req size = { BLOCK, 1, SLOT, SLOTS };
	int version = TPACKET_V2;

	check(setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version), "PACKET_VERSION");
	check(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &size, sizeof size), "PACKET_RX_RING");
	char *ring = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(ring == MAP_FAILED ? -1 : 0, "mmap");
	for (unsigned int i = 0;; i = (i + 1) % SLOTS) {
		struct tpacket2_hdr *slot = (void *)(ring + i * SLOT);

		while (!(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			;
		memcpy(&packet.frame, (char *)slot + slot->tp_net, sizeof packet.frame);
		send(to, (char *)&packet.frame - first, first + sizeof packet.frame, 0);
		__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 50 };

	if (argc != 4 || !strchr(argv[2], ':') || !strchr(argv[3], ':'))
		return fprintf(stderr, "usage: floor wait|poll|ring FROM TO\n"), 2;
	int to = opened(argv[3], 0);
	size_t first = *argv[3] == 'e' ? sizeof packet.header : 0;

	check(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	/* The kernel stops a thread of SCHED_FIFO that never sleeps, and it keeps out ksoftirqd. */
	if (*argv[1] == 'w')
		check(sched_setscheduler(0, SCHED_FIFO, &priority), "SCHED_FIFO");
	if (*argv[1] == 'r')
		relay_ring(argv[2], to, first);
	relay(opened(argv[2], 1), *argv[2] == 'e' ? sizeof packet.header : 0, to, first,
	      *argv[1] == 'p' ? MSG_DONTWAIT : 0);
}
