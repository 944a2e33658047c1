/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What will reach this machine's cards, in the order of time. */
#ifndef LOCKSTEP_ARRIVALS_H
#define LOCKSTEP_ARRIVALS_H

#include "settings.h"

void start_arrivals(void);
/*
 * Bytes reach a link's card at this time, which is not in the past. Ones of a link come in the
 * order of their times.
 */
void add_arrival(const struct link *link, int64_t at, const void *bytes, uint16_t length);

#endif
