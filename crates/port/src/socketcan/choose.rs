//! `optimise = …`: the ways to receive and to transmit for a user who has chosen none.
//!
//! The choice depends on what this machine permits, now and for this process: `cangate check`
//! prints the choice and its reasons. It is based on the measurements in docs/ways.md ("Which way
//! to receive and transmit?").

use super::config::{ReceiveBy, TransmitBy};
use super::line::drops_packets;
use linux::Errno;
use linux::link::NetLinks;
use linux::{kernel, packet};

/// First kernel whose raw CAN sockets mark the frames that they send (`raw_sendmsg` in
/// net/can/raw.c).
pub(super) const RAW_MARKS_SINCE: (u32, u32) = (6, 3);

/// The goal for which a port is optimised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptimiseFor {
    /// Least delay: a frame leaves as soon as possible after it came.
    Latency,
    /// As many frames per second as possible without a loss.
    Throughput,
    /// As little processor time per frame as possible, if frames come one by one.
    Cpu,
}

impl OptimiseFor {
    /// All goals, each with its word in `gateway.toml`.
    pub const ALL: [(&'static str, Self); 3] = [
        ("latency", Self::Latency),
        ("throughput", Self::Throughput),
        ("cpu", Self::Cpu),
    ];

    /// Returns its word in `gateway.toml`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Cpu => "cpu",
        }
    }
}

/// The facts about the machine that decide the choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ChoiceFacts {
    /// The reason why there can be no receiving ring on this interface, if there is one.
    no_ring: Option<String>,
    /// Number of processors on which this process may run.
    processors: usize,
}

impl ChoiceFacts {
    /// Gets the facts from the kernel.
    pub(super) fn gather(interface: &str, transmit: Option<TransmitBy>) -> Self {
        Self {
            no_ring: no_ring(interface, transmit),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

fn no_ring(interface: &str, transmit: Option<TransmitBy>) -> Option<String> {
    match packet::PacketSocket::open() {
        Ok(_) => {}
        Err(Errno::PERM | Errno::ACCESS) => {
            return Some("no ring without CAP_NET_RAW".to_owned());
        }
        Err(why) => return Some(format!("no ring without packet sockets ({why})")),
    }
    let marks = transmit == Some(TransmitBy::Ring) || kernel::is_at_least(RAW_MARKS_SINCE);
    let links = NetLinks::now().unwrap_or_default();
    match links.get(interface) {
        Some(link) if !marks && drops_packets(&link.kind, link.echo) => {
            Some(format!("no ring on {interface}, a vcan, before Linux 6.3"))
        }
        _ => None,
    }
}

/// The chosen ways, and the reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WayChoice {
    pub(super) receive: ReceiveBy,
    pub(super) transmit: TransmitBy,
    pub(super) why: String,
}

/// Chooses the ways that the user has not chosen.
pub(super) fn choose(
    what: OptimiseFor,
    receive: Option<ReceiveBy>,
    transmit: Option<TransmitBy>,
    facts: &ChoiceFacts,
) -> WayChoice {
    let alone = facts.processors < 2;
    let (best, mut reasons) = match (what, &facts.no_ring) {
        (OptimiseFor::Latency, None) if alone => (
            ReceiveBy::Ring,
            vec!["one processor, so that the worker waits".to_owned()],
        ),
        (OptimiseFor::Latency, None) => (
            ReceiveBy::RingBusy,
            vec![format!(
                "{} processors, so that the worker never waits",
                facts.processors
            )],
        ),
        // One call returns the frame, without a time stamp: earlier than with recvmmsg.
        (OptimiseFor::Latency, Some(why)) if alone => (
            ReceiveBy::Read,
            vec![
                why.clone(),
                "one processor, so that the worker waits".to_owned(),
            ],
        ),
        (OptimiseFor::Latency, Some(why)) => (
            ReceiveBy::ReadNonblock,
            vec![
                why.clone(),
                format!(
                    "{} processors, so that the worker never waits",
                    facts.processors
                ),
            ],
        ),
        (OptimiseFor::Throughput | OptimiseFor::Cpu, None) => (
            ReceiveBy::Ring,
            vec!["a ring brings frames without a system call".to_owned()],
        ),
        (OptimiseFor::Throughput, Some(why)) => (ReceiveBy::Recvmmsg, vec![why.clone()]),
        // Frames come one by one as long as the worker keeps up, and then one call for one frame is
        // the cheapest.
        (OptimiseFor::Cpu, Some(why)) => (ReceiveBy::Read, vec![why.clone()]),
    };
    if receive.is_some() {
        reasons = vec!["`receive` is given".to_owned()];
    }
    let sends = match what {
        OptimiseFor::Latency | OptimiseFor::Cpu => TransmitBy::Write,
        OptimiseFor::Throughput => TransmitBy::Sendmmsg,
    };
    if transmit.is_some() {
        reasons.push("`transmit` is given".to_owned());
    }
    WayChoice {
        receive: receive.unwrap_or(best),
        transmit: transmit.unwrap_or(sends),
        why: format!("chosen for {}: {}", what.word(), reasons.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(no_ring: Option<&str>, processors: usize) -> ChoiceFacts {
        ChoiceFacts {
            no_ring: no_ring.map(str::to_owned),
            processors,
        }
    }

    #[test]
    fn what_the_machine_has_decides() {
        use OptimiseFor::{Cpu, Latency, Throughput};
        let cases = [
            (Latency, None, 4, ReceiveBy::RingBusy, TransmitBy::Write),
            (Latency, None, 1, ReceiveBy::Ring, TransmitBy::Write),
            (
                Latency,
                Some("x"),
                4,
                ReceiveBy::ReadNonblock,
                TransmitBy::Write,
            ),
            (Latency, Some("x"), 1, ReceiveBy::Read, TransmitBy::Write),
            (Throughput, None, 4, ReceiveBy::Ring, TransmitBy::Sendmmsg),
            (
                Throughput,
                Some("x"),
                4,
                ReceiveBy::Recvmmsg,
                TransmitBy::Sendmmsg,
            ),
            (Cpu, None, 1, ReceiveBy::Ring, TransmitBy::Write),
            (Cpu, Some("x"), 4, ReceiveBy::Read, TransmitBy::Write),
        ];
        for (what, no_ring, processors, receive, transmit) in cases {
            let choice = choose(what, None, None, &facts(no_ring, processors));
            assert_eq!(
                (choice.receive, choice.transmit),
                (receive, transmit),
                "{choice:?}"
            );
            let is_explained = no_ring.is_none_or(|why| choice.why.contains(why));
            assert!(
                is_explained && choice.why.contains(what.word()),
                "{choice:?}"
            );
        }
    }

    #[test]
    fn what_the_user_has_chosen_stays() {
        let facts = facts(None, 4);
        let choice = choose(OptimiseFor::Latency, Some(ReceiveBy::Read), None, &facts);
        assert_eq!(
            (choice.receive, choice.transmit),
            (ReceiveBy::Read, TransmitBy::Write)
        );
        assert!(choice.why.contains("`receive` is given"), "{}", choice.why);
        let choice = choose(OptimiseFor::Cpu, None, Some(TransmitBy::Ring), &facts);
        assert_eq!(
            (choice.receive, choice.transmit),
            (ReceiveBy::Ring, TransmitBy::Ring)
        );
    }
}
