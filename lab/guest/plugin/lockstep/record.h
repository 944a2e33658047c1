/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What happens on the links, as files: each machine writes link-N for each link.
 * lab/guest/src/lockstep/record.rs reads them. Numbers are little endian.
 */
#ifndef LOCKSTEP_RECORD_H
#define LOCKSTEP_RECORD_H

#include "settings.h"

enum record_kind {
	RECORD_SENT = 1,	/* CAN: end of frame. Ethernet: the switch forwards the packet */
	RECORD_ERROR = 2,	/* CAN: an attempt has failed */
	/*
	 * CAN: there was no room in the queue, or the node is bus-off. Ethernet: it did not reach
	 * the switch.
	 */
	RECORD_LOST = 3,
	/* Ethernet: a packet is forwarded, and the line to this machine has no room for it. */
	RECORD_CROWDED = 4,
};

/*
 * Before each record's bytes: a CAN frame as Linux's struct can_frame or struct canfd_frame, which
 * differ in their size, or a packet.
 */
struct record {
	int64_t at;
	int64_t asked;		/* when the machine's card sent it */
	uint8_t kind, machine;
	uint16_t length;
	uint32_t reserved;
};

void open_records(void);
void add_record(const struct link *link, enum record_kind kind, unsigned int machine, int64_t asked, int64_t at,
		const void *bytes, uint16_t length);
/* Writes what is in memory, so that a machine that is ended from outside leaves its records. */
void flush_records(void);
/* Writes what is still in memory, and the report. */
void close_records(int64_t now, uint64_t meetings, bool is_ended);

#endif
