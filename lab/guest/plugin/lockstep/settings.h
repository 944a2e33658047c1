/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the laboratory tells a machine when it starts it. */
#ifndef LOCKSTEP_SETTINGS_H
#define LOCKSTEP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define MACHINES 16
#define LINKS 8

/* Later than anything, and far enough from the largest number to add to it. */
#define NEVER (INT64_MAX / 4)

enum link_kind { LINK_CAN, LINK_ETHERNET };

struct link {
	enum link_kind kind;
	unsigned int number;
	uint32_t members;	/* machines, a bit each */
	unsigned int place;	/* of this machine: the bus bN, or the hub N; 0: not connected */
	unsigned int queue;	/* CAN: frames; Ethernet: bytes */
	uint64_t rate;		/* bit/s; Ethernet: 0 takes no time */
	uint64_t data_rate;	/* CAN: bit/s; 0: classic frames only */
	int64_t latency;	/* Ethernet: of the switch, ns */
	int64_t jitter;		/* Ethernet: added to it, from 0 to this, ns */
	uint32_t loss;		/* Ethernet: lost of a million */
	uint64_t seed;		/* Ethernet: of jitter and loss */
};

struct settings {
	unsigned int machine, machines;
	uint32_t background;	/* machines that end when all others have ended, a bit each */
	int64_t interval;	/* between meetings of busy machines, ns */
	int64_t limit;		/* the common time at which the run has failed, ns */
	int64_t instruction;	/* the duration of an instruction, ns */
	bool is_skipping;	/* idle time has no meetings */
	const char *shared;	/* the file that all machines share */
	const char *folder;	/* for the report and the records */
	unsigned int link_count;
	struct link links[LINKS];
};

extern struct settings settings;

/* Reads the plugin's arguments. */
void read_settings(int argc, char **argv);

static inline bool is_member(const struct link *link, unsigned int machine)
{
	return link->members >> machine & 1;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
