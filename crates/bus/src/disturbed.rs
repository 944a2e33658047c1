//! Bit-by-bit simulation of a frame in which an error is possible: which nodes detect which error
//! and when, which nodes flag, how long the frame lasts. Frames in which no error is possible are
//! not simulated here.

use crate::{
    ErrorKind,
    clock::BusClock,
    wire::{BitRole, WireBit},
};
use alloc::vec::Vec;
use frame::Nanos;

/// Number of dominant or recessive bits of an error flag (ISO 11898-1, error frame).
const FLAG: u8 = 6;
/// Number of recessive bits of an error delimiter (ISO 11898-1, error frame).
const DELIMITER: u8 = 8;
/// Number of equal bits in a row that is a stuff error.
const STUFF_ERROR: u32 = 6;
/// Number of bits after its regular length by which a frame is over at the latest: flags, echoes
/// and delimiters take 26 bits, repeated once because of a disturbed delimiter.
const LONGEST_TAIL: usize = 64;

/// A node that takes part, as it was at the start of frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusStation {
    pub(crate) node: usize,
    /// Index of the frame that it sends.
    pub(crate) sends: Option<usize>,
    /// Whether it is error-passive: its flags are recessive.
    pub(crate) passive: bool,
    /// Whether it sends neither acknowledge nor flags.
    pub(crate) listen_only: bool,
    /// Whether it supports FD.
    pub(crate) fd: bool,
}

/// A disturbance of the frame from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disturbance {
    /// The level of this bit is inverted for all nodes.
    Invert(usize),
    /// This bit is dominant for all nodes.
    Dominant(usize),
    /// The acknowledge slot is recessive for all nodes.
    NoAck,
    /// Receivers (one node, or all) see a stuff error at this bit.
    Stuff(usize, Option<usize>),
    /// Receivers (one node, or all) find the checksum wrong.
    Crc(Option<usize>),
}

