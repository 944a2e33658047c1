//! Profiles by their names, and settings from the attributes of a database of messages.

use crate::error::SettingsError;
use crate::field::{ByteOrder, PayloadField};
use crate::profiles::check_range;
use crate::profiles::p01::{DataIdMode, P01Settings};
use crate::profiles::p02::P02Settings;
use crate::profiles::p04::P04Settings;
use crate::profiles::p05::P05Settings;
use crate::protection::Protection;
use crate::settings::ProtectionSettings;
use core::fmt;

/// A profile of AUTOSAR that data IDs and places are sufficient to set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileName {
    /// Profile 01 with this mode of the Data ID.
    P01(DataIdMode),
    /// Profile 02.
    P02,
    /// Profile 04.
    P04,
    /// Profile 05.
    P05,
    /// Profile 06.
    P06,
    /// Profile 07.
    P07,
    /// Profile 08.
    P08,
    /// Profile 11 with this mode of the Data ID.
    P11(DataIdMode),
    /// Profile 22.
    P22,
}

/// Words for modes of the Data ID, behind the number of a profile. The letters are those of
/// AUTOSAR's variants 1A, 1B, 1C, and 11A and 11C (from memory).
const MODES: [(&str, DataIdMode); 9] = [
    ("", DataIdMode::Both),
    ("a", DataIdMode::Both),
    ("both", DataIdMode::Both),
    ("b", DataIdMode::Alternating),
    ("alt", DataIdMode::Alternating),
    ("alternating", DataIdMode::Alternating),
    ("low", DataIdMode::Low),
    ("c", DataIdMode::Nibble),
    ("nibble", DataIdMode::Nibble),
];

impl ProfileName {
    /// All profiles; profiles 01 and 11 with each mode.
    pub const ALL: [Self; 13] = [
        Self::P01(DataIdMode::Both),
        Self::P01(DataIdMode::Alternating),
        Self::P01(DataIdMode::Low),
        Self::P01(DataIdMode::Nibble),
        Self::P02,
        Self::P04,
        Self::P05,
        Self::P06,
        Self::P07,
        Self::P08,
        Self::P11(DataIdMode::Both),
        Self::P11(DataIdMode::Nibble),
        Self::P22,
    ];

