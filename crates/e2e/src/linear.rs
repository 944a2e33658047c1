//! Checksums as a constant XOR one term for each byte.

use crate::protection::Protection;
use frame::CanId;
use frame::dlc::FD_MAX;

/// A checksum of frames with one CAN ID and one length, as a constant XOR one term for each byte.
/// Programs that must not loop over bits, such as those of BPF, look the terms up in tables.
///
/// All CRCs and XOR sums have this form. The Data ID that the counter selects (profiles 01 and 02)
/// is part of the terms of the counter's byte. Sums do not have it: they carry from bit to bit.
///
/// ```
/// use e2e::{LinearForm, P05Settings, Protection, ProtectionSettings};
/// use frame::CanId;
///
/// let settings = ProtectionSettings::P05(P05Settings::new(0x1234));
/// let protection = Protection::new(settings).unwrap();
/// let id = CanId::sff(0x100).unwrap();
/// let form = LinearForm::new(&protection, id, 8).unwrap();
/// let payload = [0, 0, 7, 1, 2, 3, 4, 5];
/// let terms = payload.iter().enumerate().map(|(place, &byte)| form.term(place, byte));
/// let checksum = terms.fold(form.constant(), |sum, term| sum ^ term);
/// assert_eq!(checksum, protection.compute(id, &payload).unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinearForm<'a> {
    protection: &'a Protection,
    id: CanId,
    len: usize,
    constant: u64,
}

impl<'a> LinearForm<'a> {
    /// Returns the form for payloads of `len` bytes; `None` if the checksum does not have one, if
    /// payloads of this length are too short for the protection, or longer than those of CAN FD.
    #[must_use]
    pub fn new(protection: &'a Protection, id: CanId, len: usize) -> Option<Self> {
        let zeros = [0; FD_MAX];
        let zeros = zeros.get(..len)?;
        if !protection.is_linear() {
            return None;
        }
        let constant = protection.compute(id, zeros).ok()?;
        Some(Self {
            protection,
            id,
            len,
            constant,
        })
    }

    /// Returns the checksum of a payload of zeros.
    #[must_use]
    pub const fn constant(&self) -> u64 {
        self.constant
    }

    /// Returns the term of this byte of the payload with this value. It is 0 for the value 0, for
    /// the bits of the checksum, and for bytes that are not protected.
    #[must_use]
    pub fn term(&self, place: usize, value: u8) -> u64 {
        let mut payload = [0; FD_MAX];
        let Some(byte) = payload.get_mut(place) else {
            return 0;
        };
        *byte = value;
        let payload = payload.get(..self.len).unwrap_or_default();
        let sum = self.protection.compute(self.id, payload);
        sum.map_or(0, |sum| sum ^ self.constant)
    }
}
