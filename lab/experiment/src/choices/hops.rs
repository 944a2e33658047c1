//! Passes through virtual interfaces.

use super::word::{WordError, WordKind, WordMeaning, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Passes through virtual interfaces between the two buses (gateway-2010-draft §IV-E).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HopChoice {
    /// The number of passes.
    pub count: u8,
    /// The number of interfaces in a chain: 1 or 2.
    pub interfaces: u8,
    /// The kind of interface.
    #[serde(default)]
    pub through: VirtualKind,
}

impl HopChoice {
    /// Directly from one bus to the other.
    pub const NONE: Self = Self {
        count: 0,
        interfaces: 1,
        through: VirtualKind::Vcan,
    };
}

/// A kind of virtual CAN interface.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum VirtualKind {
    /// vcan, as in the papers: a rule of can-gw sends with echo and gets the frame back on the
    /// same interface.
    #[default]
    Vcan,
    /// A pair of vxcan: frames that go into one end come out of the other, for rules, BPF programs
    /// and sockets alike.
    Vxcan,
}

/// The maximum number of hops: can-gw lets a frame pass at most six of its rules (`CGW_MAX_HOPS` of
/// net/can/gw.c): one takes it from each virtual interface, and one from the first bus.
pub const MOST_HOPS: u8 = 5;

impl WordKind for HopChoice {
    const KIND: &'static str = "number of hops";
    const WORDS: &'static [WordMeaning] = &[
        (
            "N",
            &[
                "N passes, 0 to 5, through one vcan interface. Example with no pass: --hops 0. With three: --hops 3",
            ],
        ),
        (
            "N:2",
            &["N passes, 2 or 4, through a chain of two vcan interfaces. Example: --hops 4:2"],
        ),
        (
            "N:vxcan",
            &[
                "N passes through one pair of vxcan interfaces: frames into one come out of the other. \
                Example: --hops 1:vxcan",
            ],
        ),
        (
            "N:2:vxcan",
            &["N passes, 2 or 4, through a chain of two vxcan pairs. Example: --hops 4:2:vxcan"],
        ),
    ];
}

impl fmt::Display for HopChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        if self.interfaces != 1 {
            write!(f, ":{}", self.interfaces)?;
        }
        match self.through {
            VirtualKind::Vcan => Ok(()),
            VirtualKind::Vxcan => f.write_str(":vxcan"),
        }
    }
}

impl FromStr for HopChoice {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (numbers, through) = match text.strip_suffix(":vxcan") {
            Some(numbers) => (numbers, VirtualKind::Vxcan),
            None => (text, VirtualKind::Vcan),
        };
        let (count, interfaces) = numbers.split_once(':').unwrap_or((numbers, "1"));
        let count = number(count, 0..=MOST_HOPS, Self::KIND).map_err(|mut error| {
            error
                .hint
                .push_str(": can-gw's max_hops is at most 6, and the first rule needs one");
            error
        })?;
        let interfaces = match interfaces {
            "1" => 1,
            "2" => 2,
            _ => {
                return Err(WordError::new(
                    format!("`{interfaces}` is not a number of virtual interfaces"),
                    "write N for one, N:2 for two in a chain; append :vxcan for pairs of \
                     vxcan",
                ));
            }
        };
        if interfaces == 2 && !count.is_multiple_of(2) {
            return Err(WordError::new(
                format!("{count} hops are not possible with two interfaces"),
                "each pass through a chain of two interfaces is two hops: 2:2, 4:2",
            ));
        }
        let hops = Self {
            count,
            interfaces,
            through,
        };
        // With no hop there is no interface: only one notation is used.
        Ok(if hops.count == 0 { Self::NONE } else { hops })
    }
}
