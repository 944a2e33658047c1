/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CANCHAR_KVASER_H
#define CANCHAR_KVASER_H

int canchar_kvaser_init(void);
void canchar_kvaser_exit(void);

#endif
