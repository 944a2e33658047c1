/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef LOCKSTEP_FAIL_H
#define LOCKSTEP_FAIL_H

/* Prints the reason and ends the machine; the laboratory then ends all others. */
void fail(const char *reason, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
