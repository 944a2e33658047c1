/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The arguments, which lab/guest/src/lockstep/arguments.rs writes: NAME=NUMBER, NAME=PATH, and for
 * each link, in the order of their numbers,
 *
 *   link=can/PLACE/MEMBERS/RATE/QUEUE/DATA_RATE
 *   link=ethernet/PLACE/MEMBERS/RATE/QUEUE/LATENCY/JITTER/LOSS/SEED
 */
#include "settings.h"

#include "fail.h"
#include "libc.h"

struct settings settings;

static uint64_t number(const char *name, char *text, char **end)
{
	uint64_t value = strtoull(text, end, 10);

	if (*end == text)
		fail("the argument %s has no number: %s", name, text);
	return value;
}

/* Takes the next field of a link. */
static uint64_t field(char **text)
{
	char *end;
	uint64_t value;

	if (**text != '/')
		fail("a link has too few fields");
	value = number("link", *text + 1, &end);
	*text = end;
	return value;
}

static void read_link(char *text)
{
	struct link *link = &settings.links[settings.link_count];
	char *fields = strchr(text, '/');

	if (settings.link_count == LINKS || !fields)
		fail("there are more than %d links, or one without fields", LINKS);
	link->number = settings.link_count++;
	link->kind = text[0] == 'c' ? LINK_CAN : LINK_ETHERNET;
	link->place = field(&fields);
	link->members = field(&fields);
	link->rate = field(&fields);
	link->queue = field(&fields);
	if (link->kind == LINK_CAN) {
		link->data_rate = field(&fields);
	} else {
		link->latency = field(&fields);
		link->jitter = field(&fields);
		link->loss = field(&fields);
		link->seed = field(&fields);
	}
	if (*fields)
		fail("a link has too many fields: %s", fields);
}

static void read_setting(const char *name, char *value)
{
	static const struct {
		const char *name;
		int64_t *value;
	} times[] = {
		{ "interval", &settings.interval },
		{ "limit", &settings.limit },
		{ "instruction", &settings.instruction },
	};
	char *end;
	unsigned int i;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (!strcmp(name, times[i].name)) {
			*times[i].value = number(name, value, &end);
			return;
		}
	}
	if (!strcmp(name, "shared"))
		settings.shared = value;
	else if (!strcmp(name, "folder"))
		settings.folder = value;
	else if (!strcmp(name, "machine"))
		settings.machine = number(name, value, &end);
	else if (!strcmp(name, "machines"))
		settings.machines = number(name, value, &end);
	else if (!strcmp(name, "background"))
		settings.background = number(name, value, &end);
	else if (!strcmp(name, "skip"))
		settings.is_skipping = number(name, value, &end) != 0;
	else if (!strcmp(name, "link"))
		read_link(value);
	else
		fail("the argument %s is unknown", name);
}

void read_settings(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			fail("the argument %s has no value", argv[i]);
		*value = 0;
		read_setting(argv[i], value + 1);
	}
	if (!settings.shared || !settings.folder || settings.interval <= 0 || settings.limit <= 0 ||
	    settings.instruction <= 0 || settings.machines < 1 || settings.machines > MACHINES ||
	    settings.machine >= settings.machines)
		fail("an argument is missing or out of range");
}
