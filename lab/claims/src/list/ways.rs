//! Common parts of the claims about ways to receive and to transmit.
//!
//! Unless stated otherwise: the papers' board on the timed bench, kernel 6.1. Figures 4.3 and 4.4
//! of syscalls-2014 are about a processor on which `read-write` is saturated by a frame every 150
//! to 155 µs. With 8 ns per instruction (`board:3`) the guest's is saturated by one every 148 µs
//! (as a gateway with real-time priority, `lab rate`); with the papers' best case of can-gw
//! (`board`, 4 ns) by one every 75 µs.

use crate::extent::Extent;
use crate::setups::board;
use experiment::{
    Cpu, Experiment, GatewayChoice, Priority, ReceiveChoice, TrafficPattern, TransmitChoice,
    WayPair,
};

/// Returns a gateway in user space, for any of the lab's words.
pub(super) const fn user(receive: ReceiveChoice, transmit: TransmitChoice) -> GatewayChoice {
    GatewayChoice::User(WayPair::new(receive, transmit))
}

/// The simplest pair.
pub(super) const READ_WRITE: GatewayChoice = GatewayChoice::User(WayPair::READ_WRITE);

/// can-gw, with which all gateways are compared.
pub(super) const KERNEL: GatewayChoice = GatewayChoice::OwnRules;

/// Returns the experiment with one frame at a time, 4 bytes. The paper's runs have 3200 frames
/// (§4.2).
pub(super) fn one_at_a_time(extent: Extent, gateway: GatewayChoice) -> Experiment {
    Experiment {
        gateway,
        ..board(extent.pick(500, 3200))
    }
}

/// Returns the experiment on the processor that `read-write` saturates as it did the paper's; 2
/// bytes, so that the bus carries a frame every 66 µs and is not saturated itself. The kernel's
/// soft interrupts have precedence, so that it is the gateway that saturates: otherwise the
/// controller's FIFO of four frames overruns while frames wait to be read out of it, whatever the
/// gateway does.
pub(super) fn saturated(extent: Extent, gateway: GatewayChoice) -> Experiment {
    Experiment {
        gateway,
        cpu: Cpu::BoardAt(3),
        payload: 2,
        priority: Priority::Softirq,
        ..board(extent.pick(1000, 3200))
    }
}

/// Returns the experiment with a frame every 120 µs (§4.2, Figure 4.3), as many as in the paper:
/// the first hundreds fit into the socket's buffer, however it is read.
pub(super) fn every_120(extent: Extent, gateway: GatewayChoice) -> Experiment {
    Experiment {
        traffic: TrafficPattern::Period(120_000),
        frames: 3200,
        ..saturated(extent, gateway)
    }
}

/// Returns a gateway's word without `user:`.
pub(super) fn word(gateway: &GatewayChoice) -> String {
    match gateway {
        GatewayChoice::User(ways) => ways.to_string(),
        other => other.to_string(),
    }
}

/// The pair that is expected to be the best: a ring that is polled without pause, and batches past
/// the interface's queueing discipline.
pub(super) const BEST: GatewayChoice = user(ReceiveChoice::RingBusy, TransmitChoice::RingBypass);

/// The pair that carries the most frames: of the pairs with rings and busy reading that were
/// searched (see docs/findings.md), by 1 %.
pub(super) const FASTEST: GatewayChoice = user(ReceiveChoice::RingBusy, TransmitChoice::Sendmmsg);

/// The section of the values that the paper states.
pub(super) const SOURCE: &str = "syscalls-2014 §4.2";
