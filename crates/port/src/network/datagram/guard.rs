//! Protection against loops over tunnels.
//!
//! Between gateways, each frame has its trail, and a frame that comes back is dropped. Through
//! buses and other programs, trails get lost: equal frames that leave and come in again raise an
//! alarm, and are not dropped, because a sender may repeat a frame.

use super::sent_frames::{LoopAlarm, SentFrames};
use super::trails::FrameTrails;
use crate::{PortOpener, Token};
use frame::{FrameRef, Nanos};
use net::FrameTrail;

/// Rules of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoopRules {
    /// Frames leave with their trails: the other side is a gateway.
    pub(crate) writes_trails: bool,
    /// Frames that come back are handed on.
    pub(crate) passes_returned: bool,
}

/// The reason to drop a frame that came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopDrop {
    /// It had passed this gateway before.
    CameBack,
    /// It had passed as many gateways as a trail can have.
    TooFar,
}

/// The state that the tunnels of a gateway share.
#[derive(Clone, Default)]
struct GuardParts {
    trails: FrameTrails,
    sent: SentFrames,
}

/// The protection of one port.
#[derive(Clone)]
pub(super) struct LoopGuard {
    rules: LoopRules,
    parts: GuardParts,
    port: usize,
}

impl LoopGuard {
    /// Returns the protection of the port with this name.
    pub(super) fn new(opener: &mut PortOpener, port: &str, rules: LoopRules) -> Self {
        let parts = opener.shared(GuardParts::default).clone();
        let port = parts.sent.port(port);
        Self { rules, parts, port }
    }

    /// Returns the reason to drop a frame that came with this trail, if there is one.
    pub(super) fn drops(&self, trail: FrameTrail<'_>) -> Option<LoopDrop> {
        let is_back = !self.rules.passes_returned && self.parts.trails.is_back(trail, self.port);
        let is_far = trail.len() >= FrameTrail::MAX_STATIONS;
        match (is_back, is_far) {
            (true, _) => Some(LoopDrop::CameBack),
            (false, true) => Some(LoopDrop::TooFar),
            (false, false) => None,
        }
    }

    /// Returns the token of a frame that came with this trail.
    pub(super) fn token(&self, trail: FrameTrail<'_>) -> Token {
        self.parts.trails.keep(trail)
    }

    /// Returns what distinguishes the trails of frames that leave; `None`: they leave without.
    pub(super) fn key(&self, token: Token) -> Option<Token> {
        let key = self.parts.trails.key(token);
        self.rules.writes_trails.then_some(key)
    }

    /// Writes the stations of a frame that leaves.
    pub(super) fn write_trail(&self, key: Token, out: &mut Vec<u8>) {
        self.parts.trails.write(key, self.port, out);
    }

    /// Records that a frame leaves.
    pub(super) fn record(&self, frame: &FrameRef<'_>, now: Nanos) {
        self.parts.sent.record(self.port, frame, now);
    }

    /// Counts a frame that came in if it is equal to one that left lately; returns whether it is.
    /// Frames that another port of this gateway sends to this one are expected.
    pub(super) fn suspects(
        &self,
        trail: FrameTrail<'_>,
        frame: &FrameRef<'_>,
        now: Nanos,
        alarm: &mut LoopAlarm,
    ) -> bool {
        if self.parts.trails.is_from_here(trail) {
            return false;
        }
        let port = self.parts.sent.find(frame, now);
        if let Some(port) = port {
            alarm.count(port, now);
        }
        port.is_some()
    }

    /// Returns sentences about loops.
    /// `far` of the `dropped` frames had passed too many gateways.
    pub(super) fn remarks(&self, dropped: u64, far: u64, alarm: &LoopAlarm) -> Vec<String> {
        let mut remarks = Vec::new();
        let returned = dropped.saturating_sub(far);
        if returned > 0 {
            remarks.push(format!(
                "{returned} frames that had passed this gateway before came back and were dropped: its tunnels are \
                 part of a loop"
            ));
        }
        if far > 0 {
            remarks.push(format!(
                "{far} frames had passed {} gateways and were dropped: they go round in a loop, or the chain of \
                 gateways is too long",
                FrameTrail::MAX_STATIONS
            ));
        }
        let alarms = alarm.raised().iter().map(|port| self.words(*port));
        remarks.extend(alarms);
        remarks
    }

    /// Returns the sentence about frames that had left by a port.
    pub(super) fn words(&self, port: usize) -> String {
        format!(
            "frames that leave by port `{}` come in again by port `{}`, equal and within a second: this looks like a \
             loop over another gateway on the same bus. Take one direction out of the routes, or limit their rate \
             (`limit`)",
            self.parts.sent.name(port),
            self.parts.sent.name(self.port)
        )
    }
}
