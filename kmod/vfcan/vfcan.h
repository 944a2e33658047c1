/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vfcan: the registers and the message memory of a virtual function of a CAN controller that shares itself, as
 * a virtual machine sees them. docs/vcontroller.md has the rules; this is the same in C.
 *
 * Little endian. A word has one writer. Heads and tails count on and wrap round at 2^32; entry n of a ring of
 * VFCAN_RING is at n % VFCAN_RING.
 */
#ifndef VFCAN_H
#define VFCAN_H

#include <linux/can.h>
#include <linux/types.h>

/* No registered numbers: this vendor is nobody, and is used by models of devices. Class: CAN controller. */
#define VFCAN_PCI_VENDOR 0x1234
#define VFCAN_PCI_DEVICE 0xca4e
#define VFCAN_PCI_CLASS 0x0c0900

/* BAR 0: registers of 32 bits. In a virtual machine each access is an exit; none is needed for frames. */
#define VFCAN_REG_MAGIC 0x000		/* RO: VFCAN_MAGIC */
#define VFCAN_REG_VERSION 0x004		/* RO: VFCAN_VERSION */
#define VFCAN_REG_FUNCTION 0x008	/* RO: number of this function */
#define VFCAN_REG_QUEUE 0x00c		/* RO: frames that its queue has room for, 1 to VFCAN_RING */
#define VFCAN_REG_FIFO 0x010		/* RO: frames that its receive FIFO has room for, 1 to VFCAN_RING */
#define VFCAN_REG_FEATURES 0x014	/* RO: VFCAN_FEATURE_* */
#define VFCAN_REG_CONTROL 0x018		/* RW: VFCAN_CONTROL_* */
#define VFCAN_REG_BITRATE 0x020		/* RO: bit/s; 0: the controller is off its bus */
#define VFCAN_REG_DATA_BITRATE 0x024	/* RO: of FD's data phase, bit/s; 0: no FD */
#define VFCAN_REG_TIME 0x028		/* RO: the clock of all `end`s, ns, low half; reading it latches the high half */
#define VFCAN_REG_TIME_HIGH 0x02c	/* RO: the latched high half */
#define VFCAN_REG_COUNTERS 0x080	/* RO: 16 of 64 bits, in the order of struct vfcan_counters */
#define VFCAN_REG_DOORBELL 0x1000	/* WO, in a page of its own: look at my requests */
#define VFCAN_REGISTERS_SIZE 0x2000
#define VFCAN_REGISTERS_BAR 0

#define VFCAN_MAGIC 0x4e434656		/* "VFCN" */
#define VFCAN_VERSION 1
#define VFCAN_FEATURE_FD 1
#define VFCAN_FEATURE_WRITTEN 2		/* `written` of a request is used */

#define VFCAN_CONTROL_RESET 0		/* all is as at first; the message memory is zeros */
#define VFCAN_CONTROL_START 1		/* takes part */
#define VFCAN_CONTROL_LISTEN_ONLY 2	/* with START: sends nothing */

/* BAR 2: message memory, prefetchable. Data, heads and tails: no access to it has a side effect. */
#define VFCAN_MEMORY_BAR 2
#define VFCAN_MEMORY_SIZE 0x4000
#define VFCAN_RING 64

/* A request: a frame to send, or the abort of one. */
struct vfcan_request {
	__u32 flags;		/* VFCAN_FRAME_FD, VFCAN_REQUEST_ABORT */
	__u32 status;		/* written by the device, when it has taken it: VFCAN_TAKEN_* */
	__u64 ticket;		/* the function's own; comes back in the confirmation */
	__u64 written;		/* the function's time stamp counter just before it wrote request_tail; 0: none */
	struct canfd_frame frame;
};
#define VFCAN_FRAME_FD 1
#define VFCAN_REQUEST_ABORT 2	/* takes back all requests with this ticket */

#define VFCAN_TAKEN 1			/* a confirmation will come (none for an abort) */
#define VFCAN_REFUSED_UNSUPPORTED 2	/* no frame that this controller can send */
#define VFCAN_REFUSED_DOWN 3		/* not started, listening only, or the controller is off its bus */
#define VFCAN_REFUSED_NOT_PERMITTED 4	/* not an identifier that this function may send */
#define VFCAN_REFUSED_FULL 5		/* the queue has no room: read confirmations first */

/* A confirmation: what became of a request that was taken. */
struct vfcan_done {
	__u64 ticket;
	__u64 end;		/* end of frame, or when it was given up; ns of VFCAN_REG_TIME */
	__u32 outcome;		/* VFCAN_SENT … */
	__u32 reserved;
};
#define VFCAN_SENT 0
#define VFCAN_ABORTED 1		/* taken back by the function */
#define VFCAN_DROPPED 2		/* bus-off, controller taken off its bus, or no longer permitted */

/* A received frame. */
struct vfcan_received {
	__u64 end;		/* end of frame, ns of VFCAN_REG_TIME */
	__u32 flags;		/* VFCAN_FRAME_FD */
	__u32 reserved;
	struct canfd_frame frame;
};

struct vfcan_memory {
	/* Written by the device. */
	__u32 changes;		/* 0x000: counts all that happens here */
	__u32 state;		/* 0x004: VFCAN_STATE_* of the controller */
	__u32 request_head;	/* 0x008: requests taken */
	__u32 done_head;	/* 0x00c: confirmations written */
	__u32 received_head;	/* 0x010: frames written */
	__u32 overruns;		/* 0x014: frames for which the FIFO had no room */
	__u32 tec, rec;		/* 0x018, 0x01c: the controller's error counters */
	__u32 stuck;		/* 0x020: 1: request_tail made no sense; takes nothing until a reset */
	__u32 reserved;
	/*
	 * 0x028, 0x030: no doorbell is needed for requests that are written while the function's time stamp counter
	 * is in this span: a frame is on the wire, and at its end the device looks by itself.
	 */
	__u64 quiet_from, quiet_until;
	__u32 reserved2[18];
	/* Written by the function. */
	__u32 request_tail;	/* 0x080: requests written */
	__u32 done_tail;	/* 0x084: confirmations read */
	__u32 received_tail;	/* 0x088: frames read */
	__u32 irq_enable;	/* 0x08c: VFCAN_IRQ_* */
	__u32 seen;		/* 0x090: `changes` as the function knows it */
	__u32 reserved3[27];
	struct vfcan_request requests[VFCAN_RING];	/* 0x0100 */
	struct vfcan_done done[VFCAN_RING];		/* 0x1900 */
	struct vfcan_received received[VFCAN_RING];	/* 0x1f00 */
};

#define VFCAN_STATE_STOPPED 0	/* the controller is off its bus */
#define VFCAN_STATE_ACTIVE 1
#define VFCAN_STATE_WARNING 2
#define VFCAN_STATE_PASSIVE 3
#define VFCAN_STATE_BUS_OFF 4

#define VFCAN_IRQ_RECEIVED 1
#define VFCAN_IRQ_DONE 2	/* a confirmation, or a request refused */
#define VFCAN_IRQ_STATE 4	/* state, overrun, stuck */

/* What became of all that a function asked for and was to receive, since the controller was made. */
struct vfcan_counters {
	__u64 requested, accepted, full, not_permitted, unsupported, down;
	__u64 sent, aborted, dropped, reset, attempts;
	__u64 heard, received, overrun, read, discarded;
};

#endif
