// SPDX-License-Identifier: GPL-2.0
/* /dev/bitcan: interfaces and faults, in words. See bitcan.h. */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../vfcan/vfcan.h"
#include "kernel.h"

#define LINE 256

static int show(struct seq_file *seq, void *unused)
{
	struct bitcan_port *port;

	mutex_lock(&bitcan_mutex);
	list_for_each_entry(port, &bitcan_ports, list)
		seq_printf(seq, "%s bus=%u model=%s\n", port->dev->name, port->ctl.bus->number,
			   bitcan_model_of(port)->name);
	bitcan_chardev_show(seq);
	bitcan_mapped_show(seq);
	bitcan_shared_show(seq);
	mutex_unlock(&bitcan_mutex);
	return 0;
}

static int control_open(struct inode *inode, struct file *file)
{
	/* The misc device, which seq_file takes for a mistake. */
	file->private_data = NULL;
	return single_open(file, show, NULL);
}

/* Is it this word, with a number? */
static bool number(const char *word, const char *name, unsigned int *value)
{
	size_t len = strlen(name);

	return !strncmp(word, name, len) && !kstrtouint(word + len, 0, value);
}

/* NAME bus=N model=M */
static int add(char *words)
{
	char *name = strsep(&words, " "), *word, *model = NULL;
	unsigned int bus = BITCAN_BUSES, functions = 1, queue = VFCAN_RING, fifo = VFCAN_RING;

	while ((word = strsep(&words, " "))) {
		if (!*word)
			continue;
		if (number(word, "bus=", &bus) || number(word, "functions=", &functions) ||
		    number(word, "queue=", &queue) || number(word, "fifo=", &fifo)) {
			continue;
		} else if (!strncmp(word, "model=", 6)) {
			model = word + 6;
		} else {
			pr_err("bitcan: add NAME bus=N model=M, not %s\n", word);
			return -EINVAL;
		}
	}
	if (!model) {
		pr_err("bitcan: add %s: say model=sja1000, mscan, chardev-sja1000, chardev-mscan, mapped or shared\n", name);
		return -EINVAL;
	}
	if (!strcmp(model, "shared"))
		return bitcan_shared_add(name, bus, functions, queue, fifo);
	return bitcan_add(name, bus, model, bitcan_net());
}

/* FROM TO */
static int join(char *words)
{
	char *name = strsep(&words, " ");
	struct bitcan_port *from = bitcan_find(name, bitcan_net()), *to = NULL;

	if (words)
		to = bitcan_find(strim(words), bitcan_net());
	if (!from || !to) {
		pr_err("bitcan: join FROM TO: two interfaces that are here; a mapped controller cannot be joined\n");
		return -ENODEV;
	}
	return bitcan_join(from, to);
}

static int part(char *name)
{
	struct bitcan_port *port = bitcan_find(name, bitcan_net());

	if (!port) {
		pr_err("bitcan: no interface %s here\n", name);
		return -ENODEV;
	}
	return bitcan_part(port);
}

static const char *const kinds[] = {
	[BC_BIT_ERROR] = "bit",
	[BC_STUFF_ERROR] = "stuff",
	[BC_FORM_ERROR] = "form",
	[BC_CRC_ERROR] = "crc",
	[BC_ACK_ERROR] = "ack",
};

struct fault_words {
	unsigned int bus, frame, count, rate, seed;
	int bit, kind;
	const char *node;
};

