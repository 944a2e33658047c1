//! A machine of several in one virtual time, as the machine itself sees it: its name, and its
//! interfaces on the links.

use crate::devices::LinkedCards;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time after the beginning at which all machines start their commands: setting up takes less.
pub const START: Duration = Duration::from_secs(2);

/// The first letters of names that the agent gives interfaces, so that no link has one: before the
/// interface has its link's name; and of one that is on no link, the second of a card.
pub const RESERVED: [&str; 2] = ["new-", "spare-"];

/// What the agent of such a machine sets up, once the machine runs together with the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedMachine {
    /// The host name.
    pub name: String,
    /// The deviation of its clocks from the common time.
    pub drift: ClockDrift,
    /// The interfaces, in the order of the links.
    pub interfaces: Vec<LinkedInterface>,
    /// The addresses of machines on Ethernet links, for `/etc/hosts`.
    pub hosts: Vec<KnownHost>,
}

/// The deviation of a machine's clocks from the common virtual time, as of an oscillator that is
/// too fast or too slow: of the kernel's clocks and timers, not of the processor's own counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockDrift(
    /// In units of 2^-16 ppm, positive if they are fast: `freq` of adjtimex(2).
    i32,
);

impl ClockDrift {
    /// The largest deviation that the kernel sets, ppm (`MAXFREQ` of `linux/timex.h`).
    pub const MOST: f64 = 500.0;

    /// Returns a deviation in ppm, `None` if it is too large.
    #[must_use]
    pub fn from_ppm(ppm: f64) -> Option<Self> {
        let is_small = ppm.abs() <= Self::MOST;
        is_small.then(|| Self((ppm * 65_536.0).round() as i32))
    }

    /// Returns the value for adjtimex(2), `None` for clocks that are exact.
    pub(crate) fn frequency(self) -> Option<i32> {
        (self.0 != 0).then_some(self.0)
    }
}

/// An interface on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedInterface {
    /// The link's name, which is the interface's.
    pub name: String,
    /// The kind of the link, and what belongs to it.
    pub kind: InterfaceKind,
}

/// The configuration of an interface on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceKind {
    /// A CAN card: an SJA1000 (driver kvaser_pci), or with a data bit rate a CTU CAN FD (driver
    /// ctucanfd_pci).
    Can {
        /// The bit rate, bit/s.
        bitrate: u32,
        /// The data bit rate, bit/s; if there is one, the link has FD frames.
        data_bitrate: Option<u32>,
    },
    /// An e1000 card.
    Ethernet {
        /// The card's own addresses.
        own: EthernetAddress,
        /// The addresses of the other machines on the link.
        neighbours: Vec<EthernetAddress>,
    },
}

/// The addresses of a machine on an Ethernet link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EthernetAddress {
    /// The IPv4 address.
    pub ip: String,
    /// The hardware address.
    pub hardware: String,
}

/// A line of `/etc/hosts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHost {
    /// The IPv4 address.
    pub ip: String,
    /// The machine's names.
    pub names: Vec<String>,
}

impl LinkedMachine {
    /// Returns the numbers of the machine's cards.
    pub(crate) fn cards(&self) -> LinkedCards {
        let mut cards = LinkedCards::default();
        for interface in &self.interfaces {
            let count = match interface.kind {
                InterfaceKind::Can {
                    data_bitrate: None, ..
                } => &mut cards.classic,
                InterfaceKind::Can { .. } => &mut cards.fd,
                InterfaceKind::Ethernet { .. } => &mut cards.ethernet,
            };
            *count = count.saturating_add(1);
        }
        cards
    }
}
