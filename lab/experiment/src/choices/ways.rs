//! The ways by which the gateway in user space receives and transmits, freely combined.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

plain_words! {
    /// The way in which the gateway in user space receives: `receive` of its ports, except for
    /// [`ReceiveChoice::BusypollNoIrq`], which is a port's `read-busypoll` on an interface whose
    /// interrupts the lab has deferred.
    pub enum ReceiveChoice, "way to receive" {
        /// One read(2) for each frame, after poll(2).
        Read = "read",
        /// The same call in a loop (busy).
        ReadNonblock = "read-nonblock",
        /// The same, and each call polls the driver: SO_BUSY_POLL (busy).
        ReadBusypoll = "read-busypoll",
        /// The same with the interface's interrupts deferred (busy).
        ///
        /// The means are `SO_PREFER_BUSY_POLL`, `napi_defer_hard_irqs` and `gro_flush_timeout`:
        /// the closest equivalent in a stock kernel to the patch of syscalls-2014 §4.3.
        BusypollNoIrq = "read-noirq",
        /// Up to 64 frames for each recvmmsg(2), after poll(2).
        Recvmmsg = "recvmmsg",
        /// From a ring in memory (PACKET_MMAP), after poll(2).
        Ring = "ring",
        /// The same ring, polled in a loop (busy).
        RingBusy = "ring-busy",
        /// By io_uring, with buffers that the kernel chooses.
        IoUring = "io_uring",
    }
}

impl ReceiveChoice {
    /// Returns whether the gateway polls for frames without pause, and so never gives up the
    /// processor on its own.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        matches!(
            self,
            Self::ReadNonblock | Self::ReadBusypoll | Self::BusypollNoIrq | Self::RingBusy
        )
    }

    /// Returns the value of `receive` in `gateway.toml`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadNonblock => "read-nonblock",
            Self::ReadBusypoll | Self::BusypollNoIrq => "read-busypoll",
            Self::Recvmmsg => "recvmmsg",
            Self::Ring => "ring",
            Self::RingBusy => "ring-busy",
            Self::IoUring => "io_uring",
        }
    }
}

plain_words! {
    /// The way in which the gateway in user space transmits: `transmit` of its ports.
    pub enum TransmitChoice, "way to transmit" {
        /// One write(2) for each frame.
        Write = "write",
        /// All frames of a batch with one sendmmsg(2).
        Sendmmsg = "sendmmsg",
        /// Into a ring in memory (PACKET_MMAP), one send(2) for a batch.
        Ring = "ring",
        /// The same, past the interface's queueing discipline.
        ///
        /// The socket's option is `PACKET_QDISC_BYPASS`.
        RingBypass = "ring-bypass",
        /// By io_uring.
        IoUring = "io_uring",
    }
}

impl TransmitChoice {
    /// Returns the value of `transmit` in `gateway.toml`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Sendmmsg => "sendmmsg",
            Self::Ring | Self::RingBypass => "ring",
            Self::IoUring => "io_uring",
        }
    }
}

/// A way to receive and one to transmit: `read-write`, `ring-busy-sendmmsg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct WayPair {
    /// The way to receive.
    pub receive: ReceiveChoice,
    /// The way to transmit.
    pub transmit: TransmitChoice,
}

/// The names of syscalls-2014, Table 3.1, and their equivalents here.
pub const PAPER_NAMES: [(&str, WayPair); 10] = [
    (
        "read-write",
        WayPair::new(ReceiveChoice::Read, TransmitChoice::Write),
    ),
    (
        "readnb-write",
        WayPair::new(ReceiveChoice::ReadNonblock, TransmitChoice::Write),
    ),
    (
        "readbusy-write",
        WayPair::new(ReceiveChoice::ReadBusypoll, TransmitChoice::Write),
    ),
    (
        "readbusynoirq-write",
        WayPair::new(ReceiveChoice::BusypollNoIrq, TransmitChoice::Write),
    ),
    (
        "mmap-mmap",
        WayPair::new(ReceiveChoice::Ring, TransmitChoice::Ring),
    ),
    (
        "mmap-write",
        WayPair::new(ReceiveChoice::Ring, TransmitChoice::Write),
    ),
    (
        "mmapbusy-mmap",
        WayPair::new(ReceiveChoice::RingBusy, TransmitChoice::Ring),
    ),
    (
        "mmapbusy-write",
        WayPair::new(ReceiveChoice::RingBusy, TransmitChoice::Write),
    ),
    (
        "readnb-mmap",
        WayPair::new(ReceiveChoice::ReadNonblock, TransmitChoice::Ring),
    ),
    (
        "mmsg-mmsg",
        WayPair::new(ReceiveChoice::Recvmmsg, TransmitChoice::Sendmmsg),
    ),
];

impl WayPair {
    /// The simplest pair, with which the others are compared.
    pub const READ_WRITE: Self = Self::new(ReceiveChoice::Read, TransmitChoice::Write);

    /// Returns a pair.
    #[must_use]
    pub const fn new(receive: ReceiveChoice, transmit: TransmitChoice) -> Self {
        Self { receive, transmit }
    }

    /// Returns every pair.
    pub fn all() -> impl Iterator<Item = Self> {
        let with = |receive| move |transmit: &TransmitChoice| Self::new(receive, *transmit);
        let all = ReceiveChoice::ALL.iter();
        all.flat_map(move |receive| TransmitChoice::ALL.iter().map(with(*receive)))
    }
}

impl fmt::Display for WayPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.receive, self.transmit)
    }
}

impl FromStr for WayPair {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let papers = PAPER_NAMES.iter().find(|(name, _)| *name == text);
        if let Some((_, ways)) = papers {
            return Ok(*ways);
        }
        Self::all()
            .find(|ways| ways.to_string() == text)
            .ok_or_else(|| {
                let receive: Vec<_> = ReceiveChoice::ALL.iter().map(ToString::to_string).collect();
                let transmit: Vec<_> = TransmitChoice::ALL
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                WordError::new(
                    format!("`{text}` is not a pair of ways to receive and to transmit"),
                    format!(
                        "give RECEIVE-TRANSMIT, with one of {} and one of {}; or a name of the \
                         paper's: {}",
                        receive.join(", "),
                        transmit.join(", "),
                        PAPER_NAMES.map(|(name, _)| name).join(", "),
                    ),
                )
            })
    }
}

impl From<WayPair> for String {
    fn from(ways: WayPair) -> Self {
        ways.to_string()
    }
}

impl TryFrom<String> for WayPair {
    type Error = WordError;

    fn try_from(text: String) -> Result<Self, WordError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_has_a_word_of_its_own() {
        let words: BTreeSet<_> = WayPair::all().map(|ways| ways.to_string()).collect();
        assert_eq!(
            words.len(),
            ReceiveChoice::ALL.len() * TransmitChoice::ALL.len()
        );
        for ways in WayPair::all() {
            assert_eq!(ways.to_string().parse(), Ok(ways));
        }
    }

    #[test]
    fn the_papers_names_are_taken_too() {
        for (name, ways) in PAPER_NAMES {
            assert_eq!(name.parse(), Ok(ways), "{name}");
        }
        let busy: WayPair = "mmapbusy-mmap".parse().unwrap();
        assert_eq!(busy.to_string(), "ring-busy-ring");
        let error = "mmap-read".parse::<WayPair>().unwrap_err().to_string();
        assert!(
            error.contains("ring-busy") && error.contains("mmsg-mmsg"),
            "{error}"
        );
    }
}
