/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CAN bus in bit time, without a kernel: frames' lengths, arbitration, errors. Time is passed
 * in. The same model as the Rust crate `bus`, whose documentation has the rules and their
 * sources; crates/bus/tests/buses/bitcan_core.rs holds the two against each other.
 *
 * Nothing here sleeps, allocates or locks. Times are ns.
 */
#ifndef BITCAN_CORE_H
#define BITCAN_CORE_H

#ifdef __KERNEL__
#include <linux/can.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <linux/can.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
#endif

#define BC_NODES 32		/* of one bus */
#define BC_SLOTS 3		/* transmit buffers of one node */
#define BC_FAULTS 64		/* planned at a time */
#define BC_BITS 1024		/* more than any frame has */
#define BC_NEVER (~(u64)0)

#define BC_INTERMISSION 3
#define BC_SUSPEND 8
#define BC_RECOVERY_RUN 11
#define BC_RECOVERY_RUNS 128

/* Bit rates, bit/s; data 0: a bus for classic frames only. */
struct bc_rate {
	u32 nominal;
	u32 data;
	u32 nominal_ns;		/* of one bit, 0 where it is no whole number */
	u32 data_ns;
};

/* Bits from start of frame to end of frame, without intermission. */
struct bc_length {
	u16 nominal;
	u16 data;		/* at the data bit rate: ESI to the last CRC bit */
};

/* wire.c */
void bc_wire_init(void);	/* once, before all else */
bool bc_rate_set(struct bc_rate *rate, u32 nominal, u32 data);
u64 bc_time(const struct bc_rate *rate, u32 nominal, u32 data);
u64 bc_count(const struct bc_rate *rate, u64 ns);
void bc_length(const struct canfd_frame *frame, bool fd, struct bc_length *length);
u32 bc_key(const struct canfd_frame *frame, bool fd);
u8 bc_dlc(const struct canfd_frame *frame, bool fd);
u8 bc_fd_padded(u8 dlc);

/* bits.c: one byte a bit */
enum bc_role {
	BC_ARBITRATION, BC_FDF, BC_STUFFED, BC_FD_CRC, BC_FIXED_STUFF, BC_CRC_DELIMITER, BC_ACK,
	BC_ACK_DELIMITER, BC_END, BC_NO_ROLE,
};
#define BC_RECESSIVE 0x80
#define BC_FAST 0x40
#define BC_ROLE(bit) ((enum bc_role)((bit) & 0x0f))
u32 bc_encode(const struct canfd_frame *frame, bool fd, u8 *bits);

enum bc_kind { BC_BIT_ERROR, BC_STUFF_ERROR, BC_FORM_ERROR, BC_CRC_ERROR, BC_ACK_ERROR };
enum bc_state { BC_ACTIVE, BC_WARNING, BC_PASSIVE, BC_BUS_OFF };
enum bc_why { BC_ONE_SHOT, BC_WENT_OFF };

struct bc_fault {
	u64 start;		/* the n-th start of frame, of the bus or of a node */
	int node;		/* -1: of the bus */
	enum bc_kind kind;
	int bit;		/* -1: any */
	int victim;		/* -1: all receivers */
};

/* A frame in a transmit buffer. */
struct bc_slot {
	bool used;
	bool fd;
	struct bc_length length;
	u32 key;		/* arbitration field */
	u32 attempts;
	u64 rank;		/* the lowest of a node's buffers competes */
	u64 order;
	u64 ready;
	u64 tag;		/* the caller's */
	struct canfd_frame frame;
};

enum bc_recovery { BC_WAITING, BC_COUNTING };

struct bc_node {
	bool present;
	bool listen_only;
	bool one_shot;
	bool fd;
	u64 restart;		/* by itself so long after bus-off; BC_NEVER */
	void *owner;		/* the caller's */

	struct bc_slot slots[BC_SLOTS];
	int best;		/* competes; -1: nothing to send */
	int in_flight;
	u64 order;
	u64 joined;
	u64 suspended_until;
	u16 tec, rec;
	enum bc_state state;
	enum bc_recovery recovery;
	u64 recovery_at;	/* BC_WAITING: when counting begins */
	u32 recovery_done;	/* BC_COUNTING: runs so far */
	u64 recovery_asked;
	u64 recovery_since;	/* recessive since; BC_NEVER: is not */
	u64 starts, sent, received, dropped, failed;
};

enum bc_doing { BC_IS_SENDING, BC_IS_RECEIVING, BC_IS_FLAG, BC_IS_TAIL, BC_IS_DELIMITER, BC_IS_DONE };

struct bc_station {
	int node;
	int sends;		/* index of the sender, -1: receives */
	bool passive, listen_only, fd;
	enum bc_doing doing;
	bool level, quiet, first;
	u8 equal, left;
};

enum bc_disturb { BC_NO_DISTURBANCE, BC_INVERT, BC_DOMINANT, BC_NO_ACK, BC_STUFF_AT, BC_BAD_CRC };

