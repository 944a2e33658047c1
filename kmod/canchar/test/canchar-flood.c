// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that do all that can be done with two devices, as fast as they can, and are killed in the midst of it.
 * canchar-flood DEVICE DEVICE SECONDS: the devices may come and go meanwhile.
 *
 * A kernel that survives is not enough: at the end each file that is still there must have its frames counted
 * to one fate each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../canchar.h"

#define PROCESSES 10

static const char *names[2];

static const struct canchar_control usual = {
	.version = CANCHAR_VERSION, .bitrate = 1000000, .restart_ms = 1
};

static struct canchar_frame some_frame(void)
{
	struct canchar_frame f = { .mark = rand() };
	unsigned int i;

	f.frame.can_id = rand() & CAN_SFF_MASK;
	if (rand() & 1)
		f.frame.can_id = (rand() & CAN_EFF_MASK) | CAN_EFF_FLAG;
	f.frame.len = rand() % 9;
	for (i = 0; i < f.frame.len; i++)
		f.frame.data[i] = rand();
	return f;
}

/* Opened and started, or not there. */
static int device(int which, int flags)
{
	int fd = open(names[which & 1], O_RDWR | flags);

	if (fd < 0)
		usleep(1000);
	else
		ioctl(fd, CANCHAR_START, &usual);
	return fd;
}

static void writer(int fd)
{
	struct canchar_frame f[5];
	int i, n;

	for (n = 0; n < 1000; n++) {
		for (i = 0; i < 5; i++)
			f[i] = some_frame();
		if (write(fd, f, sizeof(f)) < 0 && errno != EAGAIN)
			return;
	}
}

static void reader(int fd)
{
	struct canchar_frame f[7];
	int n;

	for (n = 0; n < 1000; n++)
		if (read(fd, f, sizeof(f)) < 0)
			return;
}

static void poller(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN | POLLOUT };
	struct canchar_frame f = some_frame();
	int n;

	for (n = 0; n < 1000; n++) {
		if (poll(&wait, 1, 50) < 0 || wait.revents & POLLHUP)
			return;
		if (wait.revents & POLLIN)
			(void)!read(fd, &f, sizeof(f));
		if (wait.revents & POLLOUT)
			(void)!write(fd, &f, sizeof(f));
	}
}

/* Uses the mapped queues, and then ruins them. */
static void mapper(int fd)
{
	struct canchar_area *area =
		mmap(NULL, CANCHAR_AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned int *words = (unsigned int *)area;
	int n;

	if (area == MAP_FAILED)
		return;
	for (n = 0; n < 500; n++) {
		area->tx[area->tx_head % CANCHAR_SLOTS] = some_frame();
		__atomic_fetch_add(&area->tx_head, 1, __ATOMIC_RELEASE);
		lseek(fd, 0, SEEK_END);
		__atomic_store_n(&area->rx_tail, area->rx_head, __ATOMIC_RELEASE);
	}
	for (n = 0; n < 500; n++) {
		words[rand() % (CANCHAR_AREA / sizeof(*words))] = rand();
		lseek(fd, 0, SEEK_END);
	}
	/* Closed while mapped, and mapped while closed. */
	close(fd);
	memset(area, 0x5a, CANCHAR_AREA);
	munmap(area, CANCHAR_AREA);
}

/* All orders, the wrong ones too. */
static void orderer(int fd)
{
	struct canchar_filters filters = {};
	struct canchar_control control = usual;
	struct canchar_stats stats;
	struct canchar_info info;
	int n;

	for (n = 0; n < 300; n++) {
		switch (rand() % 16) {
		case 0:
			ioctl(fd, CANCHAR_STOP);
			break;
		case 1:
			control.flags = rand() & 0x1f & ~CANCHAR_FD;
			ioctl(fd, CANCHAR_START, &control);
			break;
		case 2:
			ioctl(fd, CANCHAR_RECOVER);
			break;
		case 3:
		case 4:
			filters.count = rand() % (CANCHAR_FILTERS + 2);
			filters.flags = rand() & 3;
			filters.errors = rand();
			filters.filter[0].can_id = rand();
			ioctl(fd, CANCHAR_FILTER, &filters);
			break;
		case 5:
			ioctl(fd, CANCHAR_FLUSH, rand() & 7);
			break;
		case 6:
			ioctl(fd, rand(), rand());
			break;
		case 7:
			ioctl(fd, CANCHAR_STATS, 16ul);
			break;
		case 8:
			ioctl(fd, CANCHAR_INFO, &info);
			break;
		default:
			ioctl(fd, CANCHAR_STATS, &stats);
			ioctl(fd, CANCHAR_START, &usual);
			usleep(500);
		}
	}
}

/* Its frames all have one fate. */
static void accountant(int fd)
{
	struct canchar_frame f;
	struct canchar_stats s;
	int n;

	for (n = 0; n < 200; n++) {
		f = some_frame();
		(void)!write(fd, &f, sizeof(f));
	}
	alarm(20);
	n = fsync(fd) || ioctl(fd, CANCHAR_STATS, &s);
	alarm(0);
	/* It has gone meanwhile. */
	if (n)
		return;
	if (s.file_taken != s.file_sent + s.file_failed) {
		printf("of %llu frames %llu were sent and %llu failed\n",
		       (unsigned long long)s.file_taken, (unsigned long long)s.file_sent,
		       (unsigned long long)s.file_failed);
		exit(1);
	}
}

static void (*const works[])(int fd) = { writer, reader, poller, mapper, orderer, accountant };

static pid_t begin(int number)
{
	int kinds = sizeof(works) / sizeof(works[0]), fd;
	pid_t pid = fork();

	if (pid)
		return pid;
	srand(number * 7919 + 1);
	for (;;) {
		fd = device(rand(), rand() & 1 ? O_NONBLOCK : 0);
		if (fd < 0)
			continue;
		works[number % kinds](fd);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	pid_t pids[PROCESSES];
	int n, status, number = 0, wrong = 0, kills = 0;
	time_t end;

	if (argc != 4) {
		fprintf(stderr, "canchar-flood DEVICE DEVICE SECONDS\n");
		return 2;
	}
	names[0] = argv[1];
	names[1] = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	srand(1);
	end = time(NULL) + atoi(argv[3]);
	for (n = 0; n < PROCESSES; n++)
		pids[n] = begin(number++);
	while (time(NULL) < end) {
		usleep(rand() % 20000);
		n = rand() % PROCESSES;
		kill(pids[n], SIGKILL);
		waitpid(pids[n], &status, 0);
		/* An accountant that found something, or that waited in vain. */
		wrong += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
		kills++;
		pids[n] = begin(number++);
	}
	for (n = 0; n < PROCESSES; n++) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], &status, 0);
		wrong += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
	}
	printf("%d killed, %d wrong\n", kills, wrong);
	return wrong ? 1 : 0;
}
