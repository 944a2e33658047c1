//! The changes that the gateway makes to a frame.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// The changes that the gateway makes to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModifyChoice {
    /// No change.
    None,
    /// SET of the identifier to its existing value: only the copy has a cost.
    Copy,
    /// SET of the identifier.
    Id,
    /// AND of data.
    And,
    /// OR of data.
    Or,
    /// XOR of data.
    Xor,
    /// SET of the length, to its existing value: a SET of data would overwrite the frame's number.
    Set,
    /// CRC8 checksum, after a SET.
    Crc8,
    /// XOR checksum, after a SET.
    Xorsum,
}

plain_words!(
    ModifyChoice,
    "change",
    ModifyChoice::None = "none",
    ModifyChoice::Copy = "copy",
    ModifyChoice::Id = "id",
    ModifyChoice::And = "and",
    ModifyChoice::Or = "or",
    ModifyChoice::Xor = "xor",
    ModifyChoice::Set = "set",
    ModifyChoice::Crc8 = "crc8",
    ModifyChoice::Xorsum = "xorsum"
);
