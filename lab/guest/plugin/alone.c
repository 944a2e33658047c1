/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The plugin of a guest in virtual time that is alone: it accounts before halts, and does nothing
 * else.
 */
#include "halt.h"
#include "qemu.h"

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

EXPORT int qemu_plugin_install(uint64_t id, const struct plugin_info *info, int argc, char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	account_before_halts(id);
	return 0;
}
