// SPDX-License-Identifier: GPL-2.0
/* bitcan: CAN buses in bit time, with controllers under Linux and a tester on them. */
#include <linux/module.h>

#include "../canchar/core.h"
#include "kernel.h"

static char *nodes;
module_param(nodes, charp, 0444);
MODULE_PARM_DESC(nodes, "interfaces to begin with: NAME:BUS:MODEL,... (gw0:0:mscan,gw1:1:mscan)");

static int __init bitcan_init(void)
{
	int err;

	bc_wire_init();
	err = canchar_init();
	if (err)
		return err;
	err = bitcan_mapped_init();
	if (err)
		goto no_mapped;
	err = bitcan_control_init();
	if (err)
		goto no_control;
	err = bitcan_tester_init();
	if (err)
		goto no_tester;
	if (nodes) {
		err = bitcan_parse_nodes(nodes);
		if (err)
			goto no_nodes;
	}
	return 0;

no_nodes:
	bitcan_del_all();
	bitcan_chardev_del_all();
	bitcan_tester_exit();
no_tester:
	bitcan_control_exit();
no_control:
	bitcan_shared_del_all();
	bitcan_mapped_exit();
no_mapped:
	canchar_exit();
	bitcan_buses_free();
	return err;
}

static void __exit bitcan_exit(void)
{
	bitcan_control_exit();
	bitcan_tester_exit();
	bitcan_del_all();
	bitcan_chardev_del_all();
	bitcan_shared_del_all();
	bitcan_mapped_exit();
	canchar_exit();
	bitcan_buses_free();
}

module_init(bitcan_init);
module_exit(bitcan_exit);

MODULE_DESCRIPTION("CAN buses in bit time, and a tester on them");
MODULE_LICENSE("GPL");
