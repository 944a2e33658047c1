// SPDX-License-Identifier: GPL-2.0
/*
 * Two character devices on one bus: all that canchar.h promises, held against what happens.
 * canchar-test DEVICE DEVICE [emulated]: both stopped, nobody else on the bus. `emulated`: on a bus of
 * QEMU's, where a frame is sent when it is written, whether somebody receives it or not. BITRATE in the
 * environment: for a machine that is too slow for 500 kbit/s.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/can/error.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../canchar.h"

static int failed;
static int emulated;
static const char *names[2];

#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno);   \
			/* One that leads to all others, which may never end. */          \
			if (++failed == 20)                                                \
				exit(1);                                                   \
		}                                                                          \
	} while (0)

static struct canchar_control usual = { .version = CANCHAR_VERSION, .bitrate = 500000 };

static int device(int which, int flags)
{
	int fd = open(names[which], O_RDWR | flags);

	if (fd < 0) {
		perror(names[which]);
		exit(2);
	}
	return fd;
}

static struct canchar_frame frame(unsigned int id, unsigned int len)
{
	struct canchar_frame f = { .frame = { .can_id = id, .len = len }, .mark = id };

	memset(f.frame.data, id & 0xff, len);
	return f;
}

static struct canchar_stats stats(int fd)
{
	struct canchar_stats s;

	CHECK(!ioctl(fd, CANCHAR_STATS, &s));
	return s;
}

static void start(int a, int b, struct canchar_control control)
{
	CHECK(!ioctl(a, CANCHAR_START, &control));
	CHECK(!ioctl(b, CANCHAR_START, &control));
}

static void stop(int a, int b)
{
	CHECK(!ioctl(a, CANCHAR_STOP));
	CHECK(!ioctl(b, CANCHAR_STOP));
}

/* What can be said of a device, and what it refuses. */
static void settings(void)
{
	struct canchar_control control = usual;
	struct canchar_info info;
	struct canchar_frame f = frame(1, 8);
	int a = device(0, O_NONBLOCK), reader = open(names[0], O_RDONLY);

	CHECK(!ioctl(a, CANCHAR_INFO, &info));
	CHECK(info.version == CANCHAR_VERSION && info.buffers && info.fifo && info.controller[0]);
	CHECK(write(a, &f, sizeof(f)) < 0 && errno == ENETDOWN);
	CHECK(read(a, &f, sizeof(f)) < 0 && errno == EAGAIN);
	CHECK(read(a, &f, sizeof(f) - 1) < 0 && errno == EINVAL);
	CHECK(ioctl(reader, CANCHAR_START, &control) < 0 && errno == EBADF);
	CHECK(ioctl(a, CANCHAR_RECOVER) < 0 && errno == EINVAL);
	control.version = 77;
	CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EPROTO);
	control = usual;
	control.bitrate = 0;
	CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EINVAL);
	control = usual;
	control.data_bitrate = 1;
	CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EINVAL);
	control = usual;
	CHECK(!ioctl(a, CANCHAR_START, &control));
	CHECK(!ioctl(a, CANCHAR_START, &control));
	control.bitrate = 250000;
	CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EBUSY);
	CHECK(!ioctl(a, CANCHAR_STOP));
	CHECK(lseek(a, 0, SEEK_SET) < 0 && errno == ESPIPE);
	CHECK(ioctl(a, CANCHAR_FLUSH, 4) < 0 && errno == EINVAL);
	CHECK(ioctl(a, 0xdead) < 0 && errno == ENOTTY);
	close(a);
	close(reader);
}

