//! The kernel module's C core (kmod/bitcan/core) against this crate: the same random schedules,
//! and every event, time and counter the same. Compiles kmod/bitcan/host/replay.c with the
//! system's C compiler; if there is none, the tests print that and are skipped.

use crate::host_program;
use cangate_bus::{
    Bus, BusConfig, ErrorKind, FaultTime, FrameFault, NodeConfig, NodeEvent, NodeId, SendError,
};
use frame::{CanId, Frame, Kind, Nanos, flags, wire};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};
use std::{fmt::Write as _, path::PathBuf, sync::OnceLock};

/// Runs the C program, which is compiled once; returns `None` if it cannot be built.
fn play(input: String) -> Option<String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| host_program::compile("replay", &["core"], "replay", &[]));
    host_program::run(built.as_deref().map_err(String::as_str), input)
}

/// Random numbers in the ranges that the schedules need.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Returns one of few identifiers, so that many are equal or differ only in format.
    fn id(&mut self) -> CanId {
        let base = self.pick(&[0_u32, 1, 0x123, 0x555, 0x7FE, 0x7FF]);
        if self.one_in(3) {
            let low = self.pick(&[0_u32, 1, 0x3_FFFF]);
            CanId::eff(base << 18 | low).unwrap()
        } else {
            CanId::sff(base).unwrap()
        }
    }

    fn frame(&mut self, fd: bool) -> Frame {
        let id = self.id();
        self.frame_with(id, fd)
    }

    fn frame_with(&mut self, id: CanId, fd: bool) -> Frame {
        let kind = self.below(if fd { 6 } else { 3 });
        let len = match kind {
            0..3 => self.below(9),
            _ => self.below(65),
        };
        let byte = self.pick(&[0_u64, 0xFF, 0x100]);
        let mut data = Vec::new();
        for _ in 0..len {
            data.push(if byte == 0x100 { self.below(256) } else { byte } as u8);
        }
        match kind {
            0 => Frame::remote(id, len as usize).unwrap(),
            1 | 2 => Frame::classic(id, &data).unwrap(),
            _ => {
                let flags = self.pick(&[0, flags::BRS, flags::ESI, flags::BRS | flags::ESI]);
                Frame::fd(id, flags, &data).unwrap()
            }
        }
    }
}

/// `CAN_ID FD FLAGS LENGTH HEX`
fn words(frame: &Frame) -> String {
    let mut out = String::new();
    let header = frame.header();
    let fd = frame.kind() == Kind::Fd;
    write!(
        out,
        "{:x} {} {} {} ",
        header.id().raw(),
        u8::from(fd),
        header.flags(),
        frame.len()
    )
    .unwrap();
    if frame.data().is_empty() {
        out.push('-');
    }
    for byte in frame.data() {
        write!(out, "{byte:02x}").unwrap();
    }
    out
}

#[derive(Clone)]
enum Action {
    Send(NodeId, Nanos, Frame, u64),
    Restart(NodeId, Nanos),
}

impl Action {
    fn at(&self) -> Nanos {
        match self {
            Self::Send(_, at, ..) | Self::Restart(_, at) => *at,
        }
    }
}

struct Schedule {
    config: BusConfig,
    nodes: Vec<NodeConfig>,
    /// For each node: whether its frames wait in the transmit buffer for their time.
    lists: Vec<bool>,
    faults: Vec<(FaultTime, FrameFault)>,
    actions: Vec<Action>,
    until: Nanos,
}

