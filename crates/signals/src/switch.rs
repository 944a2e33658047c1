//! The multiplexer switches of signals: which frames of a message contain a signal.

use crate::message::MessageDefinition;
use crate::signal::{SignalKind, SignalPresence, SignalState};
use crate::test::{BitMeaning, FieldTest};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// A switch on which the presence of a signal depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalSwitch<'a> {
    /// The index of the switch in the message's signals.
    pub index: usize,
    /// The raw bits of the switch with which a frame contains the signal.
    pub values: &'a [RangeInclusive<u64>],
}

impl MessageDefinition {
    /// Returns the switches of the signal with this index: its own, the switch of that switch, and
    /// so on. A frame contains the signal if all of them are present and have one of their values.
    pub fn switches(&self, signal: usize) -> impl Iterator<Item = SignalSwitch<'_>> {
        let own = |at: usize| match &self.signals.get(at)?.presence {
            SignalPresence::Switched { switch, values } => Some(SignalSwitch {
                index: *switch,
                values: values.as_slice(),
            }),
            SignalPresence::Always => None,
        };
        let all = core::iter::successors(own(signal), move |switch| own(switch.index));
        // Readers of databases refuse circles of switches; the number of signals ends others.
        all.take(self.signals.len())
    }

    /// Returns the tests that all pass for a payload with the switches of a signal, each with one
    /// of its values. A test has one range: for several, a test has all values from the first to
    /// the last one, and each gap has a negated test.
    #[must_use]
    pub fn presence_tests(&self, signal: usize) -> Vec<FieldTest> {
        let mut tests = Vec::new();
        for switch in self.switches(signal) {
            let definition = self.signals.get(switch.index);
            let Some(definition) = definition.or_else(|| self.signals.get(signal)) else {
                continue;
            };
            let field = definition.field;
            let test =
                |range, is_negated| FieldTest::new(field, BitMeaning::Unsigned, range, is_negated);
            // A floating-point number switches nothing, and neither does a switch without values.
            let ranges = match definition.meaning() {
                BitMeaning::Float => Vec::new(),
                _ => switch.merged(field.mask()),
            };
            match (ranges.first(), ranges.last()) {
                (Some((first, _)), Some((_, last))) => tests.extend(test((*first, *last), false)),
                _ => tests.extend(test((0, field.mask()), true)),
            }
            let gaps = ranges.iter().zip(ranges.iter().skip(1));
            tests.extend(gaps.filter_map(|((_, end), (next, _))| test((end + 1, next - 1), true)));
        }
        tests
    }

    /// Returns whether one frame can contain both signals: the values of the switches on which both
    /// depend do not exclude each other.
    #[must_use]
    pub fn can_coexist(&self, a: usize, b: usize) -> bool {
        self.switches(a).all(|switch| {
            let mut same = self.switches(b).filter(|other| other.index == switch.index);
            same.all(|other| switch.meets(&other))
        })
    }

    /// Returns why a payload does not contain a signal with these switches; `None` if it does. The
    /// switch that is the farthest from the signal decides.
    pub(crate) fn absence(&self, signal: usize, payload: &[u8]) -> Option<SignalState> {
        let mut absence = None;
        for switch in self.switches(signal) {
            let state = match self.signals.get(switch.index) {
                // A floating-point number switches nothing.
                Some(definition)
                    if matches!(definition.kind, SignalKind::Float32 | SignalKind::Float64) =>
                {
                    Some(SignalState::Switched)
                }
                Some(definition) => match definition.field.read(payload) {
                    Some(bits) if switch.has(bits) => None,
                    Some(_) => Some(SignalState::Switched),
                    None => Some(SignalState::TooShort),
                },
                None => Some(SignalState::Switched),
            };
            absence = state.or(absence);
        }
        absence
    }
}

impl SignalSwitch<'_> {
    /// Returns whether these raw bits of the switch are one of the values.
    #[must_use]
    pub fn has(&self, bits: u64) -> bool {
        self.values.iter().any(|range| range.contains(&bits))
    }

    /// Returns the values up to the highest one that the bits of the switch can have, as ranges in
    /// their order, with a gap between each two.
    fn merged(&self, highest: u64) -> Vec<(u64, u64)> {
        let possible = self.values.iter().filter(|range| *range.start() <= highest);
        let mut ranges: Vec<(u64, u64)> = possible
            .map(|range| (*range.start(), (*range.end()).min(highest)))
            .filter(|(first, last)| first <= last)
            .collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let is_joined = next.0 <= before.1.saturating_add(1);
            if is_joined {
                before.1 = before.1.max(next.1);
            }
            is_joined
        });
        ranges
    }

    /// Returns whether a value is one of both.
    fn meets(&self, other: &Self) -> bool {
        let mut all = self.values.iter();
        all.any(|one| {
            let mut others = other.values.iter();
            others.any(|two| one.start() <= two.end() && two.start() <= one.end())
        })
    }
}

