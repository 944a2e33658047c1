//! The controller of the kernel module (`kmod/bitcan/shared`, C) against this crate: the same random schedules, and
//! every event, time, confirmation, received frame and counter the same. The C program is also the virtual
//! machines: it writes and reads message memories, and lets the device look late at what they have written.
//! Compiles `kmod/bitcan/host/shared.c` with the system's C compiler; where there is none, the test says so
//! and is skipped.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use bus::{Bus, BusConfig, ErrorKind, Event, Fault, NodeConfig, NodeId, When};
use frame::{CanId, Frame, Kind, Nanos, flags};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};
use vcontroller::{
    Attached, Budget, Config, Controller, Happened, IdRule, Rights, State, Unit, Vf,
};

/// The compiled program, or why there is none.
fn compiled() -> Result<PathBuf, String> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/bitcan");
    let mut sources = vec![module.join("host/shared.c")];
    for folder in ["core", "shared"] {
        let files = fs::read_dir(module.join(folder)).unwrap();
        let files = files.map(|e| e.unwrap().path());
        sources.extend(files.filter(|p| p.extension().is_some_and(|e| e == "c")));
    }
    sources.sort();
    assert!(sources.len() >= 10, "the core's files: {sources:?}");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("bitcan-shared-{}", std::process::id()));
    let compiler = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&out)
        .args(&sources)
        .output();
    let done = compiler.map_err(|why| format!("there is no C compiler `cc`: {why}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "cc: {said}");
    Ok(out)
}

/// Runs the C program; `None` where it cannot be built.
fn play(input: String) -> Option<String> {
    let program = match compiled() {
        Ok(program) => program,
        Err(why) => {
            eprintln!("SKIPPED because {why}");
            return None;
        }
    };
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "shared: {}", output.status);
    fs::remove_file(program).unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Few identifiers, so that many are equal or differ only in format.
    fn id(&mut self) -> CanId {
        let base = self.pick(&[0_u32, 1, 0x123, 0x555, 0x7FE]);
        if self.one_in(4) {
            CanId::eff(base << 18 | self.pick(&[0_u32, 0x3_FFFF])).unwrap()
        } else {
            CanId::sff(base).unwrap()
        }
    }

    fn frame(&mut self, id: CanId, fd: bool) -> Frame {
        let data: Vec<u8> = (0..self.below(9))
            .map(|_| self.pick(&[0, 0xFF, 0x35]))
            .collect();
        match self.below(if fd { 6 } else { 3 }) {
            0 => Frame::remote(id, data.len()).unwrap(),
            1 | 2 => Frame::classic(id, &data).unwrap(),
            3 => Frame::fd(id, 0, &[0xA5; 64]).unwrap(),
            _ => Frame::fd(
                id,
                self.pick(&[0, flags::BRS, flags::BRS | flags::ESI]),
                &data,
            )
            .unwrap(),
        }
    }

    fn rules(&mut self) -> Vec<IdRule> {
        let one = |dice: &mut Self| match dice.below(3) {
            0 => IdRule::ALL,
            1 => IdRule {
                id: dice.id().raw(),
                mask: CanId::EFF_FLAG | CanId::RTR_FLAG | 0x7FF,
            },
            _ => IdRule {
                id: CanId::EFF_FLAG,
                mask: CanId::EFF_FLAG,
            },
        };
        (0..self.below(4)).map(|_| one(self)).collect()
    }

    fn rights(&mut self) -> Rights {
        let budget = Budget {
            unit: self.pick(&[Unit::Frames, Unit::Bits]),
            amount: self.pick(&[0, 1, 3, 150, 1_000]),
            per: self.pick(&[1, 7_000, 1_000_000, 10_000_000]),
            burst: self.pick(&[0, 1, 2, 100, 400]),
        };
        if self.one_in(2) {
            Rights {
                budget: (!self.one_in(3)).then_some(budget),
                ..Rights::all()
            }
        } else {
            Rights {
                receive: self.rules(),
                send: self.rules(),
                budget: self.one_in(2).then_some(budget),
            }
        }
    }
}

/// `CAN_ID FD FLAGS LENGTH HEX`
fn words(frame: &Frame) -> String {
    let header = frame.header();
    let fd = u8::from(frame.kind() == Kind::Fd);
    let (id, flags, len) = (header.id().raw(), header.flags(), frame.len());
    let mut out = format!("{id:x} {fd} {flags} {len} ");
    if frame.data().is_empty() {
        out.push('-');
    }
    for byte in frame.data() {
        write!(out, "{byte:02x}").unwrap();
    }
    out
}

