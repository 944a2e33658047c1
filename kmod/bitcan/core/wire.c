// SPDX-License-Identifier: GPL-2.0
/*
 * The length of frames on the wire, exact to the bit: stuff bits of classic and ISO FD frames. By
 * tables, because sending a frame should not cost the CPU more than a controller's registers.
 */
#include "core.h"

#define TRAILER 10		/* CRC delimiter, ACK slot, ACK delimiter, end of frame */
#define NS_PER_S 1000000000ull

/*
 * Bit stuffing by the byte. A state is the last bit and how many equal ones there were (one to
 * four): index last << 10 | (run - 1) << 8 | byte. A step holds the next state where the index
 * has it, above it the number of stuff bits (2 bits), above that the 8 to 10 bits.
 */
static u32 stuff[2048];
static u16 crc15[256];

#define STATE_MASK 0x700u
#define STATE(last, run) ((u32)(last) << 10 | ((u32)(run) - 1) << 8)
#define IDLE STATE(1, 1)	/* an idle bus, seen from the start of frame */
#define STUFFED(step) ((step) >> 12 & 3)
#define OUT(step) ((step) >> 16)

static u32 stuff_bits(u32 state, u32 bits, u32 count)
{
	u32 last = state >> 10 & 1, run = (state >> 8 & 3) + 1, out = 0, stuffed = 0;

	while (count--) {
		u32 bit = bits >> count & 1;

		run = bit == last ? run + 1 : 1;
		last = bit;
		out = out << 1 | bit;
		if (run == 5) {
			last = !bit;
			run = 1;
			out = out << 1 | last;
			stuffed++;
		}
	}
	return out << 16 | stuffed << 12 | STATE(last, run);
}

/* Was the last bit sent a stuff bit, if the last bit of the frame is this one? */
static bool after_stuff_bit(u32 state, u32 last)
{
	return (state >> 8 & 3) == 0 && (state >> 10 & 1) != last;
}

static u16 crc15_of_byte(u32 byte)
{
	u32 crc = byte << 7;
	int i;

	for (i = 0; i < 8; i++)
		crc = crc << 1 ^ ((crc >> 14 & 1) ? 0x4599 : 0);
	return crc & 0x7fff;
}

void bc_wire_init(void)
{
	u32 i;

	for (i = 0; i < 2048; i++)
		stuff[i] = stuff_bits(i & STATE_MASK, i & 0xff, 8);
	for (i = 0; i < 256; i++)
		crc15[i] = crc15_of_byte(i);
}

/* Are these rates a bus's? 1 kbit/s to 20 Mbit/s, as the arithmetic below has room for. */
bool bc_rate_set(struct bc_rate *rate, u32 nominal, u32 data)
{
	if (nominal < 1000 || nominal > 20000000)
		return false;
	if (data && (data < nominal || data > 20000000))
		return false;
	rate->nominal = nominal;
	rate->data = data;
	rate->nominal_ns = NS_PER_S % nominal ? 0 : NS_PER_S / nominal;
	rate->data_ns = !data ? rate->nominal_ns : NS_PER_S % data ? 0 : NS_PER_S / data;
	return true;
}

/* Duration of bits at the two rates, rounded to the nearest ns as one. */
u64 bc_time(const struct bc_rate *rate, u32 nominal, u32 data)
{
	u64 n = rate->nominal, d = rate->data ? rate->data : n;

	if (rate->nominal_ns && (!data || rate->data_ns))
		return (u64)nominal * rate->nominal_ns + (u64)data * rate->data_ns;
	if (!data)
		return div64_u64(nominal * NS_PER_S + n / 2, n);
	/* A frame has at most 900 bits: 900 * 2e7 * 1e9 is below 2^64. */
	return div64_u64((nominal * d + data * n) * NS_PER_S + n * d / 2, n * d);
}

/* The nearest whole number of nominal bits in a time; of long times some large number. */
u64 bc_count(const struct bc_rate *rate, u64 ns)
{
	u64 seconds;

	if (ns > 1000 * NS_PER_S)
		ns = 1000 * NS_PER_S;
	seconds = div64_u64(ns, NS_PER_S);
	ns -= seconds * NS_PER_S;
	return seconds * rate->nominal + div64_u64(ns * rate->nominal + NS_PER_S / 2, NS_PER_S);
}

static const u8 fd_lengths[16] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64
};

u8 bc_fd_padded(u8 dlc)
{
	return fd_lengths[dlc & 15];
}

u8 bc_dlc(const struct canfd_frame *frame, bool fd)
{
	u8 dlc;

	if (fd) {
		for (dlc = 0; dlc < 15 && fd_lengths[dlc] < frame->len; dlc++)
			;
		return dlc;
	}
	/* What struct can_frame has there is len8_dlc. */
	if (frame->len >= 8 && frame->__res1 > 8 && frame->__res1 < 16)
		return frame->__res1;
	return frame->len < 8 ? frame->len : 8;
}

