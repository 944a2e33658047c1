//! What it costs to move frames by read, recvmmsg, write and sendmmsg (syscalls-2014 §3.1, §4.1).
//!
//! N frames are sent into a virtual interface, where they wait at a second socket, and then are
//! received. Only the calls are timed, by CLOCK_MONOTONIC. That is the cost of system calls, the
//! sockets' and the protocol layer; drivers and queueing disciplines have no part in it.

use crate::burst::Burst;
use frame::Nanos;
use linux::Errno;
use linux::link::Link;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

pub use crate::burst::{BurstError, MOST_BURST};

/// How often each number of frames is moved; the median counts. The first time is not counted.
const ROUNDS: usize = 5;

/// How long it took to move so many frames, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// How many frames.
    pub frames: u32,
    /// By read(2), one a call.
    pub read_ns: Nanos,
    /// By recvmmsg(2), up to 1024 a call.
    pub recvmmsg_ns: Nanos,
    /// By write(2), one a call.
    pub write_ns: Nanos,
    /// By sendmmsg(2), up to 1024 a call.
    pub sendmmsg_ns: Nanos,
}

/// Numbers of frames from 1 to `most`, three a decade (1, 2, 5), and `most` itself.
#[must_use]
pub fn steps(most: u32) -> Vec<u32> {
    let decades = std::iter::successors(Some(1u32), |d| d.checked_mul(10));
    let all = decades.flat_map(|d| [1, 2, 5].map(|n| d.saturating_mul(n)));
    let mut steps: Vec<u32> = all.take_while(|&n| n < most).collect();
    steps.push(most);
    steps
}

/// Times the calls for each of [`steps`]`(most)` on a virtual interface.
///
/// # Errors
/// [`BurstError`].
pub fn over_vcan(interface: &str, most: u32) -> Result<Vec<Point>, BurstError> {
    if !(1..=MOST_BURST).contains(&most) {
        return Err(BurstError::Frames(most));
    }
    if Link::find(interface).is_ok_and(|link| link.kind != "vcan") {
        return Err(BurstError::Interface(format!(
            "{interface} is no vcan: on a real bus nobody would receive what is sent here; make \
             one with `ip link add dev vcan0 type vcan && ip link set vcan0 up`"
        )));
    }
    let mut bench = Bench {
        burst: Burst::open(interface, most)?,
        interface,
    };
    steps(most).into_iter().map(|n| bench.point(n)).collect()
}

struct Bench<'a> {
    burst: Burst,
    interface: &'a str,
}

type Call = fn(&mut Burst, u32) -> Result<(), Errno>;

impl Bench<'_> {
    fn point(&mut self, frames: u32) -> Result<Point, BurstError> {
        let (write_ns, read_ns) =
            self.rounds(frames, ("write", Burst::write), ("read", Burst::read))?;
        let (sendmmsg_ns, recvmmsg_ns) = self.rounds(
            frames,
            ("sendmmsg", Burst::sendmmsg),
            ("recvmmsg", Burst::recvmmsg),
        )?;
        Ok(Point {
            frames,
            read_ns,
            recvmmsg_ns,
            write_ns,
            sendmmsg_ns,
        })
    }

    /// Medians of sending and of receiving.
    fn rounds(
        &mut self,
        n: u32,
        send: (&'static str, Call),
        receive: (&'static str, Call),
    ) -> Result<(Nanos, Nanos), BurstError> {
        let (mut sending, mut receiving) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            self.burst.empty();
            let sent = self.timed(n, send)?;
            let received = self.timed(n, receive)?;
            if round > 0 {
                sending.push(sent);
                receiving.push(received);
            }
        }
        Ok((median(sending), median(receiving)))
    }

    fn timed(&mut self, n: u32, (name, call): (&'static str, Call)) -> Result<Nanos, BurstError> {
        let start = clock_gettime(ClockId::Monotonic);
        let done = call(&mut self.burst, n);
        let end = clock_gettime(ClockId::Monotonic);
        match done {
            Ok(()) => {
                let seconds = end.tv_sec.saturating_sub(start.tv_sec);
                let rest = end.tv_nsec.saturating_sub(start.tv_nsec);
                let ns = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
                Ok(Nanos::try_from(ns).unwrap_or(0))
            }
            Err(Errno::AGAIN) if name.starts_with('r') => Err(BurstError::Lost {
                interface: self.interface.to_owned(),
                sent: n,
            }),
            Err(Errno::NETDOWN) => Err(BurstError::Interface(format!(
                "{0} is down: `ip link set {0} up`",
                self.interface
            ))),
            Err(errno) => Err(BurstError::Call {
                interface: self.interface.to_owned(),
                call: name,
                source: errno.into(),
            }),
        }
    }
}

/// The middle one of an odd number of values.
fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_a_decade() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(7), [1, 2, 5, 7]);
        assert_eq!(steps(100), [1, 2, 5, 10, 20, 50, 100]);
        assert_eq!(steps(MOST_BURST).last(), Some(&50_000));
        assert_eq!(steps(u32::MAX).last(), Some(&u32::MAX));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![5, 1, 9]), 5);
        assert_eq!(median(vec![]), 0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(matches!(over_vcan("lo", 0), Err(BurstError::Frames(0))));
        let error = over_vcan("lo", 10).unwrap_err().to_string();
        assert!(error.contains("lo"), "{error}");
    }
}
