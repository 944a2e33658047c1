//! The keys of the play-out: when frames that came in are handed on.

use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape, read};
use frame::Nanos;
use net::{LateRule, PlayOutRules, StampClock};
use std::time::Duration;

/// Longest delay, ns.
const LONGEST_DELAY: Nanos = 10_000_000_000;

/// Values of `late`.
pub(super) const LATE: [(&str, LateRule); 2] =
    [("send", LateRule::Send), ("expire", LateRule::Expire)];

/// Values of `clock`, each with whether it is common to both sides.
pub(super) const CLOCKS: [(&str, bool); 2] = [("own", false), ("common", true)];

/// Values of `delay` that are not durations.
const WORDS: [(&str, PlayOutDelay); 1] = [("presentation", PlayOutDelay::Presentation)];

/// When frames that came in are handed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlayOutDelay {
    /// This long after their stamps, ns.
    Fixed(Nanos),
    /// At the presentation times that the other side sets.
    Presentation,
}

impl PlayOutDelay {
    /// Reads `delay`.
    pub(super) fn key<'t>() -> impl read::ReadKey<'t, Value = Self> {
        let shape = || ValueShape::Any(vec![ValueShape::Duration, ValueShape::words(&WORDS)]);
        let read = |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let text = value.as_str().unwrap_or_default();
            if let Some((_, delay)) = WORDS.iter().find(|(word, _)| *word == text) {
                return Some(*delay);
            }
            if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
                let message = format!("`delay`: `{text}` is neither a time nor \"presentation\"");
                let hint = "write a time, such as \"20ms\", or \"presentation\"";
                value.wrong(message, hint, found);
                return None;
            }
            Some(Self::Fixed(value.duration(found)?.value))
        };
        read::by(shape, read)
    }
}

/// The keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlayOutKeys {
    pub(super) delay: Option<PlayOutDelay>,
    pub(super) max_age: Option<Nanos>,
    pub(super) late: LateRule,
    pub(super) common_clock: bool,
    pub(super) queue: u32,
}

impl PlayOutKeys {
    /// Reports values that are wrong or have no effect.
    pub(super) fn check(&self, table: &TomlTable<'_>, brief: bool, found: &mut Diagnostics) {
        let delay = self.fixed();
        if delay.is_some_and(|delay| delay > LONGEST_DELAY) {
            let hint = "write the time that nearly all frames need, such as \"20ms\"";
            table.wrong("delay", "`delay` is at most 10 s", hint, found);
        }
        for (key, value) in [("delay", delay), ("max_age", self.max_age)] {
            if value == Some(0) {
                let message = format!("`{key}` must be above 0");
                let hint = "leave it out, and frames are handed on as they arrive";
                table.wrong(key, message, hint, found);
            }
        }
        let hint = "leave it out, or add `delay`, such as `delay = \"20ms\"`";
        for key in ["late", "queue"] {
            if table.has(key) && self.delay.is_none() {
                let message = format!("`{key}` is for a port with `delay`");
                table.wrong(key, message, hint, found);
            }
        }
        if table.has("clock") && self.rules(0).is_none() {
            let message = "`clock` is for a port with `delay` or `max_age`";
            table.wrong("clock", message, hint, found);
        }
        if self.is_presentation() {
            if table.has("clock") && !self.common_clock {
                let message = "presentation times are by a clock that both machines follow";
                let hint =
                    "leave `clock` out, or use a time as `delay`, such as `delay = \"20ms\"`";
                table.wrong("clock", message, hint, found);
            }
            // They are in the header of a datagram, so its messages need no stamps.
            return;
        }
        for key in ["delay", "max_age"] {
            if brief && table.has(key) {
                let message = format!(
                    "`{key}` needs the time stamps of the other side, and `brief` streams have none"
                );
                let hint =
                    "leave `brief` out at both ends: a frame without a stamp is handed on at once";
                found.push(Diagnostic::warning(table.value_span(key), message).hint(hint));
            }
        }
    }

    /// Returns the rules; `epoch` is the Unix time at which the gateway's clock was 0. `None` if
    /// frames are handed on as they arrive.
    pub(super) fn rules(&self, epoch: Nanos) -> Option<PlayOutRules> {
        if self.delay.is_none() && self.max_age.is_none() {
            return None;
        }
        let presentation = self.is_presentation();
        Some(PlayOutRules {
            delay: if presentation { Some(0) } else { self.fixed() },
            max_age: self.max_age,
            late: self.late,
            clock: match self.common_clock || presentation {
                true => StampClock::Common(epoch),
                false => StampClock::Own,
            },
            frames: self.queue as usize,
            // Their times can be uncertain for a while.
            orders_unstamped: presentation,
        })
    }

    /// Returns the time after the stamp.
    pub(super) const fn fixed(&self) -> Option<Nanos> {
        match self.delay {
            Some(PlayOutDelay::Fixed(delay)) => Some(delay),
            _ => None,
        }
    }

    /// Returns whether frames are handed on at their presentation times.
    pub(super) const fn is_presentation(&self) -> bool {
        matches!(self.delay, Some(PlayOutDelay::Presentation))
    }

    /// Returns the words of `cangate check`. `scale`: the name of the time scale of presentation
    /// times.
    pub(super) fn words(&self, scale: &str) -> String {
        let time = |time| format!("{:?}", Duration::from_nanos(time)).replace('µ', "u");
        let after = match self.common_clock {
            true => "their stamps",
            false => "their stamps and the shortest time on the way",
        };
        let late = match self.late {
            LateRule::Send => "late ones at once",
            LateRule::Expire => "late ones are dropped",
        };
        let words = match self.delay {
            None => String::new(),
            Some(PlayOutDelay::Fixed(delay)) => format!(
                "; frames are handed on {} after {after}, {late}",
                time(delay)
            ),
            Some(PlayOutDelay::Presentation) => {
                format!("; frames are handed on at their presentation times ({scale}), {late}")
            }
        };
        match (self.delay, self.max_age) {
            (_, None) => words,
            (None, Some(age)) => format!("; frames older than {} are dropped", time(age)),
            (Some(PlayOutDelay::Fixed(delay)), Some(age)) => {
                let most = time(delay.saturating_add(age));
                format!("{words}; those older than {most} are dropped")
            }
            (Some(PlayOutDelay::Presentation), Some(age)) => {
                let most = time(age);
                format!("{words}; those that come more than {most} later are dropped")
            }
        }
    }
}
