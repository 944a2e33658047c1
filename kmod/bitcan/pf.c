// SPDX-License-Identifier: GPL-2.0
/*
 * What the physical function of a controller that shares itself sets, in words (control.c). Under bitcan_mutex.
 *
 *   pf NAME up bitrate=N [dbitrate=N]    pf NAME down    pf NAME restart
 *   vf NAME N [receive=RULES] [send=RULES] [budget=UNIT:AMOUNT:PER:BURST] [clock=N] [reset]
 *
 * RULES: all, none, or ID:MASK,… in hexadecimal, in SocketCAN's bits. UNIT: frames or bits; PER in ns;
 * budget=none. clock: the function's time stamp counter less the host's (KVM's tsc-offset), or none.
 */
#include <linux/module.h>

#include "functions.h"

static int rules(char *text, struct sc_rule *to, u32 *count)
{
	char *one, *mask;
	u32 n = 0;

	if (!strcmp(text, "all")) {
		to[0].id = 0;
		to[0].mask = 0;
		*count = 1;
		return 0;
	}
	if (!strcmp(text, "none")) {
		*count = 0;
		return 0;
	}
	while ((one = strsep(&text, ","))) {
		mask = strchr(one, ':');
		if (!mask || n == SC_RULES)
			return -EINVAL;
		*mask++ = 0;
		if (kstrtou32(one, 16, &to[n].id) || kstrtou32(mask, 16, &to[n].mask))
			return -EINVAL;
		n++;
	}
	*count = n;
	return 0;
}

static int budget(char *text, struct sc_budget *to)
{
	char *unit = strsep(&text, ":"), *amount = strsep(&text, ":"), *per = strsep(&text, ":");

	if (!strcmp(unit, "none")) {
		to->unit = SC_NO_BUDGET;
		return amount ? -EINVAL : 0;
	}
	if (!strcmp(unit, "frames"))
		to->unit = SC_FRAMES;
	else if (!strcmp(unit, "bits"))
		to->unit = SC_BITS;
	else
		return -EINVAL;
	if (!text || kstrtou32(amount, 0, &to->amount) || kstrtou64(per, 0, &to->per) ||
	    kstrtou32(text, 0, &to->burst) || !sc_budget_fits(to))
		return -EINVAL;
	return 0;
}

/* What is to be changed of a function. */
struct changes {
	struct sc_rights rights;
	bool rights_too, clock_too, timed, reset;
	s64 clock;
};

static int read_changes(char *words, struct changes *c)
{
	char *word;
	int err;

	while ((word = strsep(&words, " "))) {
		if (!*word)
			continue;
		err = -EINVAL;
		if (!strncmp(word, "receive=", 8)) {
			err = rules(word + 8, c->rights.receive, &c->rights.receives);
			c->rights_too = true;
		} else if (!strncmp(word, "send=", 5)) {
			err = rules(word + 5, c->rights.send, &c->rights.sends);
			c->rights_too = true;
		} else if (!strncmp(word, "budget=", 7)) {
			err = budget(word + 7, &c->rights.budget);
			c->rights_too = true;
		} else if (!strncmp(word, "clock=", 6)) {
			c->clock_too = true;
			c->timed = strcmp(word + 6, "none");
			err = c->timed ? kstrtos64(word + 6, 0, &c->clock) : 0;
		} else if (!strcmp(word, "reset")) {
			c->reset = true;
			err = 0;
		}
		if (err) {
			pr_err("bitcan: vf NAME N [receive=all|none|ID:MASK,...] [send=...] [budget=none|frames:AMOUNT:PER:BURST|bits:...] [clock=none|TICKS] [reset]: not so\n");
			return err;
		}
	}
	return 0;
}

static void apply(struct bitcan_shared *s, unsigned int n, const struct changes *c)
{
	struct sc_function *f = &s->ctl.function[n];

	raw_spin_lock_irq(&bitcan_lock);
	bitcan_shared_look(s);
	if (c->clock_too) {
		s->function[n].clock = c->clock;
		f->timed = c->timed;
		sc_set_quiet(f, 0, 0);
	}
	if (c->rights_too)
		sc_set_rights(&s->ctl, n, &c->rights, s->bus->core.now);
	if (c->reset)
		sc_clear(&s->ctl, n);
	bitcan_shared_settle(s);
	raw_spin_unlock_irq(&bitcan_lock);
}

/* NAME N … */
int bitcan_vf(char *words)
{
	char *name = strsep(&words, " "), *number = words ? strsep(&words, " ") : NULL;
	struct bitcan_shared *s = bitcan_shared_named(name);
	struct changes c = { 0 };
	unsigned int n;
	int err;

	if (!s || !number || kstrtouint(number, 0, &n) || n >= s->ctl.functions) {
		pr_err("bitcan: vf NAME N: a controller of model=shared, and one of its functions\n");
		return -ENODEV;
	}
	c.rights = s->ctl.function[n].rights;
	err = words ? read_changes(words, &c) : 0;
	if (!err)
		apply(s, n, &c);
	return err;
}

static int go_up(struct bitcan_shared *s, char *words)
{
	u32 bitrate = 0, data = 0;
	char *word;

	while ((word = strsep(&words, " "))) {
		if (!*word)
			continue;
		if ((!strncmp(word, "bitrate=", 8) && !kstrtou32(word + 8, 0, &bitrate)) ||
		    (!strncmp(word, "dbitrate=", 9) && !kstrtou32(word + 9, 0, &data)))
			continue;
		pr_err("bitcan: pf NAME up bitrate=N [dbitrate=N], not %s\n", word);
		return -EINVAL;
	}
	return bitcan_shared_up(s, bitrate, data);
}

/* NAME up …, NAME down, NAME restart */
int bitcan_pf(char *words)
{
	char *name = strsep(&words, " "), *what = words ? strsep(&words, " ") : NULL;
	struct bitcan_shared *s = bitcan_shared_named(name);
	int err = -EINVAL;

	if (!s) {
		pr_err("bitcan: pf: there is no controller %s of model=shared\n", name);
		return -ENODEV;
	}
	if (what && !strcmp(what, "up"))
		return go_up(s, words);
	if (what && !strcmp(what, "down")) {
		bitcan_shared_down(s);
		return 0;
	}
	if (what && !strcmp(what, "restart")) {
		raw_spin_lock_irq(&bitcan_lock);
		if (s->ctl.node >= 0) {
			bitcan_run_now(s->bus);
			bc_restart(&s->bus->core, s->ctl.node);
			bitcan_arm(s->bus);
			err = 0;
		}
		raw_spin_unlock_irq(&bitcan_lock);
		return err;
	}
	pr_err("bitcan: pf %s up, down or restart\n", name);
	return err;
}
