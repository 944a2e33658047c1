/* A serial CAN adapter for tests, on a pseudo terminal whose name it writes into /tmp/pts: it answers each line, as adapters
 * do, and prints what it gets. The driver on the other side is Linux's slcan, which has no restart after bus-off. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

int main(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	char bytes[4096];

	if (master < 0 || grantpt(master) || unlockpt(master))
		return 1;
	char *name = ptsname(master);
	/* Kept open, so that the terminal is there while nobody else has it. */
	int slave = open(name, O_RDWR | O_NOCTTY);
	struct termios raw;
	if (slave < 0 || tcgetattr(slave, &raw))
		return 1;
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	FILE *file = fopen("/tmp/pts", "w");
	if (!file)
		return 1;
	fputs(name, file);
	fclose(file);
	for (;;) {
		ssize_t count = read(master, bytes, sizeof bytes);

		if (count < 0 && errno == EIO) {
			usleep(10000);
			continue;
		}
		if (count < 0)
			return 1;
		for (ssize_t i = 0; i < count; i++) {
			putchar(bytes[i] == '\r' ? '\n' : bytes[i]);
			if (bytes[i] == '\r' && write(master, "\r", 1) < 0)
				return 1;
		}
		fflush(stdout);
	}
}
