//! A frame with the message that it is.

use crate::message::MessageDefinition;
use crate::signal::{PhysicalValue, RawValue, SignalDefinition};
use core::fmt::{self, Write as _};

/// The payload of a frame, with its message.
#[derive(Clone, Copy, Debug)]
pub struct DecodedFrame<'a> {
    /// The message.
    pub message: &'a MessageDefinition,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> DecodedFrame<'a> {
    /// Returns the signals that the payload contains, with their values.
    pub fn values(
        &self,
    ) -> impl Iterator<Item = (&'a SignalDefinition, RawValue, PhysicalValue)> + use<'a> {
        let all = self.message.decode(self.payload);
        all.map(|(signal, raw)| (signal, raw, signal.physical(raw)))
    }
}

impl fmt::Display for DecodedFrame<'_> {
    /// Formats the message and its signals in one line, such as
    /// `EngineData: Speed=12.5 km/h, Gear=Drive (3)`. Signals that the payload does not contain are
    /// left out; control characters of the database are blanks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.name)?;
        let mut separator = ": ";
        for (signal, raw, physical) in self.values() {
            write!(f, "{separator}{}=", signal.name)?;
            separator = ", ";
            match signal.name_of(raw) {
                Some(name) => {
                    plain(f, name)?;
                    write!(f, " ({raw})")?;
                }
                None => {
                    write!(f, "{physical}")?;
                    if !signal.unit.is_empty() {
                        f.write_char(' ')?;
                        plain(f, &signal.unit)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes text from a database without control characters, which would break the line.
fn plain(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for part in text.split_inclusive(char::is_control) {
        match part.strip_suffix(char::is_control) {
            Some(start) => write!(f, "{start} ")?,
            None => f.write_str(part)?,
        }
    }
    Ok(())
}

#[cfg(feature = "dbc")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexedDatabase, MessageIndex};
    use std::string::ToString as _;

    const TEXT: &str = "BU_: A\nBO_ 256 EngineData: 8 A\n \
        SG_ Speed : 0|16@1+ (0.5,0) [0|0] \"km/\th\" A\n \
        SG_ Gear : 16|8@1+ (1,0) [0|0] \"\" A\n \
        SG_ Late : 56|8@1+ (1,0) [0|0] \"\" A\nVAL_ 256 Gear 3 \"Drive\n\";\n";

    #[test]
    fn a_frame_is_one_line() {
        let database = crate::dbc::read(TEXT.as_bytes()).unwrap();
        let message = &database.messages[0];
        let line = |payload| DecodedFrame { message, payload }.to_string();
        let all = [25, 0, 3, 0, 0, 0, 0, 1];
        assert_eq!(
            line(&all),
            "EngineData: Speed=12.5 km/ h, Gear=Drive  (3), Late=1"
        );
        assert_eq!(line(&all[..2]), "EngineData: Speed=12.5 km/ h");
        assert_eq!(line(&[]), "EngineData");
    }

    #[test]
    fn a_database_with_its_index_finds_what_the_index_finds() {
        let database = crate::dbc::read(TEXT.as_bytes()).unwrap();
        let indexed = IndexedDatabase::new(database.clone());
        let index = MessageIndex::new(&database);
        for id in ["100#", "00000100#", "101#"] {
            let id = id.parse::<frame::Frame>().unwrap().id();
            assert_eq!(indexed.find(id), index.find(id), "{id}");
        }
        assert_eq!(indexed.database(), &database);
    }
}
