// SPDX-License-Identifier: GPL-2.0
/* How much of the bus a function may take: a bucket that fills with time and pays for each attempt. */
#include "shared.h"

bool sc_budget_fits(const struct sc_budget *budget)
{
	return budget->unit == SC_NO_BUDGET ||
	       (budget->amount <= SC_AMOUNT && budget->burst <= SC_AMOUNT && budget->per &&
		budget->per <= SC_PER);
}

static u64 most(const struct sc_bucket *b)
{
	return b->budget.burst * b->budget.per;
}

static u64 cost(const struct sc_bucket *b, u32 bits)
{
	return (b->budget.unit == SC_FRAMES ? 1 : bits) * b->budget.per;
}

/* What is in it at a time; times before the last one are that one. */
static u64 level(const struct sc_bucket *b, u64 now)
{
	u64 since = now > b->at ? now - b->at : 0, full = most(b);
	u32 amount = b->budget.amount;

	if (!amount || b->parts >= full)
		return b->parts < full ? b->parts : full;
	/* More than it lacks: no product that could overflow. */
	if (since > div64_u64(full - b->parts, amount))
		return full;
	return b->parts + since * amount;
}

/* A full one. */
void sc_bucket_fill(struct sc_bucket *b, const struct sc_budget *budget, u64 now)
{
	b->budget = *budget;
	b->at = now;
	b->parts = most(b);
}

/* When a frame of so many bits may be tried: now or later; BC_NEVER. */
u64 sc_bucket_allows_at(const struct sc_bucket *b, u32 bits, u64 now)
{
	u64 has, needs, wait;

	if (b->budget.unit == SC_NO_BUDGET)
		return now;
	has = level(b, now);
	needs = cost(b, bits) < most(b) ? cost(b, bits) : most(b);
	if (has >= needs)
		return now;
	if (!b->budget.amount)
		return BC_NEVER;
	wait = div64_u64(needs - has + b->budget.amount - 1, b->budget.amount);
	return now + wait < now ? BC_NEVER : now + wait;
}

/* Pays for an attempt. */
void sc_bucket_pay(struct sc_bucket *b, u32 bits, u64 now)
{
	u64 has, pays;

	if (b->budget.unit == SC_NO_BUDGET)
		return;
	has = level(b, now);
	pays = cost(b, bits);
	b->parts = has > pays ? has - pays : 0;
	if (now > b->at)
		b->at = now;
}
