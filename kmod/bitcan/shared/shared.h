/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CAN controller that shares itself, without a kernel: the same rules as the Rust crate `vcontroller`, whose
 * documentation has them; crates/bus/tests/bitcan_shared holds the two against each other.
 *
 * What a function writes into its message memory can be anything at any time: each word of it is read once
 * and then checked, and what the controller must know it keeps here.
 *
 * Nothing here sleeps, allocates or locks. Times are ns.
 */
#ifndef BITCAN_SHARED_H
#define BITCAN_SHARED_H

#include "../core/core.h"
#include "../../vfcan/vfcan.h"

#ifdef __KERNEL__
#include <asm/barrier.h>
#else
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define barrier() __asm__ __volatile__("" : : : "memory")
#endif

#define SC_FUNCTIONS 16
#define SC_RULES 16		/* identifiers to receive, and to send, each */
#define SC_SLOT 0		/* the transmit buffer of the node in which the best frame lies */

/* Identifiers that match: (id ^ rule.id) & rule.mask is 0; with CAN_EFF_FLAG and CAN_RTR_FLAG. */
struct sc_rule {
	u32 id, mask;
};

enum sc_unit { SC_NO_BUDGET, SC_FRAMES, SC_BITS };

/* `amount` in each `per` ns, and `burst` at once after a pause. */
struct sc_budget {
	enum sc_unit unit;
	u32 amount, burst;	/* at most SC_AMOUNT */
	u64 per;		/* 1 to SC_PER */
};
#define SC_AMOUNT (1u << 24)	/* with SC_PER: products fit into 64 bits */
#define SC_PER (1ull << 36)	/* 68 s */

struct sc_rights {
	u32 receives, sends;	/* rules; none: nothing */
	struct sc_rule receive[SC_RULES], send[SC_RULES];
	struct sc_budget budget;
};

/* How full a budget is: in parts of which `per` make one unit, so that nothing is rounded. */
struct sc_bucket {
	struct sc_budget budget;
	u64 parts, at;
};

/* A frame that waits for the bus. */
struct sc_waiting {
	struct canfd_frame frame;
	bool fd;
	bool unwanted;		/* taken back while on the wire: `outcome` if this attempt fails */
	u8 outcome;
	u32 bits;		/* on the wire, with intermission */
	struct bc_length length;
	u64 ticket, key, order;
};

struct sc_function {
	struct vfcan_memory *memory;
	struct sc_rights rights;
	struct sc_bucket bucket;
	struct vfcan_counters counters;
	bool started, listen_only, stuck;
	bool timed;		/* when it writes requests is known: `written` is used */
	u32 known_tail;		/* requests written, as far as was looked */
	u32 changes, taken, done_head, received_head, overruns;
	u32 done_tail, received_tail;	/* the last ones that made sense */
	u32 fired;		/* `seen` when the last interrupt was sent */
	bool armed;		/* none was sent since the reset */
	bool peeked;		/* the next request's time is known: */
	u64 peeked_at;
	int best;		/* of waiting[]; -1: none */
	u32 count;		/* of waiting[], in no order */
	struct sc_waiting waiting[VFCAN_RING];
};

/* A frame that the arbitration module has chosen: whose, and its number among all requests. */
struct sc_candidate {
	int function;		/* -1: none */
	u64 order;
};

struct sc_controller;

struct sc_ops {
	/* Something that the function wants to know of. */
	void (*interrupt)(struct sc_controller *c, int function);
	/* When it wrote a request, ns, not before the controller's `now` nor after `now`. */
	u64 (*written_at)(struct sc_controller *c, int function, u64 written, u64 now);
};

struct sc_controller {
	const struct sc_ops *ops;
	u32 functions, queue, fifo;
	bool fd;
	u32 state;		/* VFCAN_STATE_* */
	u64 order;
	struct sc_candidate wire;
	/* As a node of a bus (attached.c). */
	struct bc_bus *bus;
	int node;		/* -1: off */
	struct sc_candidate offered, flying;
	struct sc_function function[SC_FUNCTIONS];
};

/* budget.c */
bool sc_budget_fits(const struct sc_budget *budget);
void sc_bucket_fill(struct sc_bucket *b, const struct sc_budget *budget, u64 now);
u64 sc_bucket_allows_at(const struct sc_bucket *b, u32 bits, u64 now);
void sc_bucket_pay(struct sc_bucket *b, u32 bits, u64 now);

/* function.c */
void sc_clear(struct sc_controller *c, int n);
void sc_set_quiet(struct sc_function *f, u64 from, u64 until);
void sc_start(struct sc_controller *c, int n, bool listen_only);
void sc_changed(struct sc_controller *c, int n, u32 irq);
void sc_complete(struct sc_controller *c, int n, u32 place, u32 outcome, u64 at);
void sc_hear(struct sc_controller *c, int n, const struct canfd_frame *frame, bool fd, u64 at);
void sc_sync(struct sc_controller *c, int n);
int sc_place(const struct sc_function *f, u64 order);
void sc_choose(struct sc_function *f);
bool sc_may_send(const struct sc_function *f, u32 can_id);

/* request.c */
void sc_look(struct sc_controller *c, int n);
u64 sc_next_request(struct sc_controller *c, int n, u64 now);
void sc_take_request(struct sc_controller *c, int n, u64 now);

/* controller.c */
void sc_init(struct sc_controller *c, const struct sc_ops *ops, u32 functions, u32 queue, u32 fifo);
void sc_set_rights(struct sc_controller *c, int n, const struct sc_rights *rights, u64 now);
void sc_set_state(struct sc_controller *c, u32 state, u64 now);
struct sc_candidate sc_best(const struct sc_controller *c, u64 now);
u64 sc_deadline(const struct sc_controller *c, u64 now);
void sc_on_wire(struct sc_controller *c, const struct sc_candidate *candidate, u64 now);
void sc_off_wire(struct sc_controller *c, const struct sc_candidate *candidate, u64 now);
void sc_sent(struct sc_controller *c, const struct sc_candidate *candidate,
	     const struct canfd_frame *frame, bool fd, u64 end);
void sc_heard(struct sc_controller *c, const struct canfd_frame *frame, bool fd, u64 end);

static inline bool sc_passes(const struct sc_controller *c)
{
	return c->state >= VFCAN_STATE_ACTIVE && c->state <= VFCAN_STATE_PASSIVE;
}

/* attached.c: between the controller and its bus. The last four are what the bus tells. */
void sc_attached(struct sc_controller *c, struct bc_bus *bus, int node, bool fd);
void sc_detached(struct sc_controller *c, u64 now);
u64 sc_next(struct sc_controller *c, u64 now);
void sc_run(struct sc_controller *c, u64 now);
void sc_offer(struct sc_controller *c);
void sc_bus_frame(struct sc_controller *c, const struct canfd_frame *frame, bool fd);
void sc_bus_heard(struct sc_controller *c, const struct canfd_frame *frame, bool fd);
void sc_bus_error(struct sc_controller *c, u64 end);
void sc_bus_state(struct sc_controller *c);

#endif
