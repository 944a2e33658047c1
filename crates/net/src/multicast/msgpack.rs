//! The part of msgpack that a message needs (`spec.md` of msgpack/msgpack on GitHub).

use crate::DatagramFault;

/// A value that is not a map.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value<'a> {
    Nil,
    Flag(bool),
    Integer(i128),
    Float,
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

/// Reads values from the beginning of a datagram on.
pub(super) struct MsgpackInput<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> MsgpackInput<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DatagramFault> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..len) else {
            let at = self.bytes.len();
            return Err(DatagramFault {
                at,
                what: "a value ends early",
            });
        };
        self.at += len;
        Ok(taken)
    }

    /// Reads a big-endian number of 1 to 8 bytes.
    fn unsigned(&mut self, len: usize) -> Result<u64, DatagramFault> {
        let bytes = self.take(len)?;
        Ok(bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, len: usize) -> Result<i128, DatagramFault> {
        let shift = 64 - 8 * len as u32;
        let number = self.unsigned(len)?;
        Ok(i128::from(((number << shift) as i64) >> shift))
    }

    fn sized(&mut self, len: usize) -> Result<&'a [u8], DatagramFault> {
        let len = self.unsigned(len)?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Reads the beginning of a map; returns its number of pairs.
    pub(super) fn map(&mut self) -> Result<usize, DatagramFault> {
        let at = self.at;
        match self.unsigned(1)? {
            byte @ 0x80..=0x8F => Ok((byte & 15) as usize),
            0xDE => Ok(self.unsigned(2)? as usize),
            0xDF => Ok(self.unsigned(4)? as usize),
            _ => Err(DatagramFault {
                at,
                what: "it is not a map",
            }),
        }
    }

    /// Reads a value.
    pub(super) fn value(&mut self) -> Result<Value<'a>, DatagramFault> {
        let at = self.at;
        let byte = self.unsigned(1)?;
        Ok(match byte {
            0x00..=0x7F => Value::Integer(i128::from(byte)),
            0xE0..=0xFF => Value::Integer(i128::from(byte) - 256),
            0xA0..=0xBF => Value::Text(self.take((byte & 31) as usize)?),
            0xC0 => Value::Nil,
            0xC2 | 0xC3 => Value::Flag(byte == 0xC3),
            0xC4..=0xC6 => Value::Bytes(self.sized(1 << (byte - 0xC4))?),
            0xCA | 0xCB => {
                self.take(4 << (byte - 0xCA))?;
                Value::Float
            }
            0xCC..=0xCF => Value::Integer(i128::from(self.unsigned(1 << (byte - 0xCC))?)),
            0xD0..=0xD3 => Value::Integer(self.signed(1 << (byte - 0xD0))?),
            0xD9..=0xDB => Value::Text(self.sized(1 << (byte - 0xD9))?),
            _ => {
                return Err(DatagramFault {
                    at,
                    what: "a value of a type that messages do not have",
                });
            }
        })
    }
}

/// Appends a text of up to 31 bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(0xA0 | text.len() as u8 & 31);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn put_flag(out: &mut Vec<u8>, flag: bool) {
    out.push(0xC2 | u8::from(flag));
}

/// Appends a number in the fewest bytes, as python's msgpack does.
pub(super) fn put_number(out: &mut Vec<u8>, number: u32) {
    match number {
        0..=0x7F => out.push(number as u8),
        0x80..=0xFF => out.extend([0xCC, number as u8]),
        0x100..=0xFFFF => {
            out.push(0xCD);
            out.extend((number as u16).to_be_bytes());
        }
        _ => {
            out.push(0xCE);
            out.extend(number.to_be_bytes());
        }
    }
}

pub(super) fn put_float(out: &mut Vec<u8>, number: f64) {
    out.push(0xCB);
    out.extend(number.to_be_bytes());
}

/// Appends up to 255 bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend([0xC4, bytes.len() as u8]);
    out.extend_from_slice(bytes);
}
