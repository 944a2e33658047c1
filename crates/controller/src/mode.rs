//! What a controller is to do.

use crate::Timing;

/// What a controller is to do from [`start`](crate::Controller::start) on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode<'a> {
    /// Bit timing of classic frames and of the arbitration phase of FD frames.
    pub nominal: Timing,
    /// Bit timing of the data phase. FD frames are received and sent where it is there; else, the
    /// controller is classic.
    pub data: Option<Timing>,
    /// Send nothing: no frame, no acknowledgement, no error frame.
    pub listen_only: bool,
    /// Try each frame once only.
    pub one_shot: bool,
    /// Tell [`BusError`](crate::Event::BusError) and
    /// [`ArbitrationLost`](crate::Event::ArbitrationLost). They cost register accesses.
    pub diagnose: bool,
    /// The frames that are of use: those that match any of them; all, where there is none. A
    /// controller that cannot say it exactly lets more through, never less.
    pub filters: &'a [Filter],
}

impl Mode<'_> {
    /// Classic frames, everything received, lost arbitration tried again.
    #[must_use]
    pub const fn classic(nominal: Timing) -> Self {
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
pub struct Filter {
    /// What the bits are to be.
    pub id: u32,
    /// Which bits are compared.
    pub mask: u32,
}

impl Filter {
    /// Does an ID match?
    #[must_use]
    pub const fn matches(&self, id: u32) -> bool {
        (id ^ self.id) & self.mask == 0
    }
}