#[derive(Clone, Debug)]
enum Do {
    Rights(u8, Rights),
    Start(u8, bool),
    Reset(u8),
    /// The device of the C program looks at it with what comes next.
    Request(u8, bool, Frame, u64),
    Abort(u8, u64),
    Receive(u8),
    Completion(u8),
    Send(u16, Frame),
    Restart,
}

struct Schedule {
    config: BusConfig,
    controller: Config,
    restart: Option<Nanos>,
    others: u16,
    faults: Vec<(u64, ErrorKind, u16)>,
    actions: Vec<(Nanos, Do)>,
    until: Nanos,
}

impl Schedule {
    fn random(seed: u64) -> Self {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let nominal = dice.pick(&[1_000_000, 500_000, 83_333]);
        let fd = dice.one_in(2);
        let mut config = BusConfig::classic(nominal);
        config.data = fd.then(|| nominal * 4);
        let functions = 1 + dice.below(4) as u8;
        let controller = Config {
            functions,
            queue: dice.pick(&[1, 2, 5, 64]),
            fifo: dice.pick(&[1, 3, 64]),
            fd,
        };
        let others = 1 + dice.below(3) as u16;
        let mut faults = Vec::new();
        if dice.one_in(2) {
            let mut start = 0;
            for _ in 0..dice.below(60) {
                start += 1 + if dice.one_in(3) { dice.below(6) } else { 0 };
                let kinds = [
                    ErrorKind::Bit,
                    ErrorKind::Form,
                    ErrorKind::Crc,
                    ErrorKind::Ack,
                ];
                faults.push((start, dice.pick(&kinds), dice.below(120) as u16));
            }
        }
        let bit = 1_000_000_000 / u64::from(nominal);
        let spread = dice.pick(&[2, 40, 300]) * bit;
        let mut actions = Vec::new();
        let mut at = 0;
        for vf in 0..functions {
            at += 1;
            let rights = if dice.one_in(3) {
                dice.rights()
            } else {
                Rights::all()
            };
            actions.push((at, Do::Rights(vf, rights)));
            actions.push((at, Do::Start(vf, dice.one_in(8))));
        }
        for _ in 0..dice.below(300) {
            at += 1 + if dice.one_in(4) {
                0
            } else {
                dice.below(spread)
            };
            let vf = dice.below(u64::from(functions)) as u8;
            let id = dice.id();
            let what = match dice.below(100) {
                0..50 => {
                    let late = dice.one_in(2);
                    let fd = fd || dice.one_in(30);
                    let frame = dice.frame(id, fd);
                    Do::Request(vf, late, frame, dice.below(6))
                }
                50..56 => Do::Abort(vf, dice.below(6)),
                56..70 => Do::Receive(vf),
                70..84 => Do::Completion(vf),
                84..86 => Do::Rights(vf, dice.rights()),
                86 => Do::Reset(vf),
                87..90 => Do::Start(vf, dice.one_in(4)),
                90..92 => Do::Restart,
                _ => {
                    let frame = dice.frame(id, fd);
                    Do::Send(1 + dice.below(u64::from(others)) as u16, frame)
                }
            };
            actions.push((at, what));
        }
        Self {
            config,
            controller,
            restart: dice.one_in(2).then(|| dice.below(2_000_000)),
            others,
            faults,
            actions,
            until: at + 4_000 * bit,
        }
    }

