// SPDX-License-Identifier: GPL-2.0
/* Which controllers that share themselves there are, and what is shown of them. All of it under bitcan_mutex. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "functions.h"

static LIST_HEAD(all);
static const struct bitcan_presenter *presenter;

/* Is told of all controllers that there are and will be. */
int bitcan_present(const struct bitcan_presenter *by)
{
	struct bitcan_shared *s;
	int err = 0;

	mutex_lock(&bitcan_mutex);
	presenter = by;
	list_for_each_entry(s, &all, list)
		err = err ?: by->add(s);
	mutex_unlock(&bitcan_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(bitcan_present);

void bitcan_present_no_more(void)
{
	struct bitcan_shared *s;

	mutex_lock(&bitcan_mutex);
	list_for_each_entry(s, &all, list)
		presenter->remove(s);
	presenter = NULL;
	mutex_unlock(&bitcan_mutex);
}
EXPORT_SYMBOL_GPL(bitcan_present_no_more);

struct bitcan_shared *bitcan_shared_named(const char *name)
{
	struct bitcan_shared *s;

	list_for_each_entry(s, &all, list)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

struct bitcan_member *bitcan_shared_find(const char *name, struct bitcan_bus **bus)
{
	struct bitcan_shared *s = bitcan_shared_named(name);

	if (!s)
		return NULL;
	*bus = s->bus;
	return &s->member;
}

/* On to its bus. */
int bitcan_shared_up(struct bitcan_shared *s, u32 nominal, u32 data)
{
	struct bitcan_wanted wanted = { .name = s->name, .nominal = nominal, .data = data };
	int err, node;

	if (s->ctl.node >= 0)
		return -EBUSY;
	if (s->bus->shared) {
		pr_err("bitcan: %s: bus %u has a controller that shares itself\n", s->name,
		       s->bus->number);
		return -EBUSY;
	}
	err = bitcan_attach(s->bus, &wanted, &s->member, &node);
	if (err)
		return err;
	raw_spin_lock_irq(&bitcan_lock);
	sc_attached(&s->ctl, &s->bus->core, node, data);
	s->bus->shared = s;
	WRITE_ONCE(s->nominal, nominal);
	WRITE_ONCE(s->data, data);
	bitcan_arm(s->bus);
	raw_spin_unlock_irq(&bitcan_lock);
	return 0;
}

/* Off its bus: what waits is given up, and the functions are told. */
void bitcan_shared_down(struct bitcan_shared *s)
{
	u32 n;

	raw_spin_lock_irq(&bitcan_lock);
	if (s->ctl.node >= 0) {
		bitcan_run_now(s->bus);
		s->bus->shared = NULL;
		bitcan_detach(s->bus, &s->ctl.node);
		sc_detached(&s->ctl, s->bus->core.now);
		for (n = 0; n < s->ctl.functions; n++)
			sc_set_quiet(&s->ctl.function[n], 0, 0);
	}
	WRITE_ONCE(s->nominal, 0);
	WRITE_ONCE(s->data, 0);
	raw_spin_unlock_irq(&bitcan_lock);
	/* No bus, no timer that could do it. */
	bitcan_shared_interrupt(s->member.irq, s);
}

static void drop(struct bitcan_shared *s)
{
	u32 n;

	for (n = 0; n < s->ctl.functions; n++)
		vfree(s->ctl.function[n].memory);
	kvfree(s);
}

static struct bitcan_shared *make(const char *name, struct bitcan_bus *bus, unsigned int functions,
				  unsigned int queue, unsigned int fifo)
{
	struct bitcan_shared *s = kvzalloc(sizeof(*s), GFP_KERNEL);
	unsigned int n;

	if (!s)
		return NULL;
	BUILD_BUG_ON(sizeof(struct vfcan_memory) > VFCAN_MEMORY_SIZE);
	strscpy(s->name, name, sizeof(s->name));
	s->bus = bus;
	s->member.kind = BITCAN_SHARED;
	s->member.number = BITCAN_NODE_SHARED + bus->number;
	spin_lock_init(&s->trigger_lock);
	s->ctl.functions = functions;
	for (n = 0; n < functions; n++) {
		s->ctl.function[n].memory = vmalloc_user(VFCAN_MEMORY_SIZE);
		if (!s->ctl.function[n].memory) {
			drop(s);
			return NULL;
		}
	}
	sc_init(&s->ctl, &bitcan_shared_ops, functions, queue, fifo);
	return s;
}

int bitcan_shared_add(const char *name, unsigned int number, unsigned int functions,
		      unsigned int queue, unsigned int fifo)
{
	struct bitcan_bus *bus = bitcan_bus_get(number);
	struct bitcan_shared *s;
	int err;

	if (!dev_valid_name(name) || strchr(name, '%') || bitcan_shared_named(name)) {
		pr_err("bitcan: %s is no name for a controller, or is taken\n", name);
		return -EINVAL;
	}
	if (!bus || !functions || functions > SC_FUNCTIONS || !queue || queue > VFCAN_RING || !fifo ||
	    fifo > VFCAN_RING) {
		pr_err("bitcan: add %s: bus= 0 to %u, functions= 1 to %u, queue= and fifo= 1 to %u\n",
		       name, BITCAN_BUSES - 1, SC_FUNCTIONS, VFCAN_RING);
		return -EINVAL;
	}
	s = make(name, bus, functions, queue, fifo);
	if (!s)
		return -ENOMEM;
	s->member.irq = bitcan_irq_alloc();
	err = s->member.irq;
	if (err < 0)
		goto no_irq;
	err = request_irq(s->member.irq, bitcan_shared_interrupt, 0, s->name, s);
	if (err)
		goto no_handler;
	err = presenter ? presenter->add(s) : 0;
	if (err)
		goto not_presented;
	list_add_tail(&s->list, &all);
	return 0;

not_presented:
	free_irq(s->member.irq, s);
no_handler:
	bitcan_irq_free(s->member.irq);
no_irq:
	drop(s);
	return err;
}

static void remove(struct bitcan_shared *s)
{
	bitcan_shared_down(s);
	if (presenter)
		presenter->remove(s);
	list_del(&s->list);
	free_irq(s->member.irq, s);
	bitcan_irq_free(s->member.irq);
	drop(s);
}

int bitcan_shared_del(const char *name)
{
	struct bitcan_shared *s = bitcan_shared_named(name);

	if (!s)
		return -ENOENT;
	if (bitcan_functions_free(s) != s->ctl.functions) {
		pr_err("bitcan: functions of %s are in use: remove their mediated devices first\n",
		       name);
		return -EBUSY;
	}
	remove(s);
	return 0;
}

/* When nobody presents them any more. */
void bitcan_shared_del_all(void)
{
	struct bitcan_shared *s, *next;

	mutex_lock(&bitcan_mutex);
	list_for_each_entry_safe(s, next, &all, list)
		remove(s);
	mutex_unlock(&bitcan_mutex);
}

void bitcan_shared_show(struct seq_file *seq)
{
	static const char *const states[] = { "stopped", "active", "warning", "passive", "bus-off" };
	struct bitcan_shared *s;
	u32 n;

	list_for_each_entry(s, &all, list) {
		seq_printf(seq, "%s bus=%u model=shared functions=%u queue=%u fifo=%u bitrate=%u dbitrate=%u state=%s\n",
			   s->name, s->bus->number, s->ctl.functions, s->ctl.queue, s->ctl.fifo,
			   s->nominal, s->data, states[s->ctl.state]);
		for (n = 0; n < s->ctl.functions; n++) {
			const struct sc_function *f = &s->ctl.function[n];
			struct vfcan_counters c;
			u32 waiting, unread;

			raw_spin_lock_irq(&bitcan_lock);
			bitcan_shared_look(s);
			bitcan_shared_settle(s);
			sc_sync(&s->ctl, n);
			c = f->counters;
			waiting = f->count;
			unread = f->received_head - f->received_tail;
			raw_spin_unlock_irq(&bitcan_lock);
			seq_printf(seq, "%s/%u used=%u started=%u stuck=%u requested=%llu accepted=%llu full=%llu not_permitted=%llu unsupported=%llu down=%llu sent=%llu aborted=%llu dropped=%llu reset=%llu waiting=%u attempts=%llu heard=%llu received=%llu overrun=%llu read=%llu discarded=%llu unread=%u\n",
				   s->name, n, s->function[n].used, f->started, f->stuck,
				   c.requested, c.accepted, c.full, c.not_permitted, c.unsupported,
				   c.down, c.sent, c.aborted, c.dropped, c.reset, waiting,
				   c.attempts, c.heard, c.received, c.overrun, c.read, c.discarded,
				   unread);
		}
	}
}
