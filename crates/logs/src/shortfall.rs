//! The properties of a frame that a format cannot express.

use frame::{CanId, FrameRef, Kind, Nanos, flags};
use std::fmt;

/// A property of a frame that a format cannot express.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shortfall {
    /// XL frames are not written into this format.
    Xl,
    /// The format has fewer channels than there are interfaces.
    Channel,
    /// The format only records that there was an error frame.
    ErrorFrame,
    /// The format does not distinguish FD frames from classic ones.
    Fd,
    /// Bits in addition to the ID that no frame on a bus has.
    Bits,
    /// Every frame must be marked as received or sent, and the direction of this one is unknown.
    Direction,
    /// The format has no direction.
    NoDirection,
    /// The format has no interfaces.
    Interface,
    /// Times count from the first frame.
    Before,
    /// Times are whole microseconds.
    Nanoseconds,
    /// Times are whole microseconds, and no option changes that.
    Microseconds,
    /// Times after 2262.
    Late,
    /// The frame has a user's comment, which no format stores.
    Comment,
}

impl Shortfall {
    /// Returns whether the frame is left out. Otherwise it is written without a part of it.
    #[must_use]
    pub const fn is_left_out(self) -> bool {
        matches!(self, Self::Xl | Self::Channel)
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xl => "left out, because XL frames are not written into this format",
            Self::Channel => "left out, because this format has at most 255 interfaces",
            Self::ErrorFrame => "written as error frames without their class and data",
            Self::Fd => "written without the marks of FD frames, which this format does not have",
            Self::Bits => "written without flags that no frame on a bus has",
            Self::Direction => "written as received, because their direction is not known",
            Self::NoDirection => "written without their direction, which this format does not have",
            Self::Interface => "written without their interface, which this format does not have",
            Self::Before => "written with the time of the first frame, which came after them",
            Self::Nanoseconds => {
                "written with whole microseconds (--nanoseconds writes nine digits)"
            }
            Self::Microseconds => "written with whole microseconds",
            Self::Comment => "written without their comments",
            Self::Late => "written with a wrong time, because theirs is after 2262",
        })
    }
}

/// The state of a file before a frame is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileContext {
    /// The stamp of the first frame of the file; of this one, if there is none before it.
    pub(crate) first: Nanos,
    /// Times have nine digits after the decimal point, where there is a choice.
    pub(crate) nanos: bool,
}

/// Returns the shortfalls that apply.
pub(crate) fn applying<const N: usize>(all: [(bool, Shortfall); N]) -> Vec<Shortfall> {
    let found = all.into_iter().filter(|(applies, _)| *applies);
    found.map(|(_, shortfall)| shortfall).collect()
}

/// Returns whether bits of the ID contradict one another: can-gw can make such frames.
pub(crate) fn is_strange(frame: &FrameRef<'_>) -> bool {
    let id = frame.header().id();
    match frame.header().kind() {
        Kind::Xl => false,
        Kind::Fd => id.is_rtr() || id.is_err() || high_bits(id),
        Kind::Classic => id.is_err() && (id.is_rtr() || id.is_eff()) || high_bits(id),
    }
}

/// Returns whether flags are set other than BRS and ESI.
pub(crate) fn has_other_flags(frame: &FrameRef<'_>) -> bool {
    frame.header().flags() & !(flags::BRS | flags::ESI) != 0
}

/// Returns whether a frame that is not extended has a number of more than 11 bits.
const fn high_bits(id: CanId) -> bool {
    !id.is_eff() && !id.is_err() && id.raw() & (CanId::EFF_MASK & !CanId::SFF_MASK) != 0
}
