//! The routes of a gateway under test: defined once, for every data path.

use crate::choices::{FilterChoice, HopChoice, ModifyChoice, VirtualKind};
use crate::settings::Experiment;
use frame::CanId;
use route::{
    Action, Crc8, Crc8Profile, IdFilter, IdSet, KindSet, ModifyOp, PortId, Route, Routes, XorSum,
};

/// The identifier of frames for which no filter requires another one; also the first of hops.
const ID: u32 = 0x123;
/// The first of the EFF filters' identifiers.
const EFF_FIRST: u32 = 0x1000_0000;
const EFF_FLAG: u32 = 0x8000_0000;
/// EFF and RTR flags and the 11 bits of an SFF identifier: the kernel keeps such a filter in a
/// table (`can_rcv_list_find` of net/can/af_can.c).
const SFF_MASK: u32 = 0xC000_07FF;
/// The same for EFF: hashed.
const EFF_MASK: u32 = 0xDFFF_FFFF;
/// No flag: the filter takes both formats and is walked in a list (gateway-2010-draft §IV-C1).
const LIST_MASK: u32 = 0x0000_07FF;
/// SAE J1850's polynomial, of the CRC8 checksum.
const J1850: u8 = 0x1D;
/// The identifier that [`ModifyChoice::Id`] sets.
const NEW_ID: u32 = 0x124;

/// Returns the identifier of the frames to send: the one that the last filter takes.
#[must_use]
pub fn sent_id(experiment: &Experiment) -> CanId {
    CanId::from_raw(match experiment.filters {
        FilterChoice::None => ID,
        FilterChoice::Sff(n) | FilterChoice::List(n) => n.saturating_sub(1),
        FilterChoice::Eff(n) => EFF_FLAG | (EFF_FIRST + n.saturating_sub(1)),
    })
}

/// Returns the gateway's routes, in the order in which they are tried; the last one takes the
/// frames.
#[must_use]
pub fn routes(experiment: &Experiment) -> Routes {
    let routes = if experiment.hops == HopChoice::NONE {
        filtered(experiment)
    } else {
        chained(experiment)
    };
    Routes {
        // The number of passes through can-gw: one more than through virtual interfaces.
        max_hops: experiment.hops.count + 1,
        routes,
        ..Routes::default()
    }
}

fn route(name: String, from: usize, to: usize, fd: bool) -> Route {
    let port = |n| PortId(u16::try_from(n).unwrap_or(u16::MAX));
    let mut route = Route::new(name, vec![port(from)], vec![port(to)]);
    // A rule of can-gw takes one kind.
    route.matching.kinds = KindSet {
        classic: !fd,
        fd,
        xl: false,
    };
    route
}

fn masked(id: u32, mask: u32) -> IdFilter {
    IdFilter {
        set: IdSet::Masked { id, mask },
        inverted: false,
    }
}

fn filtered(experiment: &Experiment) -> Vec<Route> {
    let fd = experiment.is_fd();
    let (count, first, mask) = match experiment.filters {
        FilterChoice::None => (1, None, 0),
        FilterChoice::Sff(n) => (n, Some(0), SFF_MASK),
        FilterChoice::List(n) => (n, Some(0), LIST_MASK),
        FilterChoice::Eff(n) => (n, Some(EFF_FLAG | EFF_FIRST), EFF_MASK),
    };
    let one = |n: u32| {
        let mut route = route(format!("r{n}"), 0, 1, fd);
        route
            .matching
            .ids
            .extend(first.map(|id| masked(id + n, mask)));
        route.actions = changes(experiment);
        route
    };
    (0..count).map(one).collect()
}

/// Returns routes from the first bus into a virtual interface, through it repeatedly, and out: the
/// identifier is one higher at each pass, and determines the next rule (gateway-2010-draft §IV-E).
/// Each rule sends with `echo` into a vcan, which returns only frames sent in that way.
fn chained(experiment: &Experiment) -> Vec<Route> {
    let fd = experiment.is_fd();
    let HopChoice {
        count,
        interfaces,
        through,
    } = experiment.hops;
    // The ports of one virtual interface: the one that a frame enters, and the one from which it
    // comes out.
    let ports = |pass: u8| {
        let which = usize::from((pass - 1) % interfaces.max(1));
        match through {
            VirtualKind::Vcan => (2 + which, 2 + which),
            VirtualKind::Vxcan => (2 + 2 * which, 3 + 2 * which),
        }
    };
    let step = |pass: u8| {
        let from = if pass == 0 { 0 } else { ports(pass).1 };
        let last = pass == count;
        let to = if last { 1 } else { ports(pass + 1).0 };
        let mut route = route(format!("pass {pass}"), from, to, fd);
        let id = ID + u32::from(pass);
        route.matching.ids.push(masked(id, SFF_MASK));
        route
            .actions
            .push(modify(ModifyOp::Set, Some(id + 1), None));
        route.echo = !last && through == VirtualKind::Vcan;
        route.allow_same_port = from == to;
        route
    };
    (0..=count).map(step).collect()
}

fn modify(op: ModifyOp, id: Option<u32>, data: Option<Vec<u8>>) -> Action {
    Action::Modify(route::Modify {
        op,
        id: id.map(route::IdOperand::Raw),
        len: None,
        flags: None,
        data,
    })
}

/// Returns the changes; none of them affects the frame's number in the first two bytes.
fn changes(experiment: &Experiment) -> Vec<Action> {
    let size = if experiment.is_fd() { 64 } else { 8 };
    // Neutral for the number, `byte` for the other bytes.
    let data = |neutral: u8, byte: u8| {
        let mut data = vec![byte; size];
        for number in data.iter_mut().take(2) {
            *number = neutral;
        }
        Some(data)
    };
    // A SET of data replaces all bytes, including the number; a SET of the length keeps it.
    let set = || {
        Action::Modify(route::Modify {
            op: ModifyOp::Set,
            id: None,
            len: Some(experiment.payload),
            flags: None,
            data: None,
        })
    };
    match experiment.modify {
        ModifyChoice::None => vec![],
        ModifyChoice::Copy => vec![modify(ModifyOp::Set, Some(sent_id(experiment).raw()), None)],
        ModifyChoice::Id => vec![modify(ModifyOp::Set, Some(NEW_ID), None)],
        ModifyChoice::And => vec![modify(ModifyOp::And, None, data(0xFF, 0x55))],
        ModifyChoice::Or => vec![modify(ModifyOp::Or, None, data(0, 0x55))],
        ModifyChoice::Xor => vec![modify(ModifyOp::Xor, None, data(0, 0x55))],
        ModifyChoice::Set => vec![set()],
        ModifyChoice::Crc8 => vec![
            set(),
            Action::Crc8(Crc8 {
                from: 0,
                to: last_but_one(experiment),
                result: last_but_one(experiment) + 1,
                init: 0xFF,
                final_xor: 0xFF,
                table: Crc8::table_of(J1850),
                profile: Crc8Profile::None,
            }),
        ],
        ModifyChoice::Xorsum => vec![
            set(),
            Action::XorSum(XorSum {
                from: 0,
                to: last_but_one(experiment),
                result: last_but_one(experiment) + 1,
                init: 0,
            }),
        ],
    }
}

fn last_but_one(experiment: &Experiment) -> i16 {
    i16::from(experiment.payload) - 2
}
