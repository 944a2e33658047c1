//! The gateway under test: its routes, defined once, as can-gw rules and as a `gateway.toml`.

use crate::experiment::{Experiment, Filters, Gateway, Hops, Modify};
use frame::CanId;
use route::{
    Action, Crc8, Crc8Profile, IdFilter, IdSet, KindSet, ModifyOp, PortId, Route, Routes, XorSum,
};

/// The gateway's interface on the incoming bus.
pub const INCOMING: &str = "gw0";
/// The gateway's interface on the outgoing bus.
pub const OUTGOING: &str = "gw1";
/// The control socket of `cangate run`, in the guest.
pub const SOCKET: &str = "/run/gateway.sock";
/// The virtual interfaces of hops.
pub const VIRTUAL: [&str; 2] = ["vcan0", "vcan1"];

/// The identifier of frames that no filter asks for in particular; also the first of hops.
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
/// What [`Modify::Id`] sets.
const NEW_ID: u32 = 0x124;

/// What a gateway cannot be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// can-gw has no rule for it: the settings were not checked.
    #[error("can-gw cannot do it: {0}")]
    Inexpressible(String),
}

/// The identifier of the frames to send: the one that the last filter takes.
#[must_use]
pub fn sent_id(experiment: &Experiment) -> CanId {
    CanId::from_raw(match experiment.filters {
        Filters::None => ID,
        Filters::Sff(n) | Filters::List(n) => n.saturating_sub(1),
        Filters::Eff(n) => EFF_FLAG | (EFF_FIRST + n.saturating_sub(1)),
    })
}

/// The interfaces that the routes' ports stand for.
#[must_use]
pub fn interfaces(experiment: &Experiment) -> Vec<String> {
    let hops = experiment.hops;
    let used = if hops.count == 0 { 0 } else { hops.interfaces };
    let virtuals = VIRTUAL.iter().take(usize::from(used));
    let all = [INCOMING, OUTGOING].iter().chain(virtuals);
    all.map(|&name| name.to_owned()).collect()
}

/// The gateway's routes, in the order in which they are tried; the last one takes the frames.
#[must_use]
pub fn routes(experiment: &Experiment) -> Routes {
    let routes = if experiment.hops == Hops::NONE {
        filtered(experiment)
    } else {
        chained(experiment)
    };
    Routes {
        // Passes through can-gw: one more than through virtual interfaces.
        max_hops: experiment.hops.count + 1,
        routes,
        ..Routes::default()
    }
}

/// A script of `cangw` lines, to be run with the namespace's shell.
///
/// # Errors
/// [`GatewayError`] where can-gw has no rule for what is asked.
pub fn cangw_script(experiment: &Experiment) -> Result<String, GatewayError> {
    let interfaces: Vec<_> = interfaces(experiment).into_iter().map(Some).collect();
    route::cangw::export(&routes(experiment), &interfaces).map_err(|all| {
        let all: Vec<_> = all.iter().map(ToString::to_string).collect();
        GatewayError::Inexpressible(all.join("; "))
    })
}