    /// Reads a name as databases have it: `P01`, `P1`, `Profile 1`, `PROFILE_01`, `E2E_P01`,
    /// `P01 nibble`, `1C`. Capitals, blanks, `_`, `-` and leading zeros make no difference.
    ///
    /// # Errors
    /// [`SettingsError::ProfileName`], which lists the names; [`SettingsError::NoExample`] and
    /// [`SettingsError::P11Mode`] for profiles and modes that are known and not supported.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let unknown = SettingsError::ProfileName;
        // The longest name has twenty letters: "e2eprofile01alternating" without the first three.
        let mut letters = [0; 24];
        let mut len = 0;
        for byte in text.bytes() {
            if matches!(byte, b' ' | b'_' | b'-') {
                continue;
            }
            *letters.get_mut(len).ok_or(unknown)? = byte.to_ascii_lowercase();
            len += 1;
        }
        let name = letters.get(..len).unwrap_or_default();
        let name = core::str::from_utf8(name).map_err(|_| unknown)?;
        let name = name.strip_prefix("e2e").unwrap_or(name);
        let name = name
            .strip_prefix("profile")
            .or_else(|| name.strip_prefix('p'))
            .unwrap_or(name);
        let name = name.trim_start_matches('0');
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        let (number, word) = name.split_at(digits);
        let mode = || {
            let found = MODES.iter().find(|(one, _)| *one == word);
            found.map(|&(_, mode)| mode).ok_or(unknown)
        };
        match (number, word) {
            ("1", _) => Ok(Self::P01(mode()?)),
            ("11", _) => match mode()? {
                mode @ (DataIdMode::Both | DataIdMode::Nibble) => Ok(Self::P11(mode)),
                DataIdMode::Alternating | DataIdMode::Low => Err(SettingsError::P11Mode),
            },
            ("2", "") => Ok(Self::P02),
            ("4", "") => Ok(Self::P04),
            ("5", "") => Ok(Self::P05),
            ("6", "") => Ok(Self::P06),
            ("7", "") => Ok(Self::P07),
            ("8", "") => Ok(Self::P08),
            ("22", "") => Ok(Self::P22),
            ("44", "") => Err(SettingsError::NoExample { profile: "P44" }),
            ("8", "m") => Err(SettingsError::NoExample { profile: "P08m" }),
            ("44", "m") => Err(SettingsError::NoExample { profile: "P44m" }),
            _ => Err(unknown),
        }
    }

    /// Returns the settings for a message with these Data IDs, whose header begins at this byte and
    /// of which `length` bytes are protected. Profiles 02 and 22 have sixteen Data IDs, by the
    /// counter, or one for all counters; the others have one.
    ///
    /// # Errors
    /// [`SettingsError`]: a Data ID that does not fit, or another number of them.
    pub fn to_settings(
        self,
        data_ids: &[u32],
        offset: u16,
        length: Option<u16>,
    ) -> Result<ProtectionSettings, SettingsError> {
        let p01 = |mode| {
            let data_id = only_id(data_ids, 0xFFFF)? as u16;
            let mut settings = P01Settings::new(data_id, mode, offset);
            settings.length = length;
            Ok(settings)
        };
        let p02 = || {
            Ok(P02Settings {
                offset,
                ids: sixteen_ids(data_ids)?,
                length,
            })
        };
        let p04 = || {
            Ok(P04Settings {
                offset,
                data_id: only_id(data_ids, u32::MAX)?,
                length,
            })
        };
        let p05 = || {
            Ok(P05Settings {
                offset,
                data_id: only_id(data_ids, 0xFFFF)? as u16,
                length,
            })
        };
        Ok(match self {
            Self::P01(mode) => ProtectionSettings::P01(p01(mode)?),
            Self::P11(mode) => ProtectionSettings::P11(p01(mode)?),
            Self::P02 => ProtectionSettings::P02(p02()?),
            Self::P22 => ProtectionSettings::P22(p02()?),
            Self::P04 => ProtectionSettings::P04(p04()?),
            Self::P05 => ProtectionSettings::P05(p05()?),
            Self::P06 => ProtectionSettings::P06(p05()?),
            Self::P07 => ProtectionSettings::P07(p04()?),
            Self::P08 => ProtectionSettings::P08(p04()?),
        })
    }

    /// Returns the number of bytes of the header before its checksum.
    const fn checksum_distance(self) -> usize {
        match self {
            Self::P04 => 8,
            _ => 0,
        }
    }
}

/// Returns the only Data ID.
fn only_id(data_ids: &[u32], most: u32) -> Result<u32, SettingsError> {
    let &[id] = data_ids else {
        let found = data_ids.len();
        return Err(SettingsError::IdCount { found, needed: 1 });
    };
    check_range("data_id", id.into(), 0, most.into())?;
    Ok(id)
}

/// Returns sixteen Data IDs: those that are given, or the only one for all.
fn sixteen_ids(data_ids: &[u32]) -> Result<[u8; 16], SettingsError> {
    if data_ids.len() != 16 && data_ids.len() != 1 {
        let found = data_ids.len();
        return Err(SettingsError::IdCount { found, needed: 16 });
    }
    let mut ids = [0; 16];
    for (id, given) in ids.iter_mut().zip(data_ids.iter().cycle()) {
        check_range("data_id", u64::from(*given), 0, 0xFF)?;
        *id = *given as u8;
    }
    Ok(ids)
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = |mode| match mode {
            DataIdMode::Both => "",
            DataIdMode::Alternating => " alternating",
            DataIdMode::Low => " low",
            DataIdMode::Nibble => " nibble",
        };
        match *self {
            Self::P01(one) => write!(f, "P01{}", mode(one)),
            Self::P11(one) => write!(f, "P11{}", mode(one)),
            Self::P02 => f.write_str("P02"),
            Self::P04 => f.write_str("P04"),
            Self::P05 => f.write_str("P05"),
            Self::P06 => f.write_str("P06"),
            Self::P07 => f.write_str("P07"),
            Self::P08 => f.write_str("P08"),
            Self::P22 => f.write_str("P22"),
        }
    }
}

