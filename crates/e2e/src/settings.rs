//! The settings of all protections as one type.

use crate::makes::crc8_sum::Crc8Settings;
use crate::makes::crc16_sum::Crc16Settings;
use crate::makes::nibble_sum::NibbleSumSettings;
use crate::makes::sum8::Sum8Settings;
use crate::makes::xor_sum::XorSumSettings;
use crate::profiles::p01::{P01Scheme, P01Settings};
use crate::profiles::p02::{P02Scheme, P02Settings};
use crate::profiles::p04::{HeaderKind, P04Scheme, P04Settings, P04mSettings};
use crate::profiles::p05::{P05Scheme, P05Settings};
use crate::scheme::ProtectionScheme;

/// How a message is protected: a profile of AUTOSAR, or a checksum of a make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProtectionSettings {
    /// Profile 01: CRC8 over Data ID and data, a counter from 0 to 14.
    P01(P01Settings),
    /// Profile 02: CRC8 over data and a Data ID by the counter, a counter from 0 to 15.
    P02(P02Settings),
    /// Profile 04: a header of 12 bytes with CRC32 and a counter of 16 bits.
    P04(P04Settings),
    /// Profile 04m: as 04, with the fields of a method call.
    P04m(P04mSettings),
    /// Profile 05: CRC16 and a counter of 8 bits.
    P05(P05Settings),
    /// Profile 06: CRC16, length and a counter of 8 bits.
    P06(P05Settings),
    /// Profile 07: a header of 20 bytes with CRC64 and a counter of 32 bits.
    P07(P04Settings),
    /// Profile 07m: as 07, with the fields of a method call.
    P07m(P04mSettings),
    /// Profile 08: a header of 16 bytes with CRC32 and a counter of 32 bits.
    P08(P04Settings),
    /// Profile 11: as 01 with two of its modes, up to 30 bytes.
    P11(P01Settings),
    /// Profile 22: as 02, with an offset.
    P22(P02Settings),
    /// CRC8 with parameters of its own.
    Crc8(Crc8Settings),
    /// CRC16 of Hyundai's messages of CAN FD.
    Crc16(Crc16Settings),
    /// A sum of bytes.
    Sum8(Sum8Settings),
    /// A sum of half bytes.
    NibbleSum(NibbleSumSettings),
    /// XOR of bytes.
    XorSum(XorSumSettings),
}

impl ProtectionSettings {
    /// Passes the scheme of these settings to `take`, and returns its result.
    pub(crate) fn with_scheme<R>(&self, take: impl FnOnce(&dyn ProtectionScheme) -> R) -> R {
        match self {
            Self::P01(settings) => take(&P01Scheme {
                settings,
                is_p11: false,
            }),
            Self::P11(settings) => take(&P01Scheme {
                settings,
                is_p11: true,
            }),
            Self::P02(settings) | Self::P22(settings) => take(&P02Scheme(settings)),
            Self::P05(settings) => take(&P05Scheme {
                settings,
                is_p06: false,
            }),
            Self::P06(settings) => take(&P05Scheme {
                settings,
                is_p06: true,
            }),
            Self::P04(settings) => take(&P04Scheme {
                settings,
                method: None,
                kind: HeaderKind::P04,
            }),
            Self::P07(settings) => take(&P04Scheme {
                settings,
                method: None,
                kind: HeaderKind::P07,
            }),
            Self::P08(settings) => take(&P04Scheme {
                settings,
                method: None,
                kind: HeaderKind::P08,
            }),
            Self::P04m(settings) => take(&P04Scheme {
                settings: &settings.header,
                method: Some(&settings.method),
                kind: HeaderKind::P04,
            }),
            Self::P07m(settings) => take(&P04Scheme {
                settings: &settings.header,
                method: Some(&settings.method),
                kind: HeaderKind::P07,
            }),
            Self::Crc8(settings) => take(settings),
            Self::Crc16(settings) => take(settings),
            Self::Sum8(settings) => take(settings),
            Self::NibbleSum(settings) => take(settings),
            Self::XorSum(settings) => take(settings),
        }
    }
}
