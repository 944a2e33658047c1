/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The part of Linux's include/uapi/linux/can.h that kmod/bitcan/core uses outside the kernel, for a compiler without
 * headers of a C library. Layouts are checked in lockstep/can.c.
 */
#ifndef PLUGIN_LINUX_CAN_H
#define PLUGIN_LINUX_CAN_H

#include <stdint.h>

#define CAN_EFF_FLAG 0x80000000U
#define CAN_RTR_FLAG 0x40000000U
#define CAN_SFF_MASK 0x000007FFU
#define CAN_EFF_MASK 0x1FFFFFFFU
#define CAN_MAX_DLEN 8
#define CANFD_MAX_DLEN 64
#define CANFD_BRS 0x01
#define CANFD_ESI 0x02

typedef uint32_t canid_t;

struct can_frame {
	canid_t can_id;
	union {
		uint8_t len;
		uint8_t can_dlc;
	};
	uint8_t pad, reserved, len8_dlc;
	uint8_t data[CAN_MAX_DLEN] __attribute__((aligned(8)));
};

struct canfd_frame {
	canid_t can_id;
	uint8_t len, flags, __res0, __res1;
	uint8_t data[CANFD_MAX_DLEN] __attribute__((aligned(8)));
};

#endif
