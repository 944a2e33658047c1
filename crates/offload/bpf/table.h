/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The routing table as it lies in maps. src/bpf/layout.rs has the same layouts and checks their
 * sizes; src/bpf/compile.rs fills them.
 */
#ifndef CANGATE_TABLE_H
#define CANGATE_TABLE_H

#include "kernel.h"

/* Bounds of loops. layout.rs has the same numbers, and refuses a table that needs more. */
enum {
	GROUPS = 32,	   /* different masks of one port and class */
	PROBES = 4,	   /* slots that a look-up may have to walk */
	CANDIDATES = 32,  /* routes that one list names */
	MERGED = 32,	   /* routes that a frame meets in several lists together */
	DESTINATIONS = 8, /* of one route */
	OPS = 4,	   /* of one route, consecutive modifications being one */
	TESTS = 8,	   /* of one condition on signals */
};

/* Set in a list's number where the rest is the only route; else an index into `rest`, 0: none. */
#define DIRECT 0x80000000u
#define NONE 0xffffffffu
/* In place of a list: there are several. */
#define SEVERAL 0xffffffffu

struct group {
	u32 mask;
	u32 multiplier;
	u32 shift;
	u32 base; /* into slots */
};

/* What is known of IDs with the same three flags. */
struct class {
	u32 always; /* list of the routes that name every ID */
	u32 first;  /* into groups */
	u32 count;
	u32 sort; /* of classic frames */
	/* A copy of the first group: most have no other. */
	struct group group;
};

struct port {
	struct class of[8]; /* by the ID's upper three bits */
	u32 ifindex;	    /* 0: no port */
	u32 number;	    /* index into port_counts */
	u32 flags;
	u32 pad;
};

enum {
	/* Frames of local programs have room before them: see cangate_room() */
	PORT_ROOMY = 1,
	/* FD frames are not received here. */
	PORT_CLASSIC = 2,
};

struct slot {
	u32 value;
	u32 list; /* 0: empty */
};

enum {
	ROUTE_DROP = 1,
	ROUTE_SAME_PORT = 2,
	ROUTE_ECHO = 4,
};

/* What is done to a frame on the short way. */
enum { CHANGES_NONE, CHANGES_MASKS, CHANGES_SUM };

struct route {
	u8 sorts;
	u8 flags;
	u8 hop_limit; /* 0: none */
	u8 ops;
	u8 len_min, len_max;
	u8 short_sorts; /* those that the short way can send */
	u8 changes;	/* CHANGES_… */
	u32 pattern;	/* index into patterns, or NONE */
	u32 limit;	/* index into limits, or NONE */
	u32 to;		/* the only destination's interface, else 0 */
	u32 first_to;
	u16 destinations;
	u16 sum; /* index into sums */
	u32 first_op;
	/* Of a classic frame's header and data. */
	u64 and[2];
	u64 xor[2];
};

struct pattern {
	u64 mask[8];
	u64 value[8];
	u32 len;       /* bytes that must be there */
	u32 condition; /* index into conditions, plus 1; 0: none */
};

/* A range of values of a signal: one word of data, shifted until nothing is above the signal, less
 * `low`, is at most `span`. What is below the signal does not matter, because `span` has ones there.
 * The bound of the other side is where the word wraps round, so that the values outside a range
 * are a range, too; and so are numbers with a sign. */
struct test {
	u64 low;
	u64 span;
	u8 at;	  /* first byte of the word */
	u8 shift; /* below 64 */
	u8 is_motorola;
	u8 is_last; /* of its alternative */
	u8 end;	    /* bytes that its alternative needs, if it is the first test of it */
	u8 pad[3];
};

/* Alternatives that need more bytes stand behind those that need fewer. Behind the last one stands
 * a test whose `end` is more than any frame has. */
struct condition {
	struct test test[TESTS];
};

/* Bits of a destination beside the number of its interface. */
#define TO_FD 0x80000000u    /* carried FD frames when the table was made */
#define TO_FIRST 0x40000000u /* no copy of this route went before */
#define TO_LAST 0x20000000u  /* the frame is not needed after this copy */
#define TO_CLASSIC 0x10000000u	/* the port sends no FD frames, whatever its interface carries */
#define TO_INDEX 0x0fffffffu

enum { OP_MODIFY, OP_OFFSET, OP_MAP, OP_COPY, OP_CRC8, OP_XOR, OP_WRITE };

enum {
	WRITE_SWAP_FROM = 1, /* the word that is read is big-endian */
	WRITE_SWAP_TO = 2,   /* the word that is written is big-endian */
	WRITE_SIGNED = 4,    /* what is read has a sign */
};

/* What happens to a value out of range. */
enum { OUTSIDE_SATURATE, OUTSIDE_DROP, OUTSIDE_SUBSTITUTE };

