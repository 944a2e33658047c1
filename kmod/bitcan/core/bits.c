// SPDX-License-Identifier: GPL-2.0
/*
 * A frame bit by bit, for frames in which something goes wrong. Those that go well need only
 * their length.
 */
#include "core.h"

struct encoder {
	u8 *out;
	u32 count;
	u32 width, polynomial, crc;
	bool crc_with_stuff;	/* FD */
	bool last;
	u32 run;
	u32 stuffed;
	u8 fast;
};

static void sum(struct encoder *e, bool bit)
{
	bool top = e->crc >> (e->width - 1) & 1;

	e->crc = e->crc << 1 & ((1u << e->width) - 1);
	if (top != bit)
		e->crc ^= e->polynomial;
}

static void plain(struct encoder *e, bool recessive, enum bc_role role)
{
	e->last = recessive;
	if (e->count < BC_BITS)
		e->out[e->count++] = (recessive ? BC_RECESSIVE : 0) | e->fast | role;
}

static void stuffed(struct encoder *e, bool bit, enum bc_role role, bool summed)
{
	if (e->run == 5) {
		bool stuff = !e->last;

		if (summed && e->crc_with_stuff)
			sum(e, stuff);
		e->stuffed++;
		plain(e, stuff, role);
		e->run = 1;
	}
	if (summed)
		sum(e, bit);
	e->run = e->run && bit == e->last ? e->run + 1 : 1;
	plain(e, bit, role);
}

static void number(struct encoder *e, u32 value, u32 bits, enum bc_role role)
{
	while (bits--)
		stuffed(e, value >> bits & 1, role, true);
}

/* Stuff count in Gray code with parity, then the CRC, with fixed stuff bits. */
static void fd_crc_field(struct encoder *e)
{
	u32 count = e->stuffed & 7, gray = count ^ count >> 1;
	u32 head = gray << 1 | ((gray ^ gray >> 1 ^ gray >> 2) & 1);
	u32 total = e->width + 4, i;
	u64 field;

	for (i = 4; i--;)
		sum(e, head >> i & 1);
	field = (u64)head << e->width | e->crc;
	for (i = 0; i < total; i++) {
		if (i % 4 == 0)
			plain(e, !e->last, BC_FIXED_STUFF);
		plain(e, field >> (total - 1 - i) & 1, BC_FD_CRC);
	}
}

/* Writes a frame's bits, start of frame to end of frame; returns how many. */
u32 bc_encode(const struct canfd_frame *frame, bool fd, u8 *bits)
{
	bool remote = !fd && frame->can_id & CAN_RTR_FLAG;
	u32 id = frame->can_id & CAN_EFF_MASK;
	u8 dlc = bc_dlc(frame, fd);
	u32 length = fd ? bc_fd_padded(dlc) : remote ? 0 : frame->len < 8 ? frame->len : 8;
	struct encoder e = {
		.out = bits,
		.width = !fd ? 15 : length <= 16 ? 17 : 21,
		.polynomial = !fd ? 0x4599 : length <= 16 ? 0x1685b : 0x102899,
		.crc_with_stuff = fd,
		.last = true,
	};
	u32 i;

	if (fd)
		e.crc = 1u << (e.width - 1);
	number(&e, 0, 1, BC_ARBITRATION);
	if (frame->can_id & CAN_EFF_FLAG) {
		number(&e, id >> 18, 11, BC_ARBITRATION);
		number(&e, 3, 2, BC_ARBITRATION);
		number(&e, id & 0x3ffff, 18, BC_ARBITRATION);
		number(&e, remote, 1, BC_ARBITRATION);
	} else {
		number(&e, id & CAN_SFF_MASK, 11, BC_ARBITRATION);
		number(&e, remote, 1, BC_ARBITRATION);
		number(&e, 0, 1, BC_STUFFED);
	}
	if (fd) {
		number(&e, 1, 1, BC_FDF);
		number(&e, 0, 1, BC_STUFFED);
		number(&e, !!(frame->flags & CANFD_BRS), 1, BC_STUFFED);
		e.fast = frame->flags & CANFD_BRS ? BC_FAST : 0;
		number(&e, !!(frame->flags & CANFD_ESI), 1, BC_STUFFED);
	} else {
		number(&e, 0, frame->can_id & CAN_EFF_FLAG ? 2 : 1, BC_STUFFED);
	}
	number(&e, dlc, 4, BC_STUFFED);
	for (i = 0; i < length; i++)
		number(&e, i < frame->len ? frame->data[i] : 0, 8, BC_STUFFED);
	if (fd) {
		fd_crc_field(&e);
	} else {
		u32 crc = e.crc;

		for (i = 15; i--;)
			stuffed(&e, crc >> i & 1, BC_STUFFED, false);
		if (e.run == 5)
			plain(&e, !e.last, BC_STUFFED);
	}
	e.fast = 0;
	plain(&e, true, BC_CRC_DELIMITER);
	plain(&e, true, BC_ACK);
	plain(&e, true, BC_ACK_DELIMITER);
	for (i = 0; i < 7; i++)
		plain(&e, true, BC_END);
	return e.count;
}
