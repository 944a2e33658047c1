//! The papers' kinds of traffic (gateway-2011 §2.2): one frame at a time, a fixed period (of
//! which 50 % bus load is one), flood. One node, numbered payloads.

use super::{FrameTemplate, TrafficRelease, TrafficSource};
use frame::Nanos;

/// Sends a frame every period.
#[derive(Clone, Debug)]
pub struct PeriodicTraffic {
    template: FrameTemplate,
    period: Nanos,
    at: Nanos,
    tag: u64,
    count: u64,
}

impl PeriodicTraffic {
    /// Creates traffic of `count` frames, the first at `start`.
    #[must_use]
    pub fn new(template: FrameTemplate, start: Nanos, period: Nanos, count: u64) -> Self {
        Self {
            template,
            period,
            at: start,
            tag: 0,
            count,
        }
    }
}

impl TrafficSource for PeriodicTraffic {
    fn next(&mut self) -> Option<TrafficRelease> {
        if self.tag >= self.count {
            return None;
        }
        let release = TrafficRelease {
            at: self.at,
            node: 0,
            frame: self.template.frame()?,
            tag: self.tag,
        };
        self.tag += 1;
        self.at = self.at.saturating_add(self.period);
        Some(release)
    }
}

/// Frames as fast as the bus accepts them: all are ready at the start, and the sender waits for
/// space in its node's queue.
#[derive(Clone, Debug)]
pub struct FloodTraffic(PeriodicTraffic);

impl FloodTraffic {
    /// Creates traffic of `count` frames, ready from `start` on.
    #[must_use]
    pub fn new(template: FrameTemplate, start: Nanos, count: u64) -> Self {
        Self(PeriodicTraffic::new(template, start, 0, count))
    }
}

impl TrafficSource for FloodTraffic {
    fn next(&mut self) -> Option<TrafficRelease> {
        self.0.next()
    }
}

/// Sends a frame when the previous one has come out of the gateway, or is given up.
#[derive(Clone, Debug)]
pub struct OneAtATime {
    template: FrameTemplate,
    timeout: Nanos,
    /// The time at which the next one may be sent, unless one is under way.
    at: Nanos,
    under_way: Option<(u64, Nanos)>,
    tag: u64,
    count: u64,
}

impl OneAtATime {
    /// Creates traffic of `count` frames, the first at `start`; a frame that did not arrive
    /// `timeout` ns after its release is given up (the papers wait 1 s).
    #[must_use]
    pub fn new(template: FrameTemplate, start: Nanos, timeout: Nanos, count: u64) -> Self {
        Self {
            template,
            timeout,
            at: start,
            under_way: None,
            tag: 0,
            count,
        }
    }
}

impl TrafficSource for OneAtATime {
    fn next(&mut self) -> Option<TrafficRelease> {
        if self.under_way.is_some() || self.tag >= self.count {
            return None;
        }
        let release = TrafficRelease {
            at: self.at,
            node: 0,
            frame: self.template.frame()?,
            tag: self.tag,
        };
        self.under_way = Some((self.tag, self.at.saturating_add(self.timeout)));
        self.tag += 1;
        Some(release)
    }

    fn delivered(&mut self, tag: u64, at: Nanos) {
        // A late arrival of a frame that was given up has no effect.
        if self.under_way.is_some_and(|(waiting, _)| waiting == tag) {
            self.under_way = None;
            self.at = self.at.max(at);
        }
    }

    fn waits_until(&self) -> Option<Nanos> {
        self.under_way.map(|(_, until)| until)
    }

    fn expire(&mut self, now: Nanos) {
        if self.under_way.is_some_and(|(_, until)| until <= now) {
            self.under_way = None;
            self.at = self.at.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::number_in;
    use frame::CanId;

    fn template() -> FrameTemplate {
        FrameTemplate::classic(CanId::from_raw(0x123), 8, 1).unwrap()
    }

    #[test]
    fn periodic_frames_are_numbered() {
        let mut traffic = PeriodicTraffic::new(template(), 10, 5, 3);
        let all: Vec<TrafficRelease> = std::iter::from_fn(|| traffic.next()).collect();
        assert_eq!(all.iter().map(|r| r.at).collect::<Vec<_>>(), [10, 15, 20]);
        let numbers: Vec<_> = all.iter().map(|r| number_in(r.frame.data(), 0)).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn flood_is_ready_at_once() {
        let mut traffic = FloodTraffic::new(template(), 7, 100);
        let all: Vec<TrafficRelease> = std::iter::from_fn(|| traffic.next()).collect();
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|r| r.at == 7));
    }

    #[test]
    fn one_at_a_time_waits_for_its_frame_or_gives_it_up() {
        let mut traffic = OneAtATime::new(template(), 0, 1_000, 3);
        let first = traffic.next().unwrap();
        assert_eq!(traffic.next(), None);
        assert_eq!(traffic.waits_until(), Some(1_000));
        traffic.delivered(first.tag, 300);
        let second = traffic.next().unwrap();
        assert_eq!((second.at, traffic.waits_until()), (300, Some(1_300)));
        traffic.expire(1_299);
        assert_eq!(traffic.next(), None);
        traffic.expire(1_300);
        let third = traffic.next().unwrap();
        assert_eq!(third.at, 1_300);
        traffic.delivered(second.tag, 1_400);
        assert_eq!(traffic.waits_until(), Some(2_300), "too late to matter");
        traffic.delivered(third.tag, 1_500);
        assert_eq!((traffic.next(), traffic.waits_until()), (None, None));
    }
}
