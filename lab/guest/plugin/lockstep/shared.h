/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The file that all machines of a run share. It begins empty (zeros). Each machine writes its own
 * part only.
 */
#ifndef LOCKSTEP_SHARED_H
#define LOCKSTEP_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

/* The longest packet: 1500 bytes of payload, header, VLAN tag. */
#define LONGEST 1522

/* What a machine puts on a link. */
struct message {
	uint32_t meeting;	/* the first meeting after it was sent */
	uint16_t length;
	uint8_t link, machine;
	bool is_lost;		/* Ethernet: it does not reach the switch */
	uint64_t order;		/* among the machine's messages */
	int64_t sent;
	int64_t ready;		/* when the link has it */
	uint8_t bytes[LONGEST];
};

/* What a machine states at a meeting. */
struct statement {
	int64_t quiet_until;	/* it sends nothing earlier */
	int64_t first_effect;	/* of what it has sent since the last meeting: not earlier */
	bool leaves;		/* this is its last meeting */
};

/* Room for a machine's messages of two intervals between meetings. */
#define RING 1024

struct part {
	/*
	 * The number of the last meeting that the machine has come to; other machines wait for it.
	 */
	_Alignas(64) uint32_t meeting;
	uint32_t waiting;	/* machines that may sleep until it changes */
	/* At meeting k it writes k % 2, while another may still read the other one. */
	struct statement statements[2];
	_Alignas(64) uint64_t sent;	/* messages so far */
	struct message ring[RING];
};

struct shared {
	struct part parts[MACHINES];
};

extern struct shared *shared;

void map_shared(void);

/* This machine has come to a meeting. */
void arrive_at(uint32_t meeting);
/* Waits until another machine has come to it, too. */
void wait_for(unsigned int machine, uint32_t meeting);

/* Room for this machine's next message, and the sending of it. */
struct message *new_message(uint32_t meeting);
void send_message(void);

/* Calls `take` for each message that a machine has sent before a meeting, once. */
void read_messages(unsigned int machine, uint32_t meeting, void (*take)(const struct message *message));

#endif
