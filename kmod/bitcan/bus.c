// SPDX-License-Identifier: GPL-2.0
/*
 * A bus in the kernel: the core's time is CLOCK_MONOTONIC, a hard-irq timer wakes it at ends of
 * frames, and what happened is handed to controllers and tester.
 *
 * The core is run up to now whenever somebody looks at it, so a late timer does not make the bus
 * late: frames go on while the CPU has its interrupts off, and receive FIFOs fill up, as with
 * real controllers. Interrupt handlers are called from the timer only, as ordinary interrupts of
 * an irq number of their own: on a kernel that threads interrupts they are threaded.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "kernel.h"

DEFINE_RAW_SPINLOCK(bitcan_lock);
DEFINE_MUTEX(bitcan_mutex);
struct bitcan_bus *bitcan_buses[BITCAN_BUSES];

static struct bitcan_bus *of(struct bc_bus *core)
{
	return container_of(core, struct bitcan_bus, core);
}

static void receive(struct bc_bus *core, int n, const struct canfd_frame *frame, bool fd)
{
	struct bitcan_member *member = core->nodes[n].owner;

	if (!member)
		return;
	if (member->kind == BITCAN_MAPPED)
		bitcan_mapped_receive(member, frame, fd);
	else if (member->kind == BITCAN_SHARED)
		bitcan_shared_receive(member, frame, fd);
	else
		bitcan_receive(bitcan_controller_of(member), frame, fd);
}

/* Is its transmit buffer full with what another controller received? */
static bool joined_busy(struct bitcan_controller *c)
{
	return c->member.kind == BITCAN_INTERFACE && bitcan_port_of(c)->joined_busy;
}

/* A node's own frame was sent. */
static void sent(struct bitcan_member *member, int i)
{
	struct bitcan_controller *c;

	if (member->kind == BITCAN_MAPPED) {
		bitcan_mapped_done(member, i, BITCAN_TX_SENT);
		return;
	}
	c = bitcan_controller_of(member);
	if (joined_busy(c)) {
		bitcan_joined_sent(bitcan_port_of(c), true);
		return;
	}
	c->tx_done |= BIT(i);
	bitcan_raise(c, BITCAN_TX);
}

static void on_frame(struct bc_bus *core, int n, int i, bool primary)
{
	struct bitcan_bus *bus = of(core);
	struct bc_slot *slot = &core->nodes[n].slots[i];
	struct bitcan_member *member = core->nodes[n].owner;
	const struct canfd_frame *frame = &slot->frame;
	struct canfd_frame esi;
	u32 hears;
	int s;

	if (primary) {
		for (s = 0; slot->fd && s < core->sender_count; s++) {
			if (core->senders[s].node == n && core->senders[s].forced_esi) {
				esi = slot->frame;
				esi.flags |= CANFD_ESI;
				frame = &esi;
			}
		}
		for (hears = core->hearing; hears; hears &= hears - 1)
			receive(core, __ffs(hears), frame, slot->fd);
		bitcan_play_frame(bus, n, slot, frame);
	}
	if (member && unlikely(member->kind == BITCAN_SHARED))
		bitcan_shared_sent(member, frame, slot->fd);
	else if (member)
		sent(member, i);
	else
		bitcan_play_sent(bus);
}

static void on_error(struct bc_bus *core, int n, int i, const struct bc_step *step, bool primary)
{
	struct bitcan_member *member = core->nodes[n].owner;

	if (primary)
		bitcan_play_error(of(core), n, &core->nodes[n].slots[i]);
	if (member && member->kind == BITCAN_SHARED)
		bitcan_shared_failed(member, max(core->sim.end, step->at));
}

static void on_state(struct bc_bus *core, int n)
{
	struct bitcan_member *member = core->nodes[n].owner;

	if (core->nodes[n].state == BC_BUS_OFF)
		bitcan_play_bus_off(of(core), n);
	if (!member)
		return;
	if (member->kind == BITCAN_MAPPED)
		bitcan_mapped_state(member);
	else if (member->kind == BITCAN_SHARED)
		bitcan_shared_state(member);
	else
		bitcan_raise(bitcan_controller_of(member), BITCAN_STATE);
}

