/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Meetings: each machine stops at the same common times, in the callback of a timer. There it
 * states what it knows of its own next actions, reads what the others have sent, and computes the
 * time of the next meeting, which is the same in all machines. The interval is at most the shortest
 * time in which a message can have an effect elsewhere, so that a message is always known before
 * its time (conservative parallel simulation: Chandy and Misra 1979; with a barrier: Fujimoto
 * 1990).
 */
#ifndef LOCKSTEP_MEETING_H
#define LOCKSTEP_MEETING_H

#include <stdint.h>

/* The first meeting will be one interval from now. */
void start_meetings(void);
/*
 * The machine is switched off, and QEMU ends. Whether the processor's thread comes to another
 * meeting before is a matter of the host; the machine leaves at the first one after the guest
 * switched it off in any case.
 */
void leave_meetings(void);
/* The number of the next meeting. */
uint32_t next_meeting(void);
/* This machine has sent a message that has no effect before this time. */
void note_effect(int64_t at);

#endif
