//! Faults on the wire: their kinds, their times, and their places in the frame.

use crate::{ConfigError, NodeId, wire::MOST_BITS};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

/// The five kinds of error that a node can detect (ISO 11898-1, error detection).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ErrorKind {
    /// A sender reads a level other than the one it sends.
    Bit,
    /// Six equal bits where stuffing allows five.
    Stuff,
    /// A dominant bit in a field that is always recessive, or a bad fixed stuff bit.
    Form,
    /// The checksum does not fit.
    Crc,
    /// No node acknowledged the frame.
    Ack,
}

/// A disturbance of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameFault {
    /// Kind of disturbance, named after the error that it makes nodes detect; see
    /// [the crate's page](crate#faults).
    pub kind: ErrorKind,
    /// The bit of the frame, counted on the wire with stuff bits; 0 is the start of frame. A
    /// position where the kind cannot happen is moved to the nearest later bit where it can, or
    /// else to the last one. `None`: any such bit, at random. Ignored for [`ErrorKind::Ack`] and
    /// [`ErrorKind::Crc`], which have one place each.
    pub bit: Option<u16>,
    /// For [`ErrorKind::Stuff`] and [`ErrorKind::Crc`]: the only receiver that is disturbed.
    /// `None`: all receivers.
    pub victim: Option<NodeId>,
}

impl FrameFault {
    /// Returns a fault at any bit where it can happen, for all receivers.
    #[must_use]
    pub const fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            bit: None,
            victim: None,
        }
    }

    /// Returns the same fault at a given bit.
    #[must_use]
    pub const fn at_bit(mut self, bit: u16) -> Self {
        self.bit = Some(bit);
        self
    }

    /// Returns the same fault for one receiver only.
    #[must_use]
    pub const fn for_receiver(mut self, node: NodeId) -> Self {
        self.victim = Some(node);
        self
    }
}

/// The frame that a planned fault hits. Starts of frame are counted from 1, repeated attempts too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FaultTime {
    /// The n-th start of frame on the bus.
    Start(u64),
    /// The n-th start of frame of a node.
    StartOf(NodeId, u64),
}

/// The faults of a bus, and their rates.
#[derive(Clone, PartialEq, Debug)]
pub struct BusFaults {
    /// Probability that a frame is disturbed.
    pub per_frame: f64,
    /// Probability that a bit is disturbed. The first one that is gives [`FrameFault::bit`].
    pub per_bit: f64,
    /// The kinds that happen at random, equally likely.
    pub kinds: Vec<ErrorKind>,
    /// Faults at given frames, one for each: of several for one frame the first counts. They take
    /// precedence over random ones.
    pub planned: Vec<(FaultTime, FrameFault)>,
}

impl Default for BusFaults {
    /// Returns faults that never happen: both probabilities are 0 and none is planned.
    fn default() -> Self {
        Self {
            per_frame: 0.0,
            per_bit: 0.0,
            kinds: vec![ErrorKind::Bit],
            planned: Vec::new(),
        }
    }
}

impl BusFaults {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for p in [self.per_frame, self.per_bit] {
            if !(0.0..=1.0).contains(&p) {
                return Err(ConfigError::Probability(p));
            }
        }
        if self.kinds.is_empty() && (self.per_frame > 0.0 || self.per_bit > 0.0) {
            return Err(ConfigError::NoFaultKind);
        }
        Ok(())
    }
}

/// The generator of the faults of each frame.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    faults: BusFaults,
    planned: BTreeMap<FaultTime, FrameFault>,
    rng: Xoshiro256PlusPlus,
    /// `survival[n]`: probability that n bits pass undisturbed. Products only, so that it is the
    /// same on every machine (IEEE 754 multiplication is exact to the bit, `powf` is not).
    survival: Vec<f64>,
    /// True if no fault can happen any more, unless another one is planned.
    pub(crate) quiet: bool,
}

impl FaultInjector {
    pub(crate) fn new(mut faults: BusFaults, seed: u64) -> Self {
        let plan = core::mem::take(&mut faults.planned);
        let mut survival = Vec::new();
        if faults.per_bit > 0.0 {
            survival.reserve(MOST_BITS + 1);
            let mut s = 1.0;
            for _ in 0..=MOST_BITS {
                survival.push(s);
                s *= 1.0 - faults.per_bit;
            }
        }
        let mut injector = Self {
            faults,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            survival,
            planned: BTreeMap::new(),
            quiet: false,
        };
        injector.see_whether_quiet();
        for (when, fault) in plan {
            injector.plan(when, fault);
        }
        injector
    }

    fn see_whether_quiet(&mut self) {
        self.quiet =
            self.planned.is_empty() && self.faults.per_frame <= 0.0 && self.faults.per_bit <= 0.0;
    }

    pub(crate) fn plan(&mut self, when: FaultTime, fault: FrameFault) {
        self.planned.entry(when).or_insert(fault);
        self.see_whether_quiet();
    }

    /// Returns the fault of this start of frame, which is the n-th of the bus and the m-th of each
    /// sender, and a random number for its place. `bits`: the frame's length up to the end of
    /// frame.
    pub(crate) fn draw(
        &mut self,
        n: u64,
        senders: impl Iterator<Item = (NodeId, u64)>,
        bits: u64,
    ) -> Option<(FrameFault, u64)> {
        let mut planned = self.planned.remove(&FaultTime::Start(n));
        for (node, m) in senders {
            let own = self.planned.remove(&FaultTime::StartOf(node, m));
            planned = planned.or(own);
        }
        // The same random numbers are drawn for every frame, planned fault or not, so that a plan
        // does not change the random faults of the frames after it.
        let random = self.random(bits);
        let place = self.rng.next_u64();
        self.see_whether_quiet();
        planned.or(random).map(|fault| (fault, place))
    }

    fn random(&mut self, bits: u64) -> Option<FrameFault> {
        let mut fault = None;
        if self.faults.per_bit > 0.0 {
            let u = self.unit();
            // The first disturbed bit is the smallest n with survival[n + 1] <= u.
            let first = self.survival.partition_point(|&s| s > u).saturating_sub(1);
            if (first as u64) < bits {
                let kind = self.kind();
                fault = Some(FrameFault::new(kind).at_bit(first as u16));
            }
        }
        if self.faults.per_frame > 0.0 && self.unit() < self.faults.per_frame && fault.is_none() {
            let kind = self.kind();
            fault = Some(FrameFault::new(kind));
        }
        fault
    }

    fn kind(&mut self) -> ErrorKind {
        let n = self.faults.kinds.len() as u64;
        let i = below(self.rng.next_u64(), n) as usize;
        self.faults.kinds.get(i).copied().unwrap_or(ErrorKind::Bit)
    }

    /// Returns a random number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Maps a random 64-bit number to one from 0 to below `n`; 0 where `n` is 0.
pub(crate) fn below(random: u64, n: u64) -> u64 {
    // Bias below n / 2^64.
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}
