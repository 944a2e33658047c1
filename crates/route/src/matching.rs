//! The conditions that determine which frames a route takes.

use crate::SignalCondition;
use alloc::{string::String, vec::Vec};

/// The conditions that determine which frames a route takes: all parts must match.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameMatch {
    /// ID filters, of which any one must match; an empty list matches every ID.
    pub ids: Vec<IdFilter>,
    /// Kinds of frame; if none is set, the default applies: classic, FD and XL.
    pub kinds: KindSet,
    /// Remote frames: only, none, or either.
    pub rtr: TriState,
    /// Error frames of the controller: only, none, or either. The default is none, as for a
    /// raw socket without an error mask and for can-gw.
    pub err: TriState,
    /// Payload patterns, all of which must match. A frame that is too short for a pattern does not
    /// match.
    pub payload: Vec<PayloadPattern>,
    /// Minimum and maximum payload length, both included.
    pub len: Option<(u16, u16)>,
    /// The name of the message that the gateway file gives instead of the ID; for texts only.
    pub message: Option<String>,
    /// A condition on signals.
    pub when: Option<SignalCondition>,
}

impl Default for FrameMatch {
    /// Every frame of every kind, but no error frames.
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            kinds: KindSet::default(),
            rtr: TriState::Either,
            err: TriState::No,
            payload: Vec::new(),
            len: None,
            message: None,
            when: None,
        }
    }
}

/// One filter for IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IdFilter {
    /// The IDs of the filter.
    pub set: IdSet,
    /// The filter matches the other IDs, for [`IdSet::Range`] those of the same frame format. Not
    /// possible with a mask that holds the error flag.
    pub inverted: bool,
}

/// A set of IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum IdSet {
    /// Numbers from `first` to `last`, both included, of one frame format. A single ID has `first
    /// == last`. The RTR and error flags do not matter here. An error frame has the format that its
    /// EFF flag indicates; if its number is above the format's maximum, it matches neither a range
    /// nor an inverted range.
    Range {
        /// EFF, else SFF.
        eff: bool,
        /// Lowest number.
        first: u32,
        /// Highest number.
        last: u32,
    },
    /// `(frame & mask) == (id & mask)` on SocketCAN's raw 32 bits, flags included: the filter of
    /// can-gw and of the raw socket. An XL frame is matched by its priority, as an SFF ID.
    ///
    /// Two rules come from the kernel (`net/can/af_can.c`, `can_rcv_list_find`): a mask with the
    /// EFF flag, together with an ID without it, compares no number bits above 11; and a mask with
    /// the error flag (2000_0000) matches only error frames, namely those that have any of the
    /// mask's other bits. Such a filter needs [`FrameMatch::err`] to let error frames in.
    Masked {
        /// `can_id` with flag bits.
        id: u32,
        /// Mask with flag bits.
        mask: u32,
    },
}

/// Kinds of frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TriState {
    /// Either (for error frames the default is [`TriState::No`], which the configuration sets).
    #[default]
    Either,
    /// Only those.
    Yes,
    /// None of those.
    No,
}

/// Bytes that the payload must contain at a position.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PayloadPattern {
    /// Index of the first byte.
    pub at: u16,
    /// The bytes.
    pub value: Vec<u8>,
    /// The bits of them that matter; has the length of `value`.
    pub mask: Vec<u8>,
}

impl PayloadPattern {
    /// Returns whether a payload has the bytes. One that is too short does not.
    #[inline]
    pub(crate) fn matches(&self, payload: &[u8]) -> bool {
        let bytes = payload.get(usize::from(self.at)..).unwrap_or(&[]);
        bytes.len() >= self.value.len()
            && (bytes.iter().zip(&self.value).zip(&self.mask))
                .all(|((byte, value), mask)| (byte ^ value) & mask == 0)
    }
}
