//! The changes that the gateway makes to a frame.

use super::word::plain_words;

plain_words! {
    /// The changes that the gateway makes to a frame.
    pub enum ModifyChoice, "change" {
        /// No change.
        None = "none",
        /// Set the ID to the value it has: the cost of can-gw's copy alone.
        Copy = "copy",
        /// Set the ID to another value.
        Id = "id",
        /// AND of the payload.
        And = "and",
        /// OR of the payload.
        Or = "or",
        /// XOR of the payload.
        Xor = "xor",
        /// Set the length to the value it has.
        ///
        /// A SET of data would overwrite the frame's number.
        Set = "set",
        /// Set the length, and write a CRC8 checksum.
        Crc8 = "crc8",
        /// Set the length, and write an XOR checksum.
        Xorsum = "xorsum",
    }
}
