//! The most messages and signals of a database, and the most memory of their texts: a short file
//! can use one definition any number of times.

#[cfg(feature = "arxml")]
use crate::signal::SignalDefinition;
use crate::signal::ValueName;
use alloc::format;
use alloc::string::String;

/// The most messages, PDUs and signals of a file. Real files have up to 100 000.
pub(crate) const MAX_SIGNALS: usize = 1_000_000;

/// The most memory of the texts and the names of values of a file, bytes.
pub(crate) const MAX_TEXTS: usize = 512 << 20;

/// The room that is left for the messages and signals of a file.
#[derive(Debug)]
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
    #[cfg(test)]
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
}

#[cfg(feature = "arxml")]
impl SignalDefinition {
    /// Returns the bytes of its texts and of the names of its values.
    pub(crate) fn text_bytes(&self) -> usize {
        let own = self.name.len() + self.unit.len() + self.comment.len();
        own + name_bytes(&self.value_names)
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
}
