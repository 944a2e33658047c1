//! The frames that most protocols can express.

use frame::{FrameRef, Kind};

/// Returns whether the frame is a classic or an FD frame of a bus: no error frame, and no remote FD
/// frame.
#[must_use]
pub fn is_bus_frame(frame: &FrameRef<'_>) -> bool {
    let id = frame.id();
    match frame.kind() {
        Kind::Classic => !id.is_err(),
        Kind::Fd => !id.is_err() && !id.is_rtr(),
        Kind::Xl => false,
    }
}
