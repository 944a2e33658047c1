/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "arrivals.h"

#include "clock.h"
#include "fail.h"
#include "libc.h"
#include "links.h"

/* More than the links' queues have room for. */
#define MOST 16384

struct arrival {
	struct arrival *next;
	const struct link *link;
	int64_t at;
	uint16_t length;
	uint8_t bytes[];
};

/* Sorted by time, then by link. */
static struct arrival *first;
static unsigned int count;
static struct alarm alarm;

static void hand_over(void *data)
{
	int64_t now = common_now();

	(void)data;
	while (first && first->at <= now) {
		struct arrival *arrival = first;

		first = arrival->next;
		count--;
		/*
		 * Before its time nothing is handed over. After it there is less than an
		 * instruction.
		 */
		if (now - arrival->at >= settings.instruction)
			fail("an arrival of %lld ns is late: it is %lld ns", (long long)arrival->at, (long long)now);
		/*
		 * A machine that is switched off for its guest takes nothing, however long QEMU
		 * still runs.
		 */
		if (!is_off())
			links_deliver(arrival->link, arrival->bytes, arrival->length);
		free(arrival);
	}
	if (first)
		set_alarm(&alarm, first->at);
}

void start_arrivals(void)
{
	make_alarm(&alarm, hand_over);
}

void add_arrival(const struct link *link, int64_t at, const void *bytes, uint16_t length)
{
	struct arrival *arrival = malloc(sizeof(*arrival) + length), **place = &first;
	int64_t now = common_now();

	if (!arrival || count == MOST)
		fail("more than %d messages are on their way", MOST);
	if (now - at >= settings.instruction)
		fail("a message for %lld ns comes at %lld ns: it would be late", (long long)at, (long long)now);
	arrival->link = link;
	arrival->at = at;
	arrival->length = length;
	memcpy(arrival->bytes, bytes, length);
	while (*place && ((*place)->at < at || ((*place)->at == at && (*place)->link->number <= link->number)))
		place = &(*place)->next;
	arrival->next = *place;
	*place = arrival;
	count++;
	set_alarm(&alarm, first->at);
}
