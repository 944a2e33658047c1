//! Words about messages and bounds, for every report of them.

use crate::{BusSpec, Message, NoBound, QueueService};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use frame::CanId;

impl Message {
    /// Returns the ID of its frames.
    #[must_use]
    pub const fn id(&self) -> CanId {
        self.shape.header().id()
    }

    /// Returns ID and name, the ID as candump prints it.
    #[must_use]
    pub fn label(&self) -> String {
        match self.name.as_str() {
            "" => self.id().to_string(),
            name => format!("{} {name}", self.id()),
        }
    }
}

impl NoBound {
    /// Describes why a message of this bus has no bound.
    #[must_use]
    pub fn describe(self, bus: Option<&BusSpec>) -> String {
        match self {
            Self::Overload(load) => format!(
                "with all higher-priority frames the bus load is {:.1} %",
                load * 100.0
            ),
            Self::TooLong => "the bus can be busy for more than an hour".to_owned(),
            Self::Upstream => "a message that comes from another bus has no bound there".to_owned(),
            Self::Bucket(bytes) => {
                format!("its `bucket` holds fewer than the {bytes} bytes of its longest datagram")
            }
            Self::Circle => "jitter grows without end around a circle of buses".to_owned(),
            Self::Follows(other) => {
                let other = bus.and_then(|bus| bus.messages.get(other));
                let other = other.map_or_else(String::new, Message::label);
                format!("higher-priority message {other} has no bound")
            }
        }
    }
}

impl QueueService {
    /// Returns its name in reports: `priority`, `covered` (the mailboxes hold all frames that can
    /// wait) or `queue`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Covered => "covered",
            Self::Queue => "queue",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, FrameShape, LengthRule};
    use alloc::vec;
    use frame::{CanId, Frame};

    #[test]
    fn a_reason_names_the_other_message() {
        let frame = Frame::classic(CanId::eff(0x100).unwrap(), &[]).unwrap();
        let message = |name: &str| Message {
            name: name.into(),
            node: 0,
            shape: FrameShape::exact(&frame).unwrap(),
            arrival: Arrival::new(10_000_000, 0, 0).unwrap(),
            offset: None,
            deadline: 10_000_000,
        };
        let bus = BusSpec {
            name: String::new(),
            rate: "500k".parse().unwrap(),
            lengths: LengthRule::Greatest,
            errors: None,
            random_errors: None,
            joins: 0,
            nodes: vec![],
            messages: vec![message(""), message("Speed")],
        };
        let words = |index| NoBound::Follows(index).describe(Some(&bus));
        assert_eq!(words(0), "higher-priority message 00000100 has no bound");
        assert_eq!(
            words(1),
            "higher-priority message 00000100 Speed has no bound"
        );
    }
}
