//! A table of 256 bytes for serde, which supports arrays only up to 32.

use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(super) fn serialize<S: Serializer>(table: &[u8; 256], to: S) -> Result<S::Ok, S::Error> {
    table.as_slice().serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 256], D::Error> {
    let bytes = Vec::<u8>::deserialize(from)?;
    let length = bytes.len();
    let wrong = |_| de::Error::invalid_length(length, &"the 256 bytes of a CRC8's table");
    bytes.try_into().map_err(wrong)
}
