/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "record.h"

#include "fail.h"
#include "libc.h"
#include "links.h"
#include "shared.h"

#define MODE 0600
#define PATH 4096
#define ROOM 65536

static struct {
	int file;
	size_t used;
	char bytes[ROOM];
} files[LINKS];

static int create(const char *name, unsigned int number)
{
	char path[PATH];
	int file;

	if (snprintf(path, sizeof(path), "%s/%s%u", settings.folder, name, number) >= (int)sizeof(path))
		fail("the path of the folder is too long: %s", settings.folder);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MODE);
	if (file < 0)
		fail("the file %s cannot be created", path);
	return file;
}

static void write_all(int file, const char *bytes, size_t size)
{
	while (size) {
		long done = write(file, bytes, size);

		if (done <= 0)
			fail("a record cannot be written: is the disk full?");
		bytes += done;
		size -= done;
	}
}

void open_records(void)
{
	unsigned int i;

	for (i = 0; i < settings.link_count; i++)
		files[i].file = create("link-", i);
}

static void flush(unsigned int link)
{
	write_all(files[link].file, files[link].bytes, files[link].used);
	files[link].used = 0;
}

void flush_records(void)
{
	unsigned int i;

	for (i = 0; i < settings.link_count; i++)
		flush(i);
}

static void append(unsigned int link, const void *bytes, size_t size)
{
	if (files[link].used + size > ROOM)
		flush(link);
	memcpy(files[link].bytes + files[link].used, bytes, size);
	files[link].used += size;
}

void add_record(const struct link *link, enum record_kind kind, unsigned int machine, int64_t asked, int64_t at,
		const void *bytes, uint16_t length)
{
	struct record record = {
		.at = at, .asked = asked, .kind = kind, .machine = machine, .length = length,
	};

	append(link->number, &record, sizeof(record));
	append(link->number, bytes, length);
}

/* The report has lines of a name and numbers; lab/guest/src/lockstep/report.rs reads them. */
void close_records(int64_t now, uint64_t meetings, bool is_ended)
{
	int report = create("report-", settings.machine);
	unsigned int i;

	for (i = 0; i < settings.link_count; i++) {
		const struct counts *counts = links_counts(i);

		flush(i);
		close(files[i].file);
		dprintf(report, "link %llu %llu %llu %llu\n", (unsigned long long)counts->sent,
			(unsigned long long)counts->lost, (unsigned long long)counts->received,
			(unsigned long long)counts->refused);
	}
	/* The last line: a report without it is not complete. */
	dprintf(report, "end %d %lld %llu\n", is_ended, (long long)now, (unsigned long long)meetings);
	close(report);
}
