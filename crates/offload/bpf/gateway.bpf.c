// SPDX-License-Identifier: GPL-2.0
/*
 * cangate's routing table as a tc program at the entrance of an interface.
 *
 * The meaning is crates/route's; the tests hold this program against it frame by frame. Nothing
 * is kept between frames but counters and rate limits, and nothing is shared among processors
 * without a lock: a frame that is being worked on lies in the skb and on the stack only, because
 * on PREEMPT_RT one processor can be in this program twice.
 */
#include "kernel.h"
#include "table.h"
#include "frame.h"
#include "limit.h"
#include "signal.h"
#include "change.h"
#include "emit.h"

/* No route took the frame; no verdict of tc's. */
#define UNROUTED 100

/* What is known of the frame while routes are tried. */
struct seen {
	u32 raw;
	u32 len;
	u32 sort; /* one bit of route::sort */
	u32 hops;
};

/* What is still to be done with the frame. One copy always waits until it is known whether it
 * is the last one, which takes the frame itself. */
struct walk {
	u32 taken;
	u32 route;
	u32 to; /* 0: none waits */
};

/* Index::find: what a group knows about an ID. */
INLINE u32 find_in(const struct group *group, u32 raw)
{
	u32 value = raw & group->mask;
	u32 at = group->base + ((value * group->multiplier) >> group->shift);
	for (int i = 0; i < PROBES; i++) {
		struct slot *slot = lookup(&slots, &at);
		if (!slot || !slot->list)
			return 0;
		if (slot->value == value)
			return slot->list;
		at++;
	}
	return 0;
}

GLOBAL int find(u32 number, u32 raw)
{
	struct group *group = lookup(&groups, &number);
	return group ? find_in(group, raw) : 0;
}

/* The only list of several groups with an ID, 0 where there is none, or SEVERAL. */
GLOBAL int find_only(u32 always, u32 first, u32 count, u32 raw)
{
	u32 only = always, several = 0;
	for (u32 i = 0; i < GROUPS; i++) {
		if (i >= count)
			break;
		u32 list = find(first + i, raw);
		/* No branch: the verifier would follow both ways at each group. */
		u32 hit = -(u32)(((u64)0 - list) >> 63);
		asm volatile("" : "+r"(hit));
		several |= only & hit;
		only = (only & ~hit) | list;
	}
	return several ? SEVERAL : only;
}

INLINE int has_condition(const struct pattern *pattern, const void *data, const void *end, u32 there,
			 int is_classic)
{
	u32 condition = pattern->condition;
	return !HAS_CONDITIONS || !condition || holds(data, end, there, condition - 1, is_classic);
}

GLOBAL int has_pattern(struct __sk_buff *skb, u32 number)
{
	struct pattern *pattern = lookup(&patterns, &number);
	u32 size = frame_size(skb);
	u32 at = skb->len - size;
	if (!pattern || at > ROOM_MAX)
		return 0;
	struct frame *frame = frame_at(skb, at, CC_SIZE);
	if (!frame)
		return 0;
	u32 there = frame->len;
	void *end = (void *)(unsigned long)skb->data_end;
	if (size == CC_SIZE) {
		if (frame->id & RTR_FLAG)
			there = 0;
		if (there < pattern->len ||
		    ((frame->data[0] ^ pattern->value[0]) & pattern->mask[0]))
			return 0;
		return has_condition(pattern, frame->data, end, there, 1);
	}
	frame = frame_at(skb, at, FD_SIZE);
	if (!frame || there < pattern->len)
		return 0;
	u64 differs = 0;
	for (int i = 0; i < 8; i++)
		differs |= (frame->data[i] ^ pattern->value[i]) & pattern->mask[i];
	if (differs)
		return 0;
	return has_condition(pattern, frame->data, end, there, 0);
}

/* Sends all copies of a route but the last, and returns that one's destination. */
INLINE int fan_out(struct __sk_buff *skb, u32 number)
{
	struct route *route = lookup(&routes, &number);
	if (!route)
		return 0;
	u32 first = route->first_to, count = route->destinations;
	u32 same = route->flags & ROUTE_SAME_PORT;
	u32 waiting = 0, fresh = TO_FIRST;
	for (u32 i = 0; i < DESTINATIONS; i++) {
		u32 key = first + i;
		if (i >= count)
			break;
		u64 *to = lookup(&destinations, &key);
		if (!to)
			break;
		u32 next = *to;
		if ((next & TO_INDEX) == skb->ifindex && !same)
			continue;
		/* Does nothing without a destination. */
		emit(skb, number, waiting);
		waiting = next | fresh;
		fresh = 0;
	}
	return waiting;
}

