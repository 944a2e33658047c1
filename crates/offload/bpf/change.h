/* SPDX-License-Identifier: GPL-2.0 */
/* What is done to a frame: route::operations, in place in the skb. */
#ifndef CANGATE_CHANGE_H
#define CANGATE_CHANGE_H

#include "frame.h"
#include "signal.h"

/* A frame while it is changed; its data lie in the skb. */
struct work {
	u32 raw;
	u32 len;
	u32 dlc; /* raw DLC of a classic frame, 9 to 15, else 0 */
	u32 flags;
	u32 room; /* bytes of data: 8 or 64 */
};

INLINE void modify(struct work *work, struct frame *frame, const struct op *op)
{
	work->raw = (work->raw & op->modify.id_and) ^ op->modify.id_xor;
	if (op->modify.has_len) {
		u32 old = work->len;
		if (work->dlc)
			old = work->dlc;
		u32 new = (old & op->modify.len_and) ^ op->modify.len_xor;
		work->dlc = 0;
		work->len = new;
		if (work->room == 8 && new > 8 && new < 16) {
			work->len = 8;
			work->dlc = new;
		}
	}
	work->flags = (work->flags & op->modify.flags_and) ^ op->modify.flags_xor;
	frame->data[0] = (frame->data[0] & op->modify.and[0]) ^ op->modify.xor[0];
}

INLINE void modify_tail(struct frame *frame, const struct op *op)
{
	for (int i = 1; i < 8; i++)
		frame->data[i] = (frame->data[i] & op->modify.and[i]) ^ op->modify.xor[i];
}

/* Puts a number into the ID; false where the format cannot have it. */
INLINE int put_number(struct work *work, s64 number, u32 eff)
{
	u32 max = eff ? EFF_MASK : SFF_MASK;
	if (number < 0 || number > max)
		return 0;
	work->raw = (work->raw & (RTR_FLAG | ERR_FLAG)) | (eff ? EFF_FLAG : 0) | (u32)number;
	return 1;
}

INLINE u32 number_of(const struct work *work)
{
	return work->raw & (work->raw & EFF_FLAG ? EFF_MASK : SFF_MASK);
}

INLINE int map_id(struct work *work, const struct op *op)
{
	u32 number = number_of(work);
	u32 place = number - op->map.from;
	if (number < op->map.from || place >= op->map.count)
		return 1;
	u32 eff = op->map.format ? op->map.format == 2 : work->raw >> 31;
	return put_number(work, (s64)op->map.to + place, eff);
}

/* A byte of the data at an index below 64; null past the skb's end. */
INLINE u8 *byte_at(struct __sk_buff *skb, u32 index)
{
	void *data = (void *)(unsigned long)skb->data;
	void *end = (void *)(unsigned long)skb->data_end;
	u8 *byte = data + HEADER + (index & 63);
	return (void *)(byte + 1) <= end ? byte : 0;
}

GLOBAL int move_bytes(struct __sk_buff *skb, u32 from, u32 to, u32 step, u32 count)
{
	for (u32 i = 0; i < 64; i++) {
		if (i >= count)
			break;
		u8 *source = byte_at(skb, from), *target = byte_at(skb, to);
		if (source && target)
			*target = *source;
		from += step;
		to += step;
	}
	return 0;
}

GLOBAL int clear_bytes(struct __sk_buff *skb, u32 from, u32 count)
{
	for (u32 i = 0; i < 64; i++) {
		if (i >= count)
			break;
		u8 *byte = byte_at(skb, from + i);
		if (byte)
			*byte = 0;
	}
	return 0;
}

INLINE void copy_bytes(struct __sk_buff *skb, u32 room, const struct op *op)
{
	u32 from = op->copy.from, to = op->copy.to, count = op->copy.count;
	if (from >= room || to >= room)
		return;
	if (count > room - from)
		count = room - from;
	if (count > room - to)
		count = room - to;
	u32 last = to > from && count ? count - 1 : 0;
	move_bytes(skb, from + last, to + last, last ? -1 : 1, count);
	if (!op->copy.clear)
		return;
	/* What was written stays: the places overlap by `count` less their distance. */
	u32 distance = to > from ? to - from : from - to;
	u32 rest = distance < count ? distance : count;
	clear_bytes(skb, to > from ? from : from + count - rest, rest);
}

/* calc_idx of net/can/gw.c; 64 or more where it lies outside. */
INLINE u32 resolve(u32 len, u32 room, s16 index)
{
	int at = index;
	if (at < 0)
		at += len;
	return at < 0 || at >= (int)room ? 64 : at;
}

/* The compiler knows that a sum of bytes is below 256 and leaves the mask out, and then the
 * verifier does not know it. */
INLINE u32 entry_of(const struct crc_table *table, u32 index)
{
	asm volatile("%0 &= 0xff" : "+r"(index));
	return table->entry[index];
}

