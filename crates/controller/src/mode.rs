//! The operating mode of a controller.

use crate::BitTiming;

/// The operating mode that [`start`](crate::Controller::start) sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartMode<'a> {
    /// Bit timing of classic frames and of the arbitration phase of FD frames.
    pub nominal: BitTiming,
    /// Bit timing of the data phase. If it is present, FD frames are received and sent; otherwise,
    /// the controller is classic.
    pub data: Option<BitTiming>,
    /// Send nothing: no frame, no acknowledgement, no error frame.
    pub listen_only: bool,
    /// Try each frame only once.
    pub one_shot: bool,
    /// Report [`BusError`](crate::ControllerEvent::BusError) and
    /// [`ArbitrationLost`](crate::ControllerEvent::ArbitrationLost). These cost register accesses.
    pub diagnose: bool,
    /// The frames that are wanted: those that match any of the filters; all frames, if there is no
    /// filter. A controller that cannot represent the filters exactly lets more frames through,
    /// never fewer.
    pub filters: &'a [AcceptanceRule],
}

impl StartMode<'_> {
    /// Returns the mode for classic frames that receives everything and retries after lost
    /// arbitration.
    #[must_use]
    pub const fn classic(nominal: BitTiming) -> Self {
        Self {
            nominal,
            data: None,
            listen_only: false,
            one_shot: false,
            diagnose: false,
            filters: &[],
        }
    }
}

/// Frames whose ID matches, as SocketCAN's `struct can_filter`: `frame.id & mask == id & mask`,
/// with the bits of [`CanId::EFF_FLAG`](frame::CanId::EFF_FLAG) and
/// [`CanId::RTR_FLAG`](frame::CanId::RTR_FLAG).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AcceptanceRule {
    /// The required values of the compared bits.
    pub id: u32,
    /// The bits that are compared.
    pub mask: u32,
}

impl AcceptanceRule {
    /// Returns whether an ID matches.
    #[must_use]
    pub const fn matches(&self, id: u32) -> bool {
        (id ^ self.id) & self.mask == 0
    }
}