static void on_dropped(struct bc_bus *core, int n, int i, enum bc_why why)
{
	struct bitcan_member *member = core->nodes[n].owner;
	struct bitcan_controller *c;

	if (!member) {
		bitcan_play_dropped(of(core), &core->nodes[n].slots[i]);
		return;
	}
	if (member->kind == BITCAN_MAPPED) {
		bitcan_mapped_done(member, i,
				   why == BC_ONE_SHOT ? BITCAN_TX_FAILED : BITCAN_TX_BUS_OFF);
		return;
	}
	/* The controller that shares itself has given up its frames when it went bus-off. */
	if (member->kind == BITCAN_SHARED)
		return;
	c = bitcan_controller_of(member);
	if (joined_busy(c)) {
		bitcan_joined_sent(bitcan_port_of(c), false);
	} else if (why == BC_ONE_SHOT) {
		c->tx_failed |= BIT(i);
		c->tx_done |= BIT(i);
		bitcan_raise(c, BITCAN_TX);
	}
}

static void on_flagged(struct bc_bus *core, const struct bc_step *step)
{
	struct bitcan_member *member = core->nodes[step->node].owner;
	struct bitcan_controller *c;

	if (!member || member->kind == BITCAN_SHARED)
		return;
	if (member->kind == BITCAN_MAPPED) {
		bitcan_mapped_error(member);
		return;
	}
	c = bitcan_controller_of(member);
	if (!c->bus_errors)
		return;
	c->error = *step;
	c->error_tx = step->what == BC_TX_ERROR;
	bitcan_raise(c, BITCAN_ERROR);
}

static const struct bc_ops ops = {
	.frame = on_frame,
	.error = on_error,
	.state = on_state,
	.dropped = on_dropped,
	.flagged = on_flagged,
};

/* When something happens next, a budget that allows a frame included; BC_NEVER. */
static noinline u64 next_shared(struct bitcan_bus *bus)
{
	u64 next = bitcan_shared_deadline(bus->shared);

	if (bus->raised)
		return bus->core.now;
	return bc_idle(&bus->core) ? next : min(next, bc_next(&bus->core));
}

/* When the timer is to fire next, where it is not set to that already; else BC_NEVER. */
static u64 next_time(struct bitcan_bus *bus)
{
	u64 next;

	if (unlikely(bus->shared)) {
		next = next_shared(bus);
		return next == bus->armed ? BC_NEVER : next;
	}
	if (!bus->raised && bc_idle(&bus->core))
		return BC_NEVER;
	next = bus->raised ? bus->core.now : bc_next(&bus->core);
	/* A timer that is too early finds nothing to do: no need to cancel it. */
	return next == bus->armed ? BC_NEVER : next;
}

