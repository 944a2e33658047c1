/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the module share. */
#ifndef BITCAN_KERNEL_H
#define BITCAN_KERNEL_H

#include <linux/can/dev.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#include "bitcan.h"
#include "core/core.h"

struct bitcan_shared;

struct bitcan_bus {
	struct bc_bus core;
	struct hrtimer timer;
	u64 armed;		/* when the timer fires; BC_NEVER */
	u32 raised;		/* nodes whose interrupt line is up, a bit each */
	u8 number;
	unsigned int up;	/* interfaces */
	struct bitcan_shared *shared;	/* the controller that shares itself, while it is on the bus */
};

/* What an interrupt is about. */
#define BITCAN_TX BIT(0)	/* a transmit buffer fell free */
#define BITCAN_RX BIT(1)	/* the receive FIFO holds a frame */
#define BITCAN_OVERRUN BIT(2)	/* ... has lost one */
#define BITCAN_STATE BIT(3)	/* warning, error-passive, bus-off, and back */
#define BITCAN_ERROR BIT(4)	/* an error on the bus */
#define BITCAN_ALL (BIT(5) - 1)

struct bitcan_port;

/* Whose a node of a bus is, for the core; a node without is the tester's. */
enum bitcan_kind {
	BITCAN_INTERFACE,	/* a struct bitcan_port */
	BITCAN_DEVICE,		/* a struct bitcan_chardev */
	BITCAN_MAPPED,		/* a struct bitcan_mapped */
	BITCAN_SHARED,		/* a struct bitcan_shared */
};

struct bitcan_member {
	u8 kind;
	u16 number;		/* in stamps */
	int irq;
};

/* What a node is to be. */
struct bitcan_wanted {
	const char *name;
	u32 nominal, data;	/* bit/s; data 0: no FD */
	bool listen_only, one_shot;
};

/* A receive FIFO: bytes or frames that a frame takes in it, and how many there are. */
struct bitcan_fifo {
	unsigned int (*takes)(const struct canfd_frame *frame, bool fd);
	unsigned int size;
};

/* A model of controller: its registers' behaviour and, above them, its driver's. */
struct bitcan_model {
	const char *name;
	unsigned int slots;
	u32 ctrlmodes;
	u32 enabled;		/* interrupts after start */
	netdev_tx_t (*xmit)(struct sk_buff *skb, struct net_device *dev);
	irq_handler_t interrupt;
	const struct bitcan_fifo *fifo;
	void (*setup)(struct bitcan_port *port);
	void (*teardown)(struct bitcan_port *port);
	void (*open)(struct bitcan_port *port);
	void (*close)(struct bitcan_port *port);
	void (*restart)(struct bitcan_port *port);
};

struct bitcan_received {
	bool fd;
	u8 takes;
	struct canfd_frame frame;
};

#define BITCAN_FIFO 32		/* frames, whatever their bytes */

/* A controller whose registers a driver in the kernel has; all under bitcan_lock. */
struct bitcan_controller {
	struct bitcan_member member;
	struct bitcan_bus *bus;
	const struct bitcan_fifo *fifo;
	int node;		/* in the core; -1: off */
	u32 pending, enabled;	/* interrupts */
	bool bus_errors;	/* interrupts for errors on the bus */
	u8 tx_done, tx_failed;	/* transmit buffers, a bit each */
	u8 fifo_head, fifo_count;
	u8 fifo_used;		/* in the FIFO's measure */
	struct bc_step error;	/* the last one on the bus, for this node */
	bool error_tx;
	struct bitcan_received received[BITCAN_FIFO];
};

struct bitcan_port {
	struct can_priv can;	/* must come first */
	struct bitcan_controller ctl;
	struct net_device *dev;
	struct list_head list;
	const struct bitcan_model *model;

	/* The driver. */
	struct napi_struct napi;
	unsigned long flags;
	u8 cur_pri, tx_active, prev_buf_id;
	u8 tx_order[BC_SLOTS];	/* buffers in the order in which they were filled */
	u8 tx_count;

	/* Joined to another controller (join.c); under bitcan_lock. */
	const struct bitcan_model *own_model;
	struct bitcan_port *joined_to, *joined_from;
	bool joined_busy;	/* of the outgoing one: its transmit buffer is full */
};

