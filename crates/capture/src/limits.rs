//! The properties of a frame that a file format cannot express.

use crate::asc;
use crate::chunk::RecordedFrame;
use crate::form::{CaptureOutput, OutputFormat};
use frame::{FrameRef, Kind, Nanos, flags};
use std::fmt;

/// A property of a frame that a format cannot express.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shortfall {
    /// The format has no XL frames.
    Xl,
    /// The format has fewer channels than there are interfaces.
    Channel,
    /// The format only records that there was an error frame.
    ErrorFrame,
    /// Bits in addition to the ID that no frame on a bus has.
    Bits,
    /// Every frame must be marked as received or sent, and the direction of this one is unknown.
    Direction,
    /// Times count from the first frame.
    Before,
    /// Times are whole microseconds.
    Nanoseconds,
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
            Self::Xl => "left out, because this format has no XL frames",
            Self::Channel => "left out, because this format has at most 255 interfaces",
            Self::ErrorFrame => "written as error frames without their class and data",
            Self::Bits => "written without flags that no frame on a bus has",
            Self::Direction => "written as received, because nobody says which way they went",
            Self::Before => "written with the time of the first frame, which came after them",
            Self::Nanoseconds => {
                "written with whole microseconds (--nanoseconds writes nine digits)"
            }
            Self::Comment => "written without the comments that stand with them",
            Self::Late => "written with a wrong time, because theirs is after 2262",
        })
    }
}

/// The shortfalls of a format, frame by frame in the order of the file.
#[derive(Clone, Debug)]
pub struct FormatLimits {
    form: OutputFormat,
    nanos: bool,
    /// Origin of the times of an ASC file.
    start: Option<Nanos>,
}

impl FormatLimits {
    /// Returns the limits of this output.
    #[must_use]
    pub const fn of(output: &CaptureOutput) -> Self {
        Self {
            form: output.form,
            nanos: output.nanos,
            start: None,
        }
    }

    /// Returns the shortfalls of the next frame. If the frame is left out, there is only that one.
    pub fn shortfalls(
        &mut self,
        record: &RecordedFrame<'_>,
        frame: &FrameRef<'_>,
    ) -> Vec<Shortfall> {
        match self.form {
            OutputFormat::Text => self.text(record, frame),
            OutputFormat::Asc => self.asc(record, frame),
            // pcapng stores the kernel's own structure, and nanoseconds.
            OutputFormat::Pcapng => Vec::new(),
            OutputFormat::Parquet => {
                let late = i64::try_from(record.stamp).is_err();
                late.then_some(Shortfall::Late).into_iter().collect()
            }
        }
    }

    fn text(&self, record: &RecordedFrame<'_>, frame: &FrameRef<'_>) -> Vec<Shortfall> {
        let cut = !self.nanos && !record.stamp.is_multiple_of(1000);
        let cut = cut.then_some(Shortfall::Nanoseconds);
        let strange = is_strange(frame) || frame.header().flags() & 0xF0 != 0 && is_fd(frame);
        let strange = strange.then_some(Shortfall::Bits);
        cut.into_iter().chain(strange).collect()
    }

    fn asc(&mut self, record: &RecordedFrame<'_>, frame: &FrameRef<'_>) -> Vec<Shortfall> {
        let header = frame.header();
        if header.kind() == Kind::Xl {
            return vec![Shortfall::Xl];
        }
        if usize::from(record.interface) >= asc::CHANNELS {
            return vec![Shortfall::Channel];
        }
        let start = *self.start.get_or_insert_with(|| asc::start(record.stamp));
        let error = header.id().is_err();
        // Flags other than these.
        let others = header.flags() & !(flags::BRS | flags::ESI) != 0;
        let all = [
            (record.stamp < start, Shortfall::Before),
            (error, Shortfall::ErrorFrame),
            // The line of an error frame contains nothing of it, and an error frame has no sender.
            (record.direction.is_none() && !error, Shortfall::Direction),
            (!error && (is_strange(frame) || others), Shortfall::Bits),
        ];
        let found = all.into_iter().filter(|(is, _)| *is);
        found.map(|(_, shortfall)| shortfall).collect()
    }
}

fn is_fd(frame: &FrameRef<'_>) -> bool {
    frame.header().kind() == Kind::Fd
}

/// Returns whether bits of the ID contradict one another: can-gw can make such frames.
fn is_strange(frame: &FrameRef<'_>) -> bool {
    let id = frame.header().id();
    match frame.header().kind() {
        Kind::Xl => false,
        Kind::Fd => id.is_rtr() || id.is_err() || high_bits(frame),
        Kind::Classic => id.is_err() && (id.is_rtr() || id.is_eff()) || high_bits(frame),
    }
}

/// Returns whether a frame that is not extended has a number of more than 11 bits.
fn high_bits(frame: &FrameRef<'_>) -> bool {
    let id = frame.header().id();
    !id.is_eff()
        && !id.is_err()
        && id.raw() & (frame::CanId::EFF_MASK & !frame::CanId::SFF_MASK) != 0
}
