// SPDX-License-Identifier: GPL-2.0
/* As a part of this module: its own object, whoever else builds the same source. */
#include "../../canchar/core.c"
