//! The objects that both benches measure: routes, frames that they take, and a sink that counts as
//! a gateway's would.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

pub mod condition;

use frame::{CanId, Frame};
use route::*;

#[derive(Default)]
pub struct Count {
    pub taken: u64,
    pub stopped: u64,
    pub forwarded: u64,
    pub bytes: u64,
}

impl DecisionSink for Count {
    fn taken(&mut self, _: RouteId) {
        self.taken += 1;
    }

    fn stopped(&mut self, _: RouteId, _: StopReason) {
        self.stopped += 1;
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.forwarded += 1;
        self.bytes +=
            u64::from(copy.to.0) + copy.frame.data().iter().map(|b| u64::from(*b)).sum::<u64>();
    }
}

pub fn route(id: IdFilter, actions: Vec<Action>) -> Route {
    Route {
        matching: FrameMatch {
            ids: vec![id],
            ..FrameMatch::default()
        },
        actions,
        ..Route::new("", vec![PortId(0)], vec![PortId(1)])
    }
}

pub fn filter(set: IdSet) -> IdFilter {
    IdFilter {
        set,
        inverted: false,
    }
}

/// Numbers that are spread over 29 bits and all different.
pub fn spread(n: u32) -> u32 {
    n.wrapping_mul(0x9E37_79B1) & CanId::EFF_MASK
}

/// One route for each ID; the frame that the nth route takes.
pub type Make = fn(u32) -> (IdFilter, u32);

pub fn exact_eff(n: u32) -> (IdFilter, u32) {
    let number = spread(n);
    let set = IdSet::Range {
        eff: true,
        first: number,
        last: number,
    };
    (filter(set), CanId::EFF_FLAG | number)
}

pub fn exact_sff(n: u32) -> (IdFilter, u32) {
    let number = n & CanId::SFF_MASK;
    let set = IdSet::Range {
        eff: false,
        first: number,
        last: number,
    };
    (filter(set), number)
}

/// One mask: parameter group without priority and source address.
pub fn one_mask(n: u32) -> (IdFilter, u32) {
    let id = CanId::EFF_FLAG | (n << 8 & 0x03FF_FF00);
    let mask = 0x83FF_FF00;
    (filter(IdSet::Masked { id, mask }), id)
}

/// Eight masks, as a gateway for J1939 would have: with and without priority, source address,
/// part of the source address, remote frames. The number of the route is the parameter group, so
/// that each frame has one route.
pub fn eight_masks(n: u32) -> (IdFilter, u32) {
    const MASKS: [u32; 8] = [
        0x9FFF_FFFF,
        0x9FFF_FF00,
        0x83FF_FF00,
        0x83FF_FFFF,
        0xDFFF_FFFF,
        0xDFFF_FF00,
        0xC3FF_FF00,
        0x9FFF_FFF0,
    ];
    let mask = MASKS[n as usize % 8];
    let id = CanId::EFF_FLAG | 0x1800_0021 | (n << 8 & 0x03FF_FF00);
    (filter(IdSet::Masked { id, mask }), id)
}

pub fn one_modification() -> Vec<Action> {
    vec![Action::Modify(Modify {
        op: ModifyOp::Set,
        id: Some(IdOperand::Raw(0x123)),
        len: None,
        flags: None,
        data: None,
    })]
}

pub fn modification_and_checksum() -> Vec<Action> {
    let mut actions = vec![Action::Modify(Modify {
        op: ModifyOp::Or,
        id: None,
        len: None,
        flags: None,
        data: Some(vec![1]),
    })];
    actions.push(Action::Crc8(Crc8 {
        from: 0,
        to: -2,
        result: -1,
        init: 0xFF,
        final_xor: 0xFF,
        table: Crc8::table_of(0x1D),
        profile: Crc8Profile::None,
    }));
    actions
}

/// Name, routes, mode, what they do, how many.
pub type Case = (
    &'static str,
    Make,
    RouteMode,
    fn() -> Vec<Action>,
    &'static [u32],
);

pub const CASES: [Case; 8] = [
    (
        "eff exact",
        exact_eff,
        RouteMode::All,
        Vec::new,
        &[1, 64, 2048, 100_000],
    ),
    (
        "eff exact, first",
        exact_eff,
        RouteMode::First,
        Vec::new,
        &[1, 64, 2048, 100_000],
    ),
    (
        "eff exact, set id",
        exact_eff,
        RouteMode::All,
        one_modification,
        &[1, 64, 2048, 100_000],
    ),
    (
        "eff exact, or data + crc8",
        exact_eff,
        RouteMode::All,
        modification_and_checksum,
        &[1, 2048],
    ),
    (
        "1 mask",
        one_mask,
        RouteMode::All,
        Vec::new,
        &[1, 64, 2048, 100_000],
    ),
    (
        "8 masks",
        eight_masks,
        RouteMode::All,
        Vec::new,
        &[1, 8, 64, 2048, 100_000],
    ),
    (
        "8 masks, first",
        eight_masks,
        RouteMode::First,
        Vec::new,
        &[8, 2048, 100_000],
    ),
    (
        "sff exact",
        exact_sff,
        RouteMode::All,
        Vec::new,
        &[1, 64, 2048],
    ),
];

/// One table and the frames to try on it.
pub struct Bench {
    pub table: RoutingTable,
    pub memory: TableMemory,
    pub sink: Count,
    /// A frame that a route in the middle takes.
    pub fixed: Frame,
    /// Frames that random routes take: too many for a branch predictor to learn, few enough
    /// that the frames themselves stay in the second-level cache.
    pub random: Vec<Frame>,
}

pub const ARRIVAL: FrameArrival = FrameArrival {
    from: PortId(0),
    now: 0,
    hops: 0,
};

impl Bench {
    pub fn new(case: &Case, count: u32) -> Self {
        let (_, make, mode, actions, _) = *case;
        let routes = Routes {
            mode,
            max_hops: 1,
            routes: (0..count).map(|n| route(make(n).0, actions())).collect(),
        };
        let table = RoutingTable::compile(&routes, 2).unwrap();
        let memory = table.memory();
        let frame =
            |n: u32| Frame::classic(CanId::from_raw(make(n).1), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut state = 1_u64;
        let random = (0..4096)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                frame((state >> 33) as u32 % count)
            })
            .collect();
        Self {
            table,
            memory,
            sink: Count::default(),
            fixed: frame(count / 2),
            random,
        }
    }
}
