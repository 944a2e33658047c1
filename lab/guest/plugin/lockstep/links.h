/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The links. Each machine computes each link by itself, from the same messages, so that there is no
 * other part that could have another order or another time.
 */
#ifndef LOCKSTEP_LINKS_H
#define LOCKSTEP_LINKS_H

#include "shared.h"

/*
 * Of this machine on a link. Each frame or packet of its card is counted as sent and, if it is
 * lost, as lost, too.
 */
struct counts {
	uint64_t sent;
	uint64_t lost;
	uint64_t received;
	uint64_t refused;	/* reached the card, which did not take it */
};

/* Connects this machine's cards. */
void links_open(void);
/* A message of a machine, this one too. */
void links_take(const struct message *message);
/*
 * Goes on to the meeting of `now`. `quiet` is the time before which no machine sends; it becomes
 * earlier if a link itself wakes a machine. `next` becomes the latest time of the next meeting,
 * where that is before a whole interval.
 */
void links_run(int64_t now, int64_t *quiet, int64_t *next);
/*
 * Before this time, no message that waits in a link reaches a machine, unless its arrival is set
 * already.
 */
int64_t links_waiting(void);
void links_deliver(const struct link *link, const uint8_t *bytes, uint16_t length);
struct counts *links_counts(unsigned int link);

/* The message that a card sends at this time. `first_effect` is as in struct statement. */
struct message *links_message(const struct link *link, int64_t now);
void links_send(int64_t first_effect);

/* can.c */
void can_open(const struct link *link);
void can_take(const struct link *link, const struct message *message);
void can_run(const struct link *link, int64_t now, int64_t *quiet, int64_t *next);
void can_deliver(const struct link *link, const uint8_t *bytes, uint16_t length);

/* ethernet.c */
void ethernet_open(const struct link *link);
void ethernet_take(const struct link *link, const struct message *message);
void ethernet_run(const struct link *link, int64_t quiet);
int64_t ethernet_waiting(const struct link *link);
void ethernet_deliver(const struct link *link, const uint8_t *bytes, uint16_t length);

#endif
