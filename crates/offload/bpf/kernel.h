/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this program needs of the kernel's interface to BPF (include/uapi/linux/bpf.h), written
 * down here so that the object does not depend on which headers a machine has: their layouts go
 * into its BTF, and the object is to be the same bytes everywhere.
 */
#ifndef CANGATE_KERNEL_H
#define CANGATE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef short s16;

/* Only its beginning; the verifier knows it by this name. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
};

struct xdp_md {
	u32 data;
	u32 data_end;
};

struct bpf_spin_lock {
	u32 val;
};

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
/* Verified once, for itself, with arguments of which nothing is known. */
#define GLOBAL __attribute__((noinline))

#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_NOEXIST = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_CSUM_LEVEL_RESET = 3,
	XDP_PASS = 2,
	/* tc's and tcx's verdicts; both know these numbers */
	NEXT = -1,
	SHOT = 2,
	ETH_P_CAN = 0x000c,
	ETH_P_CANFD = 0x000d,
	ETH_P_CANXL = 0x000e,
};

static void *(*lookup)(const void *map, const void *key) = (void *)1;
static long (*update)(const void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*ktime_get_ns)(void) = (void *)5;
static long (*clone_redirect)(struct __sk_buff *skb, u32 ifindex, u64 flags) = (void *)13;
static long (*redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*change_tail)(struct __sk_buff *skb, u32 len, u64 flags) = (void *)38;
static long (*pull_data)(struct __sk_buff *skb, u32 len) = (void *)39;
static long (*change_head)(struct __sk_buff *skb, u32 len, u64 flags) = (void *)43;
static void (*spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static void (*spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static long (*csum_level)(struct __sk_buff *skb, u64 level) = (void *)135;
/* since Linux 5.12 */
static long (*check_mtu)(struct __sk_buff *skb, u32 ifindex, u32 *mtu, int diff, u64 flags) =
	(void *)163;

#define htons(x) ((u16)__builtin_bswap16(x))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
