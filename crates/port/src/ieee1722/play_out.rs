//! The keys of the play-out: when frames that came in are handed on.

use config::{Diagnostic, Diagnostics, TomlTable};
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

/// The keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlayOutKeys {
    pub(super) delay: Option<Nanos>,
    pub(super) max_age: Option<Nanos>,
    pub(super) late: LateRule,
    pub(super) common_clock: bool,
    pub(super) queue: u32,
}

impl PlayOutKeys {
    /// Reports values that are wrong or have no effect.
    pub(super) fn check(&self, table: &TomlTable<'_>, brief: bool, found: &mut Diagnostics) {
        if self.delay.is_some_and(|delay| delay > LONGEST_DELAY) {
            let hint = "write the time that nearly all frames need, such as \"20ms\"";
            table.wrong("delay", "`delay` is at most 10 s", hint, found);
        }
        for (key, value) in [("delay", self.delay), ("max_age", self.max_age)] {
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
        self.delay.or(self.max_age)?;
        Some(PlayOutRules {
            delay: self.delay,
            max_age: self.max_age,
            late: self.late,
            clock: match self.common_clock {
                true => StampClock::Common(epoch),
                false => StampClock::Own,
            },
            frames: self.queue as usize,
        })
    }

    /// Returns the words of `cangate check`.
    pub(super) fn words(&self) -> String {
        let time = |time| format!("{:?}", Duration::from_nanos(time)).replace('µ', "u");
        let after = match self.common_clock {
            true => "their stamps",
            false => "their stamps and the shortest time on the way",
        };
        let mut words = String::new();
        if let Some(delay) = self.delay {
            let late = match self.late {
                LateRule::Send => "late ones at once",
                LateRule::Expire => "late ones are dropped",
            };
            words = format!(
                "; frames are handed on {} after {after}, {late}",
                time(delay)
            );
        }
        match (self.delay, self.max_age) {
            (_, None) => words,
            (None, Some(age)) => format!("; frames older than {} are dropped", time(age)),
            (Some(delay), Some(age)) => {
                let most = time(delay.saturating_add(age));
                format!("{words}; those older than {most} are dropped")
            }
        }
    }
}
