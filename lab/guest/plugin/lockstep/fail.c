/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fail.h"

#include "libc.h"

#define STANDARD_ERROR 2
#define FAILURE 1

void fail(const char *reason, ...)
{
	va_list arguments;

	dprintf(STANDARD_ERROR, "lockstep: ");
	va_start(arguments, reason);
	vdprintf(STANDARD_ERROR, reason, arguments);
	va_end(arguments);
	dprintf(STANDARD_ERROR, "\n");
	/* Not exit(): its handlers may wait for the lock that this thread holds. */
	_exit(FAILURE);
}
