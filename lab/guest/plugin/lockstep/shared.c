/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "shared.h"

#include "fail.h"
#include "libc.h"

/* Rounds in which a machine looks for another one before it sleeps: a few µs. */
#define ROUNDS 400
#define ALL INT32_MAX

struct shared *shared;

/* Messages that were read of each machine. */
static uint64_t read_so_far[MACHINES];
/* This machine's messages up to the last two meetings. */
static uint64_t sent_by[2];

static struct part *own(void)
{
	return &shared->parts[settings.machine];
}

void map_shared(void)
{
	int file = open(settings.shared, O_RDWR | O_CLOEXEC);

	/* All machines give it the same size, and the first one's bytes stay. */
	if (file < 0 || ftruncate(file, sizeof(*shared)))
		fail("the shared file cannot be opened: %s", settings.shared);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		fail("the shared file cannot be mapped: %s", settings.shared);
	close(file);
}

void arrive_at(uint32_t meeting)
{
	sent_by[meeting % 2] = own()->sent;
	__atomic_store_n(&own()->meeting, meeting, __ATOMIC_SEQ_CST);
	/*
	 * A machine counts itself before it looks again and sleeps, so that either it sees the
	 * meeting, or this sees it.
	 */
	if (__atomic_load_n(&own()->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_FUTEX, &own()->meeting, FUTEX_WAKE, ALL, NULL, NULL, 0);
}

static bool is_there(const struct part *part, uint32_t meeting, uint32_t *seen)
{
	*seen = __atomic_load_n(&part->meeting, __ATOMIC_SEQ_CST);
	return (int32_t)(*seen - meeting) >= 0;
}

void wait_for(unsigned int machine, uint32_t meeting)
{
	struct part *part = &shared->parts[machine];
	uint32_t seen;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		if (is_there(part, meeting, &seen))
			return;
		__builtin_ia32_pause();
	}
	/* A machine that has died never comes. The laboratory sees its end and ends this one. */
	__atomic_add_fetch(&part->waiting, 1, __ATOMIC_SEQ_CST);
	while (!is_there(part, meeting, &seen))
		syscall(SYS_FUTEX, &part->meeting, FUTEX_WAIT, seen, NULL, NULL, 0);
	__atomic_sub_fetch(&part->waiting, 1, __ATOMIC_SEQ_CST);
}

struct message *new_message(uint32_t meeting)
{
	struct part *part = own();
	struct message *message = &part->ring[part->sent % RING];

	/*
	 * All machines have read what was sent before the last but one meeting: they have come to
	 * the last one since.
	 */
	if (part->sent - sent_by[meeting % 2] >= RING)
		fail("too many messages between two meetings: %d have room", RING);
	message->meeting = meeting;
	message->machine = settings.machine;
	message->is_lost = false;
	message->order = part->sent;
	return message;
}

void send_message(void)
{
	__atomic_store_n(&own()->sent, own()->sent + 1, __ATOMIC_RELEASE);
}

void read_messages(unsigned int machine, uint32_t meeting, void (*take)(const struct message *message))
{
	const struct part *part = &shared->parts[machine];
	uint64_t sent = __atomic_load_n(&part->sent, __ATOMIC_ACQUIRE);

	/* The machine may be past the meeting and send already. */
	while (read_so_far[machine] < sent) {
		const struct message *message = &part->ring[read_so_far[machine] % RING];

		if ((int32_t)(message->meeting - meeting) > 0)
			break;
		take(message);
		read_so_far[machine]++;
	}
}