static int parse_fault(char *words, struct fault_words *f)
{
	char *word, *value;
	int err, i;

	while ((word = strsep(&words, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			goto unknown;
		*value++ = 0;
		err = 0;
		if (!strcmp(word, "bus"))
			err = kstrtouint(value, 0, &f->bus);
		else if (!strcmp(word, "frame"))
			err = kstrtouint(value, 0, &f->frame);
		else if (!strcmp(word, "count"))
			err = kstrtouint(value, 0, &f->count);
		else if (!strcmp(word, "rate"))
			err = kstrtouint(value, 0, &f->rate);
		else if (!strcmp(word, "seed"))
			err = kstrtouint(value, 0, &f->seed);
		else if (!strcmp(word, "bit"))
			err = kstrtoint(value, 0, &f->bit);
		else if (!strcmp(word, "node"))
			f->node = value;
		else if (strcmp(word, "kind"))
			goto unknown;
		if (!strcmp(word, "kind")) {
			for (i = 0; i < ARRAY_SIZE(kinds); i++)
				if (!strcmp(value, kinds[i]))
					break;
			if (i == ARRAY_SIZE(kinds))
				err = -EINVAL;
			f->kind = i;
		}
		if (err) {
			pr_err("bitcan: fault: %s cannot be %s\n", word, value);
			return err;
		}
	}
	return 0;
unknown:
	pr_err("bitcan: fault bus=N [node=NAME frame=N count=N | rate=PPM seed=N] [kind=bit|stuff|form|crc|ack] [bit=N], not %s\n",
	       word);
	return -EINVAL;
}

static int fault(char *words)
{
	struct fault_words f = {
		.bus = BITCAN_BUSES, .frame = 1, .count = 1, .rate = U32_MAX, .bit = -1,
	};
	struct bitcan_member *member = NULL;
	struct bitcan_bus *bus;
	struct bc_fault plan;
	unsigned long flags;
	int err;

	err = parse_fault(words, &f);
	if (err)
		return err;
	bus = f.bus < BITCAN_BUSES ? bitcan_buses[f.bus] : NULL;
	if (!bus || !f.frame || (f.rate != U32_MAX && f.rate > 1000000)) {
		pr_err("bitcan: fault: bus= must be one in use, frame= at least 1, rate= at most 1000000\n");
		return -EINVAL;
	}
	if (f.node && strcmp(f.node, "tester")) {
		struct bitcan_port *port = bitcan_find(f.node, bitcan_net());
		struct bitcan_bus *its = port ? port->ctl.bus : NULL;

		if (port)
			member = &port->ctl.member;
		else
			member = bitcan_chardev_find(f.node, &its);
		if (!member)
			member = bitcan_mapped_find(f.node, &its);
		if (!member)
			member = bitcan_shared_find(f.node, &its);
		if (!member || its != bus) {
			pr_err("bitcan: fault: no interface or controller %s on bus %u\n", f.node,
			       f.bus);
			return -ENODEV;
		}
	}
	raw_spin_lock_irqsave(&bitcan_lock, flags);
	bitcan_run_now(bus);
	if (f.rate != U32_MAX) {
		bus->core.fault_ppm = f.rate;
		bus->core.fault_seed = f.seed;
		bus->core.fault_kind = f.kind;
		bus->core.planned = false;
	} else {
		plan.kind = f.kind;
		plan.bit = f.bit;
		plan.victim = -1;
		plan.node = -1;
		plan.start = bus->core.starts;
		if (f.node) {
			int i;

			/* The tester is the node without an owner. */
			for (i = 0; i < bus->core.top; i++)
				if (bus->core.nodes[i].present && bus->core.nodes[i].owner == member)
					plan.node = i;
			if (plan.node < 0)
				err = -ENETDOWN;
			else
				plan.start = bus->core.nodes[plan.node].starts;
		}
		plan.start += f.frame;
		while (!err && f.count--) {
			if (!bc_plan_fault(&bus->core, &plan))
				err = -ENOSPC;
			plan.start++;
		}
	}
	bitcan_arm(bus);
	raw_spin_unlock_irqrestore(&bitcan_lock, flags);
	if (err == -ENETDOWN)
		pr_err("bitcan: fault: %s is not on bus %u: bring it up, or start it, first\n", f.node, f.bus);
	else if (err)
		pr_err("bitcan: fault: at most %u can be planned at a time\n", BC_FAULTS);
	return err;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *line, *words, *word;
	int err;

	if (size >= LINE)
		return -EINVAL;
	line = memdup_user_nul(from, size);
	if (IS_ERR(line))
		return PTR_ERR(line);
	words = strim(line);
	word = strsep(&words, " ");
	if (words)
		words = skip_spaces(words);
	mutex_lock(&bitcan_mutex);
	if (!words) {
		pr_err("bitcan: add, del, join, part, fault, pf or vf, and what\n");
		err = -EINVAL;
	} else if (!strcmp(word, "add")) {
		err = add(words);
	} else if (!strcmp(word, "del")) {
		err = bitcan_find(words, bitcan_net()) ? bitcan_del(words, bitcan_net()) :
							 bitcan_chardev_del(words);
		if (err == -ENOENT)
			err = bitcan_shared_del(words);
		if (err == -ENOENT)
			err = bitcan_mapped_del(words);
	} else if (!strcmp(word, "join")) {
		err = join(words);
	} else if (!strcmp(word, "part")) {
		err = part(words);
	} else if (!strcmp(word, "fault")) {
		err = fault(words);
	} else if (!strcmp(word, "pf")) {
		err = bitcan_pf(words);
	} else if (!strcmp(word, "vf")) {
		err = bitcan_vf(words);
	} else {
		pr_err("bitcan: add, del, join, part, fault, pf or vf, not %s\n", word);
		err = -EINVAL;
	}
	mutex_unlock(&bitcan_mutex);
	kfree(line);
	return err ? err : size;
}

static long control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return cmd == BITCAN_NAPI ? bitcan_napi_tell((const void __user *)arg) : -ENOTTY;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.read = seq_read,
	.write = control_write,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = seq_lseek,
	.release = single_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bitcan",
	.fops = &fops,
	.mode = 0600,
};

int bitcan_control_init(void)
{
	return misc_register(&device);
}

void bitcan_control_exit(void)
{
	misc_deregister(&device);
}

/* NAME:BUS:MODEL,NAME:BUS:MODEL */
int bitcan_parse_nodes(const char *nodes)
{
	char *copy = kstrdup(nodes, GFP_KERNEL), *all = copy, *one;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (one = strsep(&all, ","))) {
		char *name = strsep(&one, ":"), *bus = strsep(&one, ":");
		unsigned int number;

		if (!one || kstrtouint(bus, 0, &number)) {
			pr_err("bitcan: nodes=%s: NAME:BUS:MODEL,... is wanted\n", nodes);
			err = -EINVAL;
			break;
		}
		mutex_lock(&bitcan_mutex);
		err = bitcan_add(name, number, one, &init_net);
		mutex_unlock(&bitcan_mutex);
	}
	kfree(copy);
	return err;
}