extern raw_spinlock_t bitcan_lock;	/* all buses' cores, all controllers */
extern struct mutex bitcan_mutex;	/* which buses and interfaces there are */
extern struct bitcan_bus *bitcan_buses[BITCAN_BUSES];

/* bus.c */
struct bitcan_bus *bitcan_bus_get(unsigned int number);
void bitcan_buses_free(void);
void bitcan_arm(struct bitcan_bus *bus);
void bitcan_run_to(struct bitcan_bus *bus, u64 t);
void bitcan_run_now(struct bitcan_bus *bus);
int bitcan_attach(struct bitcan_bus *bus, const struct bitcan_wanted *wanted,
		  struct bitcan_member *member, int *node);
void bitcan_detach(struct bitcan_bus *bus, int *node);
int bitcan_irq_alloc(void);
void bitcan_irq_free(int irq);

/* controller.c: the first two under bitcan_lock */
void bitcan_receive(struct bitcan_controller *c, const struct canfd_frame *frame, bool fd);
void bitcan_raise(struct bitcan_controller *c, u32 flags);
void bitcan_reset(struct bitcan_controller *c, u32 enabled);
void bitcan_leave(struct bitcan_controller *c);
void bitcan_recover(struct bitcan_controller *c, u32 enabled);
void bitcan_transmit(struct bitcan_controller *c, unsigned int slot,
		     const struct canfd_frame *frame, bool fd, u64 rank, u32 enable);
u32 bitcan_take(struct bitcan_controller *c, u32 flags, u8 *tx_done, u8 *tx_failed);
u32 bitcan_peek(struct bitcan_controller *c);
void bitcan_mask(struct bitcan_controller *c, u32 off, u32 on);
void bitcan_counters(struct bitcan_controller *c, enum bc_state *state, u16 *tec, u16 *rec);
extern const struct bitcan_fifo bitcan_sja1000_fifo, bitcan_mscan_fifo;

/* port.c */
struct net *bitcan_net(void);
int bitcan_add(const char *name, unsigned int bus, const char *model, struct net *net);
int bitcan_del(const char *name, struct net *net);
void bitcan_del_all(void);
struct bitcan_port *bitcan_find(const char *name, struct net *net);
extern struct list_head bitcan_ports;
bool bitcan_xmit_check(struct sk_buff *skb, struct net_device *dev);
void bitcan_put(struct bitcan_port *port, struct sk_buff *skb, unsigned int slot, u64 rank,
		u32 enable);
struct sk_buff *bitcan_read_frame(struct bitcan_port *port);
void bitcan_echo(struct bitcan_port *port, unsigned int slot, bool sent);
void bitcan_report_state(struct bitcan_port *port, struct can_frame *cf, enum bc_state state,
			 u16 tec, u16 rec);
void bitcan_count_overrun(struct bitcan_port *port, struct can_frame *cf);
extern const struct bitcan_model bitcan_sja1000, bitcan_mscan;

/* join.c: the first three under bitcan_lock, the others under bitcan_mutex */
void bitcan_joined_receive(struct bitcan_port *port, const struct canfd_frame *frame, bool fd);
void bitcan_joined_move(struct bitcan_port *port);
void bitcan_joined_sent(struct bitcan_port *port, bool sent);
int bitcan_join(struct bitcan_port *from, struct bitcan_port *to);
int bitcan_part(struct bitcan_port *port);
void bitcan_cut(struct bitcan_port *port);
const struct bitcan_model *bitcan_model_of(const struct bitcan_port *port);

/* mapped.c: the first four under bitcan_lock, the others under bitcan_mutex */
void bitcan_mapped_receive(struct bitcan_member *member, const struct canfd_frame *frame, bool fd);
void bitcan_mapped_done(struct bitcan_member *member, int slot, u32 state);
void bitcan_mapped_state(struct bitcan_member *member);
void bitcan_mapped_error(struct bitcan_member *member);
int bitcan_mapped_add(const char *name, unsigned int bus);
int bitcan_mapped_del(const char *name);
void bitcan_mapped_show(struct seq_file *seq);
struct bitcan_member *bitcan_mapped_find(const char *name, struct bitcan_bus **bus);
int bitcan_mapped_init(void);
void bitcan_mapped_exit(void);

