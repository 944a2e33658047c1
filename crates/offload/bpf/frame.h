/* SPDX-License-Identifier: GPL-2.0 */
/* A frame in an skb: where it lies, and how many gateways it has passed. */
#ifndef CANGATE_FRAME_H
#define CANGATE_FRAME_H

#include "kernel.h"
#include "table.h"

#define EFF_FLAG 0x80000000u
#define RTR_FLAG 0x40000000u
#define ERR_FLAG 0x20000000u
#define SFF_MASK 0x7ffu
#define EFF_MASK 0x1fffffffu
#define FDF 4

/* struct can_frame, struct canfd_frame */
struct frame {
	u32 id;
	u8 len;
	u8 flags;
	u8 reserved;
	u8 dlc; /* classic: len8_dlc */
	u64 data[8];
};

enum {
	HEADER = 8,
	CC_SIZE = 16,
	FD_SIZE = 72,
	/* What may stand before a frame: 16 bytes of private headroom in frames from drivers of
	 * kernels before 7.0, and what emit() puts there. */
	ROOM_MAX = 32,
};

/* 0: neither classic nor FD. */
INLINE u32 frame_size(struct __sk_buff *skb)
{
	u32 protocol = skb->protocol;
	if (protocol == htons(ETH_P_CAN))
		return CC_SIZE;
	return protocol == htons(ETH_P_CANFD) ? FD_SIZE : 0;
}

/* At `at`, at most ROOM_MAX; the first `size` bytes of it may be read and written. AF_CAN takes
 * frames of exactly these sizes, so that what the skb has beyond is what stands before. */
INLINE struct frame *frame_at(struct __sk_buff *skb, u32 at, u32 size)
{
	void *data = (void *)(unsigned long)skb->data;
	void *end = (void *)(unsigned long)skb->data_end;
	void *frame = data + at;
	return frame + size <= end ? frame : 0;
}

/* A frame that this gateway sent and that comes back to it carries its mark. */
INLINE u32 hops_of(struct __sk_buff *skb)
{
	u32 mark = skb->mark;
	return (mark & ~0xffu) == MARK ? mark & 0xff : 0;
}

#endif
