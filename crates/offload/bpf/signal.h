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

/* Does a condition hold for the data, of which `there` bytes are the frame's? Where `is_classic`,
 * they are in one word; else whole words, up to `end`, may be read. The pattern has compared the
 * length with what the first alternative needs.
 *
 * The loop is unrolled, so that no comparison is more than 15 instructions. The compiler makes two
 * chains of it: one that compares, and one that passes over the rest of an alternative. */
INLINE int holds(const void *data, const void *end, u32 there, u32 number, int is_classic)
{
	struct condition *condition = lookup(&conditions, &number);
	if (!condition)
		return 0;
	u64 little = *(const u64 *)data, big = __builtin_bswap64(little);
	const void *behind = data + 8;
	int failed = 0;
#pragma clang loop unroll(full)
	for (u32 i = 0; i < TESTS; i++) {
		const struct test *test = &condition->test[i];
		if (failed) {
			if (!test[-1].is_last)
				continue;
			if (unlikely(test->end > there))
				goto fails;
			failed = 0;
		}
		u64 word;
		if (is_classic) {
			word = little;
			if (test->is_motorola)
				word = big;
		} else {
			/* In this order it is one instruction less than pointer plus number. */
			u64 after = test->at;
			asm volatile("%0 += %1" : "+r"(after) : "r"(behind));
			if (unlikely((const void *)after > end))
				goto fails;
			word = ((const u64 *)after)[-1];
			if (test->is_motorola)
				word = __builtin_bswap64(word);
		}
		word = (word << test->shift) - test->low;
		if (unlikely(word > test->span))
			failed = 1;
		else if (unlikely(test->is_last))
			goto holds;
	}
	/* Places of their own, or the compiler sets the result beside each comparison. */
fails:
	asm volatile("");
	return 0;
holds:
	asm volatile("");
	return 1;
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
