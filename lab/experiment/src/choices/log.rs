//! A log that is replayed in place of generated frames.

use super::word::{WordError, WordKind, checksum};
use frame::{Frame, Kind, Nanos};
use probe::traffic::{LONGEST_PAYLOAD, MOST_FRAMES, SHORTEST_PAYLOAD, number_in};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The longest name in a word, bytes: names of experiments contain it.
const LONGEST_NAME: usize = 40;
/// Hex digits of the checksum in a word.
const DIGITS: usize = 16;
const NONE: &str = "none";

/// A bus of the timed bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogSide {
    /// The bus from which the gateway takes frames.
    Incoming,
    /// The bus to which it sends them.
    Outgoing,
}

/// A frame of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogFrame {
    side: LogSide,
    at: Nanos,
    /// The frame in candump's notation.
    frame: String,
}

/// The frames of a log, with their times; or none, where frames are generated.
///
/// Its word is the log's name with a checksum of all its frames, so that other frames make another
/// experiment. Two logs with the same word are considered the same. A word does not contain the
/// frames: an experiment that was read from words cannot be run again ([`LogTraffic::is_at_hand`]).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogTraffic {
    /// The name of the file, and the checksum.
    identity: Option<(String, String)>,
    frames: Vec<LogFrame>,
}

/// A log that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No frame goes through the gateway.
    #[error("it has no frame for the incoming bus")]
    Nothing,
    /// Too many frames.
    #[error("it has {0} frames; at most {MOST_FRAMES} can be played")]
    Many(usize),
    /// No room for the number by which the tester identifies a frame.
    #[error(
        "frame {index} ({frame}) has no room for a number: on the incoming bus, data frames with at \
         least {SHORTEST_PAYLOAD} bytes are played"
    )]
    Short {
        /// Index of the frame, from 1.
        index: usize,
        /// The frame in candump's notation.
        frame: String,
    },
    /// The gateway's single route takes one kind of frame.
    #[error(
        "frame {index} ({frame}) is not of the same kind as those before it: a played log is classic \
         or FD"
    )]
    Mixed {
        /// Index of the frame, from 1.
        index: usize,
        /// The frame in candump's notation.
        frame: String,
    },
}

impl LogTraffic {
    /// No log: frames are generated.
    pub const NONE: Self = Self {
        identity: None,
        frames: Vec::new(),
    };

    /// Creates a log of these frames, in their order; `name` is for people.
    ///
    /// # Errors
    /// [`LogError`]
    pub fn new(
        name: &str,
        frames: impl IntoIterator<Item = (LogSide, Nanos, Frame)>,
    ) -> Result<Self, LogError> {
        let mut played = Vec::new();
        let mut kind = None;
        for (index, (side, at, frame)) in (1..).zip(frames) {
            let text = || frame.to_string();
            let data = !frame.id().is_err() && !frame.id().is_rtr();
            if side == LogSide::Incoming && !(data && number_in(frame.data(), 0).is_some()) {
                let frame = text();
                return Err(LogError::Short { index, frame });
            }
            if *kind.get_or_insert(frame.kind()) != frame.kind() {
                let frame = text();
                return Err(LogError::Mixed { index, frame });
            }
            played.push(LogFrame {
                side,
                at,
                frame: text(),
            });
        }
        if played.len() > MOST_FRAMES as usize {
            return Err(LogError::Many(played.len()));
        }
        if !played.iter().any(|p| p.side == LogSide::Incoming) {
            return Err(LogError::Nothing);
        }
        let text: String = played
            .iter()
            .map(|p| format!("{:?} {} {}\n", p.side, p.at, p.frame))
            .collect();
        let sum = format!("{:016x}", checksum(&text));
        Ok(Self {
            identity: Some((plain(name), sum)),
            frames: played,
        })
    }

