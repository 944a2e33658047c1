//! Common parts of the integration tests: random input, a recording sink, slow references.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

pub mod cangw;
pub mod reference;
pub mod signals;

use cangate_route::*;
use frame::{CanId, FrameRef, Header, Kind};

/// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, good enough to pick cases.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.byte()).collect()
    }
}

/// An owned frame of any kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owned {
    pub header: Header,
    pub data: Vec<u8>,
}

impl Owned {
    pub fn new(kind: Kind, raw: u32, data: &[u8]) -> Self {
        Self {
            header: Header::new(kind, CanId::from_raw(raw), data.len()).unwrap(),
            data: data.to_vec(),
        }
    }

    pub fn view(&self) -> FrameRef<'_> {
        FrameRef::new(self.header, &self.data).unwrap()
    }

    pub fn of(frame: FrameRef<'_>) -> Self {
        Self {
            header: *frame.header(),
            data: frame.data().to_vec(),
        }
    }
}

/// The events of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    Taken(u32),
    Stopped(u32, StopReason),
    Forward {
        route: u32,
        to: u16,
        hops: u8,
        frame: Owned,
    },
}

#[derive(Default)]
pub struct Record(pub Vec<Event>);

impl DecisionSink for Record {
    fn taken(&mut self, route: RouteId) {
        self.0.push(Event::Taken(route.0));
    }

    fn stopped(&mut self, route: RouteId, why: StopReason) {
        self.0.push(Event::Stopped(route.0, why));
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.0.push(Event::Forward {
            route: copy.route.0,
            to: copy.to.0,
            hops: copy.hops,
            frame: Owned::of(copy.frame),
        });
    }
}

pub fn decide(
    table: &RoutingTable,
    memory: &mut TableMemory,
    arrival: FrameArrival,
    frame: &Owned,
) -> Vec<Event> {
    let mut record = Record::default();
    table.decide(memory, arrival, frame.view(), &mut record);
    record.0
}

pub fn arrival(from: u16) -> FrameArrival {
    FrameArrival {
        from: PortId(from),
        now: 0,
        hops: 0,
    }
}

/// A route that sends everything from port 0 to port 1.
pub fn plain(name: &str) -> Route {
    Route::new(name, vec![PortId(0)], vec![PortId(1)])
}

pub fn table(routes: Vec<Route>) -> RoutingTable {
    RoutingTable::compile(
        &Routes {
            routes,
            ..Routes::default()
        },
        3,
    )
    .unwrap()
}

pub fn range(eff: bool, first: u32, last: u32) -> IdFilter {
    IdFilter {
        set: IdSet::Range { eff, first, last },
        inverted: false,
    }
}

pub fn masked(id: u32, mask: u32) -> IdFilter {
    IdFilter {
        set: IdSet::Masked { id, mask },
        inverted: false,
    }
}

/// Numbers that are often equal, so that random filters match random frames.
pub const NUMBERS: [u32; 16] = [
    0,
    1,
    2,
    0x0FF,
    0x100,
    0x122,
    0x123,
    0x124,
    0x3FF,
    0x400,
    0x7FE,
    0x7FF,
    0x800,
    0x12345,
    0x1000_0123,
    0x1FFF_FFFF,
];

pub fn random_number(rng: &mut Rng, eff: bool) -> u32 {
    let number = if rng.one_in(4) {
        rng.next() as u32
    } else {
        rng.pick(&NUMBERS)
    };
    number
        & if eff {
            CanId::EFF_MASK
        } else {
            CanId::SFF_MASK
        }
}

/// SocketCAN's 32 bits with all flags, sometimes with bits that no number has.
pub fn random_raw(rng: &mut Rng) -> u32 {
    let eff = rng.one_in(2);
    let stray = rng.one_in(8);
    let mut raw = random_number(rng, eff || stray);
    if eff {
        raw |= CanId::EFF_FLAG;
    }
    if rng.one_in(6) {
        raw |= CanId::RTR_FLAG;
    }
    if rng.one_in(6) {
        raw |= CanId::ERR_FLAG;
    }
    raw
}

pub fn random_frame(rng: &mut Rng) -> Owned {
    let kind = rng.pick(&[Kind::Classic, Kind::Classic, Kind::Fd, Kind::Xl]);
    let longest = if rng.one_in(10) { 2048 } else { 70 };
    let len = match kind {
        Kind::Classic => rng.below(9),
        Kind::Fd => rng.below(65),
        Kind::Xl => 1 + rng.below(longest),
    } as usize;
    let header = Header::new(kind, CanId::from_raw(random_raw(rng)), len)
        .unwrap()
        .with_flags(rng.byte())
        .with_len8_dlc(rng.below(20) as u8);
    let mut data = rng.bytes(header.data_len());
    for byte in data.iter_mut().take(3) {
        // Payload patterns look for small values here.
        *byte &= 3;
    }
    Owned { header, data }
}

