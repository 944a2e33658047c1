/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Accounts for executed instructions before the processor halts: see halt.c. */
#ifndef PLUGIN_HALT_H
#define PLUGIN_HALT_H

#include <stdint.h>

/* Instruments the instructions that halt; `id` is the plugin's. */
void account_before_halts(uint64_t id);

#endif
