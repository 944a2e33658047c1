/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the plugins use of QEMU 11.1: include/plugins/qemu-plugin.h (interface version 7), and
 * functions that are not of that interface, which Debian's program exports with all others
 * (-rdynamic).
 */
#ifndef PLUGIN_QEMU_H
#define PLUGIN_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* The interface for plugins. */
#define PLUGIN_VERSION 7

struct tb;
struct insn;
struct plugin_info;

enum { NO_REGISTERS };

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(struct tb *tb, void *data),
						 void *data);
extern size_t qemu_plugin_tb_n_insns(const struct tb *tb);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t index);
extern size_t qemu_plugin_insn_data(const struct insn *insn, void *bytes, size_t size);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*executed)(unsigned int vcpu, void *data),
						   int registers, void *data);

/* include/hw/core/cpu.h, include/exec/icount.h, system/cpus.h */
extern __thread void *current_cpu;
extern void icount_update(void *cpu);
extern bool all_cpu_threads_idle(void);

/* qapi/misc.json */
struct version_triple {
	int64_t major, minor, micro;
};
struct version_info {
	struct version_triple *qemu;
	char *package;
};
extern struct version_info *qmp_query_version(void **error);

/* include/qemu/timer.h. A timer is opaque here: callers give it room. */
enum { CLOCK_VIRTUAL = 1 };
#define SCALE_NS 1
#define ALL_TIMERS (-1)
extern char main_loop_tlg[];
extern void timer_init_full(void *timer, void *lists, int clock, int scale, int attributes, void (*fire)(void *data),
			    void *data);
extern void timer_mod_ns(void *timer, int64_t at);
extern void timer_del(void *timer);
extern int64_t qemu_clock_get_ns(int clock);
extern int64_t qemu_clock_deadline_ns_all(int clock, int attributes);

/* system/timers-state.h */
extern char timers_state[];

/* include/system/runstate.h, include/qemu/notify.h */
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	void *links[2];
};
extern void *qemu_add_vm_change_state_handler(void (*changed)(void *data, bool running, int state), void *data);
extern void qemu_register_shutdown_notifier(struct notifier *notifier);
extern int qemu_shutdown_requested_get(void);

/* include/net/net.h, net/hub.h */
struct net_client_info {
	int type;
	size_t size;
	long (*receive)(void *client, const uint8_t *bytes, size_t size);
	void *others[31];
};
extern void *qemu_new_net_client(struct net_client_info *info, void *peer, const char *model, const char *name);
extern void *net_hub_add_port(int hub, const char *name, void *peer);
/* Whether a card on the hub would take a packet now; it keeps no packet that it does not. */
extern int qemu_can_send_packet(void *client);
extern long qemu_send_packet(void *client, const uint8_t *bytes, int size);

/* include/qom/object.h */
extern void *object_resolve_path(const char *path, bool *is_ambiguous);
extern void *object_new(const char *type);
extern void object_unref(void *object);

/* include/net/can_emu.h */
enum { QEMU_CAN_BRS = 0x01, QEMU_CAN_ESI = 0x02, QEMU_CAN_FD = 0x10 };
struct qemu_can_frame {
	uint32_t can_id;
	uint8_t can_dlc, flags;	/* can_dlc is a length in bytes */
	uint8_t data[64] __attribute__((aligned(8)));
};
struct can_client_info {
	bool (*can_receive)(void *client);
	long (*receive)(void *client, const struct qemu_can_frame *frames, size_t count);
};
struct can_client {
	struct can_client_info *info;
	void *bus;
	char others[240];	/* CanBusClientState has less */
};
extern int can_bus_insert_client(void *bus, void *client);
extern int can_bus_remove_client(void *client);
extern long can_bus_client_send(void *client, const struct qemu_can_frame *frames, size_t count);

/* hw/net/can/ctucan_core.h. A controller is opaque here: callers give it room. */
extern int ctucan_init(void *controller, void *irq);
extern int ctucan_connect_to_bus(void *controller, void *bus);
extern void ctucan_disconnect(void *controller);
extern void ctucan_mem_write(void *controller, uint64_t address, uint64_t value, unsigned int size);
extern uint64_t ctucan_mem_read(void *controller, uint64_t address, unsigned int size);

#endif