fn random_filter(rng: &mut Rng) -> IdFilter {
    let set = if rng.one_in(2) {
        let eff = rng.one_in(2);
        let (a, b) = (random_number(rng, eff), random_number(rng, eff));
        let single = rng.one_in(2);
        IdSet::Range {
            eff,
            first: a.min(if single { a } else { b }),
            last: a.max(if single { a } else { b }),
        }
    } else {
        let mask = match rng.below(8) {
            0 => 0xC000_07FF,
            1 => 0xDFFF_FFFF,
            2 => 0x7FF,
            3 => 0,
            4 => 0x9FFF_FF00,
            5 => 0x2000_0000 | (rng.next() as u32 & 0x1FF),
            6 => rng.next() as u32 & rng.next() as u32,
            _ => 0x8000_0700,
        };
        IdSet::Masked {
            id: random_raw(rng) & !CanId::ERR_FLAG,
            mask,
        }
    };
    let error = matches!(set, IdSet::Masked { mask, .. } if mask & CanId::ERR_FLAG != 0);
    IdFilter {
        set,
        inverted: !error && rng.one_in(5),
    }
}

fn random_tri(rng: &mut Rng) -> TriState {
    rng.pick(&[
        TriState::Either,
        TriState::Either,
        TriState::No,
        TriState::Yes,
    ])
}

pub fn random_match(rng: &mut Rng) -> FrameMatch {
    let ids = if rng.one_in(8) { 0 } else { 1 + rng.below(4) };
    let mut kinds = KindSet::default();
    if rng.one_in(3) {
        kinds = KindSet {
            classic: rng.one_in(2),
            fd: rng.one_in(2),
            xl: rng.one_in(2),
        };
    }
    let payload = if rng.one_in(4) { 1 + rng.below(2) } else { 0 };
    FrameMatch {
        ids: (0..ids).map(|_| random_filter(rng)).collect(),
        kinds,
        rtr: random_tri(rng),
        err: rng.pick(&[
            TriState::No,
            TriState::No,
            TriState::No,
            TriState::Either,
            TriState::Yes,
        ]),
        payload: (0..payload)
            .map(|_| {
                let n = 1 + rng.below(2) as usize;
                PayloadPattern {
                    at: rng.below(4) as u16,
                    value: rng.bytes(n),
                    mask: (0..n).map(|_| rng.pick(&[1, 2, 0, 0xFF])).collect(),
                }
            })
            .collect(),
        len: rng.one_in(4).then(|| {
            let (a, b) = (rng.below(12) as u16, rng.below(70) as u16);
            (a.min(b), a.max(b))
        }),
        message: None,
        when: rng.one_in(4).then(|| signals::random_condition(rng, 70)),
    }
}

fn random_index(rng: &mut Rng, size: i32) -> i16 {
    (rng.below(2 * size as u32) as i32 - size) as i16
}

pub fn random_action(rng: &mut Rng, size: u32) -> Action {
    let maybe = |rng: &mut Rng| rng.one_in(2);
    match rng.below(10) {
        0..=2 => Action::Modify(Modify {
            op: rng.pick(&[ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set]),
            id: maybe(rng).then(|| match rng.below(2) {
                0 => IdOperand::Raw(random_raw(rng)),
                _ => IdOperand::Id(CanId::from_raw(random_raw(rng) & !0x6000_0000)),
            }),
            len: rng.one_in(4).then(|| match rng.below(3) {
                0 => rng.byte(),
                _ => rng.below(20) as u8,
            }),
            flags: maybe(rng).then(|| rng.byte()),
            data: maybe(rng).then(|| {
                let n = rng.below(size.min(64) + 1) as usize;
                rng.bytes(n)
            }),
        }),
        3 => Action::OffsetId(OffsetId {
            by: rng.pick(&[1, -1, 0x100, -0x100, 0x1000_0000, -0x1FFF_FFFF]),
        }),
        4 => {
            let eff = rng.pick(&[None, None, Some(false), Some(true)]);
            let count = 1 + rng.below(0x200);
            let wide = rng.one_in(3);
            let most = if eff == Some(false) || !wide {
                0x7FF
            } else {
                0xFFFF
            };
            Action::MapId(MapId {
                from: rng.below(0x600),
                to: rng.below(most + 1 - count),
                count,
                eff,
            })
        }
        5 => {
            let count = rng.below(size.min(12));
            Action::CopyBytes(CopyBytes {
                from: rng.below(size - count) as u16,
                to: rng.below(size - count) as u16,
                count: count as u16,
                clear: maybe(rng),
            })
        }
        6 => Action::MapTable(random_table(rng)),
        7 => Action::XorSum(XorSum {
            from: random_index(rng, size as i32),
            to: random_index(rng, size as i32),
            result: random_index(rng, size as i32),
            init: rng.byte(),
        }),
        8 => Action::Crc8(random_crc8(rng, size as i32)),
        _ => Action::WriteSignals(writes_within(rng, size)),
    }
}

