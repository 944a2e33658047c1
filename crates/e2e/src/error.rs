//! Settings that are not possible, and payloads that are not as their protection requires.

use core::fmt;

/// A setting that is not possible, and what is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// A number is outside its range.
    Range {
        /// The name of the setting.
        setting: &'static str,
        /// The number that was given.
        found: u64,
        /// The least possible number.
        least: u64,
        /// The greatest possible number.
        most: u64,
    },
    /// A place of four bits does not begin at a half of a byte.
    Nibble {
        /// The name of the setting.
        setting: &'static str,
        /// The bit that was given.
        found: u64,
    },
    /// A field of up to eight bits continues in the next byte.
    Byte {
        /// The name of the setting.
        setting: &'static str,
        /// The first bit that was given.
        bit: u64,
        /// The number of bits that was given.
        bits: u64,
    },
    /// Two fields have a bit in common.
    Overlap {
        /// The name of one setting.
        one: &'static str,
        /// The name of the other setting.
        other: &'static str,
    },
    /// The payload is too short to contain the fields.
    Length {
        /// The length that was given, in bytes.
        found: usize,
        /// The length up to the end of the last field, in bytes.
        needed: usize,
    },
    /// There is no table for this polynomial of eight bits.
    Polynomial {
        /// The polynomial that was given.
        found: u8,
    },
    /// The list of Data IDs does not have as many entries as the profile needs.
    IdCount {
        /// The number of entries that was given.
        found: usize,
        /// The number that the profile needs.
        needed: usize,
    },
    /// The mode of the Data ID is not one of profile 11.
    P11Mode,
    /// A profile of which no independent example is known, so that its bytes cannot be verified.
    NoExample {
        /// The name of the profile.
        profile: &'static str,
    },
    /// A profile with this name is not known.
    ProfileName,
    /// A make with this name is not known.
    MakeName,
    /// The checksum of this make has its place from the message, and none was given.
    NoPlace,
    /// The checksum is not of this width.
    Width {
        /// The number of bits that was given.
        found: u8,
        /// The number of bits that the checksum has.
        needed: u8,
    },
    /// A signal of a database is not where the profile has this field.
    Place {
        /// The name of the field.
        field: &'static str,
        /// The start bit where the profile has it, as a DBC file states it.
        expected: usize,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Range {
                setting,
                found,
                least,
                most,
            } => write!(
                f,
                "{setting} is {found}: {least} to {most} are possible here"
            ),
            Self::Nibble { setting, found } => write!(
                f,
                "{setting} is bit {found}: it has the low or the high half of a byte, so the bit is \
                 a multiple of 4"
            ),
            Self::Byte { setting, bit, bits } => write!(
                f,
                "{setting} has {bits} bits from bit {bit}: it has 1 to 8 bits, all in one byte"
            ),
            Self::Overlap { one, other } => {
                write!(
                    f,
                    "{one} and {other} have a bit in common: move one of them"
                )
            }
            Self::Length { found, needed } => write!(
                f,
                "a length of {found} bytes: the checksum and the counter need at least {needed}"
            ),
            Self::Polynomial { found } => {
                write!(f, "polynomial {found:02X}: possible are")?;
                let hex = |one: &u8| HexByte(*one);
                write_list(f, crate::crc::POLYNOMIALS_8.iter().map(hex))
            }
            Self::IdCount { found, needed } => {
                write!(f, "{found} Data IDs: this profile needs {needed}")
            }
            Self::P11Mode => write!(
                f,
                "profile 11 takes both bytes of the Data ID, or twelve bits of it (nibble); other \
                 modes are those of profile 01"
            ),
            Self::NoExample { profile } => write!(
                f,
                "profile {profile} is not supported: no independent example of its bytes is known, with which they \
                 could be verified"
            ),
            Self::ProfileName => {
                write!(f, "unknown profile: possible are")?;
                write_list(f, crate::ProfileName::ALL)
            }
            Self::MakeName => {
                write!(f, "unknown make: possible are")?;
                write_list(f, crate::MakeName::ALL)
            }
            Self::NoPlace => write!(
                f,
                "the place of this checksum depends on the message: name its signal or its place"
            ),
            Self::Width { found, needed } => {
                write!(f, "a checksum of {found} bits: this one has {needed}")
            }
            Self::Place { field, expected } => write!(
                f,
                "the {field} of this profile starts at bit {expected}, where the signal does not"
            ),
        }
    }
}

impl core::error::Error for SettingsError {}

/// A byte as two hex digits.
struct HexByte(u8);

impl fmt::Display for HexByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02X}", self.0)
    }
}

/// Writes the items with commas between them.
fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma} {item}")?;
    }
    Ok(())
}

/// The reason why a payload is not as its protection requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceptionFault {
    /// The payload ends before the protected bytes do.
    TooShort {
        /// The length of the payload, in bytes.
        len: usize,
        /// The length that is needed, in bytes.
        needed: usize,
    },
    /// The length in the header is not the length of the data.
    WrongLength {
        /// The length in the header, in bytes.
        found: u32,
        /// The length of the data, in bytes.
        expected: usize,
    },
    /// The checksum is not that of the data. If the Data ID, the CAN ID or the counter takes part
    /// in it, one of these may also be the wrong one.
    WrongChecksum,
    /// The checksum is right, but the Data ID in the payload is that of another message.
    WrongDataId {
        /// The Data ID in the payload, or the part of it that is there.
        found: u32,
    },
    /// The checksum is right, but message type, result or source are not those of this message
    /// (profiles 04m and 07m).
    WrongMethod {
        /// The four bytes of the payload.
        found: u32,
    },
    /// The counter has a value that the profile does not use: 15 in profiles 01 and 11.
    InvalidCounter {
        /// The counter in the payload.
        found: u32,
    },
}

impl fmt::Display for ReceptionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { len, needed } => {
                write!(f, "{len} bytes, the protection needs {needed}")
            }
            Self::WrongLength { found, expected } => {
                write!(f, "the header states {found} bytes instead of {expected}")
            }
            Self::WrongChecksum => write!(f, "wrong checksum"),
            Self::WrongDataId { found } => write!(f, "wrong Data ID {found:X}"),
            Self::WrongMethod { found } => {
                write!(f, "wrong message type, result or source {found:08X}")
            }
            Self::InvalidCounter { found } => write!(f, "invalid counter {found}"),
        }
    }
}

impl core::error::Error for ReceptionFault {}