    /// As shared.c reads it.
    fn text(&self) -> String {
        let mut out = String::new();
        let c = &self.controller;
        let fd = u8::from(c.fd);
        writeln!(
            out,
            "bus {} {}",
            self.config.nominal,
            self.config.data.unwrap_or(0)
        )
        .unwrap();
        let restart = self.restart.map_or(-1, Nanos::cast_signed);
        writeln!(
            out,
            "shared {} {} {} {fd} {restart}",
            c.functions, c.queue, c.fifo
        )
        .unwrap();
        for _ in 0..self.others {
            writeln!(out, "node {fd}").unwrap();
        }
        for (start, kind, bit) in &self.faults {
            let kind = match kind {
                ErrorKind::Bit => 0,
                ErrorKind::Stuff => 1,
                ErrorKind::Form => 2,
                ErrorKind::Crc => 3,
                ErrorKind::Ack => 4,
            };
            writeln!(out, "fault {start} {kind} {bit}").unwrap();
        }
        for (at, what) in &self.actions {
            match what {
                Do::Rights(n, rights) => {
                    let (unit, b) = match rights.budget {
                        None => (0, None),
                        Some(b) => (1 + u8::from(b.unit == Unit::Bits), Some(b)),
                    };
                    let (amount, per, burst) = b.map_or((0, 1, 0), |b| (b.amount, b.per, b.burst));
                    let (receives, sends) = (rights.receive.len(), rights.send.len());
                    write!(
                        out,
                        "rights {n} {at} {unit} {amount} {per} {burst} {receives} {sends}"
                    )
                    .unwrap();
                    for rule in rights.receive.iter().chain(&rights.send) {
                        write!(out, " {:x} {:x}", rule.id, rule.mask).unwrap();
                    }
                    out.push('\n');
                }
                Do::Start(n, listen) => {
                    writeln!(out, "start {n} {at} {}", u8::from(*listen)).unwrap();
                }
                Do::Reset(n) => writeln!(out, "reset {n} {at}").unwrap(),
                Do::Request(n, late, frame, ticket) => {
                    let late = u8::from(*late);
                    writeln!(out, "request {n} {at} {late} {} {ticket}", words(frame)).unwrap();
                }
                Do::Abort(n, ticket) => writeln!(out, "abort {n} {at} {ticket}").unwrap(),
                Do::Receive(n) => writeln!(out, "receive {n} {at}").unwrap(),
                Do::Completion(n) => writeln!(out, "completion {n} {at}").unwrap(),
                Do::Send(n, frame) => writeln!(out, "send {n} {at} {}", words(frame)).unwrap(),
                Do::Restart => writeln!(out, "restart {at}").unwrap(),
            }
        }
        writeln!(out, "run {}", self.until).unwrap();
        out
    }

    /// What this crate makes of it, in the words of shared.c.
    fn play(&self) -> String {
        let mut bus = Bus::new(self.config.clone()).unwrap();
        let mut node = NodeConfig::new("shared");
        (node.fd, node.restart) = (self.controller.fd, self.restart);
        let mut model = Model {
            one: Attached::new(&mut bus, Controller::new(self.controller), node).unwrap(),
            bus,
            out: String::new(),
            statuses: String::new(),
            requests: 0,
        };
        for _ in 0..self.others {
            let mut node = NodeConfig::new("");
            (node.mailboxes, node.queue, node.fd) = (3, 0, self.controller.fd);
            model.bus.attach(node).unwrap();
        }
        for (start, kind, bit) in &self.faults {
            model
                .bus
                .inject(When::Start(*start), Fault::new(*kind).at_bit(*bit));
        }
        for (at, what) in &self.actions {
            model.run_to(*at);
            model.act(what);
            model.one.controller.check().unwrap();
        }
        model.run_to(self.until);
        model.finish(self.controller.functions)
    }
}

struct Model {
    bus: Bus,
    one: Attached,
    out: String,
    statuses: String,
    requests: u32,
}

impl Model {
    fn run_to(&mut self, until: Nanos) {
        loop {
            let budget = self.one.controller.deadline(self.bus.now());
            let next = self.bus.next().into_iter().chain(budget).min();
            let to = next.unwrap_or(until).min(until);
            let (node, out) = (self.one.node, &mut self.out);
            let mut happened = Vec::new();
            self.bus.run_until(to, |e| {
                event(out, e, node);
                happened.extend(Happened::of(e, node));
            });
            happened.iter().for_each(|what| self.one.react(what));
            self.one.offer(&mut self.bus);
            if to == until {
                return;
            }
        }
    }

    fn act(&mut self, what: &Do) {
        let (out, now) = (&mut self.out, self.bus.now());
        let c = &mut self.one.controller;
        match what {
            Do::Rights(n, rights) => c.set_rights(Vf(*n), rights.clone(), now).unwrap(),
            Do::Start(n, listen) => c.start(Vf(*n), *listen).unwrap(),
            Do::Reset(n) => c.reset(Vf(*n)).unwrap(),
            Do::Request(n, _, frame, ticket) => {
                let status = match c.request(Vf(*n), frame, *ticket) {
                    Ok(()) => "Taken".to_owned(),
                    Err(refused) => format!("{refused:?}"),
                };
                writeln!(self.statuses, "Q {} {status}", self.requests).unwrap();
                self.requests += 1;
            }
            Do::Abort(n, ticket) => {
                c.abort(Vf(*n), *ticket, now).unwrap();
                writeln!(self.statuses, "Q {} Taken", self.requests).unwrap();
                self.requests += 1;
            }
            Do::Receive(n) => match c.receive(Vf(*n)).unwrap() {
                None => writeln!(out, "R {n} -").unwrap(),
                Some(received) => {
                    let frame = &received.frame;
                    let fd = u8::from(frame.kind() == Kind::Fd);
                    let esi = frame.header().flags() & flags::ESI;
                    let id = frame.id().raw();
                    write!(out, "R {n} {} {id:x} {fd} {esi} ", received.at).unwrap();
                    for byte in frame.data() {
                        write!(out, "{byte:02x}").unwrap();
                    }
                    out.push_str(".\n");
                }
            },
            Do::Completion(n) => match c.completion(Vf(*n)).unwrap() {
                None => writeln!(out, "C {n} -").unwrap(),
                Some(done) => {
                    let (ticket, outcome, at) = (done.ticket, done.outcome, done.at);
                    writeln!(out, "C {n} {ticket} {outcome:?} {at}").unwrap();
                }
            },
            // No free buffer, or bus-off: the same nothing in both.
            Do::Send(n, frame) => _ = self.bus.send(NodeId(*n), now, frame, 0),
            Do::Restart => self.bus.restart(self.one.node),
        }
        self.one.offer(&mut self.bus);
    }