/// The `gateway.toml` of `cangate run`; `None` where the experiment's gateway is another.
#[must_use]
pub fn gateway_toml(experiment: &Experiment) -> Option<String> {
    let Gateway::User(io) = &experiment.gateway else {
        return None;
    };
    let names = interfaces(experiment);
    // The papers' priority (gateway-2011 §3.7).
    let mut text =
        format!("[gateway]\ncontrol = \"{SOCKET}\"\nrealtime = 90\nlock_memory = true\n");
    for name in &names {
        text.push_str(&format!(
            "\n[ports.{name}]\nkind = \"socketcan\"\ninterface = \"{name}\"\nio = \"{io}\"\n"
        ));
        if experiment.payload > 8 {
            text.push_str("fd = true\n");
        }
    }
    text.push('\n');
    text.push_str(&route::config::to_toml(&routes(experiment).routes, &names));
    Some(text)
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
    let fd = experiment.payload > 8;
    let (count, first, mask) = match experiment.filters {
        Filters::None => (1, None, 0),
        Filters::Sff(n) => (n, Some(0), SFF_MASK),
        Filters::List(n) => (n, Some(0), LIST_MASK),
        Filters::Eff(n) => (n, Some(EFF_FLAG | EFF_FIRST), EFF_MASK),
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

/// From the first bus into a virtual interface, round it, and out: the identifier is one higher
/// at each pass, and says which rule is next (gateway-2010-draft §IV-E). Each rule sends with
/// `echo`: a virtual interface gives back only what is sent that way.
fn chained(experiment: &Experiment) -> Vec<Route> {
    let fd = experiment.payload > 8;
    let Hops { count, interfaces } = experiment.hops;
    let virtual_port = |pass: u8| 2 + usize::from((pass - 1) % interfaces.max(1));
    let step = |pass: u8| {
        let from = if pass == 0 { 0 } else { virtual_port(pass) };
        let last = pass == count;
        let to = if last { 1 } else { virtual_port(pass + 1) };
        let mut route = route(format!("pass {pass}"), from, to, fd);
        let id = ID + u32::from(pass);
        route.matching.ids.push(masked(id, SFF_MASK));
        route
            .actions
            .push(modify(ModifyOp::Set, Some(id + 1), None));
        route.echo = !last;
        route.allow_same_port = from == to;
        route
    };
    (0..=count).map(step).collect()
}

fn modify(op: ModifyOp, id: Option<u32>, data: Option<Vec<u8>>) -> Action {
    Action::Modify(route::Modify {
        op,
        id,
        len: None,
        flags: None,
        data,
    })
}

/// The changes; none of them touches the frame's number in the first two bytes.
fn changes(experiment: &Experiment) -> Vec<Action> {
    let size = if experiment.payload > 8 { 64 } else { 8 };
    // Neutral for the number, `byte` for the others.
    let data = |neutral: u8, byte: u8| {
        let mut data = vec![byte; size];
        for number in data.iter_mut().take(2) {
            *number = neutral;
        }
        Some(data)
    };
    // A SET of data replaces all bytes, the number too; a SET of the length leaves it.
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
        Modify::None => vec![],
        Modify::Copy => vec![modify(ModifyOp::Set, Some(sent_id(experiment).raw()), None)],
        Modify::Id => vec![modify(ModifyOp::Set, Some(NEW_ID), None)],
        Modify::And => vec![modify(ModifyOp::And, None, data(0xFF, 0x55))],
        Modify::Or => vec![modify(ModifyOp::Or, None, data(0, 0x55))],
        Modify::Xor => vec![modify(ModifyOp::Xor, None, data(0, 0x55))],
        Modify::Set => vec![set()],
        Modify::Crc8 => vec![
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
        Modify::Xorsum => vec![
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Setting, tests::any_experiment};
    use proptest::prelude::*;
    use route::{Arrival, Forward, RouteId, Sink, Stop, Table};

    fn experiment(words: &[(Setting, &str)]) -> Experiment {
        Experiment::from_words(words.iter().copied()).unwrap()
    }

    #[derive(Default)]
    struct Seen(Vec<(u32, u16, u32, Vec<u8>)>);

    impl Sink for Seen {
        fn taken(&mut self, _: RouteId) {}
        fn stopped(&mut self, route: RouteId, why: Stop) {
            panic!("{route:?} {why:?}");
        }
        fn forward(&mut self, copy: Forward<'_>) {
            let frame = copy.frame;
            self.0.push((
                copy.route.0,
                copy.to.0,
                frame.id().raw(),
                frame.data().to_vec(),
            ));
        }
    }

    /// What the routing table does with a frame of the experiment.
    fn forwarded(e: &Experiment, from: u16, id: u32, data: &[u8]) -> Vec<(u32, u16, u32, Vec<u8>)> {
        let table = Table::compile(&routes(e), interfaces(e).len()).unwrap();
        let id = CanId::from_raw(id);
        let frame = if e.payload > 8 {
            frame::Frame::fd(id, 0, data).unwrap()
        } else {
            frame::Frame::classic(id, data).unwrap()
        };
        let mut seen = Seen::default();
        let arrival = Arrival {
            from: PortId(from),
            now: 0,
            hops: 0,
        };
        table.decide(&mut table.memory(), arrival, frame.view(), &mut seen);
        seen.0
    }

    #[test]
    fn the_rule_that_matches_is_tried_last() {
        let script = cangw_script(&experiment(&[(Setting::Filters, "list:3")])).unwrap();
        let lines: Vec<_> = script.lines().filter(|l| l.starts_with("cangw")).collect();
        // can-gw puts a new rule in front of the others: put in first, tried last.
        assert_eq!(
            lines,
            [
                "cangw -A -s gw0 -d gw1 -f 002:7FF # r2",
                "cangw -A -s gw0 -d gw1 -f 001:7FF # r1",
                "cangw -A -s gw0 -d gw1 -f 000:7FF # r0",
            ]
        );
        assert_eq!(
            sent_id(&experiment(&[(Setting::Filters, "list:3")])).raw(),
            2
        );
    }

    #[test]
    fn hops_go_round_the_virtual_interfaces() {
        let script = cangw_script(&experiment(&[(Setting::Hops, "2:2")])).unwrap();
        let lines: Vec<_> = script.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "modprobe can-gw max_hops=3",
                "cangw -A -s vcan1 -d gw1 -f 125:C00007FF -m SET:I:126.0.0000000000000000 # pass 2",
                "cangw -A -s vcan0 -d vcan1 -e -f 124:C00007FF -m SET:I:125.0.0000000000000000 # pass 1",
                "cangw -A -s gw0 -d vcan0 -e -f 123:C00007FF -m SET:I:124.0.0000000000000000 # pass 0",
            ]
        );
        let one = cangw_script(&experiment(&[(Setting::Hops, "5")])).unwrap();
        assert!(one.contains("max_hops=6"));
        assert!(one.contains("-s vcan0 -d vcan0 -e -i"), "{one}");
    }

    #[test]
    fn the_user_gateway_reads_its_file() {
        let e = experiment(&[
            (Setting::Gateway, "user:read-write"),
            (Setting::Filters, "sff:2"),
        ]);
        let text = gateway_toml(&e).unwrap();
        assert!(text.contains("io = \"read-write\""), "{text}");
        assert!(text.contains("realtime = 90"));
        assert_eq!(text.matches("[[routes]]").count(), 2);
        assert_eq!(gateway_toml(&Experiment::default()), None);
    }

    /// The same with what does not go together left out, and with a gateway.
    fn fitting(mut e: Experiment) -> Experiment {
        e.bench = crate::machine::Bench::Timed;
        e.real_time = false;
        e.stamp_every = 1;
        e.payload = match e.payload {
            n @ 3..=8 => n,
            n => [8, 12, 16, 20, 24, 32, 48, 64][usize::from(n % 8)],
        };
        if e.hops != Hops::NONE {
            (e.filters, e.modify) = (Filters::None, Modify::None);
        }
        if e.gateway == Gateway::None || e.hops != Hops::NONE {
            e.gateway = Gateway::Cangw;
        }
        e
    }

    proptest! {
        /// Whatever is asked for: the frame that is sent is taken by the last route only, its
        /// number is left alone, and what is to be changed is changed.
        #[test]
        fn the_last_route_takes_what_is_sent(e in any_experiment().prop_map(fitting), number: [u8; 2]) {
            prop_assert_eq!(e.check(), Ok(()));
            let mut data = vec![0xA6; usize::from(e.payload)];
            data[..2].copy_from_slice(&number);
            let all = routes(&e).routes.len() as u32;
            let mut at = (0, sent_id(&e).raw(), data.clone());
            for pass in 0..=e.hops.count {
                let seen = forwarded(&e, at.0, at.1, &at.2);
                prop_assert_eq!(seen.len(), 1);
                let (route, to, id, bytes) = seen[0].clone();
                if e.hops.count == 0 {
                    prop_assert_eq!(route, all - 1);
                }
                prop_assert_eq!(to == 1, pass == e.hops.count);
                prop_assert_eq!(&bytes[..2], &number[..]);
                at = (to, id, bytes);
            }
            let same_id = at.1 == sent_id(&e).raw();
            let id_changes = e.modify == Modify::Id || e.hops.count > 0;
            prop_assert_eq!(same_id, !id_changes);
            if matches!(e.modify, Modify::Xor | Modify::Or | Modify::And) && e.payload > 2 {
                prop_assert_ne!(&at.2, &data);
            }
            if matches!(e.modify, Modify::None | Modify::Id | Modify::Copy | Modify::Set) {
                prop_assert_eq!(&at.2, &data);
            }
            if e.gateway == Gateway::Cangw {
                prop_assert!(cangw_script(&e).is_ok());
            }
        }
    }
}