/* functions.c, under bitcan_lock */
void bitcan_shared_run(struct bitcan_shared *s, u64 t);
u64 bitcan_shared_deadline(const struct bitcan_shared *s);
void bitcan_shared_armed(struct bitcan_shared *s);
void bitcan_shared_receive(struct bitcan_member *member, const struct canfd_frame *frame, bool fd);
void bitcan_shared_sent(struct bitcan_member *member, const struct canfd_frame *frame, bool fd);
void bitcan_shared_failed(struct bitcan_member *member, u64 end);
void bitcan_shared_state(struct bitcan_member *member);

/* physical.c: under bitcan_mutex, but for the one that takes it */
int bitcan_shared_add(const char *name, unsigned int bus, unsigned int functions,
		      unsigned int queue, unsigned int fifo);
int bitcan_shared_del(const char *name);
void bitcan_shared_del_all(void);
void bitcan_shared_show(struct seq_file *seq);
struct bitcan_member *bitcan_shared_find(const char *name, struct bitcan_bus **bus);

/* pf.c: under bitcan_mutex */
int bitcan_pf(char *words);
int bitcan_vf(char *words);

/* chardev.c: under bitcan_mutex */
int bitcan_chardev_add(const char *name, unsigned int bus, const char *model);
int bitcan_chardev_del(const char *name);
void bitcan_chardev_del_all(void);
void bitcan_chardev_show(struct seq_file *seq);
struct bitcan_member *bitcan_chardev_find(const char *name, struct bitcan_bus **bus);

/* napi.c */
int bitcan_napi_tell(const void __user *arg);

/* control.c */
int bitcan_control_init(void);
void bitcan_control_exit(void);
int bitcan_parse_nodes(const char *nodes);

/* tester.c */
int bitcan_tester_init(void);
void bitcan_tester_exit(void);

/* play.c: under bitcan_lock, by the bus */
void bitcan_play_frame(struct bitcan_bus *bus, int node, const struct bc_slot *slot,
		       const struct canfd_frame *frame);
void bitcan_play_sent(struct bitcan_bus *bus);
void bitcan_play_dropped(struct bitcan_bus *bus, const struct bc_slot *slot);
void bitcan_play_error(struct bitcan_bus *bus, int node, const struct bc_slot *slot);
void bitcan_play_bus_off(struct bitcan_bus *bus, int node);
void bitcan_play_overrun(struct bitcan_bus *bus, int node, const struct canfd_frame *frame,
			 bool fd);

/* The controller behind a node that is not a mapped one. */
static inline struct bitcan_controller *bitcan_controller_of(struct bitcan_member *member)
{
	return container_of(member, struct bitcan_controller, member);
}

/*
 * Takes the oldest frame out of the FIFO. In each driver's own code, as a driver's reading of
 * registers is.
 */
static inline bool bitcan_pop(struct bitcan_controller *c, struct bitcan_received *out)
{
	const struct bitcan_received *r;
	unsigned long irqflags;
	bool some;

	raw_spin_lock_irqsave(&bitcan_lock, irqflags);
	some = c->fifo_count;
	if (some) {
		r = &c->received[c->fifo_head];
		out->fd = r->fd;
		memcpy(&out->frame, &r->frame,
		       r->fd ? sizeof(r->frame) : sizeof(struct can_frame));
		c->fifo_used -= r->takes;
		c->fifo_head = (c->fifo_head + 1) % BITCAN_FIFO;
		c->fifo_count--;
	}
	if (!c->fifo_count)
		c->pending &= ~BITCAN_RX;
	raw_spin_unlock_irqrestore(&bitcan_lock, irqflags);
	return some;
}

/* The interface behind a controller of that kind. */
static inline struct bitcan_port *bitcan_port_of(struct bitcan_controller *c)
{
	return container_of(c, struct bitcan_port, ctl);
}

static inline u16 bitcan_node_number(const struct bitcan_bus *bus, int node)
{
	const struct bitcan_member *member = bus->core.nodes[node].owner;

	return member ? member->number : 0;
}

#endif
