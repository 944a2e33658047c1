/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "meeting.h"

#include "clock.h"
#include "fail.h"
#include "libc.h"
#include "links.h"
#include "record.h"
#include "settings.h"
#include "shared.h"

static struct alarm alarm;
static uint32_t meeting;	/* the next one's number */
static int64_t due;		/* and time */
static int64_t first_effect = NEVER;
static uint32_t present;	/* machines, a bit each */
static bool has_left;

uint32_t next_meeting(void)
{
	return meeting;
}

void note_effect(int64_t at)
{
	first_effect = earlier(first_effect, at);
}

static void state(int64_t now)
{
	struct statement *own = &shared->parts[settings.machine].statements[meeting % 2];

	own->quiet_until = now;
	if (settings.is_skipping && is_idle())
		own->quiet_until = earlier(next_timer(), links_waiting());
	own->first_effect = first_effect;
	own->leaves = is_off();
	first_effect = NEVER;
}

/* Waits for all that are present. Returns until when nothing happens in any of them. */
static int64_t hear_all(void)
{
	int64_t quiet = NEVER;
	uint32_t leaving = 0;
	unsigned int i;

	for (i = 0; i < settings.machines; i++) {
		const struct statement *statement = &shared->parts[i].statements[meeting % 2];

		if (!(present >> i & 1))
			continue;
		wait_for(i, meeting);
		read_messages(i, meeting, links_take);
		quiet = earlier(quiet, statement->first_effect);
		if (statement->leaves)
			leaving |= 1u << i;
		else
			quiet = earlier(quiet, statement->quiet_until);
	}
	present &= ~leaving;
	return quiet;
}

/* Returns whether the machine goes on. */
static bool hold(int64_t now)
{
	int64_t quiet, next = NEVER;
	bool is_ended, is_present;

	state(now);
	arrive_at(meeting);
	quiet = settings.is_skipping ? hear_all() : (hear_all(), now);
	links_run(now, &quiet, &next);
	flush_records();
	due = earlier(later(quiet, now) + settings.interval, next);
	if (due < now + settings.interval)
		fail("the next meeting would be before an interval is over: at %lld ns", (long long)due);
	/* Machines in the background end with the last of the others, and all at the limit. */
	is_ended = !(present & ~settings.background) || now >= settings.limit;
	is_present = present >> settings.machine & 1;
	if (is_ended || !is_present) {
		has_left = true;
		close_records(now, meeting, is_present);
		if (is_present)
			_exit(0);
		return false;
	}
	due = earlier(due, later(settings.limit, now + 1));
	meeting++;
	return true;
}

static void meet(void *data)
{
	(void)data;
	if (has_left)
		return;
	for (;;) {
		int64_t now = common_now(), late = now - due;

		if (late < 0 || late >= settings.instruction)
			fail("meeting %u of %lld ns is held at %lld ns", meeting, (long long)due, (long long)now);
		if (!hold(now))
			return;
		/*
		 * If nothing happens in the machine until then, time goes on right here: that
		 * spares leaving the callback and waking QEMU's main loop.
		 */
		if (!is_idle() || next_timer() <= due)
			break;
		skip(due - common_now());
	}
	set_alarm(&alarm, due);
}

void leave_meetings(void)
{
	/* The machine's time does not get there any more, or has just been there. */
	if (!has_left)
		hold(due);
}

void start_meetings(void)
{
	present = (1u << settings.machines) - 1;
	meeting = 1;
	due = settings.interval;
	make_alarm(&alarm, meet);
	set_alarm(&alarm, due);
}
