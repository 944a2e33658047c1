// SPDX-License-Identifier: GPL-2.0
/*
 * A frame in which something goes wrong, simulated bit by bit for all nodes at once: who notices
 * what and when, who flags, how long it lasts.
 */
#include "core.h"

#define FLAG 6			/* bits of an error flag */
#define DELIMITER 8		/* recessive bits after it */
#define STUFF_ERROR 6		/* equal bits in a row */
#define LONGEST_TAIL 64		/* flags, echoes and delimiters after a frame's regular end */

/* What all stations see of a bit. */
struct seen {
	bool recessive;
	u32 run;
	enum bc_role role;
	bool last_of_frame;
	bool corrupt;		/* the receivers' copy differs from what was sent */
};

static bool is_stuffed(enum bc_role role)
{
	return role == BC_ARBITRATION || role == BC_FDF || role == BC_STUFFED;
}

static bool is_fixed_form(enum bc_role role)
{
	return role == BC_CRC_DELIMITER || role == BC_ACK_DELIMITER || role == BC_END;
}

static bool possible(const struct bc_sim *sim, enum bc_kind kind, u32 i)
{
	enum bc_role role = BC_ROLE(sim->bits[0][i]);

	switch (kind) {
	case BC_BIT_ERROR:
		return role == BC_FDF || role == BC_STUFFED || role == BC_FD_CRC ||
		       role == BC_FIXED_STUFF;
	case BC_STUFF_ERROR:
		return role == BC_FDF || role == BC_STUFFED;
	default:
		return i + 1 < sim->length[0] && is_fixed_form(role);
	}
}

/* Puts a fault at a bit where it can happen. */
void bc_place(struct bc_sim *sim, const struct bc_fault *fault, u64 random)
{
	u32 i, count = 0, bit = 0;
	bool found = false;

	sim->disturb = BC_NO_DISTURBANCE;
	sim->victim = fault->victim;
	for (i = 0; i < sim->length[0]; i++)
		count += possible(sim, fault->kind, i);
	if (fault->bit < 0 && count) {
		/* The random-th of them. */
		u32 n = (u32)(((random >> 32) * count) >> 32);

		for (i = 0; i < sim->length[0]; i++)
			if (possible(sim, fault->kind, i) && !n--)
				break;
		bit = i;
		found = true;
	} else {
		for (i = 0; i < sim->length[0]; i++) {
			if (!possible(sim, fault->kind, i))
				continue;
			bit = i;
			found = true;
			if (i >= (u32)fault->bit)
				break;
		}
	}
	sim->disturb_bit = bit;
	switch (fault->kind) {
	case BC_BIT_ERROR:
		sim->disturb = found ? BC_INVERT : BC_NO_DISTURBANCE;
		break;
	case BC_FORM_ERROR:
		sim->disturb = found ? BC_DOMINANT : BC_NO_DISTURBANCE;
		break;
	case BC_STUFF_ERROR:
		sim->disturb = found ? BC_STUFF_AT : BC_NO_DISTURBANCE;
		break;
	case BC_CRC_ERROR:
		sim->disturb = BC_BAD_CRC;
		break;
	case BC_ACK_ERROR:
		sim->disturb = BC_NO_ACK;
		break;
	}
}

static bool is_victim(const struct bc_sim *sim, const struct bc_station *s)
{
	return sim->victim < 0 || sim->victim == s->node;
}

static bool crc_disturbed(const struct bc_sim *sim, const struct bc_station *s)
{
	return sim->disturb == BC_BAD_CRC && is_victim(sim, s);
}

static void step(struct bc_sim *sim, u64 at, const struct bc_station *s, enum bc_what what,
		 u32 bit)
{
	struct bc_step *step;

	if (sim->step_count >= BC_STEPS)
		return;
	step = &sim->steps[sim->step_count++];
	step->at = at;
	step->node = s->node;
	step->what = what;
	step->kind = sim->cause;
	step->by = sim->cause_by;
	step->bit = bit;
}

static void detect(struct bc_sim *sim, struct bc_station *s, u32 bit, u64 at, enum bc_kind kind)
{
	bool exempt = s->passive && kind == BC_ACK_ERROR;

	if (s->listen_only) {
		step(sim, at, s, BC_DEAF, bit);
		s->doing = BC_IS_DONE;
		return;
	}
	if (!sim->caused && (!s->passive || s->sends >= 0)) {
		sim->caused = true;
		sim->cause = kind;
		sim->cause_by = s->node;
	}
	if (s->sends >= 0 && s->doing == BC_IS_SENDING) {
		step(sim, at, s, BC_FAILED, bit);
		if (!sim->caused) {
			sim->steps[sim->step_count - 1].kind = kind;
			sim->steps[sim->step_count - 1].by = s->node;
		}
	} else if (s->sends < 0 && s->doing == BC_IS_RECEIVING) {
		step(sim, at, s, BC_DEAF, bit);
	}
	if (s->sends < 0)
		step(sim, at, s, BC_RX_ERROR, bit);
	else if (!exempt)
		step(sim, at, s, BC_TX_ERROR, bit);
	s->doing = BC_IS_FLAG;
	s->equal = 0;
	s->level = true;
	s->quiet = exempt && s->sends >= 0;
}

