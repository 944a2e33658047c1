//! Random schedules, and their text format.

use cangate_bus::vcontroller::{BudgetUnit, ControllerConfig, FunctionRights, IdRule, SendBudget};
use cangate_bus::{BusConfig, ErrorKind};
use frame::{CanId, Frame, Kind, Nanos, flags};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};
use std::fmt::Write as _;

pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
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

    pub(crate) fn frame(&mut self, id: CanId, fd: bool) -> Frame {
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

    fn rights(&mut self) -> FunctionRights {
        let budget = SendBudget {
            unit: self.pick(&[BudgetUnit::Frames, BudgetUnit::Bits]),
            amount: self.pick(&[0, 1, 3, 150, 1_000]),
            per: self.pick(&[1, 7_000, 1_000_000, 10_000_000]),
            burst: self.pick(&[0, 1, 2, 100, 400]),
        };
        if self.one_in(2) {
            FunctionRights {
                budget: (!self.one_in(3)).then_some(budget),
                ..FunctionRights::all()
            }
        } else {
            FunctionRights {
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
pub(crate) enum Do {
    Rights(u8, FunctionRights),
    Start(u8, bool),
    Reset(u8),
    /// The device of the C program reads it together with the next operation.
    Request(u8, bool, Frame, u64),
    Abort(u8, u64),
    Receive(u8),
    Completion(u8),
    Send(u16, Frame),
    Restart,
}

pub(crate) struct Schedule {
    pub(crate) config: BusConfig,
    pub(crate) controller: ControllerConfig,
    pub(crate) restart: Option<Nanos>,
    pub(crate) others: u16,
    pub(crate) faults: Vec<(u64, ErrorKind, u16)>,
    pub(crate) actions: Vec<(Nanos, Do)>,
    pub(crate) until: Nanos,
}

impl Schedule {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let nominal = dice.pick(&[1_000_000, 500_000, 83_333]);
        let fd = dice.one_in(2);
        let mut config = BusConfig::classic(nominal);
        config.data = fd.then(|| nominal * 4);
        let functions = 1 + dice.below(4) as u8;
        let controller = ControllerConfig {
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
                FunctionRights::all()
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

    /// Returns the text that shared.c reads.
    pub(crate) fn text(&self) -> String {
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
                        Some(b) => (1 + u8::from(b.unit == BudgetUnit::Bits), Some(b)),
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
}