/* Identifier, RTR and IDE as they stand on the wire: the lowest wins. */
u32 bc_key(const struct canfd_frame *frame, bool fd)
{
	u32 id = frame->can_id & CAN_EFF_MASK;
	u32 remote = !fd && frame->can_id & CAN_RTR_FLAG ? 1 : 0;

	if (frame->can_id & CAN_EFF_FLAG)
		return (id >> 18) << 21 | 3 << 19 | (id & 0x3ffff) << 1 | remote;
	return (id & CAN_SFF_MASK) << 21 | remote << 20;
}

/* Bits in front of a header that fill it up to bytes, without making stuff bits. */
static u64 filler(u32 bits)
{
	return 0x55 & ((1u << bits) - 1);
}

static void classic_length(const struct canfd_frame *frame, struct bc_length *length)
{
	bool remote = frame->can_id & CAN_RTR_FLAG;
	u32 id = frame->can_id & CAN_EFF_MASK, state = IDLE, stuffed = 0, crc = 0, last;
	u64 header = (u64)remote << 6 | bc_dlc(frame, false);
	int i, bits, bytes, len = remote ? 0 : frame->len < 8 ? frame->len : 8;
	u64 filled;

	if (frame->can_id & CAN_EFF_FLAG) {
		header |= (u64)(id >> 18) << 27 | 3u << 25 | (id & 0x3ffff) << 7;
		bits = 39;
		bytes = 5;
	} else {
		header |= (id & CAN_SFF_MASK) << 7;
		bits = 19;
		bytes = 3;
	}
	filled = header | filler(bytes * 8 - bits) << bits;

#define TAKE(byte)							\
	do {								\
		u32 step = stuff[state | ((byte) & 0xff)];		\
									\
		stuffed += STUFFED(step);				\
		state = step & STATE_MASK;				\
	} while (0)
#define SUM(byte) (crc = ((crc << 8) ^ crc15[(crc >> 7 ^ (byte)) & 0xff]) & 0x7fff)

	for (i = bytes - 1; i >= 0; i--) {
		SUM(header >> (8 * i));
		TAKE(filled >> (8 * i));
	}
	for (i = 0; i < len; i++) {
		SUM(frame->data[i]);
		TAKE(frame->data[i]);
	}
	/* The sixteenth bit is the inverse of the last one, so it brings no stuff bit along. */
	last = crc << 1 | (~crc & 1);
	TAKE(last >> 8);
	TAKE(last);
#undef TAKE
#undef SUM
	length->nominal = bits + 8 * len + 15 + stuffed + TRAILER;
	length->data = 0;
}

static void fd_length(const struct canfd_frame *frame, struct bc_length *length)
{
	u32 id = frame->can_id & CAN_EFF_MASK, state = IDLE, stuffed = 0, in_header, late = 0;
	u32 dlc = bc_dlc(frame, true), data = fd_lengths[dlc], field, all, last;
	u32 len = frame->len < 64 ? frame->len : 64;
	bool brs = frame->flags & CANFD_BRS;
	u32 control = 1 << 7 | (u32)brs << 5 | (frame->flags & CANFD_ESI ? 1 << 4 : 0) | dlc;
	u64 header;
	int i, bits, bytes;

	if (frame->can_id & CAN_EFF_FLAG) {
		header = (u64)(id >> 18) << 29 | 3u << 27 | (id & 0x3ffff) << 9 | control;
		bits = 41;
		bytes = 6;
	} else {
		header = (u64)(id & CAN_SFF_MASK) << 10 | control;
		bits = 22;
		bytes = 3;
	}
	last = header & 1;
	header |= filler(bytes * 8 - bits) << bits;
	for (i = bytes - 1; i >= 0; i--) {
		u32 step = stuff[state | (header >> (8 * i) & 0xff)];

		stuffed += STUFFED(step);
		state = step & STATE_MASK;
	}
	in_header = stuffed;
	for (i = 0; i < (int)data; i++) {
		u8 byte = i < (int)len ? frame->data[i] : 0;
		u32 step = stuff[state | byte];

		stuffed += STUFFED(step);
		state = step & STATE_MASK;
		last = byte & 1;
	}
	/* A fixed stuff bit follows the last bit of data, so there is no other one before it. */
	if (after_stuff_bit(state, last))
		stuffed--;
	field = 4 + (data <= 16 ? 17 : 21);
	field += 1 + field / 4;
	all = bits + 8 * data + field + TRAILER + stuffed;
	if (brs) {
		/* Stuff bits in the header that come after BRS, which follows a dominant bit. */
		late = STUFFED(stuff_bits(STATE(1, 1), header & 31, 5));
		length->data = 5 + 8 * data + field + stuffed + late - in_header;
	} else {
		length->data = 0;
	}
	length->nominal = all - length->data;
}

void bc_length(const struct canfd_frame *frame, bool fd, struct bc_length *length)
{
	if (fd)
		fd_length(frame, length);
	else
		classic_length(frame, length);
}
