/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "links.h"

#include "meeting.h"

static struct counts counts[LINKS];

static const struct link *end_of_links(void)
{
	return settings.links + settings.link_count;
}

void links_open(void)
{
	const struct link *link;

	for (link = settings.links; link < end_of_links(); link++)
		(link->kind == LINK_CAN ? can_open : ethernet_open)(link);
}

void links_take(const struct message *message)
{
	const struct link *link = &settings.links[message->link];

	(link->kind == LINK_CAN ? can_take : ethernet_take)(link, message);
}

void links_run(int64_t now, int64_t *quiet, int64_t *next)
{
	const struct link *link;

	/*
	 * Buses first: the end of a frame wakes machines, and the switches have to know until when
	 * all are quiet.
	 */
	for (link = settings.links; link < end_of_links(); link++)
		if (link->kind == LINK_CAN)
			can_run(link, now, quiet, next);
	for (link = settings.links; link < end_of_links(); link++)
		if (link->kind == LINK_ETHERNET)
			ethernet_run(link, *quiet);
}

int64_t links_waiting(void)
{
	const struct link *link;
	int64_t first = NEVER;

	for (link = settings.links; link < end_of_links(); link++)
		if (link->kind == LINK_ETHERNET)
			first = earlier(first, ethernet_waiting(link));
	return first;
}

void links_deliver(const struct link *link, const uint8_t *bytes, uint16_t length)
{
	(link->kind == LINK_CAN ? can_deliver : ethernet_deliver)(link, bytes, length);
}

struct counts *links_counts(unsigned int link)
{
	return &counts[link];
}

struct message *links_message(const struct link *link, int64_t now)
{
	struct message *message = new_message(next_meeting());

	message->link = link->number;
	message->sent = now;
	return message;
}

void links_send(int64_t first_effect)
{
	send_message();
	note_effect(first_effect);
}
