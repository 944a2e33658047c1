//! The properties of the frames of plain traffic.

use super::PayloadMaker;
use crate::rng::Rng;
use frame::{CanId, Frame, LengthError, Nanos, dlc};
use std::ops::RangeInclusive;

/// The properties of the frames of plain traffic: identifier and length fixed or random within a
/// range, payload numbered ([`PayloadMaker`]).
#[derive(Clone, Debug)]
pub struct FrameTemplate {
    /// The lowest and the highest identifier.
    ids: (CanId, CanId),
    /// The lengths that occur, ascending; at least one.
    lens: Vec<usize>,
    /// `None` for classic frames, else the FD flags.
    fd: Option<u8>,
    payload: PayloadMaker,
    rng: Rng,
}

/// The error for identifiers that are not a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{first:X} to {last:X} is not a range of identifiers: give two of one format, the lower one first"
)]
pub struct IdRangeError {
    /// The first identifier, without flags.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl FrameTemplate {
    /// Creates a template for classic frames with `len` bytes of numbered payload.
    ///
    /// # Errors
    /// [`LengthError`] above 8 bytes.
    pub fn classic(id: CanId, len: usize, seed: u64) -> Result<Self, LengthError> {
        Self::new(id, len, None, seed)
    }

    /// Creates a template for FD frames with `len` bytes of numbered payload and these
    /// [`frame::flags`].
    ///
    /// # Errors
    /// [`LengthError`] above 64 bytes.
    pub fn fd(id: CanId, len: usize, flags: u8, seed: u64) -> Result<Self, LengthError> {
        Self::new(id, len, Some(flags), seed)
    }

    fn new(id: CanId, len: usize, fd: Option<u8>, seed: u64) -> Result<Self, LengthError> {
        let template = Self {
            ids: (id, id),
            lens: vec![len],
            fd,
            payload: PayloadMaker::new(seed),
            rng: Rng::fork(seed, 0x7465_6D70_6C61_7465),
        };
        template.check(len)?;
        Ok(template)
    }

    fn check(&self, len: usize) -> Result<(), LengthError> {
        let kind = match self.fd {
            None => frame::Kind::Classic,
            Some(_) => frame::Kind::Fd,
        };
        frame::Header::new(kind, self.ids.0, len).map(|_| ())
    }

    /// Gives every frame a random identifier from `first` to `last`.
    ///
    /// # Errors
    /// [`IdRangeError`] where `last` is lower, or of the other format.
    pub fn with_ids(mut self, first: CanId, last: CanId) -> Result<Self, IdRangeError> {
        if first.is_eff() != last.is_eff() || first.number() > last.number() {
            return Err(IdRangeError {
                first: first.number(),
                last: last.number(),
            });
        }
        self.ids = (first, last);
        Ok(self)
    }

    /// Gives every frame a random length from this range; FD frames only those that a DLC
    /// represents, so that nothing is padded on the wire. From a range without such a length, its
    /// upper end is used, padded.
    ///
    /// # Errors
    /// [`LengthError`] where the kind of frame has no such length.
    pub fn with_lens(mut self, lens: RangeInclusive<usize>) -> Result<Self, LengthError> {
        self.check(*lens.end())?;
        let end = *lens.end();
        self.lens = lens
            .filter(|&len| self.fd.is_none() || dlc::fd_padded(len) == len)
            .collect();
        if self.lens.is_empty() {
            let filled = if self.fd.is_some() {
                dlc::fd_padded(end)
            } else {
                end
            };
            self.lens.push(filled);
        }
        Ok(self)
    }

