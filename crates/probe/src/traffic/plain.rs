//! The papers' kinds of traffic (gateway-2011 §2.2): one frame at a time, a fixed period (of
//! which 50 % bus load is one), flood. One node, one identifier, numbered payloads.

use super::{Payload, Release, Traffic};
use frame::{CanId, Frame, LengthError, Nanos};

/// What the frames of plain traffic look like.
#[derive(Clone, Debug)]
pub struct Template {
    id: CanId,
    len: usize,
    /// `None` for classic frames, else the FD flags.
    fd: Option<u8>,
    payload: Payload,
}

impl Template {
    /// Classic frames with `len` bytes of numbered payload.
    ///
    /// # Errors
    /// [`LengthError`] above 8 bytes.
    pub fn classic(id: CanId, len: usize, seed: u64) -> Result<Self, LengthError> {
        frame::Header::new(frame::Kind::Classic, id, len)?;
        Ok(Self {
            id,
            len,
            fd: None,
            payload: Payload::new(seed),
        })
    }

    /// FD frames with `len` bytes of numbered payload and these [`frame::flags`].
    ///
    /// # Errors
    /// [`LengthError`] above 64 bytes.
    pub fn fd(id: CanId, len: usize, flags: u8, seed: u64) -> Result<Self, LengthError> {
        frame::Header::new(frame::Kind::Fd, id, len)?;
        Ok(Self {
            id,
            len,
            fd: Some(flags),
            payload: Payload::new(seed),
        })
    }

    /// The next frame; the length was checked before.
    fn frame(&mut self) -> Option<Frame> {
        let (data, len) = self.payload.bytes(self.len);
        match self.fd {
            None => Frame::classic(self.id, &data[..len]).ok(),
            Some(flags) => Frame::fd(self.id, flags, &data[..len]).ok(),
        }
    }
}

/// The period at which frames of this duration load a bus by `percent`: 50 gives the papers'
/// "two times the transmission duration". 0 counts as 1, more than 100 as 100.
#[must_use]
pub fn period_for_load(duration: Nanos, percent: u8) -> Nanos {
    let percent = Nanos::from(percent.clamp(1, 100));
    duration.saturating_mul(100).div_ceil(percent)
}

/// A frame every period.
#[derive(Clone, Debug)]
pub struct Periodic {
    template: Template,
    period: Nanos,
    at: Nanos,
    tag: u64,
    count: u64,
}

impl Periodic {
    /// `count` frames, the first at `start`.
    #[must_use]
    pub fn new(template: Template, start: Nanos, period: Nanos, count: u64) -> Self {
        Self {
            template,
            period,
            at: start,
            tag: 0,
            count,
        }
    }
}

impl Traffic for Periodic {
    fn next(&mut self) -> Option<Release> {
        if self.tag >= self.count {
            return None;
        }
        let release = Release {
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

/// Frames as fast as the bus takes them: all are ready at the start, and whoever sends them
/// waits for room in its node's queue.
#[derive(Clone, Debug)]
pub struct Flood(Periodic);

impl Flood {
    /// `count` frames, ready from `start` on.
    #[must_use]
    pub fn new(template: Template, start: Nanos, count: u64) -> Self {
        Self(Periodic::new(template, start, 0, count))
    }
}

impl Traffic for Flood {
    fn next(&mut self) -> Option<Release> {
        self.0.next()
    }
}

/// A frame when the one before has come out of the gateway, or is given up.
#[derive(Clone, Debug)]
pub struct OneAtATime {
    template: Template,
    timeout: Nanos,
    /// When the next one may go, unless one is under way.
    at: Nanos,
    under_way: Option<(u64, Nanos)>,
    tag: u64,
    count: u64,
}

impl OneAtATime {
    /// `count` frames, the first at `start`; a frame that did not arrive `timeout` ns after its
    /// release is given up (the papers wait 1 s).
    #[must_use]
    pub fn new(template: Template, start: Nanos, timeout: Nanos, count: u64) -> Self {
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

impl Traffic for OneAtATime {
    fn next(&mut self) -> Option<Release> {
        if self.under_way.is_some() || self.tag >= self.count {
            return None;
        }
        let release = Release {
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
        // A late arrival of a frame that was given up changes nothing.
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

    fn template() -> Template {
        Template::classic(CanId::from_raw(0x123), 8, 1).unwrap()
    }

    #[test]
    fn half_load_is_twice_the_duration() {
        assert_eq!(period_for_load(222_000, 50), 444_000);
        assert_eq!(period_for_load(222_000, 100), 222_000);
        assert_eq!(period_for_load(222_000, 0), 22_200_000);
    }

    #[test]
    fn periodic_frames_are_numbered() {
        let mut traffic = Periodic::new(template(), 10, 5, 3);
        let all: Vec<Release> = std::iter::from_fn(|| traffic.next()).collect();
        assert_eq!(all.iter().map(|r| r.at).collect::<Vec<_>>(), [10, 15, 20]);
        let numbers: Vec<_> = all.iter().map(|r| number_in(r.frame.data(), 0)).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn flood_is_ready_at_once() {
        let mut traffic = Flood::new(template(), 7, 100);
        let all: Vec<Release> = std::iter::from_fn(|| traffic.next()).collect();
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

    #[test]
    fn too_long_is_refused_before_anything_is_sent() {
        assert!(Template::classic(CanId::from_raw(1), 9, 0).is_err());
        assert!(Template::fd(CanId::from_raw(1), 65, 0, 0).is_err());
        assert!(Template::fd(CanId::from_raw(1), 64, 0, 0).is_ok());
    }
}