/* Tries one route; true where the search ends with it. */
INLINE int step(struct __sk_buff *skb, const struct seen *seen, struct walk *walk, u32 number)
{
	struct route *route = lookup(&routes, &number);
	if (!route)
		return 0;
	if (!(route->sorts & seen->sort) || seen->len < route->len_min ||
	    seen->len > route->len_max)
		return 0;
	if (HAS_PATTERNS && route->pattern != NONE && !has_pattern(skb, route->pattern))
		return 0;
	walk->taken = 1;
	struct route_count *count = lookup(&route_counts, &number);
	if (!count)
		return FIRST;
	count->taken++;
	if (route->flags & ROUTE_DROP) {
		count->stopped[STOP_DROP]++;
		return 1;
	}
	if (seen->hops >= MAX_HOPS) {
		count->stopped[STOP_HOPS]++;
		return FIRST;
	}
	if (HAS_LIMITS && route->limit != NONE && !allowed(route->limit, seen->raw)) {
		count->stopped[STOP_RATE]++;
		return FIRST;
	}
	if (walk->to)
		emit(skb, walk->route, walk->to);
	walk->route = number;
	walk->to = route->to ? (route->to | TO_FIRST) : fan_out(skb, number);
	return FIRST;
}

/* The last copy, and the verdict. */
INLINE int finish(struct __sk_buff *skb, struct walk *walk)
{
	if (!walk->taken)
		return UNROUTED;
	if (TAP || EXACT) {
		if (walk->to)
			emit(skb, walk->route, walk->to);
		return TAP ? NEXT : SHOT;
	}
	if (walk->to)
		return emit(skb, walk->route, walk->to | TO_LAST);
	return SHOT;
}

INLINE int see(struct __sk_buff *skb, struct seen *seen)
{
	u32 size = frame_size(skb);
	u32 at = skb->len - size;
	if (!size || at > ROOM_MAX)
		return 0;
	struct frame *frame = frame_at(skb, at, CC_SIZE);
	if (!frame || frame->len > size - HEADER)
		return 0;
	u32 raw = frame->id;
	seen->raw = raw;
	seen->len = frame->len;
	u32 err = (raw >> 29) & 1;
	seen->sort = size == CC_SIZE ? 1u << (((raw >> 30) & 1) + 2 * err) : 16u << err;
	seen->hops = hops_of(skb);
	return 1;
}

enum {
	STEP_TAKEN = 1,
	STEP_END = 2,
	STEP_WAITS = 4,
};

/* step() for those that try many, verified once: STEP_* in the upper half, and below it where the
 * copy goes that waits now. */
GLOBAL u64 try(struct __sk_buff *skb, u32 number, u32 route, u32 to)
{
	struct seen seen;
	struct walk walk = { .route = route, .to = to };
	if (!see(skb, &seen))
		return (u64)STEP_END << 32;
	u64 flags = step(skb, &seen, &walk, number) ? STEP_END : 0;
	if (walk.taken)
		flags |= STEP_TAKEN;
	if (walk.route == number && walk.to)
		flags |= STEP_WAITS;
	return flags << 32 | walk.to;
}

/* Tries one of many; true where the search ends with it. */
INLINE int try_next(struct __sk_buff *skb, struct walk *walk, u32 number)
{
	u64 result = try(skb, number, walk->route, walk->to);
	u32 flags = result >> 32;
	/* No branch: the verifier would follow both ways of each of many steps. */
	u32 waits = -(flags / STEP_WAITS & 1);
	asm volatile("" : "+r"(waits));
	walk->taken |= flags & STEP_TAKEN;
	walk->route = (walk->route & ~waits) | (number & waits);
	walk->to = (walk->to & ~waits) | ((u32)result & waits);
	return !!(flags & STEP_END);
}

