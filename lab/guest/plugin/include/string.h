/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The functions of the C library's string.h that the plugins and kmod/bitcan/core call. */
#ifndef PLUGIN_STRING_H
#define PLUGIN_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
int strcmp(const char *a, const char *b);
size_t strlen(const char *text);
char *strchr(const char *text, int byte);

#endif
