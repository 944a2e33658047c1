/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A controller that shares itself on its bus, and its functions as whoever presents them to virtual machines
 * drives them (mdev.c, a module of its own).
 */
#ifndef BITCAN_FUNCTIONS_H
#define BITCAN_FUNCTIONS_H

#include "kernel.h"
#include "shared/shared.h"

struct eventfd_ctx;

struct bitcan_function {
	bool used;			/* under bitcan_lock */
	s64 clock;			/* its time stamp counter less the host's */
	struct eventfd_ctx *trigger;	/* its interrupt; under trigger_lock */
};

struct bitcan_shared {
	struct bitcan_member member;
	struct bitcan_bus *bus;
	struct list_head list;
	char name[32];
	u32 nominal, data;		/* bit/s; 0: off its bus */
	void *presented;		/* of whoever presents its functions */

	/* Under bitcan_lock. */
	u32 told;			/* functions that are to be interrupted, a bit each */
	struct sc_controller ctl;

	spinlock_t trigger_lock;
	struct bitcan_function function[SC_FUNCTIONS];
};

/* Whoever presents functions to virtual machines; it is told of controllers under bitcan_mutex. */
struct bitcan_presenter {
	int (*add)(struct bitcan_shared *s);
	void (*remove)(struct bitcan_shared *s);
};

int bitcan_present(const struct bitcan_presenter *presenter);
void bitcan_present_no_more(void);

int bitcan_function_claim(struct bitcan_shared *s);
void bitcan_function_release(struct bitcan_shared *s, int n);
unsigned int bitcan_functions_free(struct bitcan_shared *s);
void bitcan_function_trigger(struct bitcan_shared *s, int n, struct eventfd_ctx *trigger);
u32 bitcan_function_read(struct bitcan_shared *s, int n, u32 reg);
void bitcan_function_write(struct bitcan_shared *s, int n, u32 reg, u32 value);

/* The first two under bitcan_lock. */
void bitcan_shared_look(struct bitcan_shared *s);
void bitcan_shared_settle(struct bitcan_shared *s);
irqreturn_t bitcan_shared_interrupt(int irq, void *data);
extern const struct sc_ops bitcan_shared_ops;

/* Under bitcan_mutex. */
struct bitcan_shared *bitcan_shared_named(const char *name);
int bitcan_shared_up(struct bitcan_shared *s, u32 nominal, u32 data);
void bitcan_shared_down(struct bitcan_shared *s);

#endif