    /// Returns whether there is a log.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns whether its frames are known, and not only its name.
    #[must_use]
    pub const fn is_at_hand(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Returns the log's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.identity.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns the frames for one of the buses, with their times on the log's clock, ns.
    #[must_use]
    pub fn frames(&self, side: LogSide) -> Vec<(Nanos, Frame)> {
        let of_side = self.frames.iter().filter(|p| p.side == side);
        // Text that `new` wrote can be parsed again.
        of_side
            .filter_map(|p| Some((p.at, p.frame.parse().ok()?)))
            .collect()
    }

    /// Returns the number of frames that go through the gateway.
    #[must_use]
    pub fn count(&self) -> u32 {
        let incoming = self.frames.iter().filter(|p| p.side == LogSide::Incoming);
        u32::try_from(incoming.count()).unwrap_or(u32::MAX)
    }

    /// Returns the longest payload, bytes, as an experiment's setting: above 8 if the frames are
    /// FD.
    #[must_use]
    pub fn payload(&self) -> u8 {
        let all = self.frames(LogSide::Incoming);
        let fd = all.iter().any(|(_, frame)| frame.kind() == Kind::Fd);
        let longest = all.iter().map(|(_, frame)| frame.data().len()).max();
        let longest = longest.unwrap_or(0);
        let fitting = [12, 16, 20, 24, 32, 48].into_iter().find(|&n| n >= longest);
        let len = if fd {
            fitting.unwrap_or(LONGEST_PAYLOAD)
        } else {
            longest
        };
        // At most 64.
        len as u8
    }

    fn key(&self) -> &Option<(String, String)> {
        &self.identity
    }
}

/// Makes a name fit for a file.
fn plain(name: &str) -> String {
    let fit = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let kept = name.chars().map(|c| if fit(c) { c } else { '-' });
    let kept: String = kept.take(LONGEST_NAME).collect();
    match kept.as_str() {
        "" => "log".to_owned(),
        _ => kept,
    }
}

impl PartialEq for LogTraffic {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for LogTraffic {}

impl Hash for LogTraffic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for LogTraffic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogTraffic {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

impl WordKind for LogTraffic {
    const KIND: &'static str = "log";
}

impl fmt::Display for LogTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.identity {
            None => f.write_str(NONE),
            Some((name, sum)) => write!(f, "{name}.{sum}"),
        }
    }
}

impl FromStr for LogTraffic {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        if word == NONE {
            return Ok(Self::NONE);
        }
        let hex = |sum: &str| {
            let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            sum.len() == DIGITS && sum.bytes().all(digit)
        };
        match word.rsplit_once('.') {
            Some((name, sum)) if hex(sum) && plain(name) == name => Ok(Self {
                identity: Some((name.to_owned(), sum.to_owned())),
                frames: Vec::new(),
            }),
            _ => Err(WordError::new(
                format!("`{word}` is not a log's name with its checksum"),
                "`cangate lab measure --log FILE` plays a log; elsewhere the only value is `none`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        text.parse().unwrap()
    }

    fn log(frames: &[(LogSide, Nanos, &str)]) -> Result<LogTraffic, LogError> {
        let frames = frames
            .iter()
            .map(|(side, at, text)| (*side, *at, frame(text)));
        LogTraffic::new("a b.log", frames)
    }

    #[test]
    fn a_log_is_known_by_all_its_frames() {
        use LogSide::{Incoming, Outgoing};
        let one = log(&[(Incoming, 5, "123#0011"), (Outgoing, 3, "7FF#R")]).unwrap();
        assert_eq!((one.count(), one.payload()), (1, 2));
        assert_eq!(one.frames(Incoming), [(5, frame("123#0011"))]);
        assert_eq!(one.frames(Outgoing), [(3, frame("7FF#R"))]);
        let word = one.to_string();
        assert!(word.starts_with("a-b.log."), "{word}");
        let by_word: LogTraffic = word.parse().unwrap();
        assert_eq!(by_word, one);
        assert!(!by_word.is_at_hand() && by_word.is_some());
        for other in [
            log(&[(Incoming, 6, "123#0011"), (Outgoing, 3, "7FF#R")]),
            log(&[(Incoming, 5, "123#0012"), (Outgoing, 3, "7FF#R")]),
            log(&[(Incoming, 5, "123#0011"), (Incoming, 3, "7FF#0000")]),
        ] {
            assert_ne!(other.unwrap(), one);
        }
        let json = serde_json::to_string(&one).unwrap();
        let again: LogTraffic = serde_json::from_str(&json).unwrap();
        assert_eq!(again.frames(Incoming), one.frames(Incoming));
    }

    #[test]
    fn what_cannot_be_played_is_refused_by_frame() {
        use LogSide::{Incoming, Outgoing};
        assert_eq!(
            log(&[(Outgoing, 0, "123#0011")]).unwrap_err(),
            LogError::Nothing
        );
        for short in ["123#00", "123#R8"] {
            let error = log(&[(Incoming, 0, "001#0011"), (Incoming, 1, short)]).unwrap_err();
            assert!(error.to_string().starts_with("frame 2 (123#"), "{error}");
        }
        let mixed = log(&[(Incoming, 0, "001#0011"), (Incoming, 1, "001##10011")]);
        assert!(matches!(
            mixed.unwrap_err(),
            LogError::Mixed { index: 2, .. }
        ));
        let fd = log(&[(Incoming, 0, "001##10011")]).unwrap();
        assert_eq!(fd.payload(), 12);
        for bad in [
            "",
            "x",
            "x.123",
            "x.0123456789ABCDEF",
            "a b.0123456789abcdef",
        ] {
            assert!(bad.parse::<LogTraffic>().is_err(), "{bad}");
        }
        assert_eq!("none".parse::<LogTraffic>(), Ok(LogTraffic::NONE));
    }
}