/* Frames of each kind come as they were sent; the wrong ones are refused. */
static void kinds(void)
{
	struct canchar_control control = usual;
	int a = device(0, 0), b = device(1, 0), i;
	struct canchar_frame sent[5], got[5], bad;
	struct canchar_info info;

	start(a, b, control);
	sent[0] = frame(0x123, 8);
	sent[1] = frame(0x12345678 | CAN_EFF_FLAG, 3);
	sent[2] = frame(0x7ff, 0);
	/* QEMU's SJA1000 loses its place in the FIFO after a remote request with a length. */
	sent[3] = frame(0x55 | CAN_RTR_FLAG, emulated ? 0 : 4);
	memset(sent[3].frame.data, 0, 8);
	sent[4] = frame(0, 1);
	CHECK(write(a, sent, sizeof(sent)) == sizeof(sent));
	for (i = 0; i < 5; i++) {
		CHECK(read(b, &got[i], sizeof(got[i])) == sizeof(got[i]));
		CHECK(got[i].frame.can_id == sent[i].frame.can_id);
		CHECK(got[i].frame.len == sent[i].frame.len && !got[i].flags && !got[i].state);
		CHECK(!memcmp(got[i].frame.data, sent[i].frame.data, 8) || i == 3);
		CHECK(got[i].time && !got[i].mark);
	}
	CHECK(!fsync(a));
	CHECK(stats(a).file_sent == 5 && stats(a).sent >= 5 && stats(b).file_received == 5);
	for (i = 0; i < 4; i++) {
		bad = frame(0x800, 8);
		if (i == 1)
			bad = frame(1, 9);
		if (i == 2)
			bad = frame(CAN_ERR_FLAG | 1, 8);
		if (i == 3)
			bad.flags = CANCHAR_FRAME_FD;
		CHECK(write(a, &bad, sizeof(bad)) < 0 && errno == EINVAL);
	}
	stop(a, b);
	CHECK(!ioctl(a, CANCHAR_INFO, &info));
	if (!(info.supports & CANCHAR_FD)) {
		control.flags = CANCHAR_FD;
		control.data_bitrate = 2000000;
		CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EINVAL);
		/* No whole number of quanta of 125 ns. */
		control = usual;
		control.bitrate = 300000;
		CHECK(ioctl(a, CANCHAR_START, &control) < 0 && errno == EINVAL);
		close(a);
		close(b);
		return;
	}
	control.flags = CANCHAR_FD;
	control.data_bitrate = 2000000;
	start(a, b, control);
	sent[0] = frame(0x321, 64);
	sent[0].flags = CANCHAR_FRAME_FD;
	sent[0].frame.flags = CANFD_BRS;
	CHECK(write(a, sent, sizeof(sent[0])) == sizeof(sent[0]));
	CHECK(read(b, got, sizeof(got)) == sizeof(got[0]));
	CHECK(got[0].flags == CANCHAR_FRAME_FD && got[0].frame.len == 64);
	CHECK(got[0].frame.flags & CANFD_BRS && got[0].frame.data[63] == 0x21);
	sent[0].frame.len = 13;
	CHECK(write(a, sent, sizeof(sent[0])) < 0 && errno == EINVAL);
	stop(a, b);
	close(a);
	close(b);
}

/* Who gets what: filters, own frames, those of other files. */
static void readers(void)
{
	int a = device(0, O_NONBLOCK), same = device(0, O_NONBLOCK), b = device(1, 0),
	    some = device(1, O_NONBLOCK), not = device(1, O_NONBLOCK);
	struct canchar_filters filters = { .count = 2 };
	struct canchar_frame sent[3], got[4];

	start(a, b, usual);
	filters.filter[0] = (struct can_filter){ 0x100, CAN_SFF_MASK | CAN_EFF_FLAG };
	filters.filter[1] = (struct can_filter){ 0x102, CAN_SFF_MASK | CAN_EFF_FLAG };
	CHECK(!ioctl(some, CANCHAR_FILTER, &filters));
	filters.count = 1;
	filters.filter[0] = (struct can_filter){ 0x100 | CAN_INV_FILTER, CAN_SFF_MASK };
	CHECK(!ioctl(not, CANCHAR_FILTER, &filters));
	filters = (struct canchar_filters){ .count = 1, .flags = CANCHAR_WANT_OWN };
	CHECK(!ioctl(a, CANCHAR_FILTER, &filters));
	filters.count = CANCHAR_FILTERS + 1;
	CHECK(ioctl(a, CANCHAR_FILTER, &filters) < 0 && errno == EINVAL);
	sent[0] = frame(0x100, 1);
	sent[1] = frame(0x101, 1);
	sent[2] = frame(0x102, 1);
	CHECK(write(a, sent, sizeof(sent)) == sizeof(sent));
	CHECK(!fsync(a));
	CHECK(read(b, got, sizeof(got[0])) == sizeof(got[0]));
	usleep(20000);
	CHECK(read(b, got, sizeof(got)) == 2 * sizeof(got[0]));
	CHECK(read(some, got, sizeof(got)) == 2 * sizeof(got[0]) && got[1].frame.can_id == 0x102);
	CHECK(read(not, got, sizeof(got)) == 2 * sizeof(got[0]) && got[0].frame.can_id == 0x101);
	CHECK(stats(some).file_filtered == 1);
	CHECK(read(a, got, sizeof(got)) == 3 * sizeof(got[0]));
	CHECK(got[2].flags == (CANCHAR_FRAME_SENT | CANCHAR_FRAME_OWN) && got[2].mark == 0x102);
	CHECK(read(same, got, sizeof(got)) == 3 * sizeof(got[0]));
	CHECK(got[0].flags == CANCHAR_FRAME_SENT && !got[0].mark);
	stop(a, b);
	close(a);
	close(same);
	close(b);
	close(some);
	close(not);
}

