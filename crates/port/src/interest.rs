//! Which frames a port's owner can use.

/// A raw socket's filter (`struct can_filter`): a frame passes where
/// `(its SocketCAN ID & mask) == (id & mask)`, flags included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RawFilter {
    /// `can_id` with flag bits. [`RawFilter::INVERTED`] turns the filter round.
    pub id: u32,
    /// Mask with flag bits.
    pub mask: u32,
}

impl RawFilter {
    /// `CAN_INV_FILTER` of `uapi/linux/can.h`: set in `id`, frames pass that do *not* agree.
    pub const INVERTED: u32 = 0x2000_0000;
}

/// Which IDs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// No frame at all: nothing is routed from this port.
    Nothing,
    /// Every ID.
    #[default]
    Everything,
    /// IDs that pass any of these.
    Filters(Vec<RawFilter>),
}

/// Which frames a port's owner can use; see [`crate::Receive::set_interest`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interest {
    /// Which IDs.
    pub ids: Ids,
    /// FD frames too.
    pub fd: bool,
    /// XL frames too.
    pub xl: bool,
    /// Error frames of the controller too, as frames.
    pub error_frames: bool,
}

impl Default for Interest {
    /// All data and remote frames of every kind, no error frames.
    fn default() -> Self {
        Self {
            ids: Ids::Everything,
            fd: true,
            xl: true,
            error_frames: false,
        }
    }
}
