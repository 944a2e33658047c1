//! The gateway under test: its routes, defined once, as can-gw rules and as a `gateway.toml`.

use crate::experiment::{Experiment, Filters, Gateway, Hops, Modify, Virtual};
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
/// The virtual interfaces of hops: two ends each, which are one interface for vcan.
const VCAN: [[&str; 2]; 2] = [["vcan0", "vcan0"], ["vcan1", "vcan1"]];
const VXCAN: [[&str; 2]; 2] = [["vx0", "vx0p"], ["vx1", "vx1p"]];
/// More routes than this are not all written into a result.
const SHOWN: usize = 4096;

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
    let mut all = vec![INCOMING.to_owned(), OUTGOING.to_owned()];
    for ends in virtuals(experiment.hops) {
        all.extend(ends.map(str::to_owned));
    }
    all.dedup();
    all
}

/// The two ends of each virtual interface that hops use.
#[must_use]
pub fn virtuals(hops: Hops) -> &'static [[&'static str; 2]] {
    let all = match hops.through {
        Virtual::Vcan => &VCAN,
        Virtual::Vxcan => &VXCAN,
    };
    let used = if hops.count == 0 { 0 } else { hops.interfaces };
    all.get(..usize::from(used)).unwrap_or(all)
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
    let (how, io) = match &experiment.gateway {
        // The papers' priority (gateway-2011 §3.7).
        Gateway::User(io) => (
            "realtime = 90\nlock_memory = true\n".to_owned(),
            format!("io = \"{io}\"\n"),
        ),
        other => (
            format!("offload = \"{}\"\n", other.offload()?),
            String::new(),
        ),
    };
    let names = interfaces(experiment);
    let mut text = format!("[gateway]\ncontrol = \"{SOCKET}\"\n{how}");
    if experiment.hops != Hops::NONE {
        text.push_str(&format!("max_hops = {}\n", experiment.hops.count + 1));
    }
    for name in &names {
        text.push_str(&format!(
            "\n[ports.{name}]\nkind = \"socketcan\"\ninterface = \"{name}\"\n{io}"
        ));
        if experiment.payload > 8 {
            text.push_str("fd = true\n");
        }
    }
    text.push('\n');
    text.push_str(&route::config::to_toml(&routes(experiment).routes, &names));
    Some(text)
}

/// A configuration as results have it: of very many routes the first two and the last. What is
/// left out follows from the experiment.
#[must_use]
pub fn shown(text: &str) -> String {
    const ROUTE: &str = "[[routes]]";
    let count = text.matches(ROUTE).count();
    if count <= SHOWN {
        return text.to_owned();
    }
    let parts: Vec<&str> = text.split(ROUTE).collect();
    let [head, first, second, .., last] = parts.as_slice() else {
        return text.to_owned();
    };
    format!(
        "{head}{ROUTE}{first}{ROUTE}{second}# {} more, of the identifiers between\n\n{ROUTE}{last}",
        count - 3
    )
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
/// `echo` into a vcan, which gives back only what is sent that way.
fn chained(experiment: &Experiment) -> Vec<Route> {
    let fd = experiment.payload > 8;
    let Hops {
        count,
        interfaces,
        through,
    } = experiment.hops;
    // Ports of one virtual interface: where a frame goes in, and where it comes out.
    let ports = |pass: u8| {
        let which = usize::from((pass - 1) % interfaces.max(1));
        match through {
            Virtual::Vcan => (2 + which, 2 + which),
            Virtual::Vxcan => (2 + 2 * which, 3 + 2 * which),
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
        route.echo = !last && through == Virtual::Vcan;
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

    #[test]
    fn routes_go_into_the_kernel_by_one_word() {
        for gateway in ["can-gw", "bpf"] {
            let text = gateway_toml(&experiment(&[(Setting::Gateway, gateway)])).unwrap();
            assert!(
                text.contains(&format!("offload = \"{gateway}\"\n")),
                "{text}"
            );
            assert!(
                !text.contains("realtime") && !text.contains("io ="),
                "{text}"
            );
            assert!(!text.contains("max_hops"), "{text}");
            let words = [(Setting::Gateway, gateway), (Setting::Hops, "4:2:vxcan")];
            let text = gateway_toml(&experiment(&words)).unwrap();
            assert!(text.contains("max_hops = 5\n"), "{text}");
            for port in ["gw0", "gw1", "vx0", "vx0p", "vx1", "vx1p"] {
                assert!(text.contains(&format!("[ports.{port}]\n")), "{text}");
            }
        }
    }

    #[test]
    fn hops_through_pairs_go_in_at_one_end_and_come_out_at_the_other() {
        let script = cangw_script(&experiment(&[(Setting::Hops, "2:2:vxcan")])).unwrap();
        let lines: Vec<_> = script.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "cangw -A -s vx1p -d gw1 -f 125:C00007FF -m SET:I:126.0.0000000000000000 # pass 2",
                "cangw -A -s vx0p -d vx1 -f 124:C00007FF -m SET:I:125.0.0000000000000000 # pass 1",
                "cangw -A -s gw0 -d vx0 -f 123:C00007FF -m SET:I:124.0.0000000000000000 # pass 0",
            ]
        );
    }

    #[test]
    fn of_very_many_routes_a_result_has_the_ends() {
        let words = [(Setting::Gateway, "bpf"), (Setting::Filters, "eff:100000")];
        let e = experiment(&words);
        let text = gateway_toml(&e).unwrap();
        assert_eq!(text.matches("[[routes]]").count(), 100_000);
        let short = shown(&text);
        assert_eq!(short.matches("[[routes]]").count(), 3);
        assert!(short.contains("# 99997 more"), "{short}");
        assert!(short.starts_with("[gateway]\n") && short.ends_with('\n'));
        assert!(
            short.contains("r99999") && short.contains("\"r1\""),
            "{short}"
        );
        let few = gateway_toml(&experiment(&[(Setting::Gateway, "bpf")])).unwrap();
        assert_eq!(shown(&few), few);
        assert_eq!(sent_id(&e).raw(), 0x8000_0000 | (0x1000_0000 + 99_999));
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
        if e.gateway == Gateway::None {
            e.gateway = Gateway::Cangw;
        }
        if e.hops != Hops::NONE && e.gateway != Gateway::Cangw {
            e.hops.through = Virtual::Vxcan;
        }
        if e.filters.count() > Some(2048) {
            // Compiled once a case.
            e.filters = Filters::Eff(e.filters.count().unwrap_or(0) % 4096 + 1);
            e.gateway = Gateway::Bpf;
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
                // What goes into one end of a pair comes out of the other.
                if pass > 0 && e.hops.through == Virtual::Vxcan {
                    at.0 += 1;
                }
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
            if e.gateway.by_rules() {
                prop_assert!(cangw_script(&e).is_ok());
            }
            prop_assert_eq!(gateway_toml(&e).is_some(), e.gateway != Gateway::Cangw);
        }
    }
}
