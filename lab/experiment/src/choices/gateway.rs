//! The gateway under test.

use super::nesting::Nesting;
use super::ways::{ReceiveChoice, TransmitChoice, WayPair};
use super::word::{WordError, WordKind, WordMeaning, word_table};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The gateway under test.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GatewayChoice {
    /// can-gw, its rules added by Debian's `cangw`.
    #[serde(rename = "cangw")]
    Cangw,
    /// `cangate run` routing in its process, which receives and transmits in these ways.
    #[serde(rename = "user")]
    User(WayPair),
    /// No cost but that of the bench itself, the floor of every figure on it. On the timed bench
    /// the two controllers are joined inside the module, with no software in between; on the kvaser
    /// bench the gateway's incoming card belongs to the tester, on the incoming bus, so that one
    /// more reception remains.
    #[serde(rename = "ideal")]
    Ideal,
    /// No gateway: reference and receiver are on one bus, to measure the tester's own precision.
    #[serde(rename = "none")]
    None,
    /// `cangate run` with `offload = "can-gw"`: also can-gw, its rules added by cangate.
    #[serde(rename = "can-gw")]
    OwnRules,
    /// `cangate run` with `offload = "bpf"`.
    #[serde(rename = "bpf")]
    Bpf,
    /// `cangate run` with ports of kind `direct`, on mapped controllers of the timed bench:
    /// polling, or by interrupt.
    #[serde(rename = "direct")]
    Direct {
        /// Whether it uses interrupts.
        irq: bool,
    },
    /// `cangate run` with ports of kind `chardev`, on character devices of the timed bench.
    #[serde(rename = "chardev")]
    Chardev,
    /// An image without an operating system, on the timed bench inside it: polling, or by
    /// interrupt.
    #[serde(rename = "baremetal")]
    Baremetal {
        /// Whether it uses interrupts.
        irq: bool,
    },
    /// The way to a controller of the hypervisor, for a program of the tasks other than a
    /// gateway's: natively, or from an inner machine.
    #[serde(rename = "vm")]
    Vm(Nesting),
    /// The cost of the bench without an operating system itself, the floor of every figure on it:
    /// the bench forwards frames, as soon as it runs.
    #[serde(rename = "baremetal:ideal")]
    BaremetalIdeal,
}

impl GatewayChoice {
    /// The gateways whose word has no part that varies.
    pub(crate) const PLAIN: [Self; 11] = [
        Self::Cangw,
        Self::OwnRules,
        Self::Bpf,
        Self::Direct { irq: false },
        Self::Direct { irq: true },
        Self::Chardev,
        Self::Baremetal { irq: false },
        Self::Baremetal { irq: true },
        Self::BaremetalIdeal,
        Self::Ideal,
        Self::None,
    ];

    /// Returns whether the data path is can-gw, whichever program adds its rules.
    #[must_use]
    pub const fn by_rules(&self) -> bool {
        matches!(self, Self::Cangw | Self::OwnRules)
    }

    /// Returns whether there is a gateway that could filter, change or forward a frame.
    #[must_use]
    pub const fn has_routes(&self) -> bool {
        !matches!(
            self,
            Self::Ideal | Self::None | Self::BaremetalIdeal | Self::Vm(_)
        )
    }

    /// Returns whether it runs without an operating system.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        matches!(self, Self::Baremetal { .. } | Self::BaremetalIdeal)
    }

    /// Returns where `cangate run` has its routes, if not in its process: `offload` of `[gateway]`.
    #[must_use]
    pub const fn offload(&self) -> Option<&'static str> {
        match self {
            Self::OwnRules => Some("can-gw"),
            Self::Bpf => Some("bpf"),
            _ => None,
        }
    }
}

impl WordKind for GatewayChoice {
    const KIND: &'static str = "gateway";
    const WORDS: &'static [WordMeaning] = &[
        (
            "cangw",
            &["can-gw in the kernel; Debian's program cangw adds the rules"],
        ),
        (
            "can-gw",
            &["can-gw in the kernel; cangate adds the rules (offload = \"can-gw\")"],
        ),
        (
            "bpf",
            &["cangate's BPF program in the kernel (offload = \"bpf\")"],
        ),
        (
            "user:RX-TX",
            &["cangate in user space, which receives and transmits in these ways"],
        ),
        (
            "direct",
            &["cangate on two controllers in its own memory, polling (timed bench only)"],
        ),
        ("direct:irq", &["The same, by interrupt"]),
        (
            "chardev",
            &["cangate on two character devices (timed bench only)"],
        ),
        (
            "baremetal",
            &["An image without an operating system, on a timed bench inside it, polling"],
        ),
        ("baremetal:irq", &["The same, by interrupt"]),
        ("baremetal:ideal", &["The cost of that bench itself"]),
        (
            "vm:WAY",
            &[
                "For the other tasks on the vm bench: a program's way to the hypervisor's controller",
            ],
        ),
        (
            "ideal",
            &["A gateway without software: what the bench itself costs"],
        ),
        (
            "none",
            &["No gateway: the precision of the tester (kvaser bench only)"],
        ),
    ];

    fn table() -> String {
        format!(
            "{}\nWays to the hypervisor's controller (vm:WAY):\n{}\n\
             Ways to receive (RX), as `receive` in gateway.toml:\n{}\n\
             Ways to transmit (TX), as `transmit` in gateway.toml:\n{}",
            word_table(Self::WORDS),
            Nesting::table(),
            ReceiveChoice::table(),
            TransmitChoice::table()
        )
    }
}

impl fmt::Display for GatewayChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cangw => f.write_str("cangw"),
            Self::User(ways) => write!(f, "user:{ways}"),
            Self::Ideal => f.write_str("ideal"),
            Self::None => f.write_str("none"),
            Self::OwnRules => f.write_str("can-gw"),
            Self::Bpf => f.write_str("bpf"),
            Self::Direct { irq: false } => f.write_str("direct"),
            Self::Direct { irq: true } => f.write_str("direct:irq"),
            Self::Chardev => f.write_str("chardev"),
            Self::Baremetal { irq: false } => f.write_str("baremetal"),
            Self::Baremetal { irq: true } => f.write_str("baremetal:irq"),
            Self::BaremetalIdeal => f.write_str("baremetal:ideal"),
            Self::Vm(nesting) => write!(f, "vm:{nesting}"),
        }
    }
}

impl FromStr for GatewayChoice {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        if let Some(nesting) = text.strip_prefix("vm:") {
            return Ok(Self::Vm(nesting.parse()?));
        }
        if let Some(ways) = text.strip_prefix("user:") {
            return Ok(Self::User(ways.parse()?));
        }
        let mut plain = Self::PLAIN.into_iter();
        plain
            .find(|gateway| gateway.to_string() == text)
            .ok_or_else(|| WordError::unknown::<Self>(text))
    }
}
