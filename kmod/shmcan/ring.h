/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One side of memory that two share: rings of frames, sessions, who waits for what. docs/shm.md describes the memory;
 * crates/shm does the same in Rust, and is compared with this word by word (crates/shm/tests/integration/driver.rs).
 *
 * Nothing in the memory is believed. The caller holds a lock, and passes the time in, ns.
 */
#ifndef SHMCAN_RING_H
#define SHMCAN_RING_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define SHMCAN_BEAT 500000000ULL	/* how often a side says that it is there */
#define SHMCAN_SILENT 2000000000ULL	/* after which time it is taken for gone */
#define SHMCAN_LEAST 65536		/* bytes of memory */

#define SHMCAN_EFF 0x80000000U
#define SHMCAN_RTR 0x40000000U
#define SHMCAN_ERR 0x20000000U

struct shmcan_frame {
	u32 id;			/* with the flags of SocketCAN */
	u8 len;
	u8 flags;		/* CANFD_BRS, CANFD_ESI */
	u8 len8_dlc;		/* 9 to 15, or 0 */
	u8 fd;
	u8 data[64];
};

enum shmcan_link {
	SHMCAN_ABSENT,		/* it never came, or has said that it goes */
	SHMCAN_SILENT_LINK,	/* it was there, and does not beat any more */
	SHMCAN_FOREIGN,		/* another program, or another version */
	SHMCAN_UP,
};

enum shmcan_sent {
	SHMCAN_OK,
	SHMCAN_DOWN,		/* nobody is there */
	SHMCAN_FULL,		/* the other side has to read some first */
	SHMCAN_UNSUPPORTED,	/* no kind of frame that has a place here */
};

struct shmcan_rings {
	u8 *memory;
	size_t size;
	unsigned int mine;	/* 0 or 1 */
	u32 slots;
	u32 life, theirs, session;
	bool foreign, silent, armed;
	u32 written, shown, passed;	/* of this side's ring */
	u32 read, released;		/* of the other side's */
	u64 beat, beaten, their_beat, heard, looked;

	/* taken = sent + lost + held */
	u64 taken, sent, lost, received, malformed, broken, sessions;
};

bool shmcan_begin(struct shmcan_rings *r, void *memory, size_t size, unsigned int mine, u32 life,
		  u64 now);
bool shmcan_look(struct shmcan_rings *r, u64 now);
void shmcan_progress(struct shmcan_rings *r);
enum shmcan_link shmcan_link(const struct shmcan_rings *r);
enum shmcan_sent shmcan_send(struct shmcan_rings *r, const struct shmcan_frame *frame);
bool shmcan_publish(struct shmcan_rings *r);
int shmcan_receive(struct shmcan_rings *r, struct shmcan_frame *frame);
bool shmcan_release(struct shmcan_rings *r);
bool shmcan_arm(struct shmcan_rings *r, bool room);
bool shmcan_leave(struct shmcan_rings *r);

static inline u32 shmcan_held(const struct shmcan_rings *r)
{
	return r->written - r->passed;
}

static inline u32 shmcan_room(const struct shmcan_rings *r)
{
	return r->slots - shmcan_held(r);
}

#endif
