//! The measurement of an observer who sees only the buses, like the test bed of the papers: the
//! observer recognizes outgoing frames by the form that the gateway file leads one to expect, not
//! by the demo's internal knowledge. A comparison with that knowledge shows how far such a
//! measurement can be trusted.

use frame::{Frame, Nanos};
use probe::matching::{
    FrameKey, FrameMatcher, KeyRule, MatchOutcome, MatcherSettings, OutcomeCounts, SentFrame,
};
use serde::Serialize;

/// One observer for each outgoing port.
pub(crate) struct PortObservers {
    ports: Vec<FrameMatcher<FrameKey>>,
    agreed: u64,
    mistaken: u64,
}

/// The results of the observers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Observation {
    /// The criterion by which frames were recognized.
    pub by: &'static str,
    /// Pairs of frames in and out.
    pub matched: u64,
    /// Pairs whose two frames do belong together.
    pub agreed: u64,
    /// Pairs whose frames do not belong together, without any hint of that; 0 in a sound matcher.
    pub mistaken: u64,
    /// Pairs during which other frames with the same content were under way.
    pub ambiguous: u64,
    /// Frames that did not come out within a second.
    pub lost: u64,
    /// Frames that came out more than once.
    pub duplicated: u64,
    /// Frames that came out without a matching incoming frame, or more than a second late.
    pub unexpected: u64,
    /// Pairs that a later frame with the same identifier overtook.
    pub reordered: u64,
}

const RULE: KeyRule = KeyRule::IdAndPayload;

impl PortObservers {
    pub(crate) fn new(ports: usize) -> Self {
        let matcher = |_| FrameMatcher::new(MatcherSettings::default());
        Self {
            ports: (0..ports).map(matcher).collect(),
            agreed: 0,
            mistaken: 0,
        }
    }

    /// Records that a frame came in at `at` and is expected to come out of `port` in this form.
    pub(crate) fn expect(&mut self, port: u16, tag: u64, expected: &Frame, at: Nanos) {
        // On a bus, every FD frame has a length that a DLC can encode.
        let expected = expected.padded();
        let matcher = self.ports.get_mut(usize::from(port));
        if let (Some(matcher), Some(key)) = (matcher, RULE.key(expected.view())) {
            let sent = SentFrame {
                tag,
                at,
                stream: expected.id().raw(),
            };
            matcher.sent(key, sent, &mut |_| {});
        }
    }

    /// Records that a frame came out of `port`; `tag` is the demo's knowledge about it.
    pub(crate) fn see(&mut self, port: u16, tag: u64, frame: &Frame, at: Nanos) {
        let matcher = self.ports.get_mut(usize::from(port));
        if let (Some(matcher), Some(key)) = (matcher, RULE.key(frame.view())) {
            matcher.received(&key, tag, at, &mut |outcome| {
                if let MatchOutcome::Matched(pair) = outcome {
                    if pair.sent.tag == tag {
                        self.agreed += 1;
                    } else if !pair.ambiguous {
                        self.mistaken += 1;
                    }
                }
            });
        }
    }

    /// Ends the observation: nothing comes out any more.
    pub(crate) fn finish(mut self) -> Observation {
        let mut found = Observation {
            by: "identifier and payload that the gateway file leads one to expect",
            agreed: self.agreed,
            mistaken: self.mistaken,
            ..Observation::default()
        };
        for matcher in &mut self.ports {
            matcher.finish(&mut |_| {});
            let OutcomeCounts {
                matched,
                lost,
                duplicated,
                unexpected,
                reordered,
                ambiguous,
                ..
            } = matcher.counts();
            found.matched += matched;
            found.ambiguous += ambiguous;
            found.lost += lost;
            found.duplicated += duplicated;
            found.unexpected += unexpected;
            found.reordered += reordered;
        }
        found
    }
}