/* The order of frames that wait. */
static void order(unsigned int flags)
{
	struct canchar_control control = usual;
	int a = device(0, O_NONBLOCK), b = device(1, 0), i;
	unsigned int ids[] = { 0x300, 0x200, 0x12345678 | CAN_EFF_FLAG, 0x100, 0x400, 0x48d, 0x48c };
	struct canchar_frame sent[7], got[7];
	unsigned int sorted[] = { 0x300, 0x100, 0x200, 0x400, 0x48c, 0x48d,
				  0x12345678 | CAN_EFF_FLAG };
	unsigned long n = 0;

	control.flags = flags;
	start(a, b, control);
	for (i = 0; i < 7; i++)
		sent[i] = frame(ids[i], 8);
	CHECK(write(a, sent, sizeof(sent)) == sizeof(sent));
	while (n < 7) {
		ssize_t size = read(b, &got[n], sizeof(got) - n * sizeof(got[0]));

		CHECK(size > 0);
		n += size / sizeof(got[0]);
	}
	for (i = 0; i < 7; i++) {
		unsigned int want = flags & CANCHAR_PRIORITY ? sorted[i] : ids[i];
		struct canchar_info info;

		/* With several buffers, as many are called before the others come. */
		CHECK(!ioctl(a, CANCHAR_INFO, &info));
		if (got[i].frame.can_id != want && info.buffers == 1) {
			printf("order %x: place %d: %x\n", flags, i, got[i].frame.can_id);
			failed++;
		}
	}
	stop(a, b);
	close(a);
	close(b);
}

/* So many frames are there within a second. */
static int arrived(const struct canchar_area *area, unsigned int count)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (__atomic_load_n(&area->rx_head, __ATOMIC_ACQUIRE) == count)
			return 1;
		usleep(1000);
	}
	return 0;
}

