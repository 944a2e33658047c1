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

/// What the tunnels of a gateway share.
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

    /// Returns whether a frame that came with this trail is to be dropped.
    pub(super) fn drops(&self, trail: FrameTrail<'_>) -> bool {
        let is_back = !self.rules.passes_returned && self.parts.trails.is_back(trail, self.port);
        is_back || trail.len() >= FrameTrail::MAX_STATIONS
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
    pub(super) fn suspects(&self, frame: &FrameRef<'_>, now: Nanos, alarm: &mut LoopAlarm) -> bool {
        let port = self.parts.sent.find(frame, now);
        if let Some(port) = port {
            alarm.count(port, now);
        }
        port.is_some()
    }

    /// Returns sentences about loops.
    pub(super) fn remarks(&self, returned: u64, alarm: &LoopAlarm) -> Vec<String> {
        let mut remarks = Vec::new();
        if returned > 0 {
            remarks.push(format!(
                "{returned} frames that had passed this gateway before came back and were dropped: its tunnels are \
                 part of a loop"
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