impl Schedule {
    fn random(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let nominal = dice.pick(&[1_000_000, 500_000, 125_000, 300_000, 83_333]);
        let fd = dice.one_in(2);
        let data = fd.then(|| nominal * dice.pick(&[1, 2, 4, 7]));
        let faulty = dice.one_in(2);
        let mut config = BusConfig::classic(nominal);
        config.data = data;
        let most = if dice.one_in(4) { 20 } else { 5 };
        let count = 1 + dice.below(most);
        let mut lists = Vec::new();
        let mut nodes = Vec::new();
        for n in 0..count {
            let list = !faulty && dice.one_in(5);
            lists.push(list);
            nodes.push(NodeConfig {
                name: n.to_string(),
                mailboxes: if list { 1 } else { 1 + dice.below(3) as u8 },
                queue: if list { 10_000 } else { dice.below(5) as usize },
                scheduled: 65_536,
                one_shot: dice.one_in(5),
                listen_only: !list && dice.one_in(6),
                // A classic node destroys FD frames: a fault of its own.
                fd: !(faulty && dice.one_in(6)),
                restart: dice.one_in(2).then(|| dice.below(5_000_000)),
            });
        }
        let frames = 1 + dice.below(60);
        let bit = 1_000_000_000 / u64::from(nominal);
        // From a flood to an almost idle bus.
        let spread = dice.pick(&[1, 100, 1_000, 20_000]) * bit;
        let mut actions = Vec::new();
        let mut at = 0;
        for tag in 0..frames {
            at += if dice.one_in(3) {
                0
            } else {
                dice.below(spread)
            };
            let node = dice.below(count) as usize;
            if nodes[node].listen_only {
                continue;
            }
            let fd = data.is_some() && nodes[node].fd;
            // A list's frames would not be dropped alike if their node went bus-off for an
            // identifier that others use too.
            let id = match lists[node] {
                true => CanId::eff(0x0ABC_DE00 + node as u32).unwrap(),
                false => dice.id(),
            };
            let frame = dice.frame_with(id, fd);
            actions.push(Action::Send(NodeId(node as u16), at, frame, tag));
            // The very same frame from a second node: one frame on the wire, if both win.
            let twin = (node + 1) % nodes.len();
            let able = nodes[twin].fd || frame.kind() == Kind::Classic;
            if dice.one_in(6) && able && !lists[node] && !lists[twin] && !nodes[twin].listen_only {
                let twin = NodeId(twin as u16);
                actions.push(Action::Send(twin, at, frame, frames + tag));
            }
            if faulty && dice.one_in(10) {
                let node = NodeId(dice.below(count) as u16);
                at += 1;
                actions.push(Action::Restart(node, at));
            }
        }
        // Ordinary traffic while nodes recover from bus-off.
        for tag in 0..if faulty { 60 } else { 0 } {
            at += dice.below(200) * bit;
            let node = dice.below(count) as usize;
            if !nodes[node].listen_only {
                let frame = dice.frame(false);
                actions.push(Action::Send(NodeId(node as u16), at, frame, 1_000 + tag));
            }
        }
        let mut faults = Vec::new();
        if faulty {
            // Runs of faults, so that nodes go bus-off.
            let mut start = 1;
            // Faults of the bus all happen; a fault of a node can stay planned for ever.
            let of_bus = dice.one_in(2);
            for _ in 0..dice.below(50) {
                start += 1 + if dice.one_in(3) { dice.below(5) } else { 0 };
                let node = NodeId(dice.below(count) as u16);
                let when = if of_bus || dice.one_in(2) {
                    FaultTime::Start(start)
                } else {
                    FaultTime::StartOf(node, start)
                };
                let kind = dice.pick(&[
                    ErrorKind::Bit,
                    ErrorKind::Stuff,
                    ErrorKind::Form,
                    ErrorKind::Crc,
                    ErrorKind::Ack,
                ]);
                // The two models draw random bits differently, so every fault has a given place.
                let mut fault = FrameFault::new(kind).at_bit(dice.below(160) as u16);
                if dice.one_in(3) {
                    fault.victim = Some(NodeId(dice.below(count) as u16));
                }
                if !faults.iter().any(|(w, _)| *w == when) {
                    faults.push((when, fault));
                }
            }
        }
        Self {
            config,
            nodes,
            lists,
            faults,
            until: at + 8_000 * bit,
            actions,
        }
    }

    /// Returns the schedule as text in the format that replay.c reads.
    fn text(&self) -> String {
        let mut out = String::new();
        let data = self.config.data.unwrap_or(0);
        writeln!(out, "bus {} {data}", self.config.nominal).unwrap();
        for (n, list) in self.nodes.iter().zip(&self.lists) {
            writeln!(
                out,
                "node {} {} {} {} {} {} {}",
                n.mailboxes,
                n.queue,
                u8::from(n.one_shot),
                u8::from(n.listen_only),
                u8::from(n.fd),
                n.restart.map_or(-1, Nanos::cast_signed),
                u8::from(*list)
            )
            .unwrap();
        }
        for (when, fault) in &self.faults {
            let (node, start) = match *when {
                FaultTime::Start(start) => (-1, start),
                FaultTime::StartOf(node, start) => (i64::from(node.0), start),
            };
            let kind = match fault.kind {
                ErrorKind::Bit => 0,
                ErrorKind::Stuff => 1,
                ErrorKind::Form => 2,
                ErrorKind::Crc => 3,
                ErrorKind::Ack => 4,
            };
            let bit = fault.bit.map_or(-1, i64::from);
            let victim = fault.victim.map_or(-1, |v| i64::from(v.0));
            writeln!(out, "fault {node} {start} {kind} {bit} {victim}").unwrap();
        }
        for action in &self.actions {
            match action {
                Action::Send(node, at, frame, tag) => {
                    writeln!(out, "send {} {at} {} {tag}", node.0, words(frame)).unwrap();
                }
                Action::Restart(node, at) => writeln!(out, "restart {} {at}", node.0).unwrap(),
            }
        }
        writeln!(out, "run {}", self.until).unwrap();
        out
    }

