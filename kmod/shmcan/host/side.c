// SPDX-License-Identifier: GPL-2.0
/*
 * One side in memory that a file descriptor names, for comparing ring.c with crates/shm: reads commands, a line each, and
 * answers each with a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../ring.h"

static void print(const struct shmcan_rings *r, const char *what, long long n)
{
	printf("%s %lld %d %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 "\n",
	       what, n, shmcan_link(r), shmcan_held(r), r->taken, r->sent, r->lost, r->received,
	       r->malformed, r->broken, r->sessions);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct shmcan_rings r;
	struct shmcan_frame f;
	char line[512], word[16];
	unsigned int i, n, bytes;
	void *memory;
	u64 now;

	if (argc < 4)
		return 2;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
	if (memory == MAP_FAILED)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line;
		long long answer = 0;

		if (sscanf(line, "%15s", word) != 1)
			return 2;
		rest += strlen(word);
		if (!strcmp(word, "begin")) {
			unsigned int life = strtoul(rest, &rest, 0);

			now = strtoull(rest, NULL, 0);
			answer = shmcan_begin(&r, memory, size, atoi(argv[3]), life, now);
		} else if (!strcmp(word, "look")) {
			now = strtoull(rest, NULL, 0);
			answer = shmcan_look(&r, now);
		} else if (!strcmp(word, "send")) {
			memset(&f, 0, sizeof(f));
			f.id = strtoul(rest, &rest, 0);
			f.len = strtoul(rest, &rest, 0);
			f.flags = strtoul(rest, &rest, 0);
			f.len8_dlc = strtoul(rest, &rest, 0);
			f.fd = strtoul(rest, &rest, 0);
			bytes = f.id & SHMCAN_RTR ? 0 : f.len;
			for (i = 0; i < bytes; i++)
				f.data[i] = strtoul(rest, &rest, 0);
			answer = shmcan_send(&r, &f);
		} else if (!strcmp(word, "publish")) {
			answer = shmcan_publish(&r);
		} else if (!strcmp(word, "receive")) {
			n = strtoul(rest, NULL, 0);
			while (n--) {
				int got = shmcan_receive(&r, &f);

				if (!got)
					break;
				if (got < 0)
					continue;
				printf("%08x:%u:%u:%u:%u:", f.id, f.len, f.flags, f.len8_dlc, f.fd);
				bytes = f.id & SHMCAN_RTR ? 0 : f.len;
				for (i = 0; i < bytes; i++)
					printf("%02x", f.data[i]);
				printf(" ");
			}
		} else if (!strcmp(word, "release")) {
			answer = shmcan_release(&r);
		} else if (!strcmp(word, "arm")) {
			answer = shmcan_arm(&r, strtoul(rest, NULL, 0));
		} else if (!strcmp(word, "leave")) {
			answer = shmcan_leave(&r);
		} else {
			return 2;
		}
		print(&r, word, answer);
	}
	return 0;
}
