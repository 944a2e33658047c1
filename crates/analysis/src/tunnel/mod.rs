//! Tunnels between two gateways: datagrams with frames over a network.
//!
//! A frame that a gateway sends into a tunnel takes five steps: the gateway's own time, the packing
//! window, the queues of the network, a stated time for a network of which nothing is proved, and
//! the play-out. [`TunnelFound`] has the longest time of each, and the sum. With e, the end of the
//! frame on the bus before:
//!
//! # The packing window
//! A frame reaches the port at most g ([`TunnelFlow::before`]) after e. An urgent frame leaves at
//! once in a datagram of its own. Any other joins the open datagram, which leaves when it is full,
//! or its window w after its first frame; the gateway notices this at most t later
//! ([`TunnelPort::timer`]). So a frame leaves at most P = w + t after it has come (P = 0 without a
//! window: the datagram leaves at the end of the gateway's batch, which is part of g).
//!
//! Frames that leave in an interval of length x have come in an interval of length x + P. With
//! η(x), the most frames of a message that come in an interval of length x, ends included
//! ([`Arrival`]), the bytes that leave in it are at most the sum of η(x + P) times the bytes of a
//! frame; frames of one bus are limited by that bus, too ([`mod@crate::train`]).
//!
//! Each datagram has a header. There are at most as many datagrams as frames. Datagrams whose
//! window is over leave at least w after one another, because one begins after the one before has
//! left: at most ⌊x / w⌋ + 1 of them. A full one has at least *room* − (the longest frame) + 1
//! bytes of frames. The lower of the two numbers counts. A datagram has at most the frames that can
//! leave at one time.
//!
//! # The queues
//! Let W(x) be the time that the link needs for everything that leaves in an interval of length x:
//! an arrival curve, in time of the link. A queue of the link is a server of rate 1. Of the
//! traffic of others, at most β + ρ t passes in a time t (a token bucket), in any order with the
//! tunnel's own. What is left for the tunnel is a rate-latency server with the rate 1 − ρ and the
//! latency β / (1 − ρ) (blind multiplexing). A switch that stores a datagram before it sends it
//! adds its own latency and the longest datagram. Servers in a row are one server, with the least
//! rate and the sum of the latencies T. The delay of a queue in order of arrival is at most the
//! horizontal distance of the two curves,
//!
//! > max over x of T + W(x) / (1 − ρ) − x,
//!
//! with x up to the first L at which T + W(L) / (1 − ρ) ≤ L: W can be replaced by its sub-additive
//! closure, for which later x repeat earlier ones. A token bucket of the tunnel itself (a shaper
//! with the rate r and the burst b) is a server of b + r t; with the link, it is the lower of both.
//! (Le Boudec, Thiran, *Network Calculus*, 2001, §1.4: the three bounds and servers in a row; §1.5:
//! shapers; §1.7: packets; §6.2: multiplexing. Thiele et al., *Formal worst-case performance
//! analysis of time-sensitive Ethernet with CAN gateways*, Real-Time Systems 2016, bound the same
//! chain in compositional performance analysis.)
//!
//! # Frames that pass others
//! *In the gateway.* While its socket has no room, frames wait one by one, in the order of class
//! and arbitration, and further datagrams are made of them without a window. The socket has room
//! for [`SOCKET_DATAGRAMS`] at least. If the bound above allows no more at one time, it never
//! blocks: up to the first time at which it does, the bound holds. *In the network.* Where each
//! queue serves urgent datagrams first, an urgent one finds at most [`LinkSpec::urgent_behind`]
//! bytes of others ahead of it. In both cases let s be the last time at which the server began to
//! be busy, and let the frame leave its port x after s. Ahead of it are those that left until then,
//! W(x), and those that may pass it until its own end f:
//!
//! > f is the smallest solution of f = T + (V(x) + U(f)) / (1 − ρ), with U those that may pass it,
//! > and V all others; the delay is the maximum of f − x.
//!
//! Then each datagram counts with a single frame, and the queues are bounded one after the other,
//! because such a row is no single server: each adds the delay of the one before as jitter.
//!
//! # A network without a proof
//! [`StatedDelay`] is a time that was measured or promised. A bound with it is only as good as
//! that figure: it is conditional. The sum is otherwise the same.
//!
//! # The play-out
//! The far gateway hands a frame on at its stamp, plus the offset o between the two clocks, plus
//! the delay D; a late one at once. The stamp is between e and e + g. Let A be the bound up to the
//! arrival, from e, and a the least time from the stamp to the arrival.
//!
//! * **A common clock**: o is the error of the clocks, at most ε either way. The frame is handed on
//!   between e + max(a, D − ε) and e + max(A, D + g + ε). With D ≥ A this takes all of the
//!   network's jitter away: g + 2 ε is left.
//! * **The sender's own clock**: o follows the least transit of a window, so it is between times
//!   that some frames of the port took: between a and the greatest A of them, and ε for the drift
//!   of the clocks within the window. The frame is handed on between e + a + max(0, D − ε) and e +
//!   (the greatest A) + g + D + ε. So this clock restores gaps, but it proves no less jitter than
//!   the network has: nothing proves that the fastest frame was fast.
//!
//! # What a bound does not cover
//! A frame that the network loses, or that a receiver leaves out because it is late, too old, or
//! behind a later one of its ID, does not arrive: a bound makes no statement about it. Frames that
//! do arrive are as if the others had not been sent. Not covered: datagrams that the network
//! repeats, ARP and the other traffic of the two machines beyond [`LinkSpec::others`].
//!
//! [`Arrival`]: crate::Arrival

mod curves;
mod delay;

use crate::MessagePlace;
use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;

