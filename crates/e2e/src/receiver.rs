//! The receiver of one protected message: what each frame is in the sequence of its sender.

use crate::error::{ReceptionFault, SettingsError};
use crate::profiles::check_range;
use crate::protection::Protection;
use core::fmt;
use frame::CanId;

/// Class of a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceptionStatus {
    /// The first right frame: there is no earlier counter to compare with.
    Initial,
    /// The frame after the last one. Also each right frame of a message without a counter.
    Ok,
    /// A later frame; at most `max_delta` steps after the last one.
    SomeLost {
        /// The number of frames between the last one and this one.
        lost: u32,
    },
    /// The counter is that of the last frame.
    Repeated,
    /// The counter is more than `max_delta` steps after the last one.
    WrongSequence {
        /// The number of steps.
        delta: u64,
    },
    /// The payload is not as its protection requires.
    Wrong(ReceptionFault),
}

/// A [`ReceptionStatus`] without its figures, to count by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceptionKind {
    /// [`ReceptionStatus::Initial`]
    Initial,
    /// [`ReceptionStatus::Ok`]
    Ok,
    /// [`ReceptionStatus::SomeLost`]
    SomeLost,
    /// [`ReceptionStatus::Repeated`]
    Repeated,
    /// [`ReceptionStatus::WrongSequence`]
    WrongSequence,
    /// [`ReceptionFault::TooShort`]
    TooShort,
    /// [`ReceptionFault::WrongLength`]
    WrongLength,
    /// [`ReceptionFault::WrongChecksum`]
    WrongChecksum,
    /// [`ReceptionFault::WrongDataId`]
    WrongDataId,
    /// [`ReceptionFault::WrongMethod`]
    WrongMethod,
    /// [`ReceptionFault::InvalidCounter`]
    InvalidCounter,
}

impl ReceptionKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Initial,
        Self::Ok,
        Self::SomeLost,
        Self::Repeated,
        Self::WrongSequence,
        Self::TooShort,
        Self::WrongLength,
        Self::WrongChecksum,
        Self::WrongDataId,
        Self::WrongMethod,
        Self::InvalidCounter,
    ];

    /// Returns the name, in the form of a counter's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Ok => "ok",
            Self::SomeLost => "some_lost",
            Self::Repeated => "repeated",
            Self::WrongSequence => "wrong_sequence",
            Self::TooShort => "too_short",
            Self::WrongLength => "wrong_length",
            Self::WrongChecksum => "wrong_checksum",
            Self::WrongDataId => "wrong_data_id",
            Self::WrongMethod => "wrong_method",
            Self::InvalidCounter => "invalid_counter",
        }
    }

    /// Returns the index in [`ReceptionKind::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for ReceptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ReceptionStatus {
    /// Returns the status of a right frame whose counter is this number of steps, modulo its number
    /// of values, after that of the last frame.
    ///
    /// For a receiver that gets only each n-th frame of a sender (a rate limit, a slower cycle),
    /// the distance of all frames is `n` modulo [`crate::CounterField::modulus`]: with a multiple
    /// of it all are [`ReceptionStatus::Repeated`], and with one more than a multiple all are
    /// [`ReceptionStatus::Ok`] although frames are missing.
    #[must_use]
    pub const fn from_distance(distance: u64, max_delta: u32) -> Self {
        match distance {
            0 => Self::Repeated,
            1 => Self::Ok,
            delta if delta <= max_delta as u64 => Self::SomeLost {
                lost: (delta - 1) as u32,
            },
            delta => Self::WrongSequence { delta },
        }
    }

    /// Returns whether the payload is right and new: the first frame, the next one, or a later one
    /// within `max_delta`.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Initial | Self::Ok | Self::SomeLost { .. })
    }

    /// Returns the status without its figures.
    #[must_use]
    pub const fn kind(&self) -> ReceptionKind {
        match self {
            Self::Initial => ReceptionKind::Initial,
            Self::Ok => ReceptionKind::Ok,
            Self::SomeLost { .. } => ReceptionKind::SomeLost,
            Self::Repeated => ReceptionKind::Repeated,
            Self::WrongSequence { .. } => ReceptionKind::WrongSequence,
            Self::Wrong(fault) => match fault {
                ReceptionFault::TooShort { .. } => ReceptionKind::TooShort,
                ReceptionFault::WrongLength { .. } => ReceptionKind::WrongLength,
                ReceptionFault::WrongChecksum => ReceptionKind::WrongChecksum,
                ReceptionFault::WrongDataId { .. } => ReceptionKind::WrongDataId,
                ReceptionFault::WrongMethod { .. } => ReceptionKind::WrongMethod,
                ReceptionFault::InvalidCounter { .. } => ReceptionKind::InvalidCounter,
            },
        }
    }
}

