/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A QEMU plugin that makes a machine one of several in one virtual time: see docs/lockstep.md.
 *
 * All of it runs in callbacks with QEMU's lock held: when the machine begins to run, in the
 * processor's thread at timers, and in that thread when the guest tells a card to send.
 *
 * Its own sources have the licence above. As a whole it is GPL-2.0, as QEMU and kmod/bitcan/core
 * are.
 */
#include "../halt.h"
#include "../qemu.h"
#include "arrivals.h"
#include "clock.h"
#include "fail.h"
#include "links.h"
#include "meeting.h"
#include "record.h"
#include "settings.h"
#include "shared.h"

/* The version whose functions and structures ../qemu.h declares. */
#define MAJOR 11
#define MINOR 1

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

/* The restored machine goes on: its time, whatever it is, is the common time 0. */
static void changed(void *data, bool running, int run_state)
{
	static bool has_started;

	(void)data;
	(void)run_state;
	if (!running || has_started)
		return;
	has_started = true;
	start_clock(leave_meetings);
	start_arrivals();
	open_records();
	links_open();
	start_meetings();
}

static void check_version(void)
{
	const struct version_info *version = qmp_query_version(NULL);

	if (version->qemu->major != MAJOR || version->qemu->minor != MINOR)
		fail("this is QEMU %lld.%lld; machines go in step with %d.%d only", (long long)version->qemu->major,
		     (long long)version->qemu->minor, MAJOR, MINOR);
}

EXPORT int qemu_plugin_install(uint64_t id, const struct plugin_info *info, int argc, char **argv)
{
	(void)info;
	check_version();
	read_settings(argc, argv);
	map_shared();
	account_before_halts(id);
	qemu_add_vm_change_state_handler(changed, NULL);
	return 0;
}