/// A change to a node in the course of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StationStep {
    pub(crate) at: Nanos,
    pub(crate) node: usize,
    pub(crate) what: StationAction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StationAction {
    /// A sender's attempt has failed: the error that ended it, and the node that detected that.
    Failed(ErrorKind, usize),
    /// Rule 3 of fault confinement applies.
    TransmitError,
    /// Rule 1 applies.
    ReceiveError,
    /// Rule 2 applies.
    ReceiveErrorFirst,
    /// A receiver lost this frame, even if the frame succeeds.
    Deaf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SimulatorState {
    Sending(usize),
    Receiving,
    /// Error flag; `equal` bits of one level seen in it, or sent.
    Flag {
        equal: u8,
        level: bool,
        /// Rule 3, exception 1: counts only if a dominant bit is seen.
        unless_quiet: bool,
    },
    /// Flag sent, waiting for the first recessive bit.
    Tail {
        first: bool,
    },
    /// Number of bits of the delimiter that are left.
    Delimiter(u8),
    /// Nothing more to do in this frame.
    Done,
}

/// The simulator of disturbed frames; it keeps its buffers from one to the next.
#[derive(Debug, Default)]
pub(crate) struct FrameSimulator {
    pub(crate) stations: Vec<BusStation>,
    /// The bits of each frame that is sent, all with the same arbitration field.
    pub(crate) frames: Vec<Vec<WireBit>>,
    states: Vec<SimulatorState>,
    /// Changes to nodes, in the order of their time.
    pub(crate) steps: Vec<StationStep>,
    /// True if at least one sender reached its end of frame.
    pub(crate) success: bool,
    /// End of frame, or of the error delimiter.
    pub(crate) end: Nanos,
    /// Time since which the bus has been recessive.
    pub(crate) recessive_since: Nanos,
    /// The first error that ends the frame, and the node that detected it.
    cause: Option<(ErrorKind, usize)>,
}

/// The properties of a bit that all stations see.
#[derive(Clone, Copy)]
struct SeenBit {
    recessive: bool,
    /// Number of equal bits in a row, this one included.
    run: u32,
    role: Option<BitRole>,
    last_of_frame: bool,
    /// The receivers' copy of the frame differs from the frame that was sent.
    corrupt: bool,
}

impl FrameSimulator {
    /// Forgets the last frame; the caller fills `stations` and `frames` then.
    pub(crate) fn clear(&mut self) {
        self.stations.clear();
        self.steps.clear();
        self.states.clear();
        self.cause = None;
        self.success = false;
    }

    /// Runs the frame that starts at `start`. `used`: number of `frames` that are in use.
    pub(crate) fn run(
        &mut self,
        start: Nanos,
        clock: &BusClock,
        used: usize,
        disturbance: Option<Disturbance>,
    ) {
        for s in &self.stations {
            self.states.push(match s.sends {
                Some(i) => SimulatorState::Sending(i),
                None => SimulatorState::Receiving,
            });
        }
        let (mut nominal, mut data) = (0_u32, 0_u32);
        let mut leader = 0;
        let mut corrupt = false;
        let (mut level, mut run) = (true, 0);
        let mut i = self.first_trouble(used, disturbance);
        let mut dominant = (0, 0);
        for bit in self.frames.first().and_then(|f| f.get(..i)).unwrap_or(&[]) {
            run = if bit.recessive == level { run + 1 } else { 1 };
            level = bit.recessive;
            if bit.fast {
                data += 1;
            } else {
                nominal += 1;
            }
            if !level {
                dominant = (nominal, data);
            }
        }
        self.recessive_since = start.saturating_add(clock.span(dominant.0, dominant.1));
        loop {
            let sending = self.states.iter().find_map(|s| match s {
                SimulatorState::Sending(f) => Some(*f),
                _ => None,
            });
            leader = sending.unwrap_or(leader);
            let frame = self.frames.get(leader).map_or(&[][..], |f| f);
            let bit = frame.get(i).copied();
            let length = frame.len();
            let flagged = self.drives_flag();
            let recessive = self.level(i, bit.map(|b| b.role), corrupt, disturbance);
            run = if recessive == level { run + 1 } else { 1 };
            level = recessive;
            if bit.is_some_and(|b| b.fast) && sending.is_some() && !flagged {
                data += 1;
            } else {
                nominal += 1;
            }
            let at = start.saturating_add(clock.span(nominal, data));
            if !recessive {
                self.recessive_since = at;
            }
            let seen = SeenBit {
                recessive,
                run,
                role: bit.map(|b| b.role),
                last_of_frame: i + 1 >= length,
                corrupt,
            };
            self.process_bit(i, at, seen, disturbance);
            // A bit that no sender recognizes as its own is wrong for the receivers too.
            let content = bit.is_some_and(|b| b.role != BitRole::Ack);
            corrupt |= content && sending.is_some() && !self.any_sending();
            i += 1;
            self.end = at;
            if sending.is_some() && i >= length && self.any_sending() {
                self.success = true;
                return;
            }
            if self.all_done() || i > length + LONGEST_TAIL {
                return;
            }
        }
    }

    /// Returns the first bit at which anything can differ from an undisturbed frame; at the latest
    /// the acknowledge slot. All nodes are in step until then.
    fn first_trouble(&self, used: usize, disturbance: Option<Disturbance>) -> usize {
        let frames = self.frames.get(..used).unwrap_or(&[]);
        let Some((first, others)) = frames.split_first() else {
            return 0;
        };
        let ack = first.iter().position(|b| b.role == BitRole::Ack);
        let mut at = ack.unwrap_or(0);
        for other in others {
            let differs = first.iter().zip(other).position(|(a, b)| a != b);
            at = at.min(differs.unwrap_or(at));
        }
        if self.stations.iter().any(|s| !s.fd) {
            let fdf = first.iter().position(|b| b.role == BitRole::Fdf);
            at = at.min(fdf.unwrap_or(at));
        }
        match disturbance {
            Some(Disturbance::Invert(b) | Disturbance::Dominant(b) | Disturbance::Stuff(b, _)) => {
                at.min(b)
            }
            _ => at,
        }
    }

    fn drives_flag(&self) -> bool {
        let both = self.stations.iter().zip(&self.states);
        both.into_iter()
            .any(|(s, state)| !s.passive && matches!(state, SimulatorState::Flag { .. }))
    }

    /// Returns the bus's level: recessive unless a node drives it dominant, changed by the
    /// disturbance. True is recessive.
    fn level(
        &self,
        i: usize,
        role: Option<BitRole>,
        corrupt: bool,
        disturbance: Option<Disturbance>,
    ) -> bool {
        let ack = role == Some(BitRole::Ack) && !corrupt;
        let drives = |(s, state): (&BusStation, &SimulatorState)| match *state {
            SimulatorState::Sending(f) => {
                let bit = self.frames.get(f).and_then(|f| f.get(i));
                bit.is_some_and(|b| !b.recessive)
            }
            SimulatorState::Receiving => ack && !s.listen_only && !crc_disturbed(s, disturbance),
            SimulatorState::Flag { .. } => !s.passive,
            _ => false,
        };
        let recessive = !self.stations.iter().zip(&self.states).any(drives);
        match disturbance {
            Some(Disturbance::Invert(b)) if b == i => !recessive,
            Some(Disturbance::Dominant(b)) if b == i => false,
            Some(Disturbance::NoAck) if role == Some(BitRole::Ack) => true,
            _ => recessive,
        }
    }

    /// Lets every station process a bit. Senders come first, so that events name a sender where all
    /// stations detect an error in the same bit.
    fn process_bit(
        &mut self,
        i: usize,
        at: Nanos,
        seen: SeenBit,
        disturbance: Option<Disturbance>,
    ) {
        for senders in [true, false] {
            for n in 0..self.stations.len() {
                if self.stations[n].sends.is_some() == senders {
                    self.look_one(n, i, at, seen, disturbance);
                }
            }
        }
    }

    fn look_one(
        &mut self,
        n: usize,
        i: usize,
        at: Nanos,
        seen: SeenBit,
        disturbance: Option<Disturbance>,
    ) {
        let station = self.stations[n];
        match self.states[n] {
            SimulatorState::Sending(f) => {
                let bit = self.frames.get(f).and_then(|f| f.get(i)).copied();
                let Some(bit) = bit else {
                    return;
                };
                let kind = match bit.role {
                    BitRole::Ack if seen.recessive => ErrorKind::Ack,
                    BitRole::Ack => return,
                    _ if bit.recessive == seen.recessive => return,
                    role if role.is_fixed_form() => ErrorKind::Form,
                    _ => ErrorKind::Bit,
                };
                self.detect(n, at, kind);
            }
            SimulatorState::Receiving => {
                if let Some(kind) = received(&station, i, seen, disturbance) {
                    self.detect(n, at, kind);
                } else if seen.role.is_none() {
                    // The sender stopped without a visible flag, and the frame's time is over.
                    self.states[n] = SimulatorState::Done;
                }
            }
            SimulatorState::Flag {
                equal,
                level,
                unless_quiet,
            } => {
                let equal = if equal > 0 && level == seen.recessive {
                    equal + 1
                } else {
                    1
                };
                if unless_quiet && !seen.recessive {
                    self.step(at, n, StationAction::TransmitError);
                }
                self.states[n] = if equal == FLAG {
                    SimulatorState::Tail { first: true }
                } else {
                    SimulatorState::Flag {
                        equal,
                        level: seen.recessive,
                        unless_quiet: unless_quiet && seen.recessive,
                    }
                };
            }
            SimulatorState::Tail { .. } if seen.recessive => {
                self.states[n] = SimulatorState::Delimiter(DELIMITER - 1);
            }
            SimulatorState::Tail { first } => {
                if first && station.sends.is_none() {
                    self.step(at, n, StationAction::ReceiveErrorFirst);
                }
                self.states[n] = SimulatorState::Tail { first: false };
            }
            SimulatorState::Delimiter(left) if seen.recessive => {
                self.states[n] = match left {
                    ..=1 => SimulatorState::Done,
                    _ => SimulatorState::Delimiter(left - 1),
                };
            }
            // A dominant bit in the last place would be an overload frame: not modelled.
            SimulatorState::Delimiter(..=1) => self.states[n] = SimulatorState::Done,
            SimulatorState::Delimiter(_) => self.detect(n, at, ErrorKind::Form),
            SimulatorState::Done => {}
        }
    }

    fn detect(&mut self, n: usize, at: Nanos, kind: ErrorKind) {
        let station = self.stations[n];
        let was = self.states[n];
        if station.listen_only {
            self.step(at, n, StationAction::Deaf);
            self.states[n] = SimulatorState::Done;
            return;
        }
        if self.cause.is_none() && (!station.passive || station.sends.is_some()) {
            self.cause = Some((kind, station.node));
        }
        let exempt = station.passive && kind == ErrorKind::Ack;
        match (station.sends, was) {
            (Some(_), SimulatorState::Sending(_)) => {
                let (kind, by) = self.cause.unwrap_or((kind, station.node));
                self.step(at, n, StationAction::Failed(kind, by));
            }
            (None, SimulatorState::Receiving) => self.step(at, n, StationAction::Deaf),
            _ => {}
        }
        match station.sends {
            Some(_) if exempt => {}
            Some(_) => self.step(at, n, StationAction::TransmitError),
            None => self.step(at, n, StationAction::ReceiveError),
        }
        self.states[n] = SimulatorState::Flag {
            equal: 0,
            level: true,
            unless_quiet: exempt && station.sends.is_some(),
        };
    }

    fn step(&mut self, at: Nanos, n: usize, what: StationAction) {
        let node = self.stations[n].node;
        self.steps.push(StationStep { at, node, what });
    }

    fn any_sending(&self) -> bool {
        self.states
            .iter()
            .any(|s| matches!(s, SimulatorState::Sending(_)))
    }

    /// Returns whether no station has anything left to do. Listen-only stations that still receive
    /// do not count. Other receivers that have seen no error in a frame that no node sends any more
    /// are done at that frame's regular end: this happens only if all other nodes are
    /// error-passive or listen-only.
    fn all_done(&self) -> bool {
        let both = self.stations.iter().zip(&self.states);
        both.into_iter().all(|(s, state)| match state {
            SimulatorState::Done => true,
            SimulatorState::Receiving => s.listen_only,
            _ => false,
        })
    }
}

fn crc_disturbed(station: &BusStation, disturbance: Option<Disturbance>) -> bool {
    match disturbance {
        Some(Disturbance::Crc(victim)) => victim.is_none_or(|v| v == station.node),
        _ => false,
    }
}

/// Returns the error that a receiver detects at a bit, if any (ISO 11898-1, error detection).
fn received(
    station: &BusStation,
    i: usize,
    seen: SeenBit,
    disturbance: Option<Disturbance>,
) -> Option<ErrorKind> {
    if let Some(Disturbance::Stuff(bit, victim)) = disturbance
        && bit == i
        && victim.is_none_or(|v| v == station.node)
    {
        return Some(ErrorKind::Stuff);
    }
    let role = seen.role?;
    let bad = seen.corrupt || crc_disturbed(station, disturbance);
    match role {
        _ if role.is_stuffed() && seen.run >= STUFF_ERROR => Some(ErrorKind::Stuff),
        BitRole::Fdf if !station.fd && seen.recessive => Some(ErrorKind::Form),
        BitRole::FixedStuff if seen.run > 1 => Some(ErrorKind::Form),
        // A dominant last bit of the end of frame would be an overload frame: not modelled.
        BitRole::End if seen.last_of_frame => None,
        _ if role.is_fixed_form() && !seen.recessive => Some(ErrorKind::Form),
        // The receiver sent a dominant acknowledge and reads back a recessive bit.
        BitRole::Ack if seen.recessive && !bad && !station.listen_only => Some(ErrorKind::Bit),
        // The flag for a wrong checksum starts after the acknowledge delimiter.
        BitRole::AckDelimiter if bad => Some(ErrorKind::Crc),
        _ => None,
    }
}