impl fmt::Display for ReceptionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => write!(f, "first frame"),
            Self::Ok => write!(f, "ok"),
            Self::SomeLost { lost } => write!(f, "ok, {lost} lost before it"),
            Self::Repeated => write!(f, "repeated"),
            Self::WrongSequence { delta } => {
                write!(f, "wrong sequence: {delta} steps after the last frame")
            }
            Self::Wrong(fault) => fault.fmt(f),
        }
    }
}

/// The receiver of one protected message.
///
/// The counter of each right frame is compared with that of the last right one, and replaces it,
/// whatever the result: the rule of AUTOSAR's profiles 04 to 08, 11 and 22, and that of profiles 01
/// and 02 with a `SyncCounterInit` above 0. Two things are simpler than in AUTOSAR:
///
/// * The first frame is [`ReceptionStatus::Initial`] in all profiles, as in 01 and 02. The others
///   begin as if the counter before the first one had been received.
/// * Profiles 01 and 02 tolerate one more lost frame for each cycle without a frame, and have a
///   status for frames after a wrong sequence. A gateway checks when a frame arrives, not in a
///   cycle: `max_delta` stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageReceiver {
    max_delta: u32,
    last: Option<u32>,
}

impl MessageReceiver {
    /// Creates a receiver that has not received a frame. A frame is accepted if its counter is 1 to
    /// `max_delta` steps after the last one (AUTOSAR's `MaxDeltaCounter`): with 1, no frame may be
    /// lost. Without a counter in the message, `max_delta` has no meaning.
    ///
    /// # Errors
    /// [`SettingsError::Range`] if `max_delta` is 0, or not below the number of counter values.
    /// With the greatest possible number, only repeated frames are not accepted.
    pub fn new(protection: &Protection, max_delta: u32) -> Result<Self, SettingsError> {
        if let Some(counter) = protection.counter_field() {
            check_range("max_delta", max_delta.into(), 1, counter.modulus - 1)?;
        }
        Ok(Self {
            max_delta,
            last: None,
        })
    }

    /// Checks the payload of a received frame with this CAN ID. The protection must be that of
    /// [`MessageReceiver::new`].
    pub fn check(&mut self, protection: &Protection, id: CanId, payload: &[u8]) -> ReceptionStatus {
        let received = match protection.verify(id, payload) {
            Ok(received) => received,
            Err(fault) => return ReceptionStatus::Wrong(fault),
        };
        let Some((counter, received)) = protection.counter_field().zip(received) else {
            return ReceptionStatus::Ok;
        };
        let Some(last) = self.last.replace(received) else {
            return ReceptionStatus::Initial;
        };
        ReceptionStatus::from_distance(counter.distance(last, received), self.max_delta)
    }

    /// Forgets the last counter, as after a timeout: the next right frame is the first one again.
    pub const fn restart(&mut self) {
        self.last = None;
    }

    /// Returns the counter of the last right frame.
    #[must_use]
    pub const fn last_counter(&self) -> Option<u32> {
        self.last
    }
}
