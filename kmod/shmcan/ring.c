// SPDX-License-Identifier: GPL-2.0
/* One side of memory that two share. */
#include "ring.h"

#ifdef __KERNEL__
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <linux/string.h>
#define LOAD(at) le64_to_cpu((__force __le64)smp_load_acquire((u64 *)(at)))
#define STORE(at, word) smp_store_release((u64 *)(at), (__force u64)cpu_to_le64(word))
#define FENCE() smp_mb()
#else
#include <endian.h>
#include <string.h>
#define LOAD(at) le64toh(__atomic_load_n((u64 *)(at), __ATOMIC_ACQUIRE))
#define STORE(at, word) __atomic_store_n((u64 *)(at), htole64(word), __ATOMIC_RELEASE)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

#define SLOT 80
#define WORDS (SLOT / 8)
#define RINGS 4096

/* Words of a block, in bytes. */
#define VERSION 0
#define LIFE 8
#define BEAT 64
#define HEAD 128
#define TAIL 192
#define WANTS 256

#define WANTS_FRAMES 1
#define WANTS_ROOM 2

/* "cangate\x01", little-endian. */
#define THIS_VERSION 0x01657461676e6163ULL

static u64 get(const struct shmcan_rings *r, size_t at)
{
	return LOAD(r->memory + (r->mine ? 0 : 512) + at);
}

static void set(struct shmcan_rings *r, size_t at, u64 word)
{
	STORE(r->memory + (r->mine ? 512 : 0) + at, word);
}

static u64 *slot(const struct shmcan_rings *r, unsigned int side, u32 count)
{
	size_t ring = side ? (r->size / 2) & ~(size_t)7 : RINGS;

	return (u64 *)(r->memory + ring + (size_t)(count % r->slots) * SLOT);
}

static u64 pack(u32 session, u32 count)
{
	return (u64)session << 32 | count;
}

static u32 session(u32 first, u32 second)
{
	return ((first << 16) | (first >> 16)) ^ second;
}

/* Says what was read in this session; before that the word says what the life before has read. */
static void tell_tail(struct shmcan_rings *r)
{
	if (r->released)
		set(r, TAIL, pack(r->session, r->released));
}

static void beat(struct shmcan_rings *r, u64 now)
{
	r->beat++;
	r->beaten = now;
	set(r, BEAT, r->beat);
	/* The other side can write here, too: what it breaks is right again from now on. */
	set(r, VERSION, THIS_VERSION);
	set(r, HEAD, pack(r->session, r->shown));
	tell_tail(r);
	set(r, LIFE, r->life);
}

/* Begins the session of both lives as they are. */
static void begin(struct shmcan_rings *r)
{
	r->lost += shmcan_held(r);
	r->session = r->mine ? session(r->theirs, r->life) : session(r->life, r->theirs);
	r->written = r->shown = r->passed = 0;
	r->read = r->released = 0;
	set(r, HEAD, pack(r->session, 0));
	set(r, LIFE, r->life);
}

/* The other side's counts make no sense: another life of this side begins. */
static void broke(struct shmcan_rings *r)
{
	r->broken++;
	r->life += 0x9E3779B9U;
	if (!r->life)
		r->life = 1;
	begin(r);
}

/* Takes its side, from now on; life is another number at each start. False: too little memory. */
bool shmcan_begin(struct shmcan_rings *r, void *memory, size_t size, unsigned int mine, u32 life,
		  u64 now)
{
	u32 fit, slots = 1;

	if (size < SHMCAN_LEAST)
		return false;
	size &= ~(size_t)7;
	fit = (size / 2 - RINGS) / SLOT > 1 << 20 ? 1 << 20 : (size / 2 - RINGS) / SLOT;
	while (slots <= fit / 2)
		slots *= 2;
	memset(r, 0, sizeof(*r));
	r->memory = memory;
	r->size = size;
	r->mine = mine;
	r->slots = slots;
	r->life = life ? life : 1;
	r->heard = now;
	r->looked = now;
	set(r, LIFE, 0);
	set(r, WANTS, 0);
	begin(r);
	beat(r, now);
	return true;
}

/* Takes note of the other side. True: shmcan_link() says something else than before. */
bool shmcan_look(struct shmcan_rings *r, u64 now)
{
	enum shmcan_link before = shmcan_link(r);
	u64 their_beat;
	u32 life, theirs;
	bool away;

	if (r->armed)
		set(r, WANTS, 0);
	r->armed = false;
	life = (u32)get(r, LIFE);
	r->foreign = get(r, VERSION) != THIS_VERSION && life;
	theirs = r->foreign ? 0 : life;
	their_beat = get(r, BEAT);
	/* Was it this side that slept? */
	away = now > r->looked && now - r->looked > SHMCAN_SILENT / 2;
	r->looked = now;
	if (theirs != r->theirs) {
		/* What it has read before it went. */
		shmcan_progress(r);
		r->theirs = theirs;
		begin(r);
		r->sessions += theirs != 0;
		r->heard = now;
	} else if (their_beat != r->their_beat || away) {
		r->heard = now;
	}
	r->their_beat = their_beat;
	r->silent = now > r->heard && now - r->heard >= SHMCAN_SILENT;
	if (now > r->beaten && now - r->beaten >= SHMCAN_BEAT)
		beat(r, now);
	shmcan_progress(r);
	return shmcan_link(r) != before;
}

/* Takes note of what the other side has read. */
void shmcan_progress(struct shmcan_rings *r)
{
	u64 tail = get(r, TAIL);
	u32 more = (u32)tail - r->passed;

	if (!r->theirs || (u32)(tail >> 32) != r->session)
		return;
	if (more > r->shown - r->passed) {
		broke(r);
		return;
	}
	r->passed += more;
	r->sent += more;
}

