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

static void on_frame(struct bc_bus *core, int n, int i, bool primary)
{
	struct bitcan_bus *bus = of(core);
	struct bc_slot *slot = &core->nodes[n].slots[i];
	struct bitcan_port *port = core->nodes[n].owner;
	const struct canfd_frame *frame = &slot->frame;
	struct canfd_frame esi;
	int s, r;

	if (primary) {
		for (s = 0; s < core->sender_count; s++) {
			if (core->senders[s].node == n && core->senders[s].forced_esi) {
				esi = slot->frame;
				esi.flags |= CANFD_ESI;
				frame = &esi;
			}
		}
		for (r = 0; r < core->top; r++)
			if (core->nodes[r].owner && bc_receives(core, r))
				bitcan_receive(core->nodes[r].owner, frame, slot->fd);
		bitcan_play_frame(bus, n, slot, frame);
	}
	if (port && port->joined_busy) {
		bitcan_joined_sent(port, true);
	} else if (port) {
		port->tx_done |= BIT(i);
		bitcan_raise(port, BITCAN_TX);
	} else {
		bitcan_play_sent(bus);
	}
}

static void on_error(struct bc_bus *core, int n, int i, const struct bc_step *step, bool primary)
{
	if (primary)
		bitcan_play_error(of(core), n, &core->nodes[n].slots[i]);
}

static void on_state(struct bc_bus *core, int n)
{
	struct bitcan_port *port = core->nodes[n].owner;

	if (core->nodes[n].state == BC_BUS_OFF)
		bitcan_play_bus_off(of(core), n);
	if (port)
		bitcan_raise(port, BITCAN_STATE);
}

static void on_dropped(struct bc_bus *core, int n, int i, enum bc_why why)
{
	struct bitcan_port *port = core->nodes[n].owner;

	if (!port) {
		bitcan_play_dropped(of(core), &core->nodes[n].slots[i]);
	} else if (port->joined_busy) {
		bitcan_joined_sent(port, false);
	} else if (why == BC_ONE_SHOT) {
		port->tx_failed |= BIT(i);
		port->tx_done |= BIT(i);
		bitcan_raise(port, BITCAN_TX);
	}
}

static void on_flagged(struct bc_bus *core, const struct bc_step *step)
{
	struct bitcan_port *port = core->nodes[step->node].owner;

	if (!port || !(port->can.ctrlmode & CAN_CTRLMODE_BERR_REPORTING))
		return;
	port->error = *step;
	port->error_tx = step->what == BC_TX_ERROR;
	bitcan_raise(port, BITCAN_ERROR);
}

static const struct bc_ops ops = {
	.frame = on_frame,
	.error = on_error,
	.state = on_state,
	.dropped = on_dropped,
	.flagged = on_flagged,
};

/* Sets the timer to what happens next; lets it be where it is set to that already. */
void bitcan_arm(struct bitcan_bus *bus)
{
	u64 next = bus->raised ? bus->core.now : bc_next(&bus->core);

	if (next == bus->armed)
		return;
	/* A timer that is too early finds nothing to do: no need to cancel it. */
	if (next == BC_NEVER)
		return;
	bus->armed = next;
	hrtimer_start(&bus->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
}

void bitcan_run_now(struct bitcan_bus *bus)
{
	bc_run(&bus->core, ktime_get_ns());
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct bitcan_bus *bus = container_of(timer, struct bitcan_bus, timer);
	int irqs[BC_NODES], count = 0;
	u32 raised;

	raw_spin_lock(&bitcan_lock);
	bus->armed = BC_NEVER;
	bitcan_run_now(bus);
	raised = bus->raised;
	bus->raised = 0;
	while (raised) {
		struct bitcan_port *port = bus->core.nodes[__ffs(raised)].owner;

		raised &= raised - 1;
		if (port && port->joined_to)
			bitcan_joined_move(port);
		else if (port)
			irqs[count++] = port->irq;
	}
	bitcan_arm(bus);
	raw_spin_unlock(&bitcan_lock);
	while (count--)
		generic_handle_irq(irqs[count]);
	return HRTIMER_NORESTART;
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
