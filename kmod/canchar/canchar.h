/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * CAN controllers as character devices: what a process and the driver say to each other.
 *
 * /dev/canN is a controller. Each open file has two queues of CANCHAR_SLOTS frames, made when it is
 * opened: the interrupt handler copies a received frame into the queue of every file that wants it, and takes
 * the next frame to send out of one. Nothing is allocated for a frame.
 *
 * read(2) gives as many whole struct canchar_frame as fit and are there; write(2) takes as many as there
 * is room for. Both wait for the first one unless the file is O_NONBLOCK (EAGAIN). poll(2): POLLIN while
 * the receive queue holds a frame, POLLOUT while the transmit queue has room, POLLHUP when the
 * controller is gone. All calls on a controller that is gone fail with ENODEV.
 *
 * mmap(2) of CANCHAR_AREA bytes at offset 0 gives the queues themselves (struct canchar_area), which
 * read and write use too. The driver checks all that it reads there, and reads it once.
 */
#ifndef CANCHAR_H
#define CANCHAR_H

#include <linux/can.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#define CANCHAR_VERSION 1
#define CANCHAR_SLOTS 64	/* frames in each queue; a power of two */
#define CANCHAR_FILTERS 64	/* of a file */

/* One frame: what read gives, what write takes, what a slot of a queue is. */
struct canchar_frame {
	/*
	 * Received: when the driver took it out of the controller, ns of CLOCK_REALTIME. Transmit slot:
	 * when its state became final. Ignored by write.
	 */
	__u64 time;
	__u32 flags;		/* CANCHAR_FRAME_* */
	/*
	 * Received: frames that this file has lost just before this one, because its queue was full.
	 * Transmit slot: CANCHAR_TX_*, written by the driver. Ignored by write.
	 */
	__u32 state;
	/* As in SocketCAN: identifier with its flags, len, CANFD_BRS and CANFD_ESI, data. */
	struct canfd_frame frame;
	__u64 mark;		/* of a sent frame: the process's own, untouched; received: 0 */
};
#define CANCHAR_FRAME_FD 1	/* frame is a CAN FD frame */
#define CANCHAR_FRAME_SENT 2	/* received: sent by a file of this device; its mark is kept if it is this file */
#define CANCHAR_FRAME_OWN 4	/* with SENT: by this file */

#define CANCHAR_TX_FREE 0	/* never used */
#define CANCHAR_TX_PENDING 1	/* the driver has it */
#define CANCHAR_TX_SENT 2	/* acknowledged on the bus */
#define CANCHAR_TX_FAILED 3	/* one-shot: lost arbitration, or an error */
#define CANCHAR_TX_ABORTED 4	/* by STOP, FLUSH or close */
#define CANCHAR_TX_BUS_OFF 5	/* the controller went bus-off before */
#define CANCHAR_TX_INVALID 6	/* no frame that this controller can send */

/*
 * The queues, mapped.
 *
 * Receiving: while rx_head != rx_tail, slot rx[rx_tail % CANCHAR_SLOTS] is the oldest frame. The process
 * copies it, then writes rx_tail + 1. Head and tail count on and wrap round at 2^32.
 *
 * Sending: slot tx[tx_head % CANCHAR_SLOTS] is free unless its state is CANCHAR_TX_PENDING. The process
 * fills frame, flags and mark, then writes tx_head + 1, and rings the doorbell once for any number of
 * frames: lseek(fd, 0, SEEK_END), the cheapest call that reaches a device. It gives the number of
 * frames that the driver took: less than were new, where a slot was still pending. When a slot is not
 * pending any more its state says what became of the frame, and tx_sent or tx_failed has counted it.
 */
struct canchar_area {
	/* Written by the driver. */
	__u32 version;		/* CANCHAR_VERSION */
	__u32 rx_head;		/* frames put into the receive queue */
	__u32 rx_lost;		/* frames for which it had no room */
	__u32 tx_taken;		/* frames that the driver has taken over */
	__u32 tx_sent;		/* ... and that were acknowledged on the bus */
	__u32 tx_failed;	/* ... and that will never be: FAILED, ABORTED, BUS_OFF, INVALID */
	__u32 state;		/* CANCHAR_STATE_* of the controller */
	__u32 changes;		/* of the state, counted */
	__u32 overruns;		/* the controller's own FIFO had no room, counted since START */
	__u32 reserved[7];
	/* Written by the process, and by read and write. */
	__u32 rx_tail;
	__u32 reserved2;
	__u32 tx_head;
	__u32 reserved3[13];
	struct canchar_frame tx[CANCHAR_SLOTS];
	struct canchar_frame rx[CANCHAR_SLOTS];
};
#define CANCHAR_AREA sizeof(struct canchar_area)

