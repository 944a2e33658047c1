//! Profiles 01 and 11: CRC8 over the Data ID and the data, a counter of four bits.

use super::{MAX_OFFSET, check_range};
use crate::crc::{CrcParameters, PROFILE_01};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::scheme::{ConstantField, ConstantFields, ConstantKind, CounterField, ProtectionScheme};
use frame::CanId;

/// The way in which the Data ID takes part in the CRC of profiles 01 and 11.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DataIdMode {
    /// The low byte, then the high byte: variant 1A.
    Both,
    /// The low byte if the counter is even, the high byte if it is odd: variant 1B. Profile 01
    /// only.
    Alternating,
    /// The low byte. Profile 01 only.
    Low,
    /// The low byte, then a zero. Bits 8 to 11 of the Data ID are in the payload: variant 1C.
    Nibble,
}

/// The settings of profile 01 or 11.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct P01Settings {
    /// The Data ID: 16 bits, in nibble mode 12.
    pub data_id: u16,
    /// How the Data ID takes part in the CRC.
    pub mode: DataIdMode,
    /// The index of the CRC's byte.
    pub crc: u16,
    /// The first bit of the counter's four: eight times the byte's index, plus 0 or 4.
    pub counter: u16,
    /// The first bit of the four bits of the Data ID, for nibble mode: as for `counter`.
    pub nibble: u16,
    /// The number of protected bytes; `None` for the whole payload. Profile 11 is specified for up
    /// to 30, profile 01 (from memory) for up to 32.
    pub length: Option<u16>,
}

impl P01Settings {
    /// Returns the settings of AUTOSAR's variants for a header at this byte: the CRC, behind it the
    /// counter in the low half of a byte, and the Data ID's four bits in the high half.
    #[must_use]
    pub const fn new(data_id: u16, mode: DataIdMode, offset: u16) -> Self {
        Self {
            data_id,
            mode,
            crc: offset,
            counter: offset.saturating_mul(8).saturating_add(8),
            nibble: offset.saturating_mul(8).saturating_add(12),
            length: None,
        }
    }
}

/// Profile 01 or 11.
pub(crate) struct P01Scheme<'a> {
    pub(crate) settings: &'a P01Settings,
    pub(crate) is_p11: bool,
}

/// The number of values of the counter: 15 is not used.
const MODULUS: u64 = 15;

impl P01Scheme<'_> {
    fn nibble(&self, bit: u16) -> PayloadField {
        PayloadField::nibble(usize::from(bit / 8), bit % 8 == 4)
    }
}

impl ProtectionScheme for P01Scheme<'_> {
    fn check(&self) -> Result<(), SettingsError> {
        let settings = self.settings;
        check_range("crc", u64::from(settings.crc), 0, MAX_OFFSET)?;
        for (setting, bit) in [("counter", settings.counter), ("nibble", settings.nibble)] {
            check_range(setting, u64::from(bit), 0, MAX_OFFSET * 8 + 4)?;
            if !bit.is_multiple_of(4) {
                let found = u64::from(bit);
                return Err(SettingsError::Nibble { setting, found });
            }
        }
        match settings.mode {
            DataIdMode::Nibble => check_range("data_id", u64::from(settings.data_id), 0, 0xFFF),
            DataIdMode::Alternating | DataIdMode::Low if self.is_p11 => Err(SettingsError::P11Mode),
            DataIdMode::Both | DataIdMode::Alternating | DataIdMode::Low => Ok(()),
        }
    }

    fn length(&self) -> Option<u16> {
        self.settings.length
    }

    fn result(&self, _: usize) -> PayloadField {
        PayloadField::one(usize::from(self.settings.crc))
    }

    fn counter(&self) -> Option<CounterField> {
        Some(CounterField {
            field: self.nibble(self.settings.counter),
            modulus: MODULUS,
            first: 0,
        })
    }

    fn constants(&self, _: usize) -> ConstantFields {
        if self.settings.mode != DataIdMode::Nibble {
            return [None; 3];
        }
        let field = self.nibble(self.settings.nibble);
        let high = u64::from(self.settings.data_id >> 8);
        let constant = ConstantField::new(ConstantKind::DataId, field, high);
        [Some(constant), None, None]
    }

    fn compute(&self, _: CanId, data: &[u8]) -> u64 {
        let [low, high] = self.settings.data_id.to_le_bytes();
        let counter = self.nibble(self.settings.counter);
        let is_odd = || counter.read(data).unwrap_or_default() % 2 == 1;
        let crc = &PROFILE_01;
        let register = match self.settings.mode {
            DataIdMode::Both => crc.update(crc.start(), &[low, high]),
            DataIdMode::Alternating if is_odd() => crc.step(crc.start(), high),
            DataIdMode::Alternating | DataIdMode::Low => crc.step(crc.start(), low),
            DataIdMode::Nibble => crc.update(crc.start(), &[low, 0]),
        };
        let at = usize::from(self.settings.crc);
        crc.finish(crc.without(register, data, at, at + 1)).into()
    }

    fn crc(&self) -> Option<CrcParameters> {
        Some(CrcParameters::PROFILE_01)
    }

    fn length_limit(&self) -> Option<usize> {
        Some(if self.is_p11 { 30 } else { 32 })
    }
}
