/* SPDX-License-Identifier: GPL-2.0 */
/* One copy of a frame leaves. */
#ifndef CANGATE_EMIT_H
#define CANGATE_EMIT_H

#include "change.h"

/* Returns whether FD frames pass the port, and its interface carries them. The kernel does not check
 * a redirected frame: a driver would put 64 bytes into a classic frame's registers. */
INLINE int carries_fd(struct __sk_buff *skb, u32 to)
{
	u32 mtu = FD_SIZE;
	if (to & TO_CLASSIC)
		return 0;
	if (HAS_CHECK_MTU)
		return check_mtu(skb, to & TO_INDEX, &mtu, 0, 0) == 0;
	return !!(to & TO_FD);
}

INLINE void copy_frame(struct frame *to, const struct frame *from, u32 size)
{
	u64 *target = (u64 *)to;
	const u64 *source = (const u64 *)from;
	for (u32 i = 0; i < size / 8; i++)
		target[i] = source[i];
}

/* Puts the frame to where the skb begins, with at least one byte of former headers behind the
 * place of the MAC header: bpf_redirect() takes nothing else for a CAN interface. Returns where
 * the frame was, 0 where there is no memory. */
INLINE u32 at_of(struct __sk_buff *skb, u32 size)
{
	u32 at = skb->len - size;
	if (at)
		return at;
	/* A frame of a local program, of a driver since 7.0, or one that passed a gateway before.
	 * Each pass moves the frame down by this much, while the skb's transport header stays where
	 * it was at the first one; and change_tail() does not cut before that. So all passes
	 * together may have a frame's size. */
	at = MAX_HOPS == 1 ? 16 : MAX_HOPS == 2 ? 8 : MAX_HOPS <= 4 ? 4 : 2;
	if (size == FD_SIZE)
		at = at < 8 ? at * 4 : 32;
	return change_head(skb, at, 0) ? 0 : at;
}

/*
 * Changes the frame as the route says and sends it to one interface. With TO_LAST the frame is
 * used up, and the verdict is returned; else the skb is afterwards as it was.
 */
GLOBAL int emit(struct __sk_buff *skb, u32 number, u32 to)
{
	struct frame saved;
	struct route *route = lookup(&routes, &number);
	u32 size = frame_size(skb);
	if (!to || !route || !size)
		return SHOT;
	struct route_count *count = lookup(&route_counts, &number);
	if (!count)
		return SHOT;
	if (!(to & TO_INDEX) || (size == FD_SIZE && !carries_fd(skb, to))) {
		count->failed++;
		return SHOT;
	}
	u32 at = at_of(skb, size);
	if (!at || at > ROOM_MAX) {
		count->failed++;
		return SHOT;
	}
	struct frame *frame = frame_at(skb, at, CC_SIZE), *start = frame_at(skb, 0, CC_SIZE);
	if (!frame || !start)
		return SHOT;
	if (size == CC_SIZE) {
		if (!(to & TO_LAST))
			copy_frame(&saved, frame, CC_SIZE);
		copy_frame(start, frame, CC_SIZE);
	} else {
		frame = frame_at(skb, at, FD_SIZE);
		start = frame_at(skb, 0, FD_SIZE);
		if (!frame || !start)
			return SHOT;
		if (!(to & TO_LAST))
			copy_frame(&saved, frame, FD_SIZE);
		copy_frame(start, frame, FD_SIZE);
	}
	if (HAS_OPS && route->ops) {
		u32 stop = change(skb, number);
		if (stop < STOPS) {
			if (to & TO_FIRST) {
				if (stop == STOP_LONG)
					count->stopped[STOP_LONG]++;
				else if (stop == STOP_ABSENT)
					count->stopped[STOP_ABSENT]++;
				else if (stop == STOP_RANGE)
					count->stopped[STOP_RANGE]++;
				else
					count->stopped[STOP_ID]++;
			}
			if (to & TO_LAST)
				return SHOT;
			goto restore;
		}
	}
	u32 mark = skb->mark, hops = hops_of(skb) + 1;
	/* Only the first gateway on a frame's way can shorten it. */
	if (hops == 1 && route->hop_limit)
		hops = MAX_HOPS - route->hop_limit + 1;
	skb->mark = MARK | hops;
	if (route->flags & ROUTE_ECHO)
		/* As a frame from a packet socket: the driver shows it to local programs. */
		csum_level(skb, BPF_CSUM_LEVEL_RESET);
	if (change_tail(skb, size, 0)) {
		count->failed++;
		if (to & TO_LAST)
			return SHOT;
	} else if (to & TO_LAST) {
		count->sent++;
		return redirect(to & TO_INDEX, 0);
	} else if (clone_redirect(skb, to & TO_INDEX, 0)) {
		count->failed++;
	} else {
		count->sent++;
	}
	skb->mark = mark;
restore:
	if (skb->len != at + size && change_tail(skb, at + size, 0))
		return SHOT;
	start = frame_at(skb, at, CC_SIZE);
	if (!start)
		return SHOT;
	if (size == CC_SIZE) {
		copy_frame(start, &saved, CC_SIZE);
	} else {
		start = frame_at(skb, at, FD_SIZE);
		if (start)
			copy_frame(start, &saved, FD_SIZE);
	}
	return SHOT;
}

#endif
