//! CRC16 of Hyundai's messages of CAN FD.

use super::SumCommon;
use crate::crc::{CrcParameters, XMODEM};
use crate::error::SettingsError;
use crate::field::{ByteOrder, PayloadField};
use crate::scheme::{CounterField, ProtectionScheme};
use frame::CanId;

/// CRC-16/XMODEM over the data from the third byte on, then over the low and the high byte of the
/// CAN ID; XOR a number that depends on the length. It is in the first two bytes, little-endian.
///
/// The numbers are known for 8, 16, 24 and 32 bytes; for other lengths opendbc has none, and the
/// number is 0 here, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Crc16Settings {
    /// Length and counter.
    pub common: SumCommon,
}

impl Crc16Settings {
    /// Returns the number that the CRC is XORed with.
    const fn final_xor(len: usize) -> u16 {
        match len {
            8 => 0x5F29,
            16 => 0x041D,
            24 => 0x819D,
            32 => 0x9F5B,
            _ => 0,
        }
    }
}

impl ProtectionScheme for Crc16Settings {
    fn check(&self) -> Result<(), SettingsError> {
        self.common.check()
    }

    fn length(&self) -> Option<u16> {
        self.common.length
    }

    fn result(&self, _: usize) -> PayloadField {
        PayloadField::whole(0, 2, ByteOrder::LittleEndian)
    }

    fn counter(&self) -> Option<CounterField> {
        self.common.counter_field()
    }

    fn compute(&self, id: CanId, data: &[u8]) -> u64 {
        let [low, high, ..] = super::id_bytes(id);
        let register = XMODEM.without(XMODEM.start(), data, 0, 2);
        let crc = XMODEM.finish(XMODEM.update(register, &[low, high]));
        (crc ^ Self::final_xor(data.len())).into()
    }

    fn reads_id(&self) -> bool {
        true
    }

    fn crc(&self) -> Option<CrcParameters> {
        Some(CrcParameters::XMODEM)
    }
}
