//! The lengths that a message's frames can have on the wire.

mod classic;
mod fd;
mod header;
mod run;

use crate::FrameShape;
use alloc::vec::Vec;
use frame::wire::{self, BitRate, INTERMISSION_BITS};
use frame::{Frame, Kind, LengthError, Nanos, dlc};

/// Acknowledge slot, its delimiter, seven bits of end of frame.
const TRAILER: u32 = 9;

/// Bits of a frame from the start of frame to the end of frame, with stuff bits, without the
/// intermission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBits {
    /// Bits at the nominal bit rate.
    pub nominal: u32,
    /// Bits at the data bit rate: of FD frames with BRS.
    pub data: u32,
}

impl FrameBits {
    /// Returns the total number of bits.
    #[must_use]
    pub const fn all(self) -> u32 {
        self.nominal + self.data
    }

    /// Returns the length of the shortest frame: without a stuff bit, unless all of the payload is
    /// known.
    pub(crate) fn least(shape: &FrameShape) -> Self {
        if let Some(shortest) = shape.shortest() {
            return Self::least(&shortest);
        }
        if shape.is_exact()
            && let Ok(frame) = shape.filled(&[0; dlc::FD_MAX])
            && let Some(bits) = Self::from_frame(&frame)
        {
            return bits;
        }
        let formula = by_formula(shape);
        let header = shape.header();
        let (early, late) = stuffable(shape);
        if header.kind() == Kind::Fd && header.is_brs() {
            let (early_stuff, all_stuff) = ((early - 1) / 4, (early + late - 1) / 4);
            return Self {
                nominal: formula.nominal - early_stuff,
                data: formula.data - (all_stuff - early_stuff),
            };
        }
        Self {
            nominal: formula.nominal - (early + late - 1) / 4,
            data: 0,
        }
    }

    /// Returns their duration, ns; rounded in the same way as by the `bus` crate.
    #[must_use]
    pub const fn duration(self, rate: BitRate) -> Nanos {
        rate.time(self.nominal, self.data)
    }

    /// Returns the length of a frame; `None` for those that have no length, which no shape
    /// describes.
    fn from_frame(frame: &Frame) -> Option<Self> {
        let length = wire::length(frame.view())?;
        Some(Self {
            nominal: length.nominal_bits() - INTERMISSION_BITS,
            data: length.data_phase_bits(),
        })
    }
}

/// The rule by which the length of a frame is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LengthRule {
    /// The greatest length that the identifier and the known parts of the payload allow: exact to
    /// the bit where the payload is known.
    #[default]
    Greatest,
    /// The length by the usual formula, independent of identifier and payload: see [`by_formula`].
    Formula,
}

/// Finds the greatest lengths, and keeps intermediate results that they share.
#[derive(Default)]
pub struct LengthSearch {
    free: Vec<classic::FreePayload>,
    longest: Vec<(FrameShape, Frame)>,
}

impl LengthSearch {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the greatest length that a message's frames can have.
    pub fn greatest(&mut self, shape: &FrameShape) -> FrameBits {
        let exact = shape.is_exact().then(|| shape.filled(&[0; dlc::FD_MAX]));
        if let Some(bits) = exact
            .and_then(Result::ok)
            .as_ref()
            .and_then(FrameBits::from_frame)
        {
            return bits;
        }
        match shape.header().kind() {
            Kind::Fd => fd::greatest(shape).0,
            _ => classic::greatest(shape, &mut self.free),
        }
    }

    /// Returns the same where nodes may be error-passive: they send ESI recessive.
    pub fn greatest_with_errors(&mut self, shape: &FrameShape) -> FrameBits {
        let active = self.greatest(shape);
        if shape.header().kind() != Kind::Fd {
            return active;
        }
        let passive = self.greatest(&shape.with_esi());
        if passive.all() > active.all() {
            passive
        } else {
            active
        }
    }

    /// Returns a frame that has the greatest length.
    ///
    /// # Errors
    /// Never in practice: the header's length was checked when it was made.
    pub fn longest_frame(&mut self, shape: &FrameShape) -> Result<Frame, LengthError> {
        if let Some((_, frame)) = self.longest.iter().find(|(known, _)| known == shape) {
            return Ok(*frame);
        }
        let payload = match shape.header().kind() {
            _ if shape.is_exact() => [0; dlc::FD_MAX],
            Kind::Fd => fd::greatest(shape).1,
            _ => classic::payload(shape),
        };
        let frame = shape.filled(&payload)?;
        if !shape.is_exact() {
            self.longest.push((*shape, frame));
        }
        Ok(frame)
    }
}

/// Returns the length by formula: a stuff bit after the first five bits that can be stuffed and
/// after each four more, whatever their values are.
///
/// Classic: g + 8n + 13 + ⌊(g + 8n − 1) / 4⌋ bits with g = 34 (SFF) or 54 (EFF), of which 13 are
/// not stuffed and 3 are the intermission, which is left out here (Davis, Burns, Bril, Lukkien,
/// *Controller Area Network (CAN) schedulability analysis: Refuted, revisited and revised*,
/// Real-Time Systems 35, 2007, equation 1). FD in the same way, with its parts: the bits up to BRS
/// can hold at most ⌊(h − 1) / 4⌋ stuff bits, h = 17 (SFF) or 36 (EFF); all up to the end of the
/// payload together at most ⌊(h + 5 + 8n − 1) / 4⌋. A stuff bit takes longest at the nominal rate,
/// so as many as possible are counted there.
#[must_use]
pub fn by_formula(shape: &FrameShape) -> FrameBits {
    let header = shape.header();
    let (early, late) = stuffable(shape);
    if header.kind() != Kind::Fd {
        let stuffed = early + late;
        return FrameBits {
            nominal: stuffed + (stuffed - 1) / 4 + 13 - INTERMISSION_BITS,
            data: 0,
        };
    }
    let stuff_early = (early - 1) / 4;
    let stuff_all = (early + late - 1) / 4;
    let crc = if shape.wire_len() <= 16 { 27 } else { 32 };
    let bits = FrameBits {
        nominal: early + stuff_early + 1 + TRAILER,
        data: late + (stuff_all - stuff_early) + crc,
    };
    if header.is_brs() {
        bits
    } else {
        FrameBits {
            nominal: bits.all(),
            data: 0,
        }
    }
}

/// Returns the numbers of bits of a frame after which a stuff bit can follow: up to BRS, and after
/// it (for classic frames all count as the former).
fn stuffable(shape: &FrameShape) -> (u32, u32) {
    let header = shape.header();
    let payload = 8 * shape.wire_len() as u32;
    match (header.kind(), header.id().is_eff()) {
        (Kind::Fd, false) => (17, 5 + payload),
        (Kind::Fd, true) => (36, 5 + payload),
        (_, false) => (34 + payload, 0),
        (_, true) => (54 + payload, 0),
    }
}

#[cfg(test)]
mod tests;
