/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A trial of QEMU's model of the CTU CAN FD controller: a frame goes each way between its registers
 * and a client like that of can.c. The controller and the bus are made for it and go away; the
 * guest has no part in it.
 */
#include "fd_card.h"

#include "../qemu.h"
#include "fail.h"
#include "libc.h"

/* Registers and bits (data sheet of CTU CAN FD, chapter 3), with transmit buffer 1 only. */
enum { MODE = 0x04, RX_DATA = 0x6c, TX_COMMAND = 0x74, TX_PRIORITY = 0x78, BUFFER = 0x100 };
#define MODE_ENABLED (1u << 22)
#define TX_READY (1u << 8 | 1u << 1)
#define TX_FIRST 7

/* A frame in buffers: format, identifier, two words of time stamp, data. */
#define IDENTIFIER 4
#define DATA 16
#define FORMAT_EXTENDED (1u << 6)
#define FORMAT_FD (1u << 7)
#define FORMAT_BRS (1u << 9)
#define FORMAT_ESI (1u << 10)
#define FORMAT_WORDS_BIT 11	/* words after the first one */
#define FORMAT_OURS ((1u << 16) - 1)

#define EXTENDED 0x80000000u
#define ID 0x1234567u
#define LENGTH 64
#define LENGTH_CODE 15

/* CtuCanCoreState has less than 10 KiB. */
#define CONTROLLER 65536

static struct qemu_can_frame seen;
static unsigned int seen_count;

static bool is_ready(void *client)
{
	(void)client;
	return true;
}

static long take(void *client, const struct qemu_can_frame *frames, size_t count)
{
	(void)client;
	seen = *frames;
	seen_count += count;
	return count;
}

static uint32_t word(unsigned int offset)
{
	/* Each byte differs from those beside it. */
	return 0x03020100u + offset * 0x01010101u;
}

/* The frame of the trial: extended, of 64 bytes, with the flags. */
static bool is_as_sent(uint8_t flags)
{
	unsigned int i;

	if (seen_count != 1 || seen.can_id != (EXTENDED | ID) || seen.can_dlc != LENGTH || seen.flags != flags)
		return false;
	for (i = 0; i < LENGTH; i += 4) {
		uint32_t expected = word(i);

		if (memcmp(seen.data + i, &expected, sizeof(expected)))
			return false;
	}
	return true;
}

static bool sends(void *controller, uint32_t format, uint8_t flags)
{
	unsigned int i;

	seen_count = 0;
	ctucan_mem_write(controller, BUFFER, format | FORMAT_EXTENDED | LENGTH_CODE, 4);
	ctucan_mem_write(controller, BUFFER + IDENTIFIER, ID, 4);
	for (i = 0; i < LENGTH; i += 4)
		ctucan_mem_write(controller, BUFFER + DATA + i, word(i), 4);
	ctucan_mem_write(controller, TX_COMMAND, TX_READY, 4);
	return is_as_sent(flags);
}

static bool receives(void *controller, struct can_client *client, uint32_t format, uint8_t flags)
{
	struct qemu_can_frame frame = { .can_id = EXTENDED | ID, .can_dlc = LENGTH, .flags = flags };
	unsigned int i;

	format |= FORMAT_EXTENDED | LENGTH_CODE | (DATA + LENGTH - 4) / 4 << FORMAT_WORDS_BIT;
	for (i = 0; i < LENGTH; i += 4) {
		uint32_t bytes = word(i);

		memcpy(frame.data + i, &bytes, sizeof(bytes));
	}
	if (can_bus_client_send(client, &frame, 1) != 1)
		return false;
	if ((ctucan_mem_read(controller, RX_DATA, 4) & FORMAT_OURS) != format ||
	    ctucan_mem_read(controller, RX_DATA, 4) != ID)
		return false;
	/* The time stamp. */
	ctucan_mem_read(controller, RX_DATA, 4);
	ctucan_mem_read(controller, RX_DATA, 4);
	for (i = 0; i < LENGTH; i += 4)
		if (ctucan_mem_read(controller, RX_DATA, 4) != word(i))
			return false;
	return true;
}

void try_fd_card(void)
{
	static struct can_client_info info = { is_ready, take };
	static struct can_client client;
	static bool is_tried;
	void *bus, *controller;
	bool is_fine;

	if (is_tried)
		return;
	is_tried = true;
	bus = object_new("can-bus");
	controller = calloc(1, CONTROLLER);
	if (!bus || !controller)
		fail("no memory for a CAN FD controller");
	client.info = &info;
	can_bus_insert_client(bus, &client);
	ctucan_init(controller, NULL);
	ctucan_connect_to_bus(controller, bus);
	ctucan_mem_write(controller, MODE, MODE_ENABLED, 4);
	ctucan_mem_write(controller, TX_PRIORITY, TX_FIRST, 4);
	is_fine = sends(controller, FORMAT_FD | FORMAT_BRS, QEMU_CAN_FD | QEMU_CAN_BRS) &&
		  sends(controller, FORMAT_FD, QEMU_CAN_FD) &&
		  receives(controller, &client, FORMAT_FD | FORMAT_BRS, QEMU_CAN_FD | QEMU_CAN_BRS) &&
		  receives(controller, &client, FORMAT_FD | FORMAT_ESI, QEMU_CAN_FD | QEMU_CAN_ESI);
	if (!is_fine)
		fail("this build of QEMU has other CAN FD cards: a trial frame of one differs");
	ctucan_disconnect(controller);
	can_bus_remove_client(&client);
	object_unref(bus);
	free(controller);
}