/* Sets the timer to what happens next; lets it be where it is set to that already. */
void bitcan_arm(struct bitcan_bus *bus)
{
	u64 next = next_time(bus);

	if (next != BC_NEVER) {
		bus->armed = next;
		hrtimer_start(&bus->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
	}
	if (unlikely(bus->shared))
		bitcan_shared_armed(bus->shared);
}

/* What has happened by then is not changed any more. */
void bitcan_run_to(struct bitcan_bus *bus, u64 t)
{
	if (unlikely(bus->shared))
		bitcan_shared_run(bus->shared, t);
	else
		bc_run(&bus->core, t);
}

void bitcan_run_now(struct bitcan_bus *bus)
{
	bitcan_run_to(bus, ktime_get_ns());
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct bitcan_bus *bus = container_of(timer, struct bitcan_bus, timer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	int irqs[BC_NODES], count = 0;
	u32 raised;
	u64 next;

	raw_spin_lock(&bitcan_lock);
	bus->armed = BC_NEVER;
	bitcan_run_now(bus);
	raised = bus->raised;
	bus->raised = 0;
	while (raised) {
		struct bitcan_member *member = bus->core.nodes[__ffs(raised)].owner;
		struct bitcan_port *joined = NULL;

		raised &= raised - 1;
		if (!member)
			continue;
		if (member->kind == BITCAN_INTERFACE)
			joined = bitcan_port_of(bitcan_controller_of(member));
		if (joined && joined->joined_to)
			bitcan_joined_move(joined);
		else
			irqs[count++] = member->irq;
	}
	next = next_time(bus);
	if (next != BC_NEVER && hrtimer_is_queued(timer)) {
		/* Another processor has set it since it fired. */
		bus->armed = next;
		hrtimer_start(timer, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
	} else if (next != BC_NEVER) {
		bus->armed = next;
		hrtimer_set_expires(timer, ns_to_ktime(next));
		restart = HRTIMER_RESTART;
	}
	if (unlikely(bus->shared))
		bitcan_shared_armed(bus->shared);
	raw_spin_unlock(&bitcan_lock);
	while (count--)
		generic_handle_irq(irqs[count]);
	return restart;
}

/* The bus of this number, made when it is asked for first. Under bitcan_mutex. */
struct bitcan_bus *bitcan_bus_get(unsigned int number)
{
	struct bitcan_bus *bus;

	if (number >= BITCAN_BUSES)
		return NULL;
	if (bitcan_buses[number])
		return bitcan_buses[number];
	bus = kvzalloc(sizeof(*bus), GFP_KERNEL);
	if (!bus)
		return NULL;
	bc_init(&bus->core, &ops, ktime_get_ns());
	bc_rate_set(&bus->core.rate, 500000, 0);
	bus->number = number;
	bus->armed = BC_NEVER;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&bus->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&bus->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	bus->timer.function = on_timer;
#endif
	bitcan_buses[number] = bus;
	return bus;
}

/* When nobody uses them any more. */
void bitcan_buses_free(void)
{
	int i;

	for (i = 0; i < BITCAN_BUSES; i++) {
		if (!bitcan_buses[i])
			continue;
		hrtimer_cancel(&bitcan_buses[i]->timer);
		kvfree(bitcan_buses[i]);
		bitcan_buses[i] = NULL;
	}
}

/*
 * A node on this bus, from its next frame on; -EINVAL: the bus has other bit rates. The first node
 * that is not the tester's sets them. All that the node's owner keeps about it is to be reset before.
 */
int bitcan_attach(struct bitcan_bus *bus, const struct bitcan_wanted *wanted,
		  struct bitcan_member *member, int *node)
{
	struct bc_rate rate, *now = &bus->core.rate;
	u32 nominal = wanted->nominal, data = wanted->data;
	unsigned long flags;
	int err = 0, n = -1;

	if (!bc_rate_set(&rate, nominal, data)) {
		pr_err("bitcan: %s: no bus has %u/%u bit/s: 1 kbit/s to 20 Mbit/s, data not below nominal\n",
		       wanted->name, nominal, data);
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	bitcan_run_now(bus);
	if (!bus->up)
		*now = rate;
	else if (now->nominal != nominal || (data && now->data && now->data != data))
		err = -EINVAL;
	else if (data && !now->data)
		*now = rate;
	if (!err) {
		n = bc_attach(&bus->core, wanted->listen_only, wanted->one_shot, data, BC_NEVER,
			      member);
		if (n < 0)
			err = -ENOSPC;
	}
	rate = *now;
	if (!err) {
		*node = n;
		bus->up++;
		bitcan_arm(bus);
	}
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	if (err == -EINVAL)
		pr_err("bitcan: bus %u runs at %u/%u bit/s, %s is set to %u/%u: give all of a bus the same\n",
		       bus->number, rate.nominal, rate.data, wanted->name, nominal, data);
	else if (err)
		pr_err("bitcan: bus %u is full: %u nodes\n", bus->number, BC_NODES);
	return err;
}

/* Off the bus. Under bitcan_lock. */
void bitcan_detach(struct bitcan_bus *bus, int *node)
{
	bitcan_run_now(bus);
	bc_detach(&bus->core, *node);
	bus->raised &= ~BIT(*node);
	*node = -1;
	bus->up--;
	bitcan_arm(bus);
}

static void no_operation(struct irq_data *data)
{
}

static struct irq_chip chip = {
	.name = "bitcan",
	.irq_mask = no_operation,
	.irq_unmask = no_operation,
};

/* An interrupt line of its own for each controller. */
int bitcan_irq_alloc(void)
{
	/* Without an owner: an interface that is up must not keep the module from being removed. */
	int irq = __irq_alloc_descs(-1, 1, 1, numa_node_id(), NULL, NULL);

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &chip, handle_simple_irq);
	irq_modify_status(irq, IRQ_NOREQUEST | IRQ_NOPROBE, IRQ_NOPROBE);
	return irq;
}

void bitcan_irq_free(int irq)
{
	irq_set_chip_and_handler(irq, NULL, NULL);
	irq_free_desc(irq);
}
