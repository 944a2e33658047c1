/* A USB CAN adapter with two channels for tests: usb_adapter SERIAL PORT plugs it into a port of the kernel's virtual USB
 * controller (vhci_hcd), and the end of the program unplugs it. It speaks the protocol of candleLight adapters, for Linux's
 * driver gs_usb; both channels are on one bus, on which frames take no time. It prints each setting that it gets.
 *
 * Sources: Documentation/usb/usbip_protocol.rst and drivers/net/can/usb/gs_usb.c of the kernel. */
#define _GNU_SOURCE
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CMD_SUBMIT = 1, CMD_UNLINK, RET_SUBMIT, RET_UNLINK };
enum { BULK_IN = 1, BULK_OUT = 2 };
enum { STALL = -32, UNLINKED = -104 };
/* GS_USB_BREQ_… */
enum { BITTIMING = 1, MODE, BT_CONST = 4, DEVICE_CONFIG, SET_TERMINATION = 12, GET_TERMINATION };
/* GS_CAN_FEATURE_…: the adapter has no triple sampling and no FD. */
enum { LISTEN_ONLY = 1, LOOP_BACK = 2, ONE_SHOT = 8, TERMINATION = 1 << 11 };
enum { MAX_WAITING = 128, MAX_FRAMES = 1024 };

struct header {
	uint32_t command, number, device, direction, endpoint;
	/* Of CMD_SUBMIT: flags, length, start, packets, interval. Of RET_SUBMIT: status, length, start, packets, errors. */
	uint32_t words[5];
	uint8_t setup[8];
};

struct can_frame {
	uint32_t echo, id;
	uint8_t length, channel, flags, reserved, data[8];
};

static const char *serial;
static int line;
static uint32_t waiting[MAX_WAITING];
static unsigned readers;
static struct can_frame frames[MAX_FRAMES];
static unsigned first, last;
static uint32_t termination[2];

static const uint8_t device_descriptor[] = {
	18, 1, 0x00, 2, 0, 0, 0, 64, 0x50, 0x1d, 0x6f, 0x60, 0, 1, 1, 2, 3, 1,
};

static const uint8_t configuration[] = {
	9, 2, 32, 0, 1, 1, 0, 0x80, 50,
	9, 4, 0, 0, 2, 0xff, 0xff, 0xff, 0,
	7, 5, 0x80 | BULK_IN, 2, 64, 0, 0,
	7, 5, BULK_OUT, 2, 64, 0, 0,
};

static void all(ssize_t (*move)(int, void *, size_t), void *bytes, size_t count)
{
	for (char *at = bytes; count;) {
		ssize_t moved = move(line, at, count);

		if (moved <= 0)
			exit(moved < 0);
		at += moved;
		count -= moved;
	}
}

static ssize_t put(int fd, void *bytes, size_t count)
{
	return write(fd, bytes, count);
}

static void answer(uint32_t command, uint32_t number, int status, void *data, uint32_t length, uint32_t sent)
{
	struct header reply = { .command = htobe32(command), .number = htobe32(number) };

	reply.words[0] = htobe32(status);
	reply.words[1] = htobe32(length + sent);
	all(put, &reply, sizeof reply);
	if (length)
		all(put, data, length);
}

/* Passes frames on to the requests that wait for them. */
static void deliver(void)
{
	while (readers && first != last) {
		answer(RET_SUBMIT, waiting[0], 0, &frames[first++ % MAX_FRAMES], sizeof *frames, 0);
		memmove(waiting, waiting + 1, --readers * sizeof *waiting);
	}
}

static void add(struct can_frame frame)
{
	frames[last++ % MAX_FRAMES] = frame;
}

static uint32_t string_descriptor(unsigned index, uint8_t *to)
{
	const char *texts[] = { "", "cangate", "test adapter", serial };
	const char *text = index < 4 ? texts[index] : "";
	uint32_t length = 2;

	if (!index) {
		memcpy(to, "\x04\x03\x09\x04", 4);
		return 4;
	}
	for (; *text; text++) {
		to[length++] = *text;
		to[length++] = 0;
	}
	to[0] = length;
	to[1] = 3;
	return length;
}