#[cfg(feature = "dbc")]
#[cfg(test)]
mod tests {
    use crate::{MessageDefinition, RawValue, SignalPresence, SignalState};
    use alloc::vec::Vec;

    fn message(signals: &str) -> MessageDefinition {
        let text = alloc::format!("BU_: A\nBO_ 256 M: 8 A\n{signals}");
        let mut database = crate::dbc::read(text.as_bytes()).unwrap();
        assert_eq!(database.warnings, []);
        database.messages.remove(0)
    }

    /// A switch with sign has the values of the file as bits: 255 is −1.
    #[test]
    fn the_values_of_a_switch_with_sign_are_its_bits() {
        let message = message(
            " SG_ S M : 0|8@1- (1,0) [0|0] \"\" A\n SG_ T m255 : 8|8@1+ (1,0) [0|0] \"\" A\n \
             SG_ U m1 : 8|8@1+ (1,0) [0|0] \"\" A\n",
        );
        let value = SignalState::Value(RawValue::Unsigned(7));
        assert_eq!(message.read(1, &[0xFF, 7]), value);
        assert_eq!(message.read(2, &[0xFF, 7]), SignalState::Switched);
        assert_eq!(message.read(1, &[1, 7]), SignalState::Switched);
        assert_eq!(message.read(2, &[1, 7]), value);
        assert!(!message.can_coexist(1, 2) && message.can_coexist(0, 1));
    }

    /// The switch of a switch decides first.
    #[test]
    fn the_first_switch_of_several_decides() {
        let message = message(
            " SG_ S M : 0|8@1+ (1,0) [0|0] \"\" A\n SG_ T m1M : 8|8@1+ (1,0) [0|0] \"\" A\n \
             SG_ U m2 : 16|8@1+ (1,0) [0|0] \"\" A\n SG_ V m3 : 8|8@1+ (1,0) [0|0] \"\" A\n\n\
             SG_MUL_VAL_ 256 T S 1-1;\nSG_MUL_VAL_ 256 U T 2-2, 4-5;\nSG_MUL_VAL_ 256 V S 3-3;\n",
        );
        let switches = message.switches(2).map(|switch| switch.index);
        assert_eq!(switches.collect::<alloc::vec::Vec<_>>(), [1, 0]);
        let value = SignalState::Value(RawValue::Unsigned(9));
        for (payload, expected) in [
            (&[1, 2, 9][..], value),
            (&[1, 5, 9], value),
            (&[1, 3, 9], SignalState::Switched),
            (&[0, 2, 9], SignalState::Switched),
            (&[0], SignalState::Switched),
            (&[1], SignalState::TooShort),
            (&[1, 2], SignalState::TooShort),
            (&[], SignalState::TooShort),
        ] {
            assert_eq!(message.read(2, payload), expected, "{payload:?}");
        }
        assert!(!message.can_coexist(2, 3) && !message.can_coexist(3, 2));
        assert!(message.can_coexist(2, 1));
    }

    /// The tests of a signal's switches pass for the payloads that contain the signal.
    #[test]
    fn tests_of_switches_are_those_of_reading() {
        let nested = " SG_ S M : 0|8@1+ (1,0) [0|0] \"\" A\n SG_ T m1M : 8|8@1+ (1,0) [0|0] \"\" A\n \
            SG_ U m2 : 16|8@1+ (1,0) [0|0] \"\" A\n\nSG_MUL_VAL_ 256 T S 1-9, 2-3, 5-6, 10-11, 20-20, 255-999;\n\
            SG_MUL_VAL_ 256 U T 2-2, 4-5;\n";
        let agrees = |message: &MessageDefinition| {
            let tests = message.presence_tests(2);
            for (first, second) in (0..=255).flat_map(|a| (0..8).map(move |b| (a, b))) {
                let payload = [first, second, 0];
                let is_present = message.read(2, &payload) != SignalState::Switched;
                let passes = tests.iter().all(|test| test.matches(&payload));
                assert_eq!(passes, is_present, "{payload:?}");
            }
        };
        let mut message = message(nested);
        agrees(&message);
        let floating = message.clone();
        message.signals[1].presence = SignalPresence::Switched {
            switch: 0,
            values: Vec::new(),
        };
        agrees(&message);
        // A circle, which the readers of databases refuse, ends.
        message.signals[0].presence = SignalPresence::Switched {
            switch: 1,
            values: Vec::from([0..=255]),
        };
        assert!(message.presence_tests(2).len() >= 3);
        let mut message = floating;
        message.signals[0].kind = crate::SignalKind::Float32;
        agrees(&message);
    }
}