/* The routes of one list. */
INLINE int follow(struct __sk_buff *skb, u32 list)
{
	struct walk walk = { .route = NONE };
	for (u32 i = 0; i < CANDIDATES; i++) {
		u32 at = list + i;
		u64 *number = lookup(&rest, &at);
		if (!number || (u32)*number == NONE)
			break;
		if (try_next(skb, &walk, *number))
			break;
	}
	return finish(skb, &walk);
}

/* The first route of a list that is not before `after`. */
GLOBAL int next_in(u32 list, u32 after)
{
	if (!list)
		return NONE;
	if (list & DIRECT) {
		list &= ~DIRECT;
		return list >= after ? list : NONE;
	}
	for (u32 i = 0; i < CANDIDATES; i++) {
		u32 at = list + i;
		u64 *number = lookup(&rest, &at);
		if (!number)
			break;
		if ((u32)*number >= after)
			return *number;
	}
	return NONE;
}

/* The first route not before `after` of all groups. Without branches where it can: the verifier
 * would follow both ways at each group. */
GLOBAL int next(u32 always, u32 first, u32 count, u32 raw, u32 after)
{
	u64 lowest = (u32)next_in(always, after);
	for (u32 i = 0; i < GROUPS; i++) {
		if (i >= count)
			break;
		u64 route = (u32)next_in(find(first + i, raw), after);
		u64 below = -((route - lowest) >> 63);
		asm volatile("" : "+r"(below));
		lowest = (route & below) | (lowest & ~below);
	}
	return lowest;
}

/* The routes of several lists, in ascending order, each once (Index::merge). Where the lists are
 * is looked up again at each step: there is no room on the stack to keep them. */
INLINE int merge(struct __sk_buff *skb, u32 always, u32 first, u32 count, u32 raw)
{
	struct walk walk = { .route = NONE };
	u32 after = 0;
	for (u32 i = 0; i < MERGED; i++) {
		u32 number = next(always, first, count, raw, after);
		if (number == NONE || try_next(skb, &walk, number))
			break;
		after = number + 1;
	}
	return finish(skb, &walk);
}

/* One route alone. */
INLINE int single(struct __sk_buff *skb, u32 number)
{
	struct walk walk = { .route = NONE };
	try_next(skb, &walk, number);
	return finish(skb, &walk);
}

/* All frames' way: nothing is known yet but that there is a port. */
GLOBAL int long_way(struct __sk_buff *skb, u32 place)
{
	struct port *port = lookup(&ports, &place);
	if (!port)
		return NEXT;
	struct port_count *count = lookup(&port_counts, &port->number);
	if (!count)
		return NEXT;
	struct seen seen;
	if ((port->flags & PORT_CLASSIC && frame_size(skb) == FD_SIZE) || !see(skb, &seen)) {
		u32 first_page = 0;
		if (NEVER && !lookup(&about, &first_page))
			return NEXT;
		count->odd++;
		return NEXT;
	}
	if (skb->len == CC_SIZE && !(port->flags & PORT_ROOMY)) {
		count->local++;
		return NEXT;
	}
	count->seen++;
	struct class *class = &port->of[seen.raw >> 29];
	u32 always = class->always, first = class->first, groups = class->count;
	u32 only = find_only(always, first, groups, seen.raw);
	int verdict = UNROUTED;
	if (only == SEVERAL)
		verdict = merge(skb, always, first, groups, seen.raw);
	else if (only & DIRECT)
		verdict = single(skb, only & ~DIRECT);
	else if (only)
		verdict = follow(skb, only);
	if (verdict != UNROUTED)
		return verdict;
	count->unrouted++;
	return NEXT;
}

/* The data with their checksum. Bytes are read from the stack, one instruction each, and become
 * addresses where they are. */
INLINE u64 summed(const struct sum *sum, u64 data)
{
	volatile u64 stored = data;
	const volatile u8 *byte = (const volatile u8 *)&stored;
	u64 result = 0;
	for (u32 i = 0; i < 8; i++) {
		u64 entry = byte[i];
		asm volatile("%0 += %1" : "+r"(entry) : "r"(sum));
		result ^= ((const struct sum *)entry)->table[i][0];
	}
	return (data & sum->keep) | result * sum->weight;
}

/* A frame that a route has taken, and for which there is no memory. */
GLOBAL int stuck(u32 route, u32 port)
{
	struct route_count *count = lookup(&route_counts, &route);
	struct port_count *came = lookup(&port_counts, &port);
	if (count && came) {
		count->taken++;
		count->failed++;
		came->seen++;
	}
	return SHOT;
}