pub(crate) use curves::TunnelArrival;
pub(crate) use delay::assess;
pub use delay::{FlowDelay, TunnelFound};

/// Number of datagrams that the socket of a tunnel has room for, whatever their length. Linux
/// charges at most 2304 bytes for one of up to 1500, doubles the 4096 of `SO_SNDBUF`, and takes
/// another one while the sum is below.
pub const SOCKET_DATAGRAMS: u64 = 4;

/// Bytes of the shortest Ethernet frame with its preamble, without the gap after it.
pub const SHORTEST_ON_WIRE: u64 = 72;

/// A tunnel in one direction: the traffic of one or several ports over one network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunnelSpec {
    /// Its name.
    pub name: String,
    /// The part of the network that is proved.
    pub link: Option<LinkSpec>,
    /// The part that is not.
    pub stated: Option<StatedDelay>,
    /// The sending ports, each with its receiver.
    pub ports: Vec<TunnelPort>,
    /// The messages that are sent into it.
    pub flows: Vec<TunnelFlow>,
}

/// A rate, and a number of bytes at once: in a time t, at most burst + rate · t pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBucket {
    /// bit/s.
    pub rate: u64,
    /// Bytes.
    pub burst: u64,
}

/// Links of one rate, in a row, with switches between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// bit/s.
    pub rate: u64,
    /// Number of switches, each of which stores a datagram before it sends it.
    pub switches: u32,
    /// The longest time of a switch itself, ns.
    pub switch_latency: Nanos,
    /// Other traffic at each queue.
    pub others: Option<TokenBucket>,
    /// A shaper of the tunnel in front of the first link.
    pub bucket: Option<TokenBucket>,
    /// If each queue serves urgent datagrams first: the most bytes of others that such a datagram
    /// finds ahead of it in one. `None`: queues are in order of arrival.
    pub urgent_behind: Option<u64>,
}

/// The origin of a time that is not proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayOrigin {
    /// It was measured.
    Measured,
    /// It is a promise, for example of the network's operator.
    Stated,
}

/// The time of a network of which nothing is proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatedDelay {
    /// The shortest, ns.
    pub least: Nanos,
    /// The longest, ns.
    pub most: Nanos,
    /// Where it comes from.
    pub origin: DelayOrigin,
}

/// A sending port, and the play-out of its receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunnelPort {
    /// Its name.
    pub name: String,
    /// The packing window, ns.
    pub window: Nanos,
    /// With a window: the longest time from its end until the datagram leaves the gateway, ns.
    pub timer: Nanos,
    /// The most bytes on the wire of a datagram without its frames.
    pub header: u64,
    /// The bytes of frames for which a datagram has room.
    pub room: u64,
    /// The least time between two reports, ns, and the bytes of one without its header.
    pub reports: Option<(Nanos, u64)>,
    /// The play-out of the receiver.
    pub play_out: Option<PlayOutSpec>,
}

/// When the far gateway hands on the frames that come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlayOutSpec {
    /// The time after the stamp, ns.
    pub delay: Nanos,
    /// Whether both gateways follow one clock.
    pub common_clock: bool,
    /// The most by which the offset between the clocks is wrong, ns: their difference, or the drift
    /// of the sender's clock within the receiver's window.
    pub clock_error: Nanos,
}

/// A message that is sent into a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunnelFlow {
    /// The message on the bus before.
    pub from: MessagePlace,
    /// An index into [`TunnelSpec::ports`].
    pub port: usize,
    /// The longest time from its end of frame until the port has it, ns.
    pub before: Nanos,
    /// Its bytes in a datagram.
    pub bytes: u64,
    /// Whether it leaves at once, in a datagram of its own.
    pub urgent: bool,
    /// Its arbitration field: the lower one leaves first while the socket has no room.
    pub key: u64,
}

/// The way of a message through a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunnelPassage {
    /// An index into [`crate::Network::tunnels`].
    pub tunnel: usize,
    /// An index into [`TunnelSpec::flows`].
    pub flow: usize,
}

impl LinkSpec {
    /// Returns the time of some bytes at a rate, rounded up, ns; the greatest number for no rate.
    pub(crate) fn time(bytes: u64, rate: u64) -> Nanos {
        let bits = u128::from(bytes) * 8_000_000_000;
        match rate {
            0 => Nanos::MAX,
            _ => Nanos::try_from(bits.div_ceil(u128::from(rate))).unwrap_or(Nanos::MAX),
        }
    }

    /// Returns the rate that other traffic leaves to the tunnel, bit/s.
    pub(crate) fn left(&self) -> u64 {
        let others = self.others.map_or(0, |others| others.rate);
        self.rate.saturating_sub(others)
    }
}

impl TunnelSpec {
    /// Returns the least time from a frame's stamp until it is in the far gateway, ns.
    pub(crate) fn least_transit(&self) -> Nanos {
        // Rounded down by a nanosecond for each link.
        let link = self.link.map_or(0, |link| {
            let one = LinkSpec::time(SHORTEST_ON_WIRE, link.rate).saturating_sub(1);
            one.saturating_mul(u64::from(link.switches) + 1)
        });
        link.saturating_add(self.stated.map_or(0, |stated| stated.least))
    }

    /// Returns the least time from the end of a frame until the far gateway hands it on, ns.
    pub(crate) fn least(&self, flow: usize) -> Nanos {
        let least = self.least_transit();
        let port = self.flows.get(flow).and_then(|f| self.ports.get(f.port));
        match port.and_then(|port| port.play_out) {
            None => least,
            Some(rules) => {
                let early = rules.delay.saturating_sub(rules.clock_error);
                match rules.common_clock {
                    true => least.max(early),
                    false => least.saturating_add(early),
                }
            }
        }
    }
}