GLOBAL int checksum(struct __sk_buff *skb, u32 number, u32 raw, u32 len, u32 room)
{
	struct op *op = lookup(&ops, &number);
	if (!op)
		return 0;
	u32 from = resolve(len, room, op->sum.from), to = resolve(len, room, op->sum.to);
	u32 result = resolve(len, room, op->sum.result);
	u32 xor = op->kind == OP_XOR, key = op->sum.table;
	struct crc_table *table = lookup(&crc_tables, &key);
	if (from > 63 || to > 63 || result > 63 || !table)
		return 0;
	u32 down = from > to;
	u32 count = (down ? from - to : to - from) + 1;
	u32 sum = op->sum.init;
	for (u32 i = 0; i < 64; i++) {
		if (i >= count)
			break;
		u8 *byte = byte_at(skb, down ? from - i : from + i);
		if (!byte)
			return 0;
		sum ^= *byte;
		if (!xor)
			sum = entry_of(table, sum);
	}
	u8 *place = byte_at(skb, result), *second = byte_at(skb, 1);
	if (!place || !second)
		return 0;
	if (xor) {
		*place = sum;
		return 0;
	}
	u32 more = 0;
	switch (op->sum.profile) {
	case 1:
		more = op->sum.bytes[0];
		break;
	case 2:
		more = op->sum.bytes[*second & 15];
		break;
	case 3:
		more = (raw ^ (raw >> 8)) & 0xff;
		break;
	}
	if (op->sum.profile)
		sum = entry_of(table, sum ^ more);
	*place = sum ^ op->sum.final;
	return 0;
}

/* Zeroes what is no part of the frame: modifications see it (FrameBuf::set). */
INLINE void zero_past(struct frame *frame, u32 words, u32 keep)
{
	for (u32 i = 0; i < words; i++) {
		u32 shift = keep < 8 ? keep * 8 : 0;
		if (keep < 8) {
			frame->data[i] &= (1ull << shift) - 1;
			keep = 0;
		} else {
			keep -= 8;
		}
	}
}

/* Does a route's actions to the frame at the skb's start; one of STOP_*, or STOPS where it may
 * go. */
GLOBAL int change(struct __sk_buff *skb, u32 number)
{
	struct route *route = lookup(&routes, &number);
	u32 size = frame_size(skb);
	struct frame *frame = frame_at(skb, 0, CC_SIZE);
	if (!route || !frame)
		return STOP_LONG;
	struct work work = {
		.raw = frame->id,
		.len = frame->len,
		.room = size - HEADER,
	};
	if (size == CC_SIZE) {
		if (work.len == 8 && frame->dlc > 8 && frame->dlc < 16)
			work.dlc = frame->dlc;
		zero_past(frame, 1, work.raw & RTR_FLAG ? 0 : work.len);
	} else {
		work.flags = frame->flags & ~FDF;
		frame = frame_at(skb, 0, FD_SIZE);
		if (!frame)
			return STOP_LONG;
		zero_past(frame, 8, work.len);
	}
	u32 first = route->first_op, count = route->ops;
	for (u32 i = 0; i < OPS; i++) {
		u32 key = first + i;
		if (i >= count)
			break;
		struct op *op = lookup(&ops, &key);
		if (!op)
			break;
		u32 kind = op->kind;
		u32 there = work.len < work.room ? work.len : work.room;
		if (there < op->need)
			return STOP_ABSENT;
		if (HAS_WRITES && kind == OP_WRITE) {
			if (!write_signal(skb, key))
				return STOP_RANGE;
		} else if (kind == OP_MODIFY) {
			frame = frame_at(skb, 0, CC_SIZE);
			if (!frame)
				break;
			modify(&work, frame, op);
			if (work.room > 8 && op->words > 1) {
				frame = frame_at(skb, 0, FD_SIZE);
				if (frame)
					modify_tail(frame, op);
			}
		} else if (kind == OP_COPY) {
			copy_bytes(skb, work.room, op);
		} else if (kind == OP_CRC8 || kind == OP_XOR) {
			if (work.len > work.room)
				return STOP_LONG;
			checksum(skb, key, work.raw, work.len, work.room);
		} else if (!(work.raw & ERR_FLAG)) {
			if (kind == OP_OFFSET) {
				u32 eff = work.raw >> 31;
				if (!put_number(&work, number_of(&work) + op->offset.by, eff))
					return STOP_ID;
			} else if (!map_id(&work, op)) {
				return STOP_ID;
			}
		}
	}
	if (work.len > work.room)
		return STOP_LONG;
	/* CAN FD has no remote frames. */
	if (size != CC_SIZE && (work.raw & RTR_FLAG))
		return STOP_ID;
	frame = frame_at(skb, 0, CC_SIZE);
	if (!frame)
		return STOP_LONG;
	frame->id = work.raw;
	frame->len = work.len;
	if (size == CC_SIZE)
		frame->dlc = work.len == 8 ? work.dlc : 0;
	else
		frame->flags = work.flags | FDF;
	return STOPS;
}

#endif
