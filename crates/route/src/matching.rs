//! Which frames a route takes.

use alloc::vec::Vec;

/// Which frames a route takes: all parts must agree.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Match {
    /// Any of these must hold; none at all means every ID.
    pub ids: Vec<IdFilter>,
    /// Kinds of frame; none set means the default, classic and FD and XL.
    pub kinds: KindSet,
    /// Remote frames: only, none, or either.
    pub rtr: Tri,
    /// Error frames of the controller: only, none, or either. The default is none, as for a
    /// raw socket without an error mask and for can-gw.
    pub err: Tri,
    /// All of these must hold. A frame that is too short for one does not match.
    pub payload: Vec<PayloadPattern>,
    /// Payload length from and to, both included.
    pub len: Option<(u16, u16)>,
}

impl Default for Match {
    /// Every frame of every kind, but no error frames.
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            kinds: KindSet::default(),
            rtr: Tri::Either,
            err: Tri::No,
            payload: Vec::new(),
            len: None,
        }
    }
}

/// One way of naming IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IdFilter {
    /// The IDs that are named.
    pub set: IdSet,
    /// The others are meant, of the same frame format for [`IdSet::Range`]. Not possible with a
    /// mask that holds the error flag.
    pub inverted: bool,
}

/// A set of IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum IdSet {
    /// Numbers from `first` to `last`, both included, of one frame format. A single ID has
    /// `first == last`. RTR and error flags do not matter here; an error frame has the format
    /// that its EFF flag says, and one whose number is above the format's maximum is neither in
    /// a range nor among a range's others.
    Range {
        /// EFF, else SFF.
        eff: bool,
        /// Lowest number.
        first: u32,
        /// Highest number.
        last: u32,
    },
    /// `(frame & mask) == (id & mask)` on SocketCAN's raw 32 bits, flags included: can-gw's
    /// and the raw socket's filter. An XL frame is matched by its priority, as an SFF ID.
    ///
    /// Two rules come from the kernel (`net/can/af_can.c`, `can_rcv_list_find`): a mask with the
    /// EFF flag beside an ID without it looks at no number bits above 11; and a mask with the
    /// error flag (2000_0000) takes error frames only, those that have any of the mask's other
    /// bits. Such a filter needs [`Match::err`] to let error frames in.
    Masked {
        /// `can_id` with flag bits.
        id: u32,
        /// Mask with flag bits.
        mask: u32,
    },
}

/// Kinds of frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KindSet {
    /// Classic frames.
    pub classic: bool,
    /// FD frames.
    pub fd: bool,
    /// XL frames.
    pub xl: bool,
}

impl Default for KindSet {
    fn default() -> Self {
        Self {
            classic: true,
            fd: true,
            xl: true,
        }
    }
}

/// Only those, none of those, or either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Tri {
    /// Either (for error frames the default is [`Tri::No`]; the configuration says so).
    #[default]
    Either,
    /// Only those.
    Yes,
    /// None of those.
    No,
}

/// Bytes that must stand in the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PayloadPattern {
    /// Index of the first byte.
    pub at: u16,
    /// The bytes.
    pub value: Vec<u8>,
    /// Which bits of them matter; as long as `value`.
    pub mask: Vec<u8>,
}
