/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The common time of all machines: each one's virtual clock since the instant at which it was
 * restored. All times are in ns.
 */
#ifndef LOCKSTEP_CLOCK_H
#define LOCKSTEP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A timer of QEMU's virtual clock. It stops the machine before the first instruction that would
 * begin at or after its time, and calls its function in the processor's thread, with QEMU's lock
 * held, while no virtual time passes.
 */
struct alarm {
	/* QEMUTimer has less than half of this. */
	char timer[128] __attribute__((aligned(16)));
};

/*
 * Common time begins now; the machine does not run yet. Checks what the functions below rely on.
 * When QEMU ends the machine because it is off, it calls `end`, with its lock held.
 */
void start_clock(void (*end)(void));
int64_t common_now(void);

void make_alarm(struct alarm *alarm, void (*fire)(void *data));
void set_alarm(struct alarm *alarm, int64_t at);

/* Whether the machine does nothing before one of its timers fires. */
bool is_idle(void);
/* The time of the earliest timer; NEVER. */
int64_t next_timer(void);
/* Moves the clock of an idle machine on, to before its earliest timer. */
void skip(int64_t ns);

/* Whether the guest has switched the machine off: no instruction after that matters. */
bool is_off(void);

#endif
