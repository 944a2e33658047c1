//! One experiment: everything that is chosen, and nothing that is found out.

use crate::machine::{Bench, Controller};
use serde::{Deserialize, Serialize};

/// One experiment, one row of a matrix. Its text forms are those of `cangate lab measure`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `6.1`, `6.12-rt`.
    pub kernel: String,
    /// Kvaser or timed.
    pub bench: Bench,
    /// The gateway under test.
    pub gateway: Gateway,
    /// How frames come.
    pub traffic: TrafficKind,
    /// What else the gateway's machine does.
    pub load: Load,
    /// Payload bytes, at least 2 (the frame's number); above 8 the frames are FD.
    pub payload: u8,
    /// How many frames.
    pub frames: u32,
    /// What the gateway filters by.
    pub filters: Filters,
    /// What the gateway changes.
    pub modify: Modify,
    /// Passes through virtual interfaces.
    pub hops: Hops,
    /// How fast the guest's processor is, and which controllers it has.
    pub cpu: Cpu,
    /// Parameters for the guest's kernel.
    pub boot: Boot,
    /// Seed of everything random.
    pub seed: u64,
    /// Not in virtual time.
    pub real_time: bool,
    /// Every how many frames the tester takes stamps (timed bench): 1, except to see what
    /// stamping costs.
    pub stamp_every: u32,
}

impl Default for Experiment {
    /// What `cangate lab measure` does without options: can-gw on the kvaser bench, 4 bytes, one
    /// frame at a time.
    fn default() -> Self {
        Self {
            kernel: "6.1".to_owned(),
            bench: Bench::Kvaser,
            gateway: Gateway::Cangw,
            traffic: TrafficKind::OneAtATime,
            load: Load::None,
            payload: 4,
            frames: 500,
            filters: Filters::None,
            modify: Modify::None,
            hops: Hops::NONE,
            cpu: Cpu::Pc,
            boot: Boot::default(),
            seed: 1,
            real_time: false,
            stamp_every: 1,
        }
    }
}

/// The gateway under test.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gateway {
    /// can-gw, its rules put in by Debian's `cangw`.
    #[serde(rename = "cangw")]
    Cangw,
    /// `cangate run`, with this way of input and output: `read-write`.
    #[serde(rename = "user")]
    User(String),
    /// None: reference and receiver are on one bus, for the tester's own precision.
    #[serde(rename = "none")]
    None,
    /// `cangate run` with `offload = "can-gw"`: can-gw again, its rules put in by cangate.
    #[serde(rename = "can-gw")]
    OwnRules,
    /// `cangate run` with `offload = "bpf"`.
    #[serde(rename = "bpf")]
    Bpf,
}

impl Gateway {
    /// Frames go by rules of can-gw, whoever put them in.
    #[must_use]
    pub const fn by_rules(&self) -> bool {
        matches!(self, Self::Cangw | Self::OwnRules)
    }

    /// Where `cangate run` has its routes, if not in its process: `offload` of `[gateway]`.
    #[must_use]
    pub const fn offload(&self) -> Option<&'static str> {
        match self {
            Self::OwnRules => Some("can-gw"),
            Self::Bpf => Some("bpf"),
            Self::Cangw | Self::User(_) | Self::None => None,
        }
    }
}

/// How frames come (gateway-2011 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficKind {
    /// The next one when the one before has come back, or after 1 s.
    OneAtATime,
    /// A fixed period that loads the bus by so many per cent.
    Percent(u8),
    /// As fast as the bus takes them.
    Flood,
    /// A fixed period, ns.
    Period(u64),
}

/// What else the gateway's machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Nothing.
    None,
    /// hackbench.
    Cpu,
    /// The tester's side floods the gateway with 60 kB pings.
    EthRx,
    /// The gateway floods the tester's side with 60 kB pings.
    EthTx,
}

/// What the gateway filters by. With a count, the last rule is the one that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filters {
    /// Nothing: one rule for all frames.
    None,
    /// Rules for one SFF ID each (`ID:C00007FF`), which the kernel keeps in a table.
    Sff(u32),
    /// Rules for one ID in either format (`ID:7FF`), which the kernel keeps in a list.
    List(u32),
    /// Rules for one EFF ID each (`ID:DFFFFFFF`), which the kernel hashes.
    Eff(u32),
}

/// What the gateway changes in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modify {
    /// Nothing.
    None,
    /// SET of the identifier to what it is already: only the copy is paid for.
    Copy,
    /// SET of the identifier.
    Id,
    /// AND of data.
    And,
    /// OR of data.
    Or,
    /// XOR of data.
    Xor,
    /// SET of the length, to what it is: a SET of data would overwrite the frame's number.
    Set,
    /// CRC8 checksum, after a SET.
    Crc8,
    /// XOR checksum, after a SET.
    Xorsum,
}

/// Passes through virtual interfaces between the two buses (gateway-2010-draft §IV-E).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hops {
    /// How many.
    pub count: u8,
    /// Through how many interfaces in a chain: 1 or 2.
    pub interfaces: u8,
    /// Of which kind.
    #[serde(default)]
    pub through: Virtual,
}

impl Hops {
    /// From one bus to the other at once.
    pub const NONE: Self = Self {
        count: 0,
        interfaces: 1,
        through: Virtual::Vcan,
    };
}

/// A kind of virtual CAN interface.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Virtual {
    /// vcan, as in the papers: a rule of can-gw sends with echo and gets the frame back on the
    /// same interface.
    #[default]
    Vcan,
    /// A pair of vxcan: what goes into one end comes out of the other, for rules, BPF programs and
    /// sockets alike.
    Vxcan,
}

impl Cpu {
    /// An instruction takes 2^shift ns.
    #[must_use]
    pub const fn shift(self) -> u8 {
        match self {
            Self::Pc => 1,
            Self::Board => 2,
            Self::BoardAt(shift) | Self::Shift(shift) => shift,
        }
    }

    /// The gateway's controllers on the timed bench.
    #[must_use]
    pub const fn controller(self) -> Controller {
        match self {
            Self::Board | Self::BoardAt(_) => Controller::Mscan,
            Self::Pc | Self::Shift(_) => Controller::Sja1000,
        }
    }
}

/// The guest's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cpu {
    /// Shift 1 (2 ns an instruction), sja1000 controllers.
    Pc,
    /// Shift 2 (4 ns an instruction), mscan controllers: the papers' MPC5200 board.
    Board,
    /// This shift, other than 2, mscan controllers: a board whose processor is slower or faster.
    BoardAt(u8),
    /// This shift, sja1000 controllers.
    Shift(u8),
}

/// Parameters for the guest's kernel (Documentation/admin-guide/kernel-parameters.txt), as
/// `nohz=off`; usually none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Boot(pub Vec<String>);
