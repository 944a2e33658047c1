/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * bitcan: CAN buses in bit time, and a tester on them.
 *
 * /dev/bitcan         text, one line a write(2):
 *                       add NAME bus=N model=sja1000|mscan
 *                       del NAME
 *                       join FROM TO    a gateway without software, between two that are down
 *                       part FROM
 *                     read(2) lists the interfaces, one a line, in the same words.
 * /dev/bitcan-tester  a node on every bus that exists, for one process at a time: SETUP, then
 *                     mmap(2), then fill in frames, then START, then poll(2) for the end.
 *
 * All times are ns of CLOCK_MONOTONIC. An end of frame is the end of the last bit of the end of
 * frame; a duration is from start of frame to there, stuff bits included, without intermission.
 */
#ifndef BITCAN_H
#define BITCAN_H

#include <linux/can.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#define BITCAN_VERSION 1
#define BITCAN_BUSES 8

/* ioctl: sizes the mapping. Frames and stamps of before are gone. */
struct bitcan_setup {
	__u32 version;		/* BITCAN_VERSION */
	__u32 frames;		/* in: room for so many frames to send */
	__u32 stamps;		/* in: room for so many stamps */
	__u32 reserved;
	__u64 frames_at;	/* out: byte offset of the frames in the mapping */
	__u64 stamps_at;	/* out: byte offset of the stamps */
	__u64 size;		/* out: bytes to map */
};

/* A frame to send. */
struct bitcan_frame {
	__u64 at;		/* when it is ready, ns after START; one-at-a-time ignores it */
	__u8 bus;
	__u8 flags;		/* BITCAN_FRAME_* */
	__u8 reserved[6];
	struct canfd_frame frame;
};
#define BITCAN_FRAME_FD 1	/* an FD frame; BRS and ESI are in frame.flags */

/* What happened on a bus. */
struct bitcan_stamp {
	__u64 end;		/* end of frame; of what happened, for other kinds */
	__u32 duration;		/* ns */
	__u8 bus;
	__u8 kind;		/* BITCAN_STAMP_* */
	__u16 node;		/* who sent: 0 the tester, else ifindex & 0xffff */
	struct canfd_frame frame;
};
#define BITCAN_STAMP_FRAME 0	/* a frame ended well */
#define BITCAN_STAMP_FD 1	/* an FD frame ended well */
#define BITCAN_STAMP_ERROR 2	/* an error frame ended */
#define BITCAN_STAMP_OVERRUN 3	/* node's receive FIFO lost this frame */
#define BITCAN_STAMP_BUS_OFF 4	/* node went bus-off */

/* The start of the mapping, written by the kernel. */
struct bitcan_header {
	__u32 version;
	__u32 state;		/* BITCAN_STATE_* */
	__u64 started;		/* when START took effect, ns */
	__u64 sent;		/* frames of the list whose transmission ended well */
	__u64 timeouts;		/* one-at-a-time: frames given up */
	__u64 stamps;		/* stamps written */
	__u64 stamps_lost;	/* for which there was no room */
};
#define BITCAN_STATE_IDLE 0
#define BITCAN_STATE_RUNNING 1
#define BITCAN_STATE_DONE 2

struct bitcan_start {
	__u32 mode;		/* BITCAN_MODE_* */
	__u32 count;		/* of the frames in the mapping, the first so many are sent */
	__u64 timeout;		/* one-at-a-time: ns to wait for a frame; drain: ns after the last */
	__u8 return_bus;	/* one-at-a-time: where frames come back */
	__u8 reserved[3];
	__u32 stamp_every;	/* take stamps of every nth number only (first two payload bytes) */
};
#define BITCAN_MODE_SCHEDULE 0	/* each frame at its time, in order; a flood has all times 0 */
#define BITCAN_MODE_ONE 1	/* the next when one of the same number (first two payload bytes,
				 * big endian) by another node ended on return_bus, or on timeout */

#define BITCAN_SETUP _IOWR('b', 1, struct bitcan_setup)
#define BITCAN_START _IOW('b', 2, struct bitcan_start)
#define BITCAN_STOP _IO('b', 3)

#endif
