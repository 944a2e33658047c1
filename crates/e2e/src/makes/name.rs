//! The makes by their names.

use super::crc8_sum::Crc8Settings;
use super::crc16_sum::Crc16Settings;
use super::nibble_sum::NibbleSumSettings;
use super::sum8::Sum8Settings;
use super::xor_sum::XorSumSettings;
use super::{BytePlace, SumCommon};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::settings::ProtectionSettings;
use core::fmt;
use core::str::FromStr;
use frame::CanId;

/// A make, or a platform of one, with a checksum of its own. Volkswagen's MQB and MEB have profile
/// 02 instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MakeName {
    /// Chrysler: CRC8 in the last byte.
    Chrysler,
    /// comma's body: CRC8 from the back, in the last byte.
    CommaBody,
    /// Fiat Chrysler's Giorgio platform: CRC8 in the last byte.
    Giorgio,
    /// Honda: a sum of half bytes in the low half of the last byte.
    Honda,
    /// Hyundai's message FCA11: CRC8 in the last byte.
    Hyundai,
    /// Hyundai's messages of CAN FD: CRC16 in the first two bytes.
    HyundaiFd,
    /// Nissan: CRC8 in the last byte.
    Nissan,
    /// PSA: a sum of half bytes; the place depends on the message.
    Psa,
    /// Subaru: a sum of bytes in the first byte.
    Subaru,
    /// Tesla: a sum of bytes; the place depends on the message.
    Tesla,
    /// Toyota: a sum of bytes in the last byte.
    Toyota,
    /// Volkswagen's PQ platform: XOR of bytes; the place depends on the message.
    VolkswagenPq,
}

impl MakeName {
    /// All makes.
    pub const ALL: [Self; 12] = [
        Self::Chrysler,
        Self::CommaBody,
        Self::Giorgio,
        Self::Honda,
        Self::Hyundai,
        Self::HyundaiFd,
        Self::Nissan,
        Self::Psa,
        Self::Subaru,
        Self::Tesla,
        Self::Toyota,
        Self::VolkswagenPq,
    ];

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chrysler => "chrysler",
            Self::CommaBody => "comma_body",
            Self::Giorgio => "giorgio",
            Self::Honda => "honda",
            Self::Hyundai => "hyundai",
            Self::HyundaiFd => "hyundai_fd",
            Self::Nissan => "nissan",
            Self::Psa => "psa",
            Self::Subaru => "subaru",
            Self::Tesla => "tesla",
            Self::Toyota => "toyota",
            Self::VolkswagenPq => "volkswagen_pq",
        }
    }

    /// Returns the number of bits of a checksum whose place depends on the message; `None` for a
    /// make that has one place for all messages.
    #[must_use]
    pub const fn checksum_bits(self) -> Option<u8> {
        match self {
            Self::Psa => Some(4),
            Self::Tesla | Self::VolkswagenPq => Some(8),
            Self::Chrysler
            | Self::CommaBody
            | Self::Giorgio
            | Self::Honda
            | Self::Hyundai
            | Self::HyundaiFd
            | Self::Nissan
            | Self::Subaru
            | Self::Toyota => None,
        }
    }

    /// Returns whether the checksum has a constant that depends on the CAN ID of the message.
    #[must_use]
    pub const fn has_id(self) -> bool {
        matches!(self, Self::Giorgio | Self::Psa)
    }

    /// Returns the settings for the message with this CAN ID. `result` is the place of the
    /// checksum, for makes with [`checksum_bits`](Self::checksum_bits).
    ///
    /// # Errors
    /// [`SettingsError::NoPlace`] if there is no place and the make needs one,
    /// [`SettingsError::Width`] if the place has another number of bits than the checksum.
    pub fn to_settings(
        self,
        id: CanId,
        result: Option<PayloadField>,
        common: SumCommon,
    ) -> Result<ProtectionSettings, SettingsError> {
        let place = || {
            let field = result.ok_or(SettingsError::NoPlace)?;
            let found = field.bits();
            if let Some(needed) = self.checksum_bits()
                && found != needed
            {
                return Err(SettingsError::Width { found, needed });
            }
            // A field begins in a payload of 2048 bytes, or the settings are refused later.
            let byte = u16::try_from(field.first_byte()).unwrap_or(u16::MAX);
            let is_high = field.mask(field.first_byte()) == 0xF0;
            Ok((BytePlace::At(byte), is_high))
        };
        Ok(match self {
            Self::Chrysler => ProtectionSettings::Crc8(Crc8Settings::chrysler(common)),
            Self::CommaBody => ProtectionSettings::Crc8(Crc8Settings::comma_body(common)),
            Self::Giorgio => ProtectionSettings::Crc8(Crc8Settings::giorgio(id, common)),
            Self::Hyundai => ProtectionSettings::Crc8(Crc8Settings::hyundai(common)),
            Self::Nissan => ProtectionSettings::Crc8(Crc8Settings::nissan(common)),
            Self::HyundaiFd => ProtectionSettings::Crc16(Crc16Settings { common }),
            Self::Toyota => ProtectionSettings::Sum8(Sum8Settings::toyota(common)),
            Self::Subaru => ProtectionSettings::Sum8(Sum8Settings::subaru(common)),
            Self::Tesla => {
                let (result, _) = place()?;
                ProtectionSettings::Sum8(Sum8Settings::tesla(result, common))
            }
            Self::Honda => ProtectionSettings::NibbleSum(NibbleSumSettings::honda(common)),
            Self::Psa => {
                let (result, is_high) = place()?;
                let settings = NibbleSumSettings::psa(id, result, is_high, common);
                ProtectionSettings::NibbleSum(settings)
            }
            Self::VolkswagenPq => {
                let (result, _) = place()?;
                ProtectionSettings::XorSum(XorSumSettings {
                    start: 0,
                    result,
                    common,
                })
            }
        })
    }
}

impl fmt::Display for MakeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MakeName {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let mut all = Self::ALL.into_iter();
        all.find(|make| make.name() == text)
            .ok_or(SettingsError::MakeName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of a make need the place and the constant that the make states.
    #[test]
    fn settings_need_what_the_make_states() {
        for make in MakeName::ALL {
            let of = |id, bits| {
                let result = PayloadField::within_byte(8, bits);
                make.to_settings(CanId::sff(id).unwrap(), result, SumCommon::default())
            };
            let without = make.to_settings(CanId::default(), None, SumCommon::default());
            match make.checksum_bits() {
                Some(bits) => {
                    assert_eq!(without, Err(SettingsError::NoPlace), "{make}");
                    assert!(of(0xDE, bits).is_ok(), "{make}");
                    let (found, needed) = (bits - 1, bits);
                    let width = SettingsError::Width { found, needed };
                    assert_eq!(of(0xDE, found), Err(width), "{make}");
                }
                None => assert!(without.is_ok(), "{make}"),
            }
            let bits = make.checksum_bits().unwrap_or(8);
            // Messages with constants of their own.
            let ids = [0xDE, 0xEE, 0x100, 0x38D, 0x42D, 0x452];
            let of_all = ids.map(|id| of(id, bits).unwrap());
            let has_id = of_all.iter().any(|settings| *settings != of_all[0]);
            assert_eq!(has_id, make.has_id(), "{make}");
        }
    }
}
