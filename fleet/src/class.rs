//! Classes of identifiers, and their priorities in Zenoh.

use frame::CanId;
use net::IdRange;
use zenoh::qos::Priority;

/// A class of frames. Each has its own samples, numbers and key, so that none waits for a lower
/// one; within a class, frames keep their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FrameClass {
    /// The identifiers of the key `urgent`.
    Urgent,
    /// All others.
    Normal,
    /// The identifiers of the key `bulk`.
    Bulk,
}

impl FrameClass {
    /// All classes, the first one before the others.
    pub const ALL: [Self; 3] = [Self::Urgent, Self::Normal, Self::Bulk];

    /// Returns the word for the class, which is the last chunk of its key.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Normal => "normal",
            Self::Bulk => "bulk",
        }
    }

    /// Returns Zenoh's priority: each has a queue of its own on each link.
    #[must_use]
    pub const fn priority(self) -> Priority {
        match self {
            Self::Urgent => Priority::RealTime,
            Self::Normal => Priority::Data,
            Self::Bulk => Priority::Background,
        }
    }

    /// Returns the place in [`FrameClass::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The identifiers of the classes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassRules {
    /// The identifiers of [`FrameClass::Urgent`].
    pub urgent: Vec<IdRange>,
    /// The identifiers of [`FrameClass::Bulk`] that are not urgent.
    pub bulk: Vec<IdRange>,
}

impl ClassRules {
    /// Returns the class of an identifier.
    #[must_use]
    pub fn class_of(&self, id: CanId) -> FrameClass {
        let is_in = |ranges: &[IdRange]| ranges.iter().any(|range| range.contains(id));
        if is_in(&self.urgent) {
            FrameClass::Urgent
        } else if is_in(&self.bulk) {
            FrameClass::Bulk
        } else {
            FrameClass::Normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identifier_has_one_class() {
        let ranges = |text| vec![IdRange::parse(text).unwrap()];
        let rules = ClassRules {
            urgent: ranges("000-0FF"),
            bulk: ranges("0F0-7FF"),
        };
        for (id, class) in [
            (CanId::sff(0xFF).unwrap(), FrameClass::Urgent),
            (CanId::sff(0x100).unwrap(), FrameClass::Bulk),
            (CanId::eff(0x10).unwrap(), FrameClass::Normal),
        ] {
            assert_eq!(rules.class_of(id), class, "{id:?}");
        }
        assert_eq!(FrameClass::ALL.map(FrameClass::index), [0, 1, 2]);
    }
}
