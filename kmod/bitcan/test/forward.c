// SPDX-License-Identifier: GPL-2.0
/*
 * A gateway in its smallest form, on two mapped controllers: what FROM receives, TO sends.
 *
 *   forward [-b BITRATE] [-w] [-c] FROM TO      forward /dev/bitcan-ctl0 /dev/bitcan-ctl1
 *
 * -w waits for interrupts instead of polling. -c: the doorbell takes effect when the call has come to the
 * module, so that the system call counts. Where TO has no free transmit buffer, the frame stays in
 * FROM's FIFO, which overruns if that lasts.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../bitcan.h"

static void die(const char *what)
{
	fprintf(stderr, "forward: %s: %s\n", what, strerror(errno));
	exit(1);
}

struct controller {
	int fd;
	volatile struct bitcan_registers *regs;
};

static struct controller open_controller(const char *name, unsigned int bitrate)
{
	struct bitcan_control control = { .version = BITCAN_VERSION, .bitrate = bitrate };
	struct controller c;

	c.fd = open(name, O_RDWR);
	if (c.fd < 0)
		die(name);
	c.regs = mmap(NULL, sizeof(*c.regs), PROT_READ | PROT_WRITE, MAP_SHARED, c.fd, 0);
	if (c.regs == MAP_FAILED)
		die("mmap");
	if (ioctl(c.fd, BITCAN_CONTROL, &control))
		die("BITCAN_CONTROL");
	return c;
}

static int call_counts;

/* What `rang` wants. */
static uint64_t now(void)
{
#ifdef __x86_64__
	return call_counts ? 0 : __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* A frame, where there is one and room for it. */
static int forward(struct controller *from, struct controller *to)
{
	volatile struct bitcan_rx *rx;
	volatile struct bitcan_tx *tx;
	unsigned int tail = from->regs->rx_tail, i;

	if (from->regs->rx_head == tail)
		return 0;
	for (i = 0; i < BITCAN_MAPPED_TX; i++)
		if (to->regs->tx[i].state != BITCAN_TX_PENDING)
			break;
	if (i == BITCAN_MAPPED_TX)
		return 0;
	rx = &from->regs->rx[tail % BITCAN_MAPPED_RX];
	tx = &to->regs->tx[i];
	tx->flags = 0;
	memcpy((void *)&tx->frame, (void *)&rx->frame, sizeof(struct can_frame));
	from->regs->rx_tail = tail + 1;
	to->regs->rang = now();
	if (lseek(to->fd, 1u << i, SEEK_SET))
		die("doorbell");
	return 1;
}

int main(int argc, char **argv)
{
	unsigned int bitrate = 1000000;
	struct controller from, to;
	int option, wait = 0;

	while ((option = getopt(argc, argv, "b:cw")) != -1) {
		switch (option) {
		case 'b':
			bitrate = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			call_counts = 1;
			break;
		case 'w':
			wait = 1;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2) {
		fprintf(stderr, "forward [-b BITRATE] [-w] [-c] FROM TO\n");
		return 2;
	}
	from = open_controller(argv[optind], bitrate);
	to = open_controller(argv[optind + 1], bitrate);
	if (wait)
		from.regs->irq_enable = BITCAN_IRQ_RX;
	for (;;) {
		unsigned int changes = from.regs->changes;

		while (forward(&from, &to))
			;
		if (wait) {
			struct pollfd fd = { .fd = from.fd, .events = POLLIN };

			from.regs->seen = changes;
			__sync_synchronize();
			if (from.regs->changes == changes)
				poll(&fd, 1, -1);
		}
	}
}