enum shmcan_link shmcan_link(const struct shmcan_rings *r)
{
	if (r->foreign)
		return SHMCAN_FOREIGN;
	if (!r->theirs)
		return SHMCAN_ABSENT;
	return r->silent ? SHMCAN_SILENT_LINK : SHMCAN_UP;
}

/* Puts a frame into the ring; the other side sees it after shmcan_publish(). */
enum shmcan_sent shmcan_send(struct shmcan_rings *r, const struct shmcan_frame *frame)
{
	unsigned int i, bytes = frame->id & SHMCAN_RTR ? 0 : frame->len;
	u64 word, *to;

	if (shmcan_link(r) != SHMCAN_UP)
		return SHMCAN_DOWN;
	if (frame->id & SHMCAN_ERR)
		return SHMCAN_UNSUPPORTED;
	if (shmcan_held(r) >= r->slots) {
		shmcan_progress(r);
		if (shmcan_held(r) >= r->slots)
			return SHMCAN_FULL;
	}
	to = slot(r, r->mine, r->written);
	STORE(to, (u64)frame->fd << 56 | (u64)frame->len8_dlc << 48 | (u64)frame->flags << 40 |
			  (u64)frame->len << 32 | frame->id);
	for (i = 0; i < bytes; i += 8) {
		unsigned int n, end = bytes - i < 8 ? bytes - i : 8;

		for (word = 0, n = 0; n < end; n++)
			word |= (u64)frame->data[i + n] << (8 * n);
		to++;
		STORE(to, word);
	}
	r->written++;
	r->taken++;
	return SHMCAN_OK;
}

/* Does the other side wait for this? What was shown is there before the question. */
static bool wants(struct shmcan_rings *r, u64 what)
{
	FENCE();
	return r->theirs && get(r, WANTS) & what;
}

/* Shows the other side what was put into the ring. True: it wants its doorbell rung. */
bool shmcan_publish(struct shmcan_rings *r)
{
	if (r->shown == r->written)
		return false;
	r->shown = r->written;
	set(r, HEAD, pack(r->session, r->written));
	return wants(r, WANTS_FRAMES);
}

static u32 waiting(const struct shmcan_rings *r)
{
	u64 head = get(r, HEAD);

	if (!r->theirs || (u32)(head >> 32) != r->session)
		return 0;
	return (u32)head - r->read;
}

static bool fd_length(unsigned int len)
{
	return len <= 8 || len == 12 || len == 16 || len == 20 || len == 24 || len == 32 ||
	       len == 48 || len == 64;
}

/* No frame looks like that: false. */
static bool is_frame(const struct shmcan_frame *f)
{
	bool rtr = f->id & SHMCAN_RTR;

	if (f->id & SHMCAN_ERR || (!(f->id & SHMCAN_EFF) && (f->id & 0x1FFFFFFF) > 0x7FF))
		return false;
	if (f->fd == 1)
		return !(f->flags & ~3) && !f->len8_dlc && !rtr && fd_length(f->len);
	if (f->fd || f->flags || f->len > 8)
		return false;
	return !f->len8_dlc || (f->len8_dlc >= 9 && f->len8_dlc <= 15 && f->len == 8);
}

/*
 * Takes the oldest frame out of the other side's ring. 1: here it is; 0: there is none; -1: there was
 * something else, which is gone.
 */
int shmcan_receive(struct shmcan_rings *r, struct shmcan_frame *frame)
{
	u32 some = waiting(r);
	u64 header, word = 0, *from;
	unsigned int i, bytes;

	if (some > r->slots) {
		broke(r);
		return 0;
	}
	if (!some)
		return 0;
	from = slot(r, !r->mine, r->read);
	header = LOAD(from);
	memset(frame, 0, sizeof(*frame));
	frame->id = (u32)header;
	frame->len = (u8)(header >> 32);
	frame->flags = (u8)(header >> 40);
	frame->len8_dlc = (u8)(header >> 48);
	frame->fd = (u8)(header >> 56);
	bytes = frame->id & SHMCAN_RTR ? 0 : frame->len;
	if (bytes > sizeof(frame->data))
		bytes = sizeof(frame->data);
	for (i = 0; i < bytes; i++) {
		if (i % 8 == 0)
			word = LOAD(++from);
		frame->data[i] = (u8)(word >> (8 * (i % 8)));
	}
	/* A side that died and returned writes into its ring anew, after it has said so. */
	if ((u32)get(r, LIFE) != r->theirs)
		return 0;
	r->read++;
	if (!is_frame(frame)) {
		r->malformed++;
		return -1;
	}
	r->received++;
	return 1;
}

/* Tells the other side what was read. True: it wants its doorbell rung. */
bool shmcan_release(struct shmcan_rings *r)
{
	if (r->released == r->read)
		return false;
	r->released = r->read;
	tell_tail(r);
	return wants(r, WANTS_ROOM);
}

/*
 * Says what this side waits for: frames always. True: there is something already. The next shmcan_look()
 * takes it back.
 */
bool shmcan_arm(struct shmcan_rings *r, bool room)
{
	u64 tail;

	r->armed = true;
	set(r, WANTS, WANTS_FRAMES | (room ? WANTS_ROOM : 0));
	FENCE();
	tail = get(r, TAIL);
	if (waiting(r) || ((u32)get(r, LIFE) != r->theirs && !r->foreign))
		return true;
	return room && (u32)(tail >> 32) == r->session && (u32)tail != r->passed;
}

/* This side goes. True: the other one is there, and should be rung. */
bool shmcan_leave(struct shmcan_rings *r)
{
	set(r, LIFE, 0);
	FENCE();
	return r->theirs != 0;
}