#define CANCHAR_STATE_STOPPED 0
#define CANCHAR_STATE_ACTIVE 1
#define CANCHAR_STATE_WARNING 2
#define CANCHAR_STATE_PASSIVE 3
#define CANCHAR_STATE_BUS_OFF 4

/* How the controller takes part in its bus; for all files of the device. */
struct canchar_control {
	__u32 version;		/* CANCHAR_VERSION, else EPROTO */
	__u32 flags;		/* CANCHAR_* below */
	__u32 bitrate;		/* bit/s */
	__u32 data_bitrate;	/* bit/s; with CANCHAR_FD only, else 0 */
	__u32 sample_point;	/* of the nominal bits, 1/1000; 0: the driver chooses, as CiA 301 advises */
	__u32 data_sample_point;
	__u32 restart_ms;	/* from bus-off to the restart; 0: by RECOVER only */
	__u32 reserved;		/* 0 */
};
#define CANCHAR_LISTEN_ONLY 1
#define CANCHAR_ONE_SHOT 2
#define CANCHAR_FD 4
#define CANCHAR_BUS_ERRORS 8	/* an error frame for each error on the bus, not only for changes of state */
/*
 * The frame with the highest CAN priority of all files leaves first, else the one that was written first.
 * The frame in the controller's buffer is not called back.
 */
#define CANCHAR_PRIORITY 16

/* Which frames a file gets. */
struct canchar_filters {
	__u32 count;		/* 0: none at all; after open: one that takes all */
	__u32 errors;		/* mask of CAN_ERR_*: error frames that it wants; after open 0 */
	__u32 flags;		/* CANCHAR_WANT_* */
	__u32 reserved;		/* 0 */
	struct can_filter filter[CANCHAR_FILTERS];	/* one that takes the frame is enough, as in raw(7) */
};
#define CANCHAR_WANT_SENT 1	/* frames that other files of the device sent; after open set */
#define CANCHAR_WANT_OWN 2	/* frames that this file sent, when they have been sent */

struct canchar_info {
	__u32 version;		/* CANCHAR_VERSION */
	__u32 supports;		/* CANCHAR_LISTEN_ONLY | …: what START takes */
	__u32 clock;		/* Hz, of which bit times are made */
	__u32 buffers;		/* transmit buffers of the controller */
	__u32 fifo;		/* bytes or frames of its receive FIFO, as its data sheet counts */
	__u32 reserved;
	char controller[32];	/* "sja1000", … */
	char bus[32];		/* where it is: a PCI address, "bitcan bus 0" */
	struct canchar_control control;	/* of the last START; bitrate 0: never started */
};

/* Of the controller since the driver found it, and of this file since it was opened. */
struct canchar_stats {
	__u64 received;		/* frames taken out of the controller */
	__u64 sent;		/* frames acknowledged on the bus */
	__u64 failed;		/* frames taken from files and never sent */
	__u64 overruns;		/* the controller lost frames, times */
	__u64 bus_errors, warnings, passives, bus_offs, restarts, arbitration_lost;
	__u64 interrupts;
	__u32 tec, rec;
	__u64 file_received;	/* frames put into this file's queue */
	__u64 file_lost;	/* frames for which it had no room */
	__u64 file_filtered;	/* frames that its filters did not want */
	__u64 file_taken, file_sent, file_failed;	/* taken = sent + failed + still pending */
};

/* START: EBUSY: the controller runs with other settings; EINVAL: a bit rate that it cannot make. */
#define CANCHAR_START _IOW('c', 0x80, struct canchar_control)	/* on to the bus; needs write access */
#define CANCHAR_STOP _IO('c', 0x81)	/* off the bus: what is pending is aborted */
#define CANCHAR_RECOVER _IO('c', 0x82)	/* after bus-off: count 128 times 11 recessive bits, be active */
#define CANCHAR_FILTER _IOW('c', 0x83, struct canchar_filters)
#define CANCHAR_FLUSH _IO('c', 0x84)	/* argument: 1 this file's receive queue, 2 its transmit queue */
#define CANCHAR_INFO _IOR('c', 0x85, struct canchar_info)
#define CANCHAR_STATS _IOR('c', 0x86, struct canchar_stats)

#endif
