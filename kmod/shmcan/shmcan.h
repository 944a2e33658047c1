/* SPDX-License-Identifier: GPL-2.0 */
/* QEMU's ivshmem-doorbell (docs/specs/ivshmem-spec.rst): what both modules know of it. */
#ifndef SHMCAN_H
#define SHMCAN_H

#define SHMCAN_VENDOR 0x1AF4
#define SHMCAN_DEVICE 0x1110

/* Regions. */
#define SHMCAN_REGISTERS 0
#define SHMCAN_MEMORY 2

/* Registers: this peer's number; whom to ring, in the upper 16 bits. */
#define SHMCAN_POSITION 8
#define SHMCAN_DOORBELL 12

#endif
