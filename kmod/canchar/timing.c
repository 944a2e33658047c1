// SPDX-License-Identifier: GPL-2.0
/* Bit times for controllers whose bits are made of up to 25 quanta. */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "timing.h"

#define PRESCALER 64
#define BEFORE 16
#define AFTER 8
#define JUMP 4

/* CiA 301, table of bit rates: 87.5 %, earlier where the bit is short. Linux's interfaces take the same. */
static u32 usual(u32 bitrate)
{
	if (bitrate > 800000)
		return 750;
	return bitrate > 500000 ? 800 : 875;
}

int canchar_timing(u32 clock, u32 bitrate, u32 sample_point, struct canchar_timing *timing)
{
	u32 prescaler, best = U32_MAX;

	if (!bitrate || bitrate > clock || sample_point >= 1000)
		return -EINVAL;
	if (!sample_point)
		sample_point = usual(bitrate);
	/* The finest quanta first: of two bits that are as good the one with more of them is taken. */
	for (prescaler = 1; prescaler <= PRESCALER; prescaler++) {
		u32 after, quanta = clock / prescaler / bitrate;

		if ((u64)quanta * prescaler * bitrate != clock)
			continue;
		for (after = 1; after <= AFTER && after + 2 <= quanta; after++) {
			u32 before = quanta - 1 - after;
			u32 away = abs((int)(1000 * (1 + before) / quanta) - (int)sample_point);

			if (before > BEFORE || away >= best)
				continue;
			best = away;
			timing->prescaler = prescaler;
			timing->before = before;
			timing->after = after;
			timing->jump = clamp_t(u32, after / 2, 1, JUMP);
		}
	}
	return best == U32_MAX ? -EINVAL : 0;
}
