//! Presentation times: the clock by which datagrams get them, and by which frames are handed on.

use crate::PortOpener;
use frame::Nanos;
use linux::clock::{ClockLead, ClockState};
use net::{DatagramFrame, PresentationTime};

const SECOND: Nanos = 1_000_000_000;

/// Time between two readings of the system clock's state, ns.
const CLOCK_READ_EVERY: Nanos = SECOND;

/// A change of the system clock's lead that is above its error by more than this is a step, ns.
const STEP: u64 = 10_000;

/// A stamp that differs by more than this from the time of sending is none of a live frame: the 32
/// bits of a presentation time cannot express its age, ns.
const FARTHEST_STAMP: Nanos = SECOND;

/// The time scale of presentation times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TimeScale {
    /// That of gPTP (IEEE 802.1AS): International Atomic Time.
    #[default]
    Tai,
    /// Unix time: that of the system clock.
    #[cfg_attr(
        not(feature = "ieee1722"),
        allow(dead_code, reason = "only this kind has a key for it")
    )]
    Utc,
}

/// The presentation times of the datagrams that a port sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TransitRules {
    /// The time from the stamp of a datagram's first frame to its presentation time, ns.
    pub(crate) max_transit: Nanos,
    /// The greatest time between the stamps of frames that share a datagram, ns.
    pub(crate) span: Nanos,
}

/// The presentation times of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PresentationRules {
    pub(crate) scale: TimeScale,
    /// Datagrams leave with presentation times.
    pub(crate) sends: Option<TransitRules>,
    /// Frames that come in are handed on at their presentation times.
    pub(crate) reads: bool,
}

/// The clock of presentation times, from the gateway's clock and the state of the system clock.
pub(super) struct PresentationClock {
    scale: TimeScale,
    read: fn() -> ClockState,
    /// The Unix time at which the gateway's clock was 0, ns, and the system clock's lead then.
    began: (Nanos, ClockLead),
    /// The sum of the system clock's steps since then, ns.
    steps: i64,
    /// The latest state; `None` before the first reading.
    state: Option<ClockState>,
    next: Nanos,
}

impl PresentationClock {
    /// Returns the clock of a gateway.
    pub(super) fn new(scale: TimeScale, opener: &PortOpener) -> Self {
        let began = (opener.epoch(), opener.lead());
        Self::reading(scale, began, linux::clock::state)
    }

    /// Returns the clock with a function that reads the state of the system clock.
    pub(super) const fn reading(
        scale: TimeScale,
        began: (Nanos, ClockLead),
        read: fn() -> ClockState,
    ) -> Self {
        Self {
            scale,
            read,
            began,
            steps: 0,
            state: None,
            next: 0,
        }
    }

    /// Reads the state of the system clock if it is time.
    pub(super) fn tick(&mut self, now: Nanos) {
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(CLOCK_READ_EVERY);
        let state = (self.read)();
        self.state = Some(state);
        let (before, lead) = (self.began.1, state.lead);
        let steps = lead.ns.saturating_sub(before.ns);
        let error = lead.error.saturating_add(before.error).unsigned_abs();
        // A busy machine must not look like a step of its clock.
        if steps.abs_diff(self.steps) > error.saturating_add(STEP) {
            self.steps = steps;
        }
    }

    /// Returns the Unix time at which the gateway's clock was 0, by the system clock of now, ns.
    pub(super) const fn epoch(&self) -> Nanos {
        self.began.0.saturating_add_signed(self.steps)
    }

    /// Returns the time by which the scale is ahead of Unix time, ns.
    fn ahead(&self) -> i64 {
        let offset = self.state.map_or(0, |state| state.tai_offset);
        match self.scale {
            TimeScale::Tai => offset.saturating_mul(SECOND as i64),
            TimeScale::Utc => 0,
        }
    }

    fn is_synchronised(&self) -> bool {
        self.state
            .is_some_and(|state| state.is_synchronised == Some(true))
    }

