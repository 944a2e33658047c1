/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef LOCKSTEP_FD_CARD_H
#define LOCKSTEP_FD_CARD_H

/* Ends the machine if frames of QEMU's CAN FD cards are not what can.c takes them for. */
void try_fd_card(void);

#endif
