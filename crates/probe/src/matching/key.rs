//! The keys by which frames are recognised again.

use crate::traffic::number_in;
use frame::FrameRef;

/// The property by which frames are recognised again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// A 16-bit big-endian number in the payload, this many bytes from its start. It may wrap: two
    /// frames with the same number are distinguished as long as the first has come out, or is given
    /// up, before the second goes in.
    Number {
        /// Number of bytes before the number.
        offset: usize,
    },
    /// Identifier (with EFF, RTR and error flags) and payload.
    IdAndPayload,
    /// Payload only: the gateway changes identifiers.
    Payload,
    /// Identifier only: the gateway changes payloads. First in, first out.
    Id,
}

/// The key of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameKey(KeyContent);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum KeyContent {
    Number(u16),
    IdAndPayload(u32, Box<[u8]>),
    Payload(Box<[u8]>),
    Id(u32),
}

impl KeyRule {
    /// Returns the key of a frame: of one that came out, or of one that is expected to come out.
    /// `None` where the payload is too short for a number.
    #[must_use]
    pub fn key(self, frame: FrameRef<'_>) -> Option<FrameKey> {
        let id = frame.id().raw();
        Some(FrameKey(match self {
            Self::Number { offset } => KeyContent::Number(number_in(frame.data(), offset)?),
            Self::IdAndPayload => KeyContent::IdAndPayload(id, frame.data().into()),
            Self::Payload => KeyContent::Payload(frame.data().into()),
            Self::Id => KeyContent::Id(id),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};

    #[test]
    fn rules_look_at_what_they_state() {
        let frame = |id, data: &[u8]| Frame::classic(CanId::from_raw(id), data).unwrap();
        let same = |rule: KeyRule, a: &Frame, b: &Frame| rule.key(a.view()) == rule.key(b.view());
        let (a, b, c) = (
            frame(1, &[1, 2, 3]),
            frame(2, &[1, 2, 3]),
            frame(1, &[1, 2, 4]),
        );
        assert!(same(KeyRule::Payload, &a, &b) && !same(KeyRule::Payload, &a, &c));
        assert!(same(KeyRule::Id, &a, &c) && !same(KeyRule::Id, &a, &b));
        assert!(!same(KeyRule::IdAndPayload, &a, &b) && !same(KeyRule::IdAndPayload, &a, &c));
        let number = KeyRule::Number { offset: 1 };
        assert!(same(number, &a, &b) && !same(number, &a, &c));
        assert_eq!(KeyRule::Number { offset: 2 }.key(a.view()), None);
    }
}
