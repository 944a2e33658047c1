//! The events that trigger a file.

use crate::chunk::RecordedFrame;
use crate::interfaces::raw_filters;
use frame::CanId;
use route::RawFilter;
use std::fmt;

/// An event that triggers a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaptureTrigger {
    /// A data or remote frame.
    Frame {
        /// The text as the user wrote it.
        text: String,
        /// Filters for its ID, of which any one must match.
        ids: Vec<RawFilter>,
        /// Beginning of its payload: values and masks of its bytes; the payload may be longer.
        payload: Vec<(u8, u8)>,
    },
    /// Any error frame of a controller.
    Error,
    /// SIGUSR1.
    Signal,
}

/// Error: a text that is not a trigger.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("trigger `{text}`: {what}; {hint}")]
pub struct TriggerError {
    text: String,
    what: String,
    hint: String,
}

impl fmt::Display for CaptureTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frame { text, .. } => text,
            Self::Error => "error",
            Self::Signal => "signal",
        })
    }
}

impl CaptureTrigger {
    /// Parses triggers that are separated by commas: `error`, `signal`, and IDs in the syntax of
    /// routes (`123`, `200-2FF`, `100:700`, `!123`), each optionally followed by `#` and the
    /// beginning of the payload, where `X` stands for any digit: `7E8#037FX1`.
    ///
    /// # Errors
    /// [`TriggerError`] for the first one that is wrong.
    pub fn list(text: &str) -> Result<Vec<Self>, TriggerError> {
        text.split(',').map(|one| Self::one(one.trim())).collect()
    }

    fn one(text: &str) -> Result<Self, TriggerError> {
        match text {
            "error" => return Ok(Self::Error),
            "signal" => return Ok(Self::Signal),
            _ => {}
        }
        let wrong = |(what, hint): (String, String)| TriggerError {
            text: text.to_owned(),
            what,
            hint,
        };
        let (id, payload) = text.split_once('#').unwrap_or((text, ""));
        Ok(Self::Frame {
            text: text.to_owned(),
            ids: raw_filters(&[id]).map_err(wrong)?,
            payload: pattern(payload).map_err(wrong)?,
        })
    }

    /// Returns whether this frame is a trigger.
    #[must_use]
    pub fn is(&self, record: &RecordedFrame<'_>) -> bool {
        let Some(frame) = record.frame() else {
            return false;
        };
        match self {
            Self::Signal => false,
            Self::Error => frame.id().is_err(),
            Self::Frame { ids, payload, .. } => {
                let raw = frame.id().raw();
                let data = frame.data();
                raw & CanId::ERR_FLAG == 0
                    && ids.iter().any(|filter| filter.passes(raw))
                    && data.len() >= payload.len()
                    && data
                        .iter()
                        .zip(payload)
                        .all(|(byte, (value, mask))| byte & mask == *value)
            }
        }
    }
}

fn pattern(text: &str) -> Result<Vec<(u8, u8)>, (String, String)> {
    let digit = |c: u8| match c {
        b'X' | b'x' => Some((0, 0)),
        c => char::from(c).to_digit(16).map(|value| (value as u8, 15)),
    };
    let bad = || {
        (
            format!("`{text}` is not a valid payload"),
            "write two hex digits for each byte, X for a digit that does not matter".to_owned(),
        )
    };
    if !text.len().is_multiple_of(2) {
        return Err(bad());
    }
    let pairs = text.as_bytes().chunks_exact(2).map(|pair| match pair {
        [high, low] => {
            let (high, low) = (digit(*high)?, digit(*low)?);
            Some((high.0 << 4 | low.0, high.1 << 4 | low.1))
        }
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::can::layout::encode;

    fn is(trigger: &str, frame: &str) -> bool {
        let mut buf = frame::FrameBuf::new();
        frame::text::parse_frame(frame.as_bytes(), &mut buf).unwrap();
        let mut bytes = [0; 2060];
        let n = encode(buf.view(), &mut bytes).unwrap();
        let record = RecordedFrame {
            stamp: 0,
            interface: 0,
            direction: None,
            bytes: &bytes[..n],
        };
        let list = CaptureTrigger::list(trigger).unwrap();
        list.iter().any(|trigger| trigger.is(&record))
    }

    #[test]
    fn ids_payloads_and_error_frames() {
        assert!(is("123", "123#00") && !is("123", "00000123#00") && !is("123", "124#"));
        assert!(is("00000123", "00000123#R"));
        assert!(is("200-2FF,7E8#037FX1", "7E8#037F2122"));
        assert!(!is("200-2FF,7E8#037FX1", "7E8#037F20"));
        assert!(!is("7E8#037F", "7E8#03"), "too short");
        assert!(is("7E8#037F", "7E8##1037FAA"), "FD");
        assert!(is("error", "20000080#0000000000000000"));
        assert!(!is("000-7FF,signal", "20000080#0000000000000000"));
        assert!(is("!123", "124#") && !is("!123", "123#"));
    }

    #[test]
    fn what_is_wrong_is_reported() {
        for (text, part) in [
            ("12", "three or eight"),
            ("123#1", "is not a valid payload"),
            ("123#1G", "is not a valid payload"),
            ("", "not a valid ID"),
        ] {
            let error = CaptureTrigger::list(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