    /// Returns sentences about the clock, of which `consequence` is what it means for the port.
    pub(super) fn remarks(&self, consequence: &str) -> impl Iterator<Item = String> {
        let free = self.state.and_then(|state| {
            let what = match state.is_synchronised {
                Some(true) => return None,
                Some(false) => "the system clock is not synchronised (PTP, NTP)",
                None => {
                    "adjtimex is forbidden, so that nothing shows whether the system clock is \
                     synchronised (a service needs the drop-in of docs/service.md)"
                }
            };
            Some(format!("{what}: {consequence}"))
        });
        let has_no_offset = self.state.is_some_and(|state| state.tai_offset == 0);
        let unknown = (self.scale == TimeScale::Tai && has_no_offset).then(|| {
            "the kernel does not know the offset of TAI: presentation times are in Unix time; set \
             it, or use `timescale = \"utc\"` at both ends"
                .to_owned()
        });
        free.into_iter().chain(unknown)
    }
}

/// Gives datagrams their presentation times.
pub(super) struct PresentationWriter {
    pub(super) clock: PresentationClock,
    rules: TransitRules,
    /// The present Unix time, ns.
    unix: Nanos,
}

impl PresentationWriter {
    pub(super) const fn new(clock: PresentationClock, rules: TransitRules) -> Self {
        Self {
            clock,
            rules,
            unix: 0,
        }
    }

    pub(super) fn tick(&mut self, now: Nanos) {
        self.clock.tick(now);
        self.unix = self.clock.epoch().saturating_add(now);
    }

    /// Returns whether frames with these stamps, the earliest and the latest, can share a datagram.
    pub(super) const fn spans(&self, (earliest, latest): (Nanos, Nanos)) -> bool {
        latest - earliest <= self.rules.span
    }

    /// Returns the presentation time of a datagram whose first frame has this stamp, Unix time.
    pub(super) fn time(&self, stamp: Nanos) -> PresentationTime {
        let oldest = self.unix.saturating_sub(FARTHEST_STAMP);
        let stamp = match stamp {
            stamp if stamp > self.unix.saturating_add(FARTHEST_STAMP) => self.unix,
            stamp => stamp.max(oldest),
        };
        let due = stamp.saturating_add(self.rules.max_transit);
        PresentationTime {
            is_uncertain: !self.clock.is_synchronised(),
            ..PresentationTime::at(due.saturating_add_signed(self.clock.ahead()))
        }
    }
}

/// Takes the presentation times of frames that come in for their stamps.
pub(super) struct PresentationReader {
    pub(super) clock: PresentationClock,
    /// Frames with an uncertain time.
    uncertain: u64,
}

impl PresentationReader {
    pub(super) const fn new(clock: PresentationClock) -> Self {
        Self {
            clock,
            uncertain: 0,
        }
    }

    /// Returns the time at which a frame is due, as the Unix time of the play-out; `None` for a
    /// frame without a certain time.
    pub(super) fn due(&mut self, found: &DatagramFrame<'_>, now: Nanos) -> Option<Nanos> {
        let time = found.presentation?;
        if time.is_uncertain {
            self.uncertain += 1;
            return None;
        }
        let ahead = self.clock.ahead();
        let unix = self.clock.epoch().saturating_add(now);
        let due = time.resolve(unix.saturating_add_signed(ahead));
        // The play-out does not follow the steps of the system clock.
        let due = due.saturating_add_signed(ahead.saturating_neg());
        Some(due.saturating_add_signed(self.clock.steps.saturating_neg()))
    }

    /// Returns sentences about frames that had no certain time, of which there were `unstamped`.
    pub(super) fn remarks(&self, unstamped: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        if unstamped > 0 {
            remarks.push(format!(
                "{unstamped} frames had no presentation time, or an uncertain one ({}), and were handed over at once",
                self.uncertain
            ));
        }
        let consequence = "presentation times are compared with a clock that may be wrong";
        remarks.extend(self.clock.remarks(consequence));
        remarks
    }
}
