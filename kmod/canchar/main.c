// SPDX-License-Identifier: GPL-2.0
/* canchar.ko: the core, and the cards that it drives. */
#include <linux/module.h>

#include "core.h"
#include "kvaser.h"

static int __init start(void)
{
	int err = canchar_init();

	if (err)
		return err;
	err = canchar_kvaser_init();
	if (err)
		canchar_exit();
	return err;
}

static void __exit stop(void)
{
	canchar_kvaser_exit();
	canchar_exit();
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("CAN controllers as character devices");
MODULE_LICENSE("GPL");