/// The place of a signal as a database states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalPlace {
    /// The start bit.
    pub start: usize,
    /// The number of bits.
    pub bits: u8,
    /// The byte order.
    pub order: ByteOrder,
}

impl SignalPlace {
    /// Returns the number of the least significant bit of a signal within one byte.
    fn least_bit(&self) -> usize {
        match self.order {
            ByteOrder::LittleEndian => self.start,
            ByteOrder::BigEndian => (self.start + 1).saturating_sub(usize::from(self.bits)),
        }
    }

    /// Checks that the signal is the field of this name.
    fn compare(&self, name: &'static str, field: &PayloadField) -> Result<(), SettingsError> {
        let expected = field.dbc_start(self.order);
        let is_order = field.bits() <= 8 || field.order() == self.order;
        if self.start == expected && self.bits == field.bits() && is_order {
            return Ok(());
        }
        Err(SettingsError::Place {
            field: name,
            // A signal of the other order cannot be this field: the bit is that of its own order.
            expected: field.dbc_start(if is_order { self.order } else { field.order() }),
        })
    }
}

/// Statements of a database about the protection of a message: its attributes `E2EProfile` and
/// `E2EDataId`, and the signals that `E2ECounterSignal` and `E2ECrcSignal` name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageAttributes<'a> {
    /// The name of the profile; see [`ProfileName::parse`].
    pub profile: &'a str,
    /// The Data ID. Profiles 02 and 22 have sixteen, by the counter, or one for all counters.
    pub data_ids: &'a [u32],
    /// The number of protected bytes; `None` for the whole payload.
    pub length: Option<u16>,
    /// The checksum's signal. Without it, the header is at the beginning of the payload.
    pub checksum: Option<SignalPlace>,
    /// The counter's signal. Without it, the counter is where the profile has it.
    pub counter: Option<SignalPlace>,
}

impl MessageAttributes<'_> {
    /// Returns the protection of the message.
    ///
    /// # Errors
    /// [`SettingsError`]: an unknown profile, a Data ID that does not fit, another number of Data
    /// IDs than the profile needs, or a signal that is not where the profile has this field.
    pub fn to_protection(&self) -> Result<Protection, SettingsError> {
        let profile = ProfileName::parse(self.profile)?;
        let offset = self.offset(profile.checksum_distance())?;
        let mut settings = profile.to_settings(self.data_ids, offset, self.length)?;
        if let ProtectionSettings::P01(settings) | ProtectionSettings::P11(settings) = &mut settings
            && let Some(counter) = self.counter
        {
            settings.counter = u16::try_from(counter.least_bit()).unwrap_or(u16::MAX);
            // The Data ID's four bits are the other half of the counter's byte.
            settings.nibble = settings.counter ^ 4;
        }
        let protection = Protection::new(settings)?;
        let most = usize::from(self.length.unwrap_or(2048));
        if let (Some(place), Some(field)) = (self.checksum, protection.result_field(most)) {
            place.compare("checksum", &field)?;
        }
        if let (Some(place), Some(counter)) = (self.counter, protection.counter_field()) {
            place.compare("counter", &counter.field)?;
        }
        Ok(protection)
    }

    /// Returns the offset of a header whose checksum is this number of bytes behind its beginning.
    fn offset(&self, distance: usize) -> Result<u16, SettingsError> {
        let Some(place) = self.checksum else {
            return Ok(0);
        };
        let Some(offset) = (place.start / 8).checked_sub(distance) else {
            return Err(SettingsError::Place {
                field: "checksum",
                expected: distance * 8 + 7,
            });
        };
        Ok(u16::try_from(offset).unwrap_or(u16::MAX))
    }
}