struct op {
	u32 kind;
	u16 words; /* OP_MODIFY: words of data that change */
	u16 need;  /* bytes that must be there, or the frame is stopped */
	union {
		struct {
			u32 id_and, id_xor;
			u8 len_and, len_xor, flags_and, flags_xor;
			u32 has_len;
			u64 and[8];
			u64 xor[8];
		} modify;
		struct {
			s64 by;
		} offset;
		struct {
			u32 from, to, count;
			u32 format; /* 0: the frame's, 1: SFF, 2: EFF */
		} map;
		struct {
			u32 from, to, count, clear;
		} copy;
		struct {
			s16 from, to, result;
			u8 init, final;
			u32 profile; /* 0 none, 1 one byte, 2 sixteen, 3 SFFID_XOR */
			u32 table;   /* into crc_tables */
			u8 bytes[16];
		} sum;
		/* signals::LinearMap: (factor * raw + offset) / divisor, nearest. crates/route has
		 * checked that nothing overflows. */
		struct {
			s64 factor, offset;
			u64 divisor, half;
			s64 lowest, highest;
			u64 substitute;
			u64 mask; /* as many ones as the written signal has bits */
			u8 from, up, down; /* first byte; shifts to the top, and from there down */
			u8 to, shift;
			u8 flags, outside;
		} write;
	};
};

struct crc_table {
	u8 entry[256];
};

/* A checksum at fixed places, to which each byte of the data adds (^) the same wherever the
 * others stand, as with every CRC: what, says the table of its place. The first table has what the
 * checksum begins with, too. */
struct sum {
	u64 keep;   /* all data but the byte where the sum goes */
	u64 weight; /* times this it is there */
	u8 table[8][256];
};

/* Numbers of 128 bits, for rate limits as route::limit has them. */
struct wide {
	u64 low, high;
};

struct limit {
	struct bpf_spin_lock lock;
	u32 frames;
	u32 per_id; /* buckets for single IDs that are still free; see `ids` */
	u32 ids;    /* 1: a bucket for each ID */
	u64 per;
	struct wide depth; /* per * burst */
	struct wide full;
	u64 clock;
};

struct id_key {
	u32 limit;
	u32 id;
};

struct bucket {
	struct bpf_spin_lock lock;
	u32 pad;
	struct wide full;
};

/* In the order of route::Stop::ALL. */
enum { STOP_DROP, STOP_RATE, STOP_HOPS, STOP_LONG, STOP_ID, STOP_ABSENT, STOP_RANGE, STOP_E2E, STOPS };

struct route_count {
	u64 taken;
	u64 sent;
	u64 stopped[STOPS];
	u64 failed;
};

struct port_count {
	u64 seen;
	u64 unrouted;
	u64 local; /* left to the kernel: no room before it */
	u64 odd;   /* left to the kernel: no frame that AF_CAN would take, XL, or FD where the
		    * port is without */
};

#define ARRAY(name_, value_, flags_)                 \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_ARRAY);    \
		__uint(max_entries, 1);              \
		__uint(map_flags, flags_);           \
		__type(key, u32);                    \
		__type(value, value_);               \
	} name_ SEC(".maps")

ARRAY(ports, struct port, BPF_F_MMAPABLE);
ARRAY(groups, struct group, BPF_F_MMAPABLE);
ARRAY(slots, struct slot, BPF_F_MMAPABLE);
ARRAY(rest, u64, BPF_F_MMAPABLE);
ARRAY(routes, struct route, BPF_F_MMAPABLE);
ARRAY(destinations, u64, BPF_F_MMAPABLE);
ARRAY(patterns, struct pattern, BPF_F_MMAPABLE);
ARRAY(conditions, struct condition, BPF_F_MMAPABLE);
ARRAY(ops, struct op, BPF_F_MMAPABLE);
ARRAY(crc_tables, struct crc_table, BPF_F_MMAPABLE);
ARRAY(sums, struct sum, BPF_F_MMAPABLE);
/* A map with locks cannot be mapped into memory. */
ARRAY(limits, struct limit, 0);
/* For tests: the time, where CLOCK_FROM_MAP says so. */
ARRAY(test_clock, u64, BPF_F_MMAPABLE);
/* What whoever finds this table in the kernel must know; the program does not read it. */
struct page {
	u64 word[512];
};
ARRAY(about, struct page, 0);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct id_key);
	__type(value, struct bucket);
} ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct route_count);
} route_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct port_count);
} port_counts SEC(".maps");

/* Set by the loader. The verifier takes them as constants and leaves out what cannot happen. */
const volatile u32 PORT_MULTIPLIER = 1;
const volatile u32 PORT_MASK = 0;
const volatile u32 MAX_HOPS = 1;
/* Whose marks say how many gateways a frame has passed; the low byte is 0. */
const volatile u32 MARK = 0xca9a7e00;
/* Mode::First */
const volatile u8 FIRST = 0;
/* Local programs see frames that a route takes, too. */
const volatile u8 TAP = 0;
/* Every copy's fate is asked for and counted. */
const volatile u8 EXACT = 0;
/* bpf_check_mtu is there. */
const volatile u8 HAS_CHECK_MTU = 0;
const volatile u8 CLOCK_FROM_MAP = 0;
/* Of a map that a program does not name the kernel does not say that it is its. */
const volatile u8 NEVER = 0;
/* Some route has what these functions are for. */
const volatile u8 HAS_OPS = 1;
const volatile u8 HAS_LIMITS = 1;
const volatile u8 HAS_PATTERNS = 1;
const volatile u8 HAS_CONDITIONS = 1;
const volatile u8 HAS_WRITES = 1;

#endif
