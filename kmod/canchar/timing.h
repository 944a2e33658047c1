/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CANCHAR_TIMING_H
#define CANCHAR_TIMING_H

#include <linux/types.h>

/* A nominal bit of an SJA1000, in time quanta (data sheet, 6.5.1 to 6.5.3). */
struct canchar_timing {
	u8 prescaler;		/* 1 to 64: clock periods of a quantum */
	u8 before;		/* 1 to 16: from the end of the synchronisation segment to the sample point */
	u8 after;		/* 1 to 8: from there to the end of the bit */
	u8 jump;		/* 1 to 4 */
};

/*
 * The bit of this rate (bit/s) whose sample point (1/1000 of the bit; 0: usual for the rate) is
 * nearest to the wanted one. EINVAL: the clock (Hz) has no exact one.
 */
int canchar_timing(u32 clock, u32 bitrate, u32 sample_point, struct canchar_timing *timing);

#endif