enum bc_what { BC_FAILED, BC_TX_ERROR, BC_RX_ERROR, BC_RX_ERROR_FIRST, BC_DEAF };

struct bc_step {
	u64 at;
	int node;
	enum bc_what what;
	enum bc_kind kind;
	int by;
	u16 bit;		/* on the wire */
};

#define BC_STEPS 512

/* A frame in which something can go wrong, simulated bit by bit. */
struct bc_sim {
	struct bc_station stations[BC_NODES];
	int count;
	struct bc_step steps[BC_STEPS];
	int step_count;
	bool success;
	u64 end;
	u64 recessive_since;
	bool caused;
	enum bc_kind cause;
	int cause_by;
	enum bc_disturb disturb;
	u32 disturb_bit;
	int victim;
	u32 length[BC_NODES];
	u8 bits[BC_NODES][BC_BITS];	/* of each sender */
};

enum bc_phase { BC_FREE, BC_FRAME, BC_DISTURBED };

struct bc_sender {
	int node;
	bool failed;
	bool forced_esi;
};

struct bc_bus;

/*
 * What happened, at bus->now. A buffer is free again when it is reported as sent or dropped, its
 * content still there; the caller may fill it at once, after having read it.
 */
struct bc_ops {
	void (*frame)(struct bc_bus *bus, int node, int slot, bool primary);
	void (*error)(struct bc_bus *bus, int node, int slot, const struct bc_step *step,
		      bool primary);
	void (*state)(struct bc_bus *bus, int node);
	void (*dropped)(struct bc_bus *bus, int node, int slot, enum bc_why why);
	/* A node flags an error, as sender or receiver; for controllers that report each. */
	void (*flagged)(struct bc_bus *bus, const struct bc_step *step);
};

struct bc_bus {
	const struct bc_ops *ops;
	struct bc_rate rate;
	u64 now;
	enum bc_phase phase;
	u64 free_from;
	u64 start;
	u64 end;		/* of BC_FRAME */
	int step;		/* of BC_DISTURBED */
	u64 starts;
	int top;		/* nodes are below it */
	u32 one_shots;		/* nodes that try each frame once, a bit each */
	u32 listening;		/* nodes that are not bus-off, a bit each */
	int pending, ackers, classic, off;
	bool uneasy;		/* a counter may be above 0 */
	struct bc_sender senders[BC_NODES];
	int sender_count;
	u32 hearing;		/* who receives the frame on the wire, a bit each */
	bool planned;		/* what bc_next() foresaw still holds: */
	u64 plan_start, plan_end;
	struct bc_node nodes[BC_NODES];
	struct bc_fault faults[BC_FAULTS];
	int fault_count;
	u32 fault_ppm;		/* random faults, of so many of a million frames */
	u64 fault_seed;
	enum bc_kind fault_kind;
	struct bc_sim sim;
};

/* nodes.c: who takes part, transmit buffers */
int bc_attach(struct bc_bus *bus, bool listen_only, bool one_shot, bool fd, u64 restart,
	      void *owner);
void bc_detach(struct bc_bus *bus, int node);
void bc_send(struct bc_bus *bus, int node, int slot, const struct canfd_frame *frame, bool fd,
	     const struct bc_length *length, u32 key, u64 rank, u64 ready, u64 tag);
bool bc_cancel(struct bc_bus *bus, int node, int slot);
void bc_wire_frame(const struct bc_bus *bus, int node, int slot, struct canfd_frame *frame);

/* start.c: starts of frame */
bool bc_plan_fault(struct bc_bus *bus, const struct bc_fault *fault);

/* core.c: time passes */
void bc_init(struct bc_bus *bus, const struct bc_ops *ops, u64 now);
u64 bc_next(struct bc_bus *bus);
void bc_run(struct bc_bus *bus, u64 t);

/* Does this node receive the frame that ends now? Its senders do not. */
static inline bool bc_receives(const struct bc_bus *bus, int node)
{
	return bus->hearing >> node & 1;
}

/* Will nothing happen before somebody sends? (Not always known.) */
static inline bool bc_idle(const struct bc_bus *bus)
{
	return bus->phase == BC_FREE && !bus->pending && !bus->off;
}

/* confinement.c: counters, states, recovery */
void bc_tx_error(struct bc_node *node);
void bc_rx_error(struct bc_node *node, u16 by);
void bc_sent(struct bc_node *node);
void bc_received(struct bc_node *node);
enum bc_state bc_state_of(const struct bc_node *node);
void bc_restart(struct bc_bus *bus, int node);
u64 bc_next_timer(const struct bc_bus *bus);
void bc_recover(struct bc_bus *bus);
void bc_end_recessive(struct bc_bus *bus);
void bc_begin_recessive(struct bc_bus *bus, u64 from);

/* disturbed.c */
void bc_place(struct bc_sim *sim, const struct bc_fault *fault, u64 random);
void bc_simulate(struct bc_sim *sim, u64 start, const struct bc_rate *rate, int used);

#endif