/* Returns the length of the answer to a request that reads, or STALL. */
static int asked(const uint8_t *setup, uint8_t *to)
{
	static const uint32_t limits[] = {
		/* Features, clock, tseg1, tseg2, the longest sjw, brp with its step. */
		LISTEN_ONLY | LOOP_BACK | ONE_SHOT | TERMINATION, 48000000, 1, 16, 1, 8, 4, 1, 1024, 1,
	};
	static const uint8_t config[12] = { [3] = 1, [4] = 2, [8] = 1 };
	const void *from = NULL;
	int length = 0;

	if (setup[0] == 0x80 && setup[1] == 6) {
		switch (setup[3]) {
		case 1:
			from = device_descriptor;
			length = sizeof device_descriptor;
			break;
		case 2:
			from = configuration;
			length = sizeof configuration;
			break;
		case 3:
			return string_descriptor(setup[2], to);
		}
	} else if ((setup[0] & 0x60) == 0 && setup[1] == 0) {
		from = "\0";
		length = 2;
	} else if (setup[0] == 0xc1 && setup[1] == BT_CONST) {
		from = limits;
		length = sizeof limits;
	} else if (setup[0] == 0xc1 && setup[1] == DEVICE_CONFIG) {
		from = config;
		length = sizeof config;
	} else if (setup[0] == 0xc1 && setup[1] == GET_TERMINATION) {
		from = &termination[setup[2] & 1];
		length = sizeof *termination;
	}
	if (!from)
		return STALL;
	memcpy(to, from, length);
	return length;
}

static void told(const uint8_t *setup, const uint32_t *words)
{
	unsigned channel = setup[2] & 1;

	if (setup[0] != 0x41)
		return;
	if (setup[1] == BITTIMING)
		printf("channel %u: prop %u first %u second %u sjw %u brp %u\n", channel, words[0], words[1], words[2],
		       words[3], words[4]);
	if (setup[1] == MODE)
		printf("channel %u: %s flags %x\n", channel, words[0] ? "start" : "reset", words[1]);
	if (setup[1] == SET_TERMINATION) {
		termination[channel] = words[0];
		printf("channel %u: termination %u\n", channel, words[0]);
	}
	fflush(stdout);
}

static void submitted(const struct header *header)
{
	uint32_t number = be32toh(header->number), length = be32toh(header->words[1]);
	unsigned endpoint = be32toh(header->endpoint);
	static uint32_t data[4096];
	int is_in = be32toh(header->direction) == 1;

	if (length > sizeof data)
		exit(2);
	if (!is_in && length)
		all(read, data, length);
	if (endpoint == 0 && is_in) {
		int has = asked(header->setup, (uint8_t *)data);

		if (has < 0)
			answer(RET_SUBMIT, number, has, NULL, 0, 0);
		else
			answer(RET_SUBMIT, number, 0, data, (uint32_t)has < length ? (uint32_t)has : length, 0);
	} else if (endpoint == 0) {
		told(header->setup, data);
		answer(RET_SUBMIT, number, 0, NULL, 0, length);
	} else if (is_in) {
		if (readers == MAX_WAITING)
			exit(2);
		waiting[readers++] = number;
	} else {
		struct can_frame frame;

		answer(RET_SUBMIT, number, 0, NULL, 0, length);
		memcpy(&frame, data, sizeof frame);
		/* The echo, and the frame at the other channel. */
		add(frame);
		frame.channel ^= 1;
		frame.echo = UINT32_MAX;
		add(frame);
	}
	deliver();
}

static void unlinked(const struct header *header)
{
	uint32_t wanted = be32toh(header->words[0]);
	int status = 0;

	for (unsigned i = 0; i < readers; i++) {
		if (waiting[i] != wanted)
			continue;
		readers--;
		memmove(waiting + i, waiting + i + 1, (readers - i) * sizeof *waiting);
		status = UNLINKED;
		break;
	}
	answer(RET_UNLINK, be32toh(header->number), status, NULL, 0, 0);
}

int main(int count, char **arguments)
{
	int ends[2];
	struct header header;

	if (count != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	serial = arguments[1];
	line = ends[0];
	FILE *attach = fopen("/sys/devices/platform/vhci_hcd.0/attach", "w");
	/* The port, the socket, a number of the device, and full speed. */
	if (!attach || fprintf(attach, "%s %d 1 2", arguments[2], ends[1]) < 0 || fclose(attach))
		return 1;
	close(ends[1]);
	for (;;) {
		all(read, &header, sizeof header);
		if (be32toh(header.command) == CMD_SUBMIT)
			submitted(&header);
		else if (be32toh(header.command) == CMD_UNLINK)
			unlinked(&header);
		else
			return 2;
	}
}