/* What a receiver finds wrong with a bit; -1: nothing. */
static int received(const struct bc_sim *sim, const struct bc_station *s, u32 i,
		    const struct seen *seen)
{
	bool bad = seen->corrupt || crc_disturbed(sim, s);

	if (sim->disturb == BC_STUFF_AT && sim->disturb_bit == i && is_victim(sim, s))
		return BC_STUFF_ERROR;
	if (seen->role == BC_NO_ROLE)
		return -1;
	if (is_stuffed(seen->role) && seen->run >= STUFF_ERROR)
		return BC_STUFF_ERROR;
	if (seen->role == BC_FDF && !s->fd && seen->recessive)
		return BC_FORM_ERROR;
	if (seen->role == BC_FIXED_STUFF && seen->run > 1)
		return BC_FORM_ERROR;
	/* A dominant last bit of the end of frame would be an overload frame: not modelled. */
	if (seen->role == BC_END && seen->last_of_frame)
		return -1;
	if (is_fixed_form(seen->role) && !seen->recessive)
		return BC_FORM_ERROR;
	/* It sent a dominant acknowledge and reads it back. */
	if (seen->role == BC_ACK && seen->recessive && !bad && !s->listen_only)
		return BC_BIT_ERROR;
	/* The flag for a wrong checksum starts after the acknowledge delimiter. */
	if (seen->role == BC_ACK_DELIMITER && bad)
		return BC_CRC_ERROR;
	return -1;
}

static void look_as_sender(struct bc_sim *sim, struct bc_station *s, u32 i, u64 at,
			   const struct seen *seen)
{
	enum bc_role role;
	bool recessive;

	if (i >= sim->length[s->sends])
		return;
	role = BC_ROLE(sim->bits[s->sends][i]);
	recessive = sim->bits[s->sends][i] & BC_RECESSIVE;
	if (role == BC_ACK) {
		if (seen->recessive)
			detect(sim, s, i, at, BC_ACK_ERROR);
	} else if (recessive != seen->recessive) {
		detect(sim, s, i, at, is_fixed_form(role) ? BC_FORM_ERROR : BC_BIT_ERROR);
	}
}

static void look_at_flag(struct bc_sim *sim, struct bc_station *s, u32 i, u64 at,
			 const struct seen *seen)
{
	u8 equal = s->equal && s->level == seen->recessive ? s->equal + 1 : 1;

	if (s->quiet && !seen->recessive)
		step(sim, at, s, BC_TX_ERROR, i);
	if (equal == FLAG) {
		s->doing = BC_IS_TAIL;
		s->first = true;
		return;
	}
	s->quiet = s->quiet && seen->recessive;
	s->equal = equal;
	s->level = seen->recessive;
}

static void look(struct bc_sim *sim, struct bc_station *s, u32 i, u64 at,
		 const struct seen *seen)
{
	int kind;

	switch (s->doing) {
	case BC_IS_SENDING:
		look_as_sender(sim, s, i, at, seen);
		break;
	case BC_IS_RECEIVING:
		kind = received(sim, s, i, seen);
		if (kind >= 0)
			detect(sim, s, i, at, kind);
		else if (seen->role == BC_NO_ROLE)
			/* The sender gave up without a trace, and the frame's time is over. */
			s->doing = BC_IS_DONE;
		break;
	case BC_IS_FLAG:
		look_at_flag(sim, s, i, at, seen);
		break;
	case BC_IS_TAIL:
		if (seen->recessive) {
			s->doing = BC_IS_DELIMITER;
			s->left = DELIMITER - 1;
		} else {
			if (s->first && s->sends < 0)
				step(sim, at, s, BC_RX_ERROR_FIRST, i);
			s->first = false;
		}
		break;
	case BC_IS_DELIMITER:
		/* A dominant bit in the last place would be an overload frame: not modelled. */
		if (s->left <= 1)
			s->doing = BC_IS_DONE;
		else if (seen->recessive)
			s->left--;
		else
			detect(sim, s, i, at, BC_FORM_ERROR);
		break;
	case BC_IS_DONE:
		break;
	}
}

/* The bus's level: recessive unless somebody drives it dominant, then the disturbance. */
static bool bus_level(const struct bc_sim *sim, u32 i, enum bc_role role, bool corrupt)
{
	bool recessive = true;
	int n;

	for (n = 0; n < sim->count && recessive; n++) {
		const struct bc_station *s = &sim->stations[n];

		switch (s->doing) {
		case BC_IS_SENDING:
			if (i < sim->length[s->sends] && !(sim->bits[s->sends][i] & BC_RECESSIVE))
				recessive = false;
			break;
		case BC_IS_RECEIVING:
			if (role == BC_ACK && !corrupt && !s->listen_only &&
			    !crc_disturbed(sim, s))
				recessive = false;
			break;
		case BC_IS_FLAG:
			if (!s->passive)
				recessive = false;
			break;
		default:
			break;
		}
	}
	if (sim->disturb == BC_INVERT && sim->disturb_bit == i)
		return !recessive;
	if (sim->disturb == BC_DOMINANT && sim->disturb_bit == i)
		return false;
	if (sim->disturb == BC_NO_ACK && role == BC_ACK)
		return true;
	return recessive;
}

