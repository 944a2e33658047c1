/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * bitcan: CAN buses in bit time, and a tester on them.
 *
 * /dev/bitcan         text, one line a write(2):
 *                       add NAME bus=N model=sja1000|mscan|mapped|chardev-sja1000|chardev-mscan
 *                       add NAME bus=N model=shared functions=N queue=N fifo=N
 *                       pf NAME up bitrate=N dbitrate=N, or down, or restart
 *                       vf NAME N receive=RULES send=RULES budget=UNIT:AMOUNT:PER:BURST clock=N reset
 *                       del NAME
 *                       join FROM TO    a gateway without software, between two that are down
 *                       part FROM
 *                     read(2) lists the interfaces, one a line, in the same words, and mapped
 *                     controllers with what they counted.
 * /dev/NAME           a controller that is a character device: see ../canchar/canchar.h.
 * /dev/bitcan-NAME    a mapped controller: one process at a time maps its registers and drives it,
 *                     without the network stack.
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
	__u16 node;		/* who sent: 0 the tester, BITCAN_NODE_DEVICE and on a character
				 * device's controller, BITCAN_NODE_MAPPED and on a mapped
				 * controller, else ifindex & 0xffff */
	struct canfd_frame frame;
};
#define BITCAN_NODE_DEVICE 0xfe00
#define BITCAN_NODE_MAPPED 0xff00
#define BITCAN_NODE_SHARED 0xfd00	/* and on: the controller of bus 0 that shares itself */
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

/*
 * On /dev/bitcan: tells a CAN socket which NAPI instance reads its interface's frames, so that
 * SO_BUSY_POLL works on it. ENOTSOCK, EPROTOTYPE: no CAN socket; ENODEV: no interface of this module in
 * the socket's namespace; EOPNOTSUPP: its model reads no frames in NAPI, or the kernel has no busy
 * polling (PREEMPT_RT).
 */
struct bitcan_napi {
	__s32 socket;		/* descriptor */
	__u32 ifindex;
};
#define BITCAN_NAPI _IOW('b', 8, struct bitcan_napi)

/*
 * A mapped controller. Its page of registers is mapped at offset 0. The module reads every word that
 * the process writes once, and checks it; what the process reads, the module never reads back.
 *
 * Receiving: while rx_head != rx_tail, entry rx_tail % BITCAN_MAPPED_RX of the FIFO is the oldest frame. The
 * process copies it and then writes rx_tail + 1. Both count on and wrap round.
 *
 * Sending: the process writes a frame into a buffer that is not BITCAN_TX_PENDING and rings the
 * doorbell for it. Frames leave in the order of the doorbell's rings, in one ring that of the buffers'
 * numbers. When a buffer is not pending any more, its state says what became of the frame.
 *
 * The doorbell is lseek(2), the cheapest system call that reaches a device: lseek(fd, BUFFERS, SEEK_SET)
 * with a bit for each buffer. It stands for a write to a register, which is no system call: with a real
 * controller the frame is requested when the processor has made the write. So the process writes the
 * time of the call to `rang` just before: rdtsc on x86, 0 where there is none. The frame is ready
 * then, or when the bus was last looked at, whichever is later; with 0, when the call has come to the
 * module.
 *
 * Interrupts: the line is up while changes != seen and irq_enable has a bit of what changed. poll(2)
 * and read(2) wait for it; read gives changes as a __u32. To wait without missing anything: write
 * irq_enable, then seen, look at changes once more, wait.
 */
#define BITCAN_MAPPED_RX 4		/* frames in the receive FIFO */
#define BITCAN_MAPPED_TX 3		/* transmit buffers */

/* A received frame. */
struct bitcan_rx {
	__u64 end;		/* end of frame */
	__u32 flags;		/* BITCAN_FRAME_FD */
	__u32 reserved;
	struct canfd_frame frame;
};

/* A transmit buffer. */
struct bitcan_tx {
	/* Written by the process. */
	__u32 flags;		/* BITCAN_FRAME_FD */
	__u32 reserved;
	struct canfd_frame frame;
	/* Written by the module. */
	__u32 state;		/* BITCAN_TX_* */
	__u32 reserved2;
	__u64 end;		/* when it was sent or given up */
};
#define BITCAN_TX_FREE 0	/* never used since START */
#define BITCAN_TX_PENDING 1
#define BITCAN_TX_SENT 2
#define BITCAN_TX_FAILED 3	/* one-shot: lost arbitration, or an error */
#define BITCAN_TX_ABORTED 4
#define BITCAN_TX_BUS_OFF 5	/* the controller went bus-off before */
#define BITCAN_TX_INVALID 6	/* no frame that this controller can send */

struct bitcan_registers {
	/* Written by the module. */
	__u32 version;		/* BITCAN_VERSION */
	__u32 changes;		/* counts all that happens here */
	__u32 rx_head;		/* frames put into the FIFO */
	__u32 overruns;		/* frames for which the FIFO had no room */
	__u32 state;		/* BITCAN_ERROR_ACTIVE … */
	__u32 tec, rec;
	__u32 arbitration_lost;	/* frames of others that went before one that waited here */
	__u32 errors;		/* error frames that this controller began, or was hit by as a sender */
	__u32 reserved[7];
	/* Written by the process. */
	__u32 rx_tail;		/* frames taken out of the FIFO */
	__u32 irq_enable;	/* BITCAN_IRQ_* */
	__u32 seen;		/* changes that the process knows */
	__u32 reserved2;
	__u64 rang;		/* when the doorbell was rung, see there */
	__u32 reserved3[10];
	struct bitcan_tx tx[BITCAN_MAPPED_TX];
	struct bitcan_rx rx[BITCAN_MAPPED_RX];
};
#define BITCAN_ERROR_ACTIVE 0
#define BITCAN_ERROR_WARNING 1
#define BITCAN_ERROR_PASSIVE 2
#define BITCAN_ERROR_BUS_OFF 3
#define BITCAN_IRQ_RX 1
#define BITCAN_IRQ_TX 2
#define BITCAN_IRQ_STATE 4	/* state, overrun, error */

/* How a mapped controller takes part in its bus. */
struct bitcan_control {
	__u32 version;		/* BITCAN_VERSION */
	__u32 flags;		/* BITCAN_CONTROL_* */
	__u32 bitrate;		/* bit/s */
	__u32 data_bitrate;	/* bit/s; with BITCAN_CONTROL_FD only */
	__u32 filters;		/* 0: all frames; else a frame that one of these takes, as raw(7) says */
	__u32 reserved;
	struct can_filter filter[16];
};
#define BITCAN_CONTROL_LISTEN_ONLY 1
#define BITCAN_CONTROL_ONE_SHOT 2
#define BITCAN_CONTROL_FD 4

#define BITCAN_CONTROL _IOW('b', 16, struct bitcan_control)	/* on to the bus, all counts at 0 */
#define BITCAN_LEAVE _IO('b', 17)	/* off the bus: what was pending is aborted */
#define BITCAN_ABORT _IO('b', 19)	/* argument: buffers; one on the wire goes on and may be sent */
#define BITCAN_RECOVER _IO('b', 20)	/* after bus-off: begin to count recessive bits */
#define BITCAN_FILTER _IOW('b', 21, struct bitcan_control)	/* takes its filters only */

#endif
