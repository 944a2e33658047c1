//! The frames that ports of kind `"split"` make.

use analysis::{Arrival, FrameShape, HopFrames};
use console::Failure;
use frame::{Header, Kind, Nanos};
use port::PortSpec;
use port::split::{SplitSettings, part_lens};
use std::num::NonZeroU8;

/// The FD frame of which a message has the parts.
#[derive(Clone, Copy)]
pub(super) struct SplitWhole {
    shape: FrameShape,
    /// The number of its parts.
    parts: NonZeroU8,
}

/// The frames that a port makes of those of a message.
pub(super) struct SplitFrames {
    pub(super) shape: FrameShape,
    pub(super) frames: HopFrames,
    /// The FD frame, if these are its parts.
    pub(super) whole: Option<SplitWhole>,
    /// All parts of a frame must come within this time, ns; `None` for a port that splits it.
    pub(super) within: Option<Nanos>,
}

/// The frames that a port makes, or the reason why there is none.
pub(super) enum SplitResult {
    Makes(Box<SplitFrames>),
    /// The port has no such frame.
    Nothing,
    /// The frames are parts of an FD frame that is not in the set.
    Unknown,
}

/// Returns the settings of a port that splits and joins frames; `None` for another one.
pub(super) fn settings(port: &PortSpec) -> Option<&SplitSettings> {
    port.settings.downcast_ref::<SplitSettings>()
}

impl SplitWhole {
    /// Returns the arrival of the parts of FD frames that come by this one.
    pub(super) fn parts_of(self, arrival: Arrival) -> Arrival {
        HopFrames::Split(self.parts).of(arrival)
    }
}

/// Returns the frames that a port makes of frames of this shape. `whole`: the FD frame of which
/// they are the parts.
pub(super) fn made(
    port: &SplitSettings,
    shape: &FrameShape,
    whole: Option<SplitWhole>,
) -> Result<SplitResult, Failure> {
    let header = shape.header();
    let id = header.id();
    let pair = port.pairs.iter().find(|pair| match header.kind() {
        Kind::Fd => id == pair.whole,
        Kind::Classic => id == pair.parts && !header.is_rtr(),
        Kind::Xl => false,
    });
    let Some(pair) = pair else {
        return Ok(SplitResult::Nothing);
    };
    if header.kind() == Kind::Classic {
        let Some(SplitWhole { shape, parts }) = whole else {
            return Ok(SplitResult::Unknown);
        };
        let joined = Header::new(Kind::Fd, pair.whole, shape.wire_len()).map_err(Failure::run)?;
        let joined = joined.with_flags(shape.header().flags());
        return Ok(SplitResult::Makes(Box::new(SplitFrames {
            shape: FrameShape::any(joined).map_err(Failure::run)?,
            frames: HopFrames::Joined(parts),
            whole: None,
            within: Some(port.timeout),
        })));
    }
    let lens: Vec<usize> = part_lens(shape.wire_len()).collect();
    let (least, most) = (lens.iter().min(), lens.iter().max());
    let count = u8::try_from(lens.len()).ok().and_then(NonZeroU8::new);
    let (Some(&least), Some(&most), Some(parts)) = (least, most, count) else {
        return Ok(SplitResult::Nothing);
    };
    let part = Header::new(Kind::Classic, pair.parts, most).map_err(Failure::run)?;
    let part = FrameShape::any(part).map_err(Failure::run)?;
    Ok(SplitResult::Makes(Box::new(SplitFrames {
        shape: part.or_shorter(least),
        frames: HopFrames::Split(parts),
        whole: Some(SplitWhole {
            shape: *shape,
            parts,
        }),
        within: None,
    })))
}
