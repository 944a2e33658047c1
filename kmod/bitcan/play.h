/* SPDX-License-Identifier: GPL-2.0 */
/* The tester: its list, its state, its stamps. */
#ifndef BITCAN_PLAY_H
#define BITCAN_PLAY_H

#include <linux/irq_work.h>
#include <linux/wait.h>

#include "kernel.h"

#define PLAY_END (~0u)

/* A frame of the list, with all that can be worked out beforehand. */
struct play_frame {
	u64 at;
	u32 key;
	u32 next;		/* of the same bus; PLAY_END */
	struct bc_length length;
	u16 number;
	u8 bus;
	bool fd;
	struct canfd_frame frame;
};

struct play {
	/* Under bitcan_lock. */
	bool attached, running;
	int node[BITCAN_BUSES];		/* -1: none */
	struct play_frame *list;
	u32 count;
	u32 mode;
	u8 return_bus;
	u32 stamp_every;
	u64 timeout;
	u64 started;
	u32 current_frame;		/* one-at-a-time */
	u32 sending[BITCAN_BUSES];	/* frame in the transmit buffer; PLAY_END */
	u32 left;			/* frames whose end has not come */
	u64 deadline;			/* BC_NEVER */
	u64 armed;
	u64 sent, timeouts, stamped, lost;
	struct bitcan_header *header;	/* in the mapping: written, never read */
	struct bitcan_stamp *stamps;
	u32 room;
	struct hrtimer timer;
	struct irq_work done;
	wait_queue_head_t wait;
};

extern struct play bitcan_play;

void bitcan_play_init(void);
void bitcan_play_attach(void);
void bitcan_play_detach(void);
int bitcan_play_start(const struct bitcan_start *start, struct play_frame *list);
void bitcan_play_stop(void);

#endif
