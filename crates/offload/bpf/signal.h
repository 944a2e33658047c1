/* SPDX-License-Identifier: GPL-2.0 */
/* Signals: route::SignalCondition, and the assignments of route::WriteSignals. */
#ifndef CANGATE_SIGNAL_H
#define CANGATE_SIGNAL_H

#include "frame.h"

/* A word of the data at an index up to 56; null past the skb's end. From the frame, not from its
 * place: a number on the stack loses its bounds in the verifier of older kernels. */
INLINE u64 *word_at(struct __sk_buff *skb, struct frame *frame, u32 index)
{
	void *end = (void *)(unsigned long)skb->data_end;
	void *word = (void *)frame + HEADER + (index & 63);
	return word + 8 <= end ? word : 0;
}

/* Does a condition hold for the frame? */
GLOBAL int holds(struct __sk_buff *skb, u32 number)
{
	struct condition *condition = lookup(&conditions, &number);
	u32 size = frame_size(skb);
	u32 at = skb->len - size;
	if (!condition || !size || at > ROOM_MAX)
		return 0;
	struct frame *frame = frame_at(skb, at, CC_SIZE);
	if (!frame)
		return 0;
	/* A remote frame has no data. Of an FD frame this bit is 0. */
	u32 there = frame->id & RTR_FLAG && size == CC_SIZE ? 0 : frame->len;
	u32 all = 1, any = 0, count = condition->count;
	for (u32 i = 0; i < TESTS; i++) {
		if (i >= count)
			break;
		const struct test *test = &condition->test[i];
		/* No branches: the verifier would follow both ways of each test. */
		u64 passes = ((u64)test->end - there - 1) >> 63;
		asm volatile("" : "+r"(passes));
		u64 *place = word_at(skb, frame, test->at & -(u32)passes);
		if (!place)
			return 0;
		u64 word = *place;
		u64 swap = -(u64)(test->flags & TEST_SWAP);
		asm volatile("" : "+r"(swap));
		word ^= (word ^ __builtin_bswap64(word)) & swap;
		word = (word << (test->shift & 63)) - test->low;
		u64 outside = word > test->span;
		asm volatile("" : "+r"(outside));
		all &= passes & ~outside;
		u32 last = test->flags / TEST_LAST & 1;
		asm volatile("" : "+r"(last));
		any |= all & last;
		all |= last;
	}
	return any;
}

/* Writes one signal of the frame at the skb's start; false where its value is out of range. The
 * frame is long enough. */
GLOBAL int write_signal(struct __sk_buff *skb, u32 number)
{
	struct op *op = lookup(&ops, &number);
	if (!op)
		return 0;
	u32 flags = op->write.flags;
	struct frame *frame = frame_at(skb, 0, CC_SIZE);
	if (!frame)
		return 0;
	u64 *from = word_at(skb, frame, op->write.from);
	if (!from)
		return 0;
	u64 word = *from;
	if (flags & WRITE_SWAP_FROM)
		word = __builtin_bswap64(word);
	word <<= op->write.up & 63;
	u32 down = op->write.down & 63;
	s64 raw = flags & WRITE_SIGNED ? (s64)word >> down : (s64)(word >> down);
	s64 sum = raw * op->write.factor + op->write.offset;
	u64 size = sum < 0 ? -(u64)sum : (u64)sum;
	u64 nearest = (size + op->write.half) / op->write.divisor;
	s64 value = sum < 0 ? -nearest : nearest;
	if (value < op->write.lowest || value > op->write.highest) {
		if (op->write.outside == OUTSIDE_DROP)
			return 0;
		if (op->write.outside == OUTSIDE_SUBSTITUTE)
			value = op->write.substitute;
		else
			value = value < op->write.lowest ? op->write.lowest : op->write.highest;
	}
	u64 *to = word_at(skb, frame, op->write.to);
	if (!to)
		return 0;
	u32 shift = op->write.shift & 63;
	word = *to;
	if (flags & WRITE_SWAP_TO)
		word = __builtin_bswap64(word);
	word &= ~(op->write.mask << shift);
	word |= ((u64)value & op->write.mask) << shift;
	if (flags & WRITE_SWAP_TO)
		word = __builtin_bswap64(word);
	*to = word;
	return 1;
}

#endif