/* The queues, mapped. */
static void mapped(void)
{
	int a = device(0, 0), b = device(1, 0), i, group = emulated ? 8 : CANCHAR_SLOTS;
	struct canchar_area *out, *in;
	unsigned int taken = 0;
	struct pollfd wait = { .fd = b, .events = POLLIN };

	out = mmap(NULL, CANCHAR_AREA, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
	in = mmap(NULL, CANCHAR_AREA, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
	CHECK(out != MAP_FAILED && in != MAP_FAILED);
	CHECK(mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, a, 0) == MAP_FAILED);
	CHECK(out->version == CANCHAR_VERSION && out->state == CANCHAR_STATE_STOPPED);
	start(a, b, usual);
	CHECK(out->state == CANCHAR_STATE_ACTIVE && out->changes);
	for (i = 0; i < CANCHAR_SLOTS; i++)
		out->tx[i] = frame(i, 2);
	out->tx[5].frame.len = 99;
	/* Where frames take no time, a receive FIFO of 64 bytes must have room for them all. */
	for (i = 0; i < CANCHAR_SLOTS; i += group) {
		__atomic_store_n(&out->tx_head, i + group, __ATOMIC_RELEASE);
		CHECK(lseek(a, 0, SEEK_END) == group);
		if (emulated)
			CHECK(!fsync(a) && arrived(in, i + group - 1));
	}
	CHECK(out->tx_taken == CANCHAR_SLOTS && out->tx[5].state == CANCHAR_TX_INVALID);
	while (taken < CANCHAR_SLOTS - 1) {
		CHECK(poll(&wait, 1, 1000) == 1);
		while (__atomic_load_n(&in->rx_head, __ATOMIC_ACQUIRE) != in->rx_tail) {
			unsigned int want = taken < 5 ? taken : taken + 1;

			CHECK(in->rx[in->rx_tail % CANCHAR_SLOTS].frame.can_id == want);
			taken++;
			__atomic_store_n(&in->rx_tail, in->rx_tail + 1, __ATOMIC_RELEASE);
		}
	}
	CHECK(!fsync(a));
	CHECK(out->tx_sent == CANCHAR_SLOTS - 1 && out->tx_failed == 1);
	CHECK(out->tx[0].state == CANCHAR_TX_SENT && out->tx[0].mark == 0 && out->tx[0].time);
	/* Nonsense costs its owner only. */
	out->tx_head = 7777777;
	CHECK(lseek(a, 0, SEEK_END) < 0 && errno == EINVAL);
	in->rx_tail = 0x80000000;
	{
		struct canchar_frame f = frame(1, 1);

		CHECK(write(b, &f, sizeof(f)) == sizeof(f));
		CHECK(read(b, &f, sizeof(f)) < 0 && errno == EIO);
	}
	memset(in, 0xff, CANCHAR_AREA);
	memset(out, 0xff, CANCHAR_AREA);
	usleep(2000);
	stop(a, b);
	munmap(out, CANCHAR_AREA);
	munmap(in, CANCHAR_AREA);
	close(a);
	close(b);
}

/* A queue that nobody empties loses frames, and says how many. */
static void full(void)
{
	int a = device(0, 0), b = device(1, 0), i;
	struct canchar_frame f, got[CANCHAR_SLOTS];

	start(a, b, usual);
	for (i = 0; i < CANCHAR_SLOTS + 10; i++) {
		f = frame(i, 1);
		CHECK(write(a, &f, sizeof(f)) == sizeof(f));
	}
	CHECK(!fsync(a));
	usleep(2000);
	CHECK(stats(b).file_lost == 10);
	CHECK(read(b, got, sizeof(got)) == sizeof(got));
	CHECK(got[63].frame.can_id == 63);
	f = frame(0x700, 1);
	CHECK(write(a, &f, sizeof(f)) == sizeof(f));
	CHECK(read(b, &f, sizeof(f)) == sizeof(f) && f.frame.can_id == 0x700 && f.state == 10);
	stop(a, b);
	close(a);
	close(b);
}

/* Nobody acknowledges: the queue fills up, writers wait, STOP ends them. */
static void *stopper(void *fd)
{
	usleep(50000);
	CHECK(!ioctl(*(int *)fd, CANCHAR_STOP));
	return NULL;
}

static void alone(void)
{
	int a = device(0, O_NONBLOCK), blocking = device(0, 0), n = 0;
	struct canchar_control control = usual;
	struct pollfd wait = { .fd = a, .events = POLLOUT };
	struct canchar_frame f = frame(1, 1);
	struct canchar_stats s;
	pthread_t thread;

	CHECK(!ioctl(a, CANCHAR_START, &control));
	while (write(a, &f, sizeof(f)) == sizeof(f))
		n++;
	CHECK(errno == EAGAIN && n == CANCHAR_SLOTS);
	CHECK(poll(&wait, 1, 0) == 0);
	for (n = 0; n < CANCHAR_SLOTS; n++)
		CHECK(write(blocking, &f, sizeof(f)) == sizeof(f));
	pthread_create(&thread, NULL, stopper, &a);
	CHECK(write(blocking, &f, sizeof(f)) < 0 && errno == ENETDOWN);
	pthread_join(thread, NULL);
	s = stats(a);
	CHECK(s.file_taken == CANCHAR_SLOTS && s.file_failed == CANCHAR_SLOTS && !s.file_sent);
	close(a);
	close(blocking);
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "emulated"))) {
		fprintf(stderr, "canchar-test DEVICE DEVICE [emulated]\n");
		return 2;
	}
	emulated = argc == 4;
	if (getenv("BITRATE"))
		usual.bitrate = atoi(getenv("BITRATE"));
	names[0] = argv[1];
	names[1] = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	settings();
	kinds();
	readers();
	order(0);
	/* Nothing waits where frames take no time, nor for somebody who acknowledges. */
	if (!emulated)
		order(CANCHAR_PRIORITY);
	mapped();
	full();
	if (!emulated)
		alone();
	printf("%d failed\n", failed);
	return failed ? 1 : 0;
}
