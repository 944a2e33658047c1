// SPDX-License-Identifier: GPL-2.0
/*
 * The bus: what happens next, and when. The order at equal times is that of crate `bus`: ends of
 * frames and errors, recoveries, what the caller sends, and last the start of a frame, which
 * happens when time passes that point and not before.
 */
#include "inside.h"

void bc_init(struct bc_bus *bus, const struct bc_ops *ops, u64 now)
{
	memset(bus, 0, sizeof(*bus));
	bus->ops = ops;
	bus->now = now;
	bus->free_from = now;
}

/* When something other than a start of frame happens next. */
static u64 next_step(const struct bc_bus *bus)
{
	u64 next = bc_next_timer(bus), t = BC_NEVER;

	if (bus->phase == BC_FRAME)
		t = bus->end;
	else if (bus->phase == BC_DISTURBED)
		t = bus->step < bus->sim.step_count ? bus->sim.steps[bus->step].at : bus->sim.end;
	return t < next ? t : next;
}

/* Does all that is to be done now, short of starting a frame. */
static void do_steps(struct bc_bus *bus)
{
	if (bus->phase == BC_FRAME && bus->end == bus->now)
		bc_end_frame(bus);
	else
		bc_disturbed_steps(bus);
	if (bus->off)
		bc_recover(bus);
}

/*
 * Lets time pass until `t`. A frame that could start exactly at `t` does not start yet, so that
 * what is sent at `t` takes part in that arbitration.
 */
void bc_run(struct bc_bus *bus, u64 t)
{
	if (bus->planned && bus->plan_end <= t) {
		/* The timer at a frame's end, and nothing came between: the usual case. */
		bus->start = bus->plan_start;
		bus->now = bus->plan_end;
		bus->phase = BC_FRAME;
		bc_launch(bus);
		bc_end_frame(bus);
	}
	while (!bc_idle(bus)) {
		u64 start = bc_next_start(bus), step = next_step(bus);

		if (step <= t && step <= start) {
			bus->now = bc_max64(bus->now, step);
			do_steps(bus);
		} else if (start < t) {
			bus->now = start;
			bc_arbitrate(bus);
		} else {
			break;
		}
	}
	bus->now = bc_max64(bus->now, t);
}

/*
 * The time to which the bus must run for the next thing to be reported, if nobody does anything:
 * the end of a frame that has not started yet, where it is known; BC_NEVER: nothing will happen.
 */
u64 bc_next(struct bc_bus *bus)
{
	u64 start = bc_next_start(bus), step = next_step(bus), end;
	struct bc_length length;

	if (start == BC_NEVER)
		return step;
	if (bus->planned)
		return bus->plan_end;
	bc_choose_senders(bus, start);
	if (bus->fault_count || bus->fault_ppm || bus->one_shots || !bc_plain(bus, &length))
		return start + 1 < step ? start + 1 : step;
	end = start + bc_time(&bus->rate, length.nominal, length.data);
	if (end > step)
		return step;
	/* A way back from bus-off counts the time between frames: no short cut then. */
	bus->planned = !bus->off;
	bus->plan_start = start;
	bus->plan_end = end;
	return end;
}
