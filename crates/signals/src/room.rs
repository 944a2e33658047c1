//! The most messages and signals of a database, and the most memory of their texts: a short file
//! can use one definition any number of times.

#[cfg(any(feature = "dbc", feature = "sym"))]
use crate::DatabaseError;
#[cfg(any(feature = "dbc", feature = "arxml"))]
use crate::signal::SignalDefinition;
use crate::signal::ValueName;
#[cfg(any(feature = "dbc", feature = "arxml"))]
use crate::statements::E2eAttributes;
use alloc::format;
use alloc::string::String;

/// The most messages, PDUs and signals of a file. Real files have up to 100 000.
pub(crate) const MAX_SIGNALS: usize = 1_000_000;

/// The most memory of the texts and the names of values of a file, bytes.
pub(crate) const MAX_TEXTS: usize = 512 << 20;

/// The room that is left for the messages and signals of a file.
#[derive(Clone, Debug)]
pub(crate) struct SignalRoom {
    signals: usize,
    texts: usize,
}

impl Default for SignalRoom {
    fn default() -> Self {
        Self {
            signals: MAX_SIGNALS,
            texts: MAX_TEXTS,
        }
    }
}

impl SignalRoom {
    /// Returns a smaller room, for tests of the limits.
    #[cfg(all(test, any(feature = "dbc", feature = "kcd", feature = "arxml")))]
    pub(crate) const fn of(signals: usize, texts: usize) -> Self {
        Self { signals, texts }
    }

    /// Takes the room of `signals` messages and signals, and of `texts` bytes of texts.
    ///
    /// # Errors
    /// The limit that they exceed. Later calls with anything to take fail, too.
    pub(crate) fn take(&mut self, signals: usize, texts: usize) -> Result<(), String> {
        let left = (
            self.signals.checked_sub(signals),
            self.texts.checked_sub(texts),
        );
        let problem = match left {
            (Some(signals), Some(texts)) => {
                (self.signals, self.texts) = (signals, texts);
                return Ok(());
            }
            (None, _) => format!("more than {MAX_SIGNALS} messages and signals"),
            (_, None) => format!(
                "more than {} MiB of names and comments of signals",
                MAX_TEXTS >> 20
            ),
        };
        (self.signals, self.texts) = (0, 0);
        Err(problem)
    }

    /// Takes the same for a definition in a line.
    ///
    /// # Errors
    /// [`DatabaseError`] in this line.
    #[cfg(any(feature = "dbc", feature = "sym"))]
    pub(crate) fn take_at(
        &mut self,
        line: usize,
        signals: usize,
        texts: usize,
    ) -> Result<(), DatabaseError> {
        let taken = self.take(signals, texts);
        taken.map_err(|problem| DatabaseError {
            line,
            column: 1,
            problem: format!("{problem}: divide the file into several databases"),
        })
    }
}

/// Returns the bytes of texts of which a database has several copies, and of texts that it has
/// once. A sum beyond the address space is the largest number, which no room has.
#[cfg(any(feature = "sym", test))]
pub(crate) const fn bytes_of_copies(texts: usize, copies: usize, once: usize) -> usize {
    texts.saturating_mul(copies).saturating_add(once)
}

/// Returns the memory of the name of a node that sends a message or receives a signal, bytes.
#[cfg(any(feature = "dbc", feature = "kcd", feature = "arxml"))]
pub(crate) const fn node_bytes(name: &str) -> usize {
    size_of::<String>() + name.len()
}

#[cfg(any(feature = "dbc", feature = "arxml"))]
impl SignalDefinition {
    /// Returns the bytes of its texts and of the names of its values.
    pub(crate) fn text_bytes(&self) -> usize {
        let own = self.name.len() + self.unit.len() + self.comment.len();
        own + name_bytes(&self.value_names)
    }
}

#[cfg(any(feature = "dbc", feature = "arxml"))]
impl E2eAttributes {
    /// Returns the bytes of its texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let Self {
            line: _,
            profile,
            data_id,
            counter_signal,
            crc_signal,
            timeout: _,
        } = self;
        let texts = [profile, data_id, counter_signal, crc_signal];
        texts.into_iter().flatten().map(String::len).sum()
    }
}

/// Returns the bytes of names of values.
pub(crate) fn name_bytes(names: &[ValueName]) -> usize {
    let texts = names.iter().map(|named| named.name.len());
    size_of_val(names) + texts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_and_not_exceeded() {
        let mut room = SignalRoom::default();
        assert_eq!(room.take(MAX_SIGNALS, MAX_TEXTS), Ok(()));
        assert_eq!(room.take(0, 0), Ok(()));
        let problem = room.take(1, 0).unwrap_err();
        assert_eq!(problem, "more than 1000000 messages and signals");
        let problem = room.take(0, 1).unwrap_err();
        assert_eq!(
            problem,
            "more than 512 MiB of names and comments of signals"
        );
        let mut room = SignalRoom::default();
        assert!(room.take(usize::MAX, 0).is_err());
        assert!(room.take(1, 0).is_err() && room.take(0, 1).is_err());
    }

    /// Copies of long texts can have more bytes than an address of 32 bits.
    #[test]
    fn bytes_beyond_all_memory_are_too_many() {
        assert_eq!(bytes_of_copies(100, 3, 7), 307);
        for bytes in [
            bytes_of_copies(usize::MAX / 2, 3, 0),
            bytes_of_copies(usize::MAX, 1, 1),
        ] {
            assert_eq!(bytes, usize::MAX);
            assert!(SignalRoom::default().take(0, bytes).is_err());
        }
    }
}
