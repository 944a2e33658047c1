/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "clock.h"

#include "fail.h"
#include "libc.h"
#include "../qemu.h"
#include "settings.h"

/*
 * What a timer's unused room is filled with, and the size from which on QEMU 11.1 does not use it.
 */
#define FILLER 0xa5
#define TIMER_SIZE 64

/* The offset of TimersState.qemu_icount_bias, which is added to the executed instructions' time. */
#define ICOUNT_BIAS 0x28

static int64_t base;
static bool was_shut_down;
static void (*at_end)(void);

static int64_t *icount_bias(void)
{
	return (int64_t *)(timers_state + ICOUNT_BIAS);
}

static void shut_down(struct notifier *notifier, void *cause)
{
	(void)notifier;
	(void)cause;
	was_shut_down = true;
	at_end();
}

/* Virtual time has to go on by exactly the amount that is added: then this is the field. */
static void check_bias(void)
{
	enum { STEP = 1 << 20 };
	int64_t before = qemu_clock_get_ns(CLOCK_VIRTUAL), after;

	*icount_bias() += STEP;
	after = qemu_clock_get_ns(CLOCK_VIRTUAL);
	*icount_bias() -= STEP;
	if (after - before != STEP || qemu_clock_get_ns(CLOCK_VIRTUAL) != before)
		fail("this build of QEMU keeps virtual time elsewhere: its TimersState differs");
}

void start_clock(void (*end)(void))
{
	static struct notifier notifier = { .notify = shut_down };

	at_end = end;
	qemu_register_shutdown_notifier(&notifier);
	check_bias();
	base = qemu_clock_get_ns(CLOCK_VIRTUAL);
}

int64_t common_now(void)
{
	return qemu_clock_get_ns(CLOCK_VIRTUAL) - base;
}

void make_alarm(struct alarm *alarm, void (*fire)(void *data))
{
	unsigned int i;

	memset(alarm->timer, FILLER, sizeof(alarm->timer));
	memset(alarm->timer, 0, TIMER_SIZE);
	timer_init_full(alarm->timer, main_loop_tlg, CLOCK_VIRTUAL, SCALE_NS, 0, fire, NULL);
	for (i = TIMER_SIZE; i < sizeof(alarm->timer); i++)
		if ((unsigned char)alarm->timer[i] != FILLER)
			fail("this build of QEMU has larger timers");
}

void set_alarm(struct alarm *alarm, int64_t at)
{
	timer_mod_ns(alarm->timer, base + at);
}

bool is_idle(void)
{
	return all_cpu_threads_idle();
}

int64_t next_timer(void)
{
	int64_t distance = qemu_clock_deadline_ns_all(CLOCK_VIRTUAL, ALL_TIMERS);

	return distance < 0 || distance > NEVER ? NEVER : common_now() + distance;
}

void skip(int64_t ns)
{
	*icount_bias() += ns;
}

bool is_off(void)
{
	/*
	 * The request is there from the guest's instruction on, until the main loop takes it and
	 * notifies.
	 */
	return was_shut_down || qemu_shutdown_requested_get();
}