    /// Returns the next frame; the lengths were checked before.
    pub(super) fn frame(&mut self) -> Option<Frame> {
        let (first, last) = self.ids;
        let id = match last.number() - first.number() {
            0 => first,
            // The range is within one format, so that the flags stay as they are.
            span => CanId::from_raw(first.raw() + self.rng.up_to(u64::from(span)) as u32),
        };
        let len = match self.lens.as_slice() {
            [one] => *one,
            many => *many.get(self.rng.up_to(many.len() as u64 - 1) as usize)?,
        };
        let (data, len) = self.payload.bytes(len);
        match self.fd {
            None => Frame::classic(id, &data[..len]).ok(),
            Some(flags) => Frame::fd(id, flags, &data[..len]).ok(),
        }
    }
}

impl Iterator for FrameTemplate {
    type Item = Frame;

    /// Returns frame after frame, without end.
    fn next(&mut self) -> Option<Frame> {
        self.frame()
    }
}

/// Returns the period at which frames of this duration load a bus by `percent`: 50 gives the
/// papers' "two times the transmission duration". 0 counts as 1, more than 100 as 100.
#[must_use]
pub fn period_for_load(duration: Nanos, percent: u8) -> Nanos {
    let percent = Nanos::from(percent.clamp(1, 100));
    duration.saturating_mul(100).div_ceil(percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::number_in;
    use std::collections::BTreeSet;

    #[test]
    fn half_load_is_twice_the_duration() {
        assert_eq!(period_for_load(222_000, 50), 444_000);
        assert_eq!(period_for_load(222_000, 100), 222_000);
        assert_eq!(period_for_load(222_000, 0), 22_200_000);
    }

    #[test]
    fn too_long_is_refused_before_anything_is_sent() {
        let id = CanId::from_raw(1);
        assert!(FrameTemplate::classic(id, 9, 0).is_err());
        assert!(FrameTemplate::fd(id, 65, 0, 0).is_err());
        assert!(FrameTemplate::fd(id, 64, 0, 0).is_ok());
        let classic = FrameTemplate::classic(id, 2, 0).unwrap();
        assert!(classic.clone().with_lens(2..=9).is_err());
        assert!(classic.with_lens(2..=8).is_ok());
    }

    /// All of the range and nothing else occurs, each frame with the next number.
    #[test]
    fn identifiers_and_lengths_fill_their_ranges() {
        let (first, last) = (CanId::eff(0x700).unwrap(), CanId::eff(0x707).unwrap());
        let template = FrameTemplate::classic(first, 2, 3)
            .unwrap()
            .with_ids(first, last)
            .unwrap()
            .with_lens(2..=8)
            .unwrap();
        let frames: Vec<Frame> = template.take(400).collect();
        let ids: BTreeSet<u32> = frames.iter().map(|f| f.id().number()).collect();
        assert_eq!(ids, (0x700..=0x707).collect());
        assert!(frames.iter().all(|f| f.id().is_eff()));
        let lens: BTreeSet<usize> = frames.iter().map(Frame::len).collect();
        assert_eq!(lens, (2..=8).collect());
        for (n, frame) in frames.iter().enumerate() {
            assert_eq!(number_in(frame.data(), 0), Some(n as u16));
        }
    }

    #[test]
    fn fd_lengths_are_those_of_a_dlc() {
        let id = CanId::from_raw(5);
        let template = |lens| {
            FrameTemplate::fd(id, 2, 0, 1)
                .unwrap()
                .with_lens(lens)
                .unwrap()
        };
        let seen: BTreeSet<usize> = template(6..=20).take(300).map(|f| f.len()).collect();
        assert_eq!(seen, BTreeSet::from([6, 7, 8, 12, 16, 20]));
        assert_eq!(template(33..=40).next().unwrap().len(), 48);
    }

    #[test]
    fn no_range_is_refused() {
        let (low, high) = (CanId::sff(1).unwrap(), CanId::sff(2).unwrap());
        let template = FrameTemplate::classic(low, 2, 0).unwrap();
        let error = template.clone().with_ids(high, low).unwrap_err();
        assert_eq!((error.first, error.last), (2, 1));
        assert!(template.with_ids(low, CanId::eff(7).unwrap()).is_err());
    }
}
