/* SPDX-License-Identifier: GPL-2.0 */
/* Rate limits: route::limit in 128 bits, under locks. */
#ifndef CANGATE_LIMIT_H
#define CANGATE_LIMIT_H

#include "frame.h"

INLINE struct wide add(struct wide a, struct wide b)
{
	struct wide sum = { .low = a.low + b.low, .high = a.high + b.high };
	sum.high += sum.low < a.low;
	return sum;
}

INLINE struct wide times(u64 a, u32 b)
{
	u64 low = (a & 0xffffffff) * b, high = (a >> 32) * b;
	struct wide product = { .low = low + (high << 32), .high = high >> 32 };
	product.high += product.low < low;
	return product;
}

INLINE int above(struct wide a, struct wide b)
{
	return a.high > b.high || (a.high == b.high && a.low > b.low);
}

/* Bucket::take: the bucket afterwards, and whether a frame may pass. */
INLINE struct wide take(struct wide full, struct wide now, struct wide depth, u64 per, int *pass)
{
	struct wide most = add(now, depth);
	struct wide interval = { .low = per };
	if (above(full, most))
		full = most;
	if (above(now, full))
		full = now;
	struct wide after = add(full, interval);
	*pass = !above(after, most);
	return *pass ? after : full;
}

INLINE u64 now_ns(void)
{
	u32 zero = 0;
	if (CLOCK_FROM_MAP) {
		u64 *clock = lookup(&test_clock, &zero);
		return clock ? *(volatile u64 *)clock : 0;
	}
	return ktime_get_ns();
}

/* The bucket of one ID; a free one is taken where it has none yet. */
INLINE struct bucket *bucket_of(struct limit *limit, struct id_key *key)
{
	struct bucket *bucket = lookup(&ids, key);
	if (bucket)
		return bucket;
	int got = 0;
	spin_lock(&limit->lock);
	if (limit->per_id) {
		limit->per_id--;
		got = 1;
	}
	spin_unlock(&limit->lock);
	if (!got)
		return 0;
	struct bucket fresh = {};
	if (update(&ids, key, &fresh, BPF_NOEXIST)) {
		/* Another processor was quicker. */
		spin_lock(&limit->lock);
		limit->per_id++;
		spin_unlock(&limit->lock);
	}
	return lookup(&ids, key);
}

/* May a frame with this ID pass now? */
GLOBAL int allowed(u32 number, u32 raw)
{
	struct limit *limit = lookup(&limits, &number);
	int pass = 0;
	if (!limit)
		return 0;
	u64 now = now_ns();
	u64 per = limit->per;
	u32 frames = limit->frames;
	struct wide depth = limit->depth;
	if (limit->ids) {
		u32 mask = raw & (EFF_FLAG | ERR_FLAG) ? EFF_MASK : SFF_MASK;
		struct id_key key = {
			.limit = number,
			.id = (raw & (EFF_FLAG | ERR_FLAG)) | (raw & mask),
		};
		struct bucket *bucket = bucket_of(limit, &key);
		if (bucket) {
			struct wide time = times(now, frames);
			spin_lock(&bucket->lock);
			bucket->full = take(bucket->full, time, depth, per, &pass);
			spin_unlock(&bucket->lock);
			return pass;
		}
	}
	spin_lock(&limit->lock);
	/* Processors' clocks may differ a little; time does not go back. */
	if (limit->clock > now)
		now = limit->clock;
	limit->clock = now;
	limit->full = take(limit->full, times(now, frames), depth, per, &pass);
	spin_unlock(&limit->lock);
	return pass;
}

#endif
