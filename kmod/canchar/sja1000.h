/* SPDX-License-Identifier: GPL-2.0 */
/* An SJA1000 (Philips, data sheet of 4 January 2000) in PeliCAN mode. */
#ifndef CANCHAR_SJA1000_H
#define CANCHAR_SJA1000_H

#include <linux/io.h>

#include "core.h"

/* A chip on a card. */
struct canchar_sja1000 {
	void __iomem *base;	/* of its registers, one byte apart */
	int irq;		/* may be shared */
	u8 output;		/* output control register: driver stages and polarity */
	u8 clock_divider;	/* clock divider register, without the PeliCAN bit */
	struct canchar_dev *dev;

	/* Under dev->lock. */
	bool on;		/* between start and stop */
	u8 mode;		/* mode register while it takes part in the bus */
	u8 transmit;		/* command that sends what is in the transmit buffer */
};

/* All modes of the chip, and a crystal of so many Hz. */
#define CANCHAR_SJA1000_MODEL(crystal) {                                              \
	.ops = &canchar_sja1000_ops,                                                  \
	.controller = "sja1000",                                                      \
	.supports = CANCHAR_LISTEN_ONLY | CANCHAR_ONE_SHOT | CANCHAR_BUS_ERRORS |     \
		    CANCHAR_PRIORITY,                                                 \
	.clock = (crystal) / 2,                                                       \
	.buffers = 1,                                                                 \
	.fifo = 64,                                                                   \
}

/* The controller's data is its struct canchar_sja1000. */
extern const struct canchar_ops canchar_sja1000_ops;

/* Takes the chip off the bus. False: no chip answers. */
bool canchar_sja1000_silence(struct canchar_sja1000 *chip);

#endif