/*
 * Most frames' way, with everything in one piece: a classic frame that one route takes, which
 * sends it to one interface. Whatever is not so goes the long way, which begins anew: nothing has
 * been counted or changed before.
 */
SEC("classifier")
int cangate(struct __sk_buff *skb)
{
	u32 ifindex = skb->ifindex;
	u32 place = (ifindex * PORT_MULTIPLIER) >> 16 & PORT_MASK;
	struct port *port = lookup(&ports, &place);
	if (!port || port->ifindex != ifindex)
		return NEXT;
	/* Before the frame is private headroom, or nothing. The compiler must not make one case of
	 * these: the verifier is to know the place. */
	u32 size = skb->len;
	u64 at = CC_SIZE;
	if (skb->protocol != htons(ETH_P_CAN))
		return long_way(skb, place);
	if (likely(size == 2 * CC_SIZE)) {
		asm volatile("" : "+r"(at));
	} else if (size == CC_SIZE && (port->flags & PORT_ROOMY) && MAX_HOPS == 1) {
		/* Where a frame may come again, at_of() is thrifty with room. */
		at = 0;
		asm volatile("" : "+r"(at));
	} else {
		return long_way(skb, place);
	}
	void *end = (void *)(unsigned long)skb->data_end;
	struct frame *frame = (void *)(unsigned long)skb->data + at;
	if ((void *)&frame->data[1] > end)
		return long_way(skb, place);
	u32 raw = frame->id;
	struct class *class = &port->of[raw >> 29];
	asm volatile("" : "+r"(class));
	u32 list = class->always;
	if (class->count) {
		if (class->count > 1)
			list = find_only(list, class->first, class->count, raw);
		else if (list)
			return long_way(skb, place);
		else
			list = find_in(&class->group, raw);
	}
	if (!(list & DIRECT))
		return long_way(skb, place);
	u32 number = list & ~DIRECT;
	struct route *route = lookup(&routes, &number);
	if (!route || !(route->short_sorts & class->sort))
		return long_way(skb, place);
	u64 header = *(u64 *)frame, data = frame->data[0];
	/* No raw DLC, and nothing where nothing should be. */
	u32 len = header >> 32;
	if (len > 8 || len < route->len_min || len > route->len_max)
		return long_way(skb, place);
	if (route->changes) {
		if (len < 8)
			data &= (1ull << (len * 8)) - 1;
		header = (header & route->and[0]) ^ route->xor[0];
		data = (data & route->and[1]) ^ route->xor[1];
		if (header >> 32 > 8)
			return long_way(skb, place);
		if (route->changes == CHANGES_SUM) {
			u32 key = route->sum;
			struct sum *sum = lookup(&sums, &key);
			if (!sum)
				return NEXT;
			data = summed(sum, data);
		}
	}
	u32 mark = MARK;
	if (skb->mark) {
		u32 hops = hops_of(skb);
		if (hops >= MAX_HOPS)
			return long_way(skb, place);
		mark |= hops;
	}
	skb->mark = mark + 1;
	struct frame *start = (void *)frame - CC_SIZE;
	if (!at) {
		if (change_head(skb, CC_SIZE, 0))
			return stuck(number, port->number);
		end = (void *)(unsigned long)skb->data_end;
		start = (void *)(unsigned long)skb->data;
		if ((void *)&start->data[1] > end)
			return SHOT;
	}
	/* As in emit(). */
	*(u64 *)start = header;
	start->data[0] = data;
	struct port_count *came = lookup(&port_counts, &port->number);
	if (!came)
		return SHOT;
	came->seen++;
	struct route_count *count = lookup(&route_counts, &number);
	if (!count)
		return SHOT;
	count->taken++;
	if (change_tail(skb, CC_SIZE, 0)) {
		count->failed++;
		return SHOT;
	}
	count->sent++;
	return redirect(route->to & TO_INDEX, 0);
}

/*
 * At the entrance of virtual interfaces, on kernels before 7.0. There, frames that local programs
 * send have room for 16 bytes before them, which emit() needs, and drivers want 16 bytes beside.
 * That an XDP program is there makes the kernel give every frame 256 bytes.
 */
SEC("xdp")
int cangate_room(__attribute__((unused)) struct xdp_md *context)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
