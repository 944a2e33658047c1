// SPDX-License-Identifier: GPL-2.0
/*
 * Drives /dev/bitcan-tester by hand: plays frames on one bus, prints what was stamped.
 *
 *   play [-m one|schedule] [-n COUNT] [-l LENGTH] [-i ID] [-p PERIOD_NS] [-b BUS] [-r RETURN_BUS]
 *        [-t TIMEOUT_NS] [-e STAMP_EVERY] [-f] [-v]
 *
 * ID above 7ff is sent as EFF. -f: FD frames with BRS. -p 0 is a flood. -v prints each stamp;
 * else latencies from the end on BUS to the end on RETURN_BUS, less the duration there, are
 * summed up.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../bitcan.h"

static void die(const char *what)
{
	fprintf(stderr, "play: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static unsigned int number_of(const struct canfd_frame *f)
{
	return f->len < 2 ? 0 : f->data[0] << 8 | f->data[1];
}

static void print_stamp(const struct bitcan_stamp *s, uint64_t started)
{
	static const char *const kinds[] = { "frame", "fd", "error", "overrun", "bus-off" };
	int i;

	printf("%10" PRIu64 " %7u bus=%u %s node=%u %x [%u]", (uint64_t)s->end - started,
	       s->duration, s->bus, s->kind < 5 ? kinds[s->kind] : "?", s->node,
	       s->frame.can_id & CAN_EFF_MASK, s->frame.len);
	for (i = 0; i < s->frame.len && i < 64; i++)
		printf(" %02x", s->frame.data[i]);
	printf("\n");
}

static void summary(const struct bitcan_stamp *s, uint64_t count, unsigned int frames,
		    unsigned int from, unsigned int to)
{
	int64_t *in = calloc(65536, sizeof(*in)), *latency = calloc(count + 1, sizeof(*latency));
	unsigned int kinds[5] = { 0 }, n = 0, lost_runs = 0, in_run = 0, longest = 0;
	char *back = calloc(65536, 1);
	uint64_t i;
	double sum = 0;

	for (i = 0; i < count; i++, s++) {
		unsigned int number = number_of(&s->frame);

		kinds[s->kind < 5 ? s->kind : 2]++;
		if (s->kind > BITCAN_STAMP_FD)
			continue;
		if (s->bus == from && s->node == 0)
			in[number] = s->end;
		if (s->bus == to && s->node != 0 && in[number]) {
			latency[n++] = s->end - s->duration - in[number];
			back[number] = 1;
		}
	}
	for (i = 0; i < frames && i < 65536; i++) {
		if (back[i]) {
			in_run = 0;
			continue;
		}
		lost_runs += !in_run;
		in_run++;
		if (in_run > longest)
			longest = in_run;
	}
	printf("stamps: frames %u fd %u errors %u overruns %u bus-off %u\n", kinds[0], kinds[1],
	       kinds[2], kinds[3], kinds[4]);
	if (!n)
		return;
	qsort(latency, n, sizeof(*latency), by_value);
	for (i = 0; i < n; i++)
		sum += latency[i];
	printf("back %u of %u, lost in %u runs, longest %u\n", n, frames, lost_runs, longest);
	printf("latency beyond the frame, ns: min %" PRId64 " p50 %" PRId64 " avg %.0f p99 %"
	       PRId64 " max %" PRId64 "\n", latency[0], latency[n / 2], sum / n,
	       latency[n * 99ull / 100], latency[n - 1]);
}

int main(int argc, char **argv)
{
	struct bitcan_start start = { .mode = BITCAN_MODE_ONE, .count = 100, .return_bus = 1,
				      .timeout = 1000000000 };
	struct bitcan_setup setup = { .version = BITCAN_VERSION };
	unsigned int id = 0x123, length = 2, bus = 0, fd = 0, verbose = 0, i;
	const volatile struct bitcan_header *header;
	const struct bitcan_stamp *stamps;
	struct bitcan_frame *frames;
	uint64_t period = 0;
	struct pollfd p;
	char *map;
	int file, c;

	while ((c = getopt(argc, argv, "m:n:l:i:p:b:r:t:e:fv")) != -1) {
		switch (c) {
		case 'm': start.mode = optarg[0] == 'o' ? BITCAN_MODE_ONE : BITCAN_MODE_SCHEDULE; break;
		case 'n': start.count = strtoul(optarg, NULL, 0); break;
		case 'l': length = strtoul(optarg, NULL, 0); break;
		case 'i': id = strtoul(optarg, NULL, 16); break;
		case 'p': period = strtoull(optarg, NULL, 0); break;
		case 'b': bus = strtoul(optarg, NULL, 0); break;
		case 'r': start.return_bus = strtoul(optarg, NULL, 0); break;
		case 't': start.timeout = strtoull(optarg, NULL, 0); break;
		case 'e': start.stamp_every = strtoul(optarg, NULL, 0); break;
		case 'f': fd = 1; break;
		case 'v': verbose = 1; break;
		default: return 2;
		}
	}
	file = open("/dev/bitcan-tester", O_RDWR);
	if (file < 0)
		die("/dev/bitcan-tester");
	setup.frames = start.count;
	setup.stamps = 4 * start.count + 1000;
	if (ioctl(file, BITCAN_SETUP, &setup))
		die("setup");
	map = mmap(NULL, setup.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		die("mmap");
	header = (void *)map;
	frames = (void *)(map + setup.frames_at);
	stamps = (void *)(map + setup.stamps_at);
	for (i = 0; i < start.count; i++) {
		struct bitcan_frame *f = &frames[i];

		f->at = i * period;
		f->bus = bus;
		f->flags = fd ? BITCAN_FRAME_FD : 0;
		f->frame.can_id = id > 0x7ff ? id | CAN_EFF_FLAG : id;
		f->frame.len = length;
		f->frame.flags = fd ? CANFD_BRS : 0;
		if (length > 1) {
			f->frame.data[0] = i >> 8;
			f->frame.data[1] = i;
		}
	}
	if (ioctl(file, BITCAN_START, &start))
		die("start");
	p.fd = file;
	p.events = POLLIN;
	while (header->state != BITCAN_STATE_DONE)
		if (poll(&p, 1, 10000) < 0 && errno != EINTR)
			die("poll");
	printf("sent %" PRIu64 " timeouts %" PRIu64 " stamps %" PRIu64 " lost stamps %" PRIu64 "\n",
	       (uint64_t)header->sent, (uint64_t)header->timeouts, (uint64_t)header->stamps,
	       (uint64_t)header->stamps_lost);
	for (i = 0; verbose && i < header->stamps; i++)
		print_stamp(&stamps[i], header->started);
	summary(stamps, header->stamps, start.count, bus, start.return_bus);
	return 0;
}
