/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The functions of the C library that the plugins call. The tree of packages with a compiler has no
 * headers of a C library; the program that loads a plugin has the library itself.
 */
#ifndef PLUGIN_LIBC_H
#define PLUGIN_LIBC_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

int open(const char *path, int flags, ...);
long write(int file, const void *bytes, size_t size);
int close(int file);
int ftruncate(int file, long size);
void *mmap(void *near, size_t size, int protection, int flags, int file, long offset);
long syscall(long number, ...);
void *calloc(size_t count, size_t size);
void *malloc(size_t size);
void free(void *room);
void _exit(int status) __attribute__((noreturn));
unsigned long long strtoull(const char *text, char **end, int base);
int snprintf(char *into, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vdprintf(int file, const char *format, va_list arguments);
int dprintf(int file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* x86-64 Linux: include/uapi/asm-generic/fcntl.h, mman-common.h, linux/futex.h, unistd_64.h. */
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_TRUNC 01000
#define O_CLOEXEC 02000000
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_FAILED ((void *)-1)
#define SYS_FUTEX 202
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#endif