/*
 * The first bit at which anything can differ from an undisturbed frame; at the latest the
 * acknowledge slot. Everybody is in step until then.
 */
static u32 first_trouble(const struct bc_sim *sim, int used)
{
	u32 at, i;
	int n;

	for (at = 0; at < sim->length[0] && BC_ROLE(sim->bits[0][at]) != BC_ACK; at++)
		;
	for (n = 1; n < used; n++)
		for (i = 0; i < at; i++)
			if (i >= sim->length[n] || sim->bits[n][i] != sim->bits[0][i])
				at = i;
	for (n = 0; n < sim->count; n++)
		if (!sim->stations[n].fd)
			break;
	if (n < sim->count)
		for (i = 0; i < at; i++)
			if (BC_ROLE(sim->bits[0][i]) == BC_FDF)
				at = i;
	if ((sim->disturb == BC_INVERT || sim->disturb == BC_DOMINANT ||
	     sim->disturb == BC_STUFF_AT) && sim->disturb_bit < at)
		at = sim->disturb_bit;
	return at;
}

static bool all_done(const struct bc_sim *sim)
{
	int n;

	for (n = 0; n < sim->count; n++) {
		const struct bc_station *s = &sim->stations[n];

		if (s->doing == BC_IS_RECEIVING ? !s->listen_only : s->doing != BC_IS_DONE)
			return false;
	}
	return true;
}

static int first_sending(const struct bc_sim *sim)
{
	int n;

	for (n = 0; n < sim->count; n++)
		if (sim->stations[n].doing == BC_IS_SENDING)
			return sim->stations[n].sends;
	return -1;
}

static bool flagged(const struct bc_sim *sim)
{
	int n;

	for (n = 0; n < sim->count; n++)
		if (sim->stations[n].doing == BC_IS_FLAG && !sim->stations[n].passive)
			return true;
	return false;
}

/*
 * Runs the frame that starts at `start`; stations, bits and disturbance are set, `used` frames
 * are sent.
 */
void bc_simulate(struct bc_sim *sim, u64 start, const struct bc_rate *rate, int used)
{
	u32 nominal = 0, data = 0, i, trouble, run = 0;
	u32 last_nominal = 0, last_data = 0;
	bool corrupt = false, level = true;
	int n, leader = 0;

	sim->step_count = 0;
	sim->success = false;
	sim->caused = false;
	for (n = 0; n < sim->count; n++)
		sim->stations[n].doing = sim->stations[n].sends >= 0 ? BC_IS_SENDING :
								       BC_IS_RECEIVING;
	trouble = first_trouble(sim, used);
	for (i = 0; i < trouble; i++) {
		u8 bit = sim->bits[0][i];
		bool recessive = bit & BC_RECESSIVE;

		run = recessive == level ? run + 1 : 1;
		level = recessive;
		if (bit & BC_FAST)
			data++;
		else
			nominal++;
		if (!level) {
			last_nominal = nominal;
			last_data = data;
		}
	}
	sim->recessive_since = start + bc_time(rate, last_nominal, last_data);
	for (;; i++) {
		int sending = first_sending(sim);
		bool flag = flagged(sim), recessive;
		struct seen seen;
		u32 length;
		u8 bit;
		u64 at;

		if (sending >= 0)
			leader = sending;
		length = sim->length[leader];
		bit = i < length ? sim->bits[leader][i] : BC_NO_ROLE;
		recessive = bus_level(sim, i, BC_ROLE(bit), corrupt);
		run = recessive == level ? run + 1 : 1;
		level = recessive;
		if (bit & BC_FAST && sending >= 0 && !flag)
			data++;
		else
			nominal++;
		at = start + bc_time(rate, nominal, data);
		if (!recessive)
			sim->recessive_since = at;
		seen.recessive = recessive;
		seen.run = run;
		seen.role = BC_ROLE(bit);
		seen.last_of_frame = i + 1 >= length;
		seen.corrupt = corrupt;
		/* Senders first: they are named where all detect an error in one bit. */
		for (n = 0; n < sim->count; n++)
			if (sim->stations[n].sends >= 0)
				look(sim, &sim->stations[n], i, at, &seen);
		for (n = 0; n < sim->count; n++)
			if (sim->stations[n].sends < 0)
				look(sim, &sim->stations[n], i, at, &seen);
		/* A bit that no sender recognizes as its own is wrong for the receivers too. */
		if (i < length && BC_ROLE(bit) != BC_ACK && sending >= 0 && first_sending(sim) < 0)
			corrupt = true;
		sim->end = at;
		if (sending >= 0 && i + 1 >= length && first_sending(sim) >= 0) {
			sim->success = true;
			return;
		}
		if (all_done(sim) || i + 1 > length + LONGEST_TAIL)
			return;
	}
}