    fn finish(mut self, functions: u8) -> String {
        self.out.push_str(&self.statuses);
        for n in 0..functions {
            let c = self.one.controller.counters(Vf(n)).unwrap();
            let all = [
                c.requested,
                c.accepted,
                c.full,
                c.not_permitted,
                c.unsupported,
                c.down,
                c.sent,
                c.aborted,
                c.dropped,
                c.reset,
                c.attempts,
                c.heard,
                c.received,
                c.overrun,
                c.read,
                c.discarded,
            ];
            let all = all.map(|count| count.to_string());
            writeln!(self.out, "N {n} {}", all.join(" ")).unwrap();
        }
        self.out
    }
}

fn event(out: &mut String, event: &Event<'_>, node: NodeId) {
    match event {
        Event::Frame {
            start,
            end,
            node,
            frame,
            ..
        } => {
            let (id, fd) = (frame.id().raw(), u8::from(frame.kind() == Kind::Fd));
            writeln!(
                out,
                "F {start} {end} {} {id:x} {fd} {}",
                node.0,
                frame.len()
            )
            .unwrap();
        }
        Event::Error {
            start,
            end,
            node,
            kind,
            ..
        } => writeln!(out, "E {start} {end} {} {kind:?}", node.0).unwrap(),
        Event::State {
            at,
            node: of,
            state,
        } if *of == node => {
            let state = match state {
                bus::ErrorState::Active => State::Active,
                bus::ErrorState::Warning => State::Warning,
                bus::ErrorState::Passive => State::Passive,
                bus::ErrorState::BusOff => State::BusOff,
            };
            writeln!(out, "S {at} {state:?}").unwrap();
        }
        Event::State { .. } | Event::Dropped { .. } => {}
    }
}

#[test]
fn random_schedules_do_the_same_in_the_kernel_module() {
    let schedules: Vec<Schedule> = (0..400).map(Schedule::random).collect();
    let input: String = schedules.iter().map(Schedule::text).collect();
    let Some(output) = play(input) else {
        return;
    };
    let mut answers = output.split("end\n");
    for (seed, schedule) in schedules.iter().enumerate() {
        let ours = schedule.play();
        let theirs = answers.next().unwrap();
        if ours != theirs {
            let differs = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b);
            let line = differs.unwrap_or(ours.lines().count().min(theirs.lines().count()));
            panic!(
                "seed {seed}, line {line}:\n vcontroller: {:?}\n bitcan:      {:?}\n{}",
                ours.lines().nth(line),
                theirs.lines().nth(line),
                schedule.text()
            );
        }
    }
    // The comparison means something only where these things happen.
    let count = |what: &str| output.lines().filter(|l| l.contains(what)).count();
    for what in [
        "Sent",
        "Aborted",
        "Dropped",
        "Taken",
        "Full",
        "Down",
        "NotPermitted",
        "Unsupported",
    ] {
        assert!(count(what) > 50, "{what}: {}", count(what));
    }
    for what in ["Passive", "BusOff", "Form", "Ack", "Bit"] {
        assert!(count(what) > 20, "{what}: {}", count(what));
    }
    let received = output
        .lines()
        .filter(|l| l.starts_with('R') && l.ends_with('.'));
    assert!(received.count() > 500);
    // Overruns, and frames thrown away by a reset.
    for place in [14, 16] {
        let counters = output.lines().filter(|l| l.starts_with('N'));
        let total: u64 = counters
            .map(|l| l.split(' ').nth(place + 1).unwrap().parse::<u64>().unwrap())
            .sum();
        assert!(total > 50, "counter {place}: {total}");
    }
}