/// Assignments that the longest payload has room for.
fn writes_within(rng: &mut Rng, size: u32) -> WriteSignals {
    loop {
        let action = signals::random_writes(rng, size);
        let fits = |end: usize| end <= size as usize;
        let mut writes = action.writes.iter();
        if writes.all(|write| fits(write.to.end()) && fits(write.source.end())) {
            return action;
        }
    }
}

/// A table of up to six blocks, none of which begins inside another one.
fn random_table(rng: &mut Rng) -> MapTable {
    let mut first = 0;
    let count = rng.below(6);
    let blocks = (0..count).map(|_| {
        first += rng.below(0x60);
        let more = rng.below(0x20);
        let block = MappedBlock {
            from_eff: false,
            first,
            last: first + more,
            to_eff: rng.one_in(2),
            to: rng.below(0x700),
        };
        first += more + 1;
        block
    });
    let mut blocks: Vec<MappedBlock> = blocks.collect();
    if rng.one_in(2) {
        blocks.iter_mut().for_each(|block| block.from_eff = true);
    }
    blocks.reverse();
    MapTable { blocks }
}

pub fn random_crc8(rng: &mut Rng, size: i32) -> Crc8 {
    let mut table = [0; 256];
    table.fill_with(|| rng.byte());
    Crc8 {
        from: random_index(rng, size),
        to: random_index(rng, size),
        result: random_index(rng, size),
        init: rng.byte(),
        final_xor: rng.byte(),
        table,
        profile: match rng.below(4) {
            0 => Crc8Profile::None,
            1 => Crc8Profile::OneByte(rng.byte()),
            2 => Crc8Profile::Sixteen(std::array::from_fn(|_| rng.byte())),
            _ => Crc8Profile::SffIdXor,
        },
    }
}

/// Routes over three ports that compile.
pub fn random_routes(rng: &mut Rng) -> Routes {
    let max_hops = 1 + rng.below(6) as u8;
    let count = if rng.one_in(10) { 40 } else { rng.below(6) };
    let routes = (0..count)
        .map(|at| {
            let subset = |rng: &mut Rng| -> Vec<PortId> {
                let bits = 1 + rng.below(7);
                (0..3).filter(|n| bits >> n & 1 != 0).map(PortId).collect()
            };
            let drop = rng.one_in(10);
            let matching = random_match(rng);
            let size = match (matching.kinds.classic, matching.kinds.fd, matching.kinds.xl) {
                (true, false, false) => 8,
                (_, true, false) => 64,
                _ => 80,
            };
            let actions = if drop || rng.one_in(2) {
                0
            } else {
                1 + rng.below(4)
            };
            let (from, to) = (subset(rng), subset(rng));
            let mut route = Route {
                name: format!("route {at}"),
                allow_same_port: (from.len() == 1 && from == to) || rng.one_in(3),
                from,
                to: if drop { Vec::new() } else { to },
                matching,
                actions: (0..actions).map(|_| random_action(rng, size)).collect(),
                drop,
                limit: None,
                hop_limit: rng.one_in(4).then(|| 1 + rng.below(max_hops.into()) as u8),
                echo: false,
                keep_stamp: false,
                verify: None,
                protect: None,
            };
            // All of its frames would become impossible ones, which is refused.
            let is_refused = RoutingTable::compile(
                &Routes {
                    max_hops,
                    routes: vec![route.clone()],
                    ..Routes::default()
                },
                3,
            )
            .is_err_and(|why| {
                let is_made = |what: &str| {
                    what.starts_with("makes FD frames remote")
                        || what.starts_with("gives XL frames")
                };
                why.iter().any(|why| is_made(&why.what))
            });
            if is_refused {
                route.actions.clear();
            }
            route
        })
        .collect();
    Routes {
        mode: rng.pick(&[RouteMode::All, RouteMode::All, RouteMode::First]),
        max_hops,
        routes,
    }
}
