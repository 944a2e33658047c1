//! The message with the trail of the frames that follow it in their datagram.
//!
//! It is of a user-defined type (78). A receiver that does not know it passes it over, as the
//! standard demands; Open1722 discards the whole datagram, so only gateways get it.

use super::USER_TYPE;
use crate::FrameTrail;

/// Length of the message's header, bytes.
const HEADER: usize = 4;

/// The third and the fourth byte of the message: `t`, and the version of this layout.
const LAYOUT: [u8; 2] = [b't', 1];

/// Greatest length of the message, bytes.
pub(super) const LONGEST: usize = HEADER + 8 * FrameTrail::MAX_STATIONS;

/// Length of the message of a frame that has passed only the gateway that sends it, bytes.
pub const OWN_TRAIL: usize = HEADER + 8;

/// Reads a message of a user-defined type, of which `bytes` are exactly all; `None` if it is
/// another one.
pub(super) fn read(bytes: &[u8]) -> Result<Option<FrameTrail<'_>>, &'static str> {
    let Some((header, stations)) = bytes.split_at_checked(HEADER) else {
        return Ok(None);
    };
    if header[2..] != LAYOUT {
        return Ok(None);
    }
    match FrameTrail::from_bytes(stations) {
        Some(trail) => Ok(Some(trail)),
        None => Err("a trail with a wrong number of stations"),
    }
}

/// Returns the length of the message with this trail, bytes.
pub(super) const fn size(trail: FrameTrail<'_>) -> usize {
    HEADER + trail.bytes().len()
}

/// Appends the message.
pub(super) fn write(trail: FrameTrail<'_>, out: &mut Vec<u8>) {
    out.extend([USER_TYPE << 1, (size(trail) / 4) as u8]);
    out.extend(LAYOUT);
    out.extend_from_slice(trail.bytes());
}
