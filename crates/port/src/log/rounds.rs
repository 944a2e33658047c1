//! `repeat` and `pause`: a log that is replayed several times.

use config::read::{self, by};
use config::{Diagnostics, TomlValue, ValueShape};
use frame::{FrameBuf, Nanos};
use logs::{FileFormat, LogError, LogReader};
use std::path::Path;

/// The number of times that a log is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogRounds {
    /// This number of times, at least once.
    Number(u32),
    /// Without an end.
    Endless,
}

const ENDLESS: [(&str, LogRounds); 1] = [("endless", LogRounds::Endless)];

impl LogRounds {
    /// Returns whether another round follows after this number of rounds.
    pub(super) const fn has_more(self, done: u64) -> bool {
        match self {
            Self::Number(all) => done < all as u64,
            Self::Endless => true,
        }
    }
}

/// Reads a number from 1, or `"endless"`.
pub(super) fn rounds<'t>() -> impl read::ReadKey<'t, Value = LogRounds> {
    const NUMBERS: std::ops::RangeInclusive<i64> = 1..=1_000_000_000;
    by(
        || {
            ValueShape::Any(vec![
                ValueShape::Integer(NUMBERS),
                ValueShape::words(&ENDLESS),
            ])
        },
        |value: &TomlValue<'t>, found: &mut Diagnostics| {
            if value.as_str().is_some() {
                return value.one_of(&ENDLESS, found).map(|word| word.value);
            }
            let number = value.integer(NUMBERS, found)?.value;
            u32::try_from(number).ok().map(LogRounds::Number)
        },
    )
}

/// The first and the last stamp of a log, without its steps back, of any interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LogSpan {
    pub(super) first: Nanos,
    pub(super) last: Nanos,
}

impl LogSpan {
    /// Reads a whole file; `None` for one without frames.
    ///
    /// # Errors
    /// The file cannot be read to its end.
    pub(super) fn read(path: &Path, format: Option<FileFormat>) -> Result<Option<Self>, LogError> {
        let mut reader = LogReader::open(path)?.with_format(format);
        let mut frame = FrameBuf::new();
        let mut due = super::due::NextDue::default();
        let mut first = None;
        loop {
            match reader.read(&mut frame) {
                Ok(Some(logged)) => {
                    first.get_or_insert(logged.ns);
                    due.next(0, logged.ns, super::due::ReplaySpeed::Original);
                }
                Ok(None) => break,
                Err(LogError::Bad { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(first.map(|first| Self {
            first,
            last: due.played(),
        }))
    }
}

/// The rounds of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoundPlan {
    pub(super) rounds: LogRounds,
    /// Time from the last frame of a round to the first frame of the next one, in the time of the
    /// log, ns.
    pub(super) pause: Nanos,
    pub(super) span: LogSpan,
}