    /// Returns the events of this crate's model, in the format of replay.c.
    fn play(&self) -> String {
        let mut out = String::new();
        let mut bus = Bus::new(self.config.clone()).unwrap();
        for node in &self.nodes {
            bus.attach(node.clone()).unwrap();
        }
        for (when, fault) in &self.faults {
            bus.inject(*when, *fault);
        }
        for action in &self.actions {
            if let Action::Send(node, at, frame, tag) = action
                && *at > 0
            {
                bus.send(*node, *at, frame, *tag).unwrap();
            }
        }
        let count = self.nodes.len() as u16;
        for action in &self.actions {
            bus.run_until(action.at(), |e| event(&mut out, e, count));
            match action {
                Action::Restart(node, _) => bus.restart(*node),
                Action::Send(node, 0, frame, tag) => match bus.send(*node, 0, frame, *tag) {
                    Ok(()) => {}
                    Err(SendError::Full) => {
                        writeln!(out, "D 0 {} {tag} QueueFull", node.0).unwrap();
                    }
                    Err(other) => panic!("{other}"),
                },
                Action::Send(..) => {}
            }
        }
        bus.run_until(self.until, |e| event(&mut out, e, count));
        for n in 0..count {
            let state = bus.node_state(NodeId(n)).unwrap();
            // Frames that were refused at time 0 are counted by the caller.
            let refused = out
                .lines()
                .filter(|l| l.starts_with(&format!("D 0 {n} ")) && l.ends_with("QueueFull"))
                .count() as u64;
            writeln!(
                out,
                "N {n} {} {} {:?} {} {} {} {}",
                state.tec,
                state.rec,
                state.state,
                state.sent,
                state.received,
                state.dropped + refused,
                state.failed_attempts
            )
            .unwrap();
        }
        out
    }
}

fn event(out: &mut String, event: &NodeEvent<'_>, count: u16) {
    match event {
        NodeEvent::Frame {
            start,
            end,
            node,
            tag,
            ready,
            attempts,
            primary,
            frame,
            receivers,
        } => {
            write!(
                out,
                "F {start} {end} {} {tag} {ready} {attempts} {} {:x} {} to",
                node.0,
                u8::from(*primary),
                frame.id().raw(),
                u8::from(frame.header().is_esi())
            )
            .unwrap();
            for n in (0..count).filter(|n| receivers.receives(NodeId(*n))) {
                write!(out, " {n}").unwrap();
            }
            out.push('\n');
        }
        NodeEvent::Error {
            start,
            at,
            end,
            node,
            by,
            tag,
            kind,
            primary,
            ..
        } => writeln!(
            out,
            "E {start} {at} {end} {} {} {tag} {kind:?} {}",
            node.0,
            by.0,
            u8::from(*primary)
        )
        .unwrap(),
        NodeEvent::State { at, node, state } => {
            writeln!(out, "S {at} {} {state:?}", node.0).unwrap();
        }
        NodeEvent::Dropped {
            at, node, tag, why, ..
        } => writeln!(out, "D {at} {} {tag} {why:?}", node.0).unwrap(),
    }
}

/// Compares all events of both models on random buses with these seeds; returns them.
fn compare(seeds: std::ops::Range<u64>) -> Option<String> {
    let schedules: Vec<Schedule> = seeds.clone().map(Schedule::random).collect();
    let input: String = schedules.iter().map(Schedule::text).collect();
    let output = play(input)?;
    let mut answers = output.split("end\n");
    for (seed, schedule) in seeds.zip(&schedules) {
        let ours = schedule.play();
        let theirs = answers.next().unwrap();
        host_program::assert_same(&ours, theirs, seed, &schedule.text());
    }
    Some(output)
}

#[test]
fn random_buses_do_the_same_in_the_kernel_module() {
    let Some(output) = compare(0..200) else {
        return;
    };
    // The comparison is meaningful only if these events happen.
    let count = |what: &str| output.lines().filter(|l| l.contains(what)).count();
    for what in ["Bit ", "Stuff ", "Form ", "Crc ", "Ack "] {
        assert!(count(what) > 5, "{what}: {}", count(what));
    }
    for what in ["Warning", "Passive", "BusOff", "OneShot", "QueueFull"] {
        assert!(count(what) > 5, "{what}: {}", count(what));
    }
    let frames = output.lines().filter(|l| l.starts_with('F')).count();
    assert!(frames > 2_000, "{frames} frames");
    // Several senders of the very same frame at once.
    let twins = output
        .lines()
        .filter(|l| l.starts_with('F') && l.ends_with("to"));
    assert!(twins.count() > 20);
}

#[test]
fn lengths_are_the_same_in_the_kernel_module() {
    let mut dice = Dice::new(7);
    let frames: Vec<Frame> = (0..5_000).map(|_| dice.frame(true)).collect();
    let mut input = String::new();
    for frame in &frames {
        writeln!(input, "length {}", words(frame)).unwrap();
    }
    let Some(output) = play(input) else {
        return;
    };
    assert_eq!(output.lines().count(), frames.len());
    for (frame, line) in frames.iter().zip(output.lines()) {
        let length = wire::length(frame.view()).unwrap();
        let nominal = length.nominal_bits() - wire::INTERMISSION_BITS;
        let data = length.data_phase_bits();
        // Both computed by table and bit by bit.
        let expected = format!("L {nominal} {data} {nominal} {data}");
        assert_eq!(line, expected, "{}", words(frame));
    }
}
