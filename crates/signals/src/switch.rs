//! The multiplexer switches of signals: which frames of a message contain a signal.

use crate::message::MessageDefinition;
use crate::signal::{SignalKind, SignalPresence, SignalState};
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
    use crate::{MessageDefinition, RawValue, SignalState};

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
}
