/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device as the driver uses it: requests, confirmations and frames in the message memory. docs/vcontroller.md
 * has the rules.
 */
#ifndef VFCAN_DEVICE_H
#define VFCAN_DEVICE_H

#include <linux/io.h>
#include <linux/types.h>

#include "vfcan.h"

struct vfcan_device {
	void __iomem *registers;
	struct vfcan_memory *memory;
	u32 queue;			/* frames that may be under way */
	u32 request_tail, done_tail, received_tail;
	u32 reaped;			/* requests whose status was read */
	u32 known;			/* `changes` before the last look */
	u64 busy;			/* tickets under way, a bit each */
	u8 tickets[VFCAN_RING];		/* of the requests in the ring */
	u64 rings, quiet;		/* doorbells rung, and not needed */
};

/* What has become of a request; `outcome` is VFCAN_SENT …, or VFCAN_RING and a VFCAN_REFUSED_*. */
struct vfcan_fate {
	u32 ticket, outcome;
	u64 end;
};

void vfcan_device_start(struct vfcan_device *d, bool listen_only);
void vfcan_device_stop(struct vfcan_device *d);
int vfcan_ticket(const struct vfcan_device *d);
void vfcan_request(struct vfcan_device *d, u32 ticket, const struct canfd_frame *frame, bool fd,
		   bool ring);
void vfcan_look(struct vfcan_device *d);
bool vfcan_fate(struct vfcan_device *d, struct vfcan_fate *fate);
bool vfcan_receive(struct vfcan_device *d, struct canfd_frame *frame, bool *fd, u64 *end);
bool vfcan_seen(struct vfcan_device *d);

#endif
