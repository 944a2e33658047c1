//! Recognition of candump's lines.

use super::read::{BracketStamp, stamp, without_colours};
use crate::words::LineWords;

/// Number of times by which `candump -t z` is distinguished from `-t d`.
const TIMES: usize = 32;

/// Returns the stamp at the beginning of a line, and the words after the interface.
fn after_interface(line: &[u8]) -> Option<(BracketStamp, LineWords<'_>)> {
    let mut words = LineWords::new(line);
    let stamp = stamp(&mut words).ok()?;
    words.next();
    Some((stamp, words))
}

/// Returns whether a line is one of `candump -L`.
pub(super) fn is_log(line: &[u8]) -> bool {
    let word = after_interface(line).and_then(|(_, words)| words.peek());
    word.is_some_and(|word| word.text.contains(&b'#'))
}

/// Returns whether a line is one of `candump -t a`, `-t A`.
pub(super) fn is_absolute(line: &[u8]) -> bool {
    matches!(shown(line), Some(BracketStamp::Absolute(_)))
}

/// Returns whether a line is one of `candump -t z` or `-t d`.
pub(super) fn is_relative(line: &[u8]) -> bool {
    matches!(shown(line), Some(BracketStamp::Relative(_)))
}

/// Returns the stamp of a line as on a terminal, which has a length.
fn shown(line: &[u8]) -> Option<BracketStamp> {
    let (stamp, mut words) = after_interface(line)?;
    words.any(|word| is_length(word.text)).then_some(stamp)
}

/// Returns whether a line is what candump shows without time stamps.
pub(crate) fn has_no_time(line: &[u8]) -> bool {
    let all: Vec<_> = LineWords::new(line).take(6).collect();
    if all.first().is_some_and(|word| word.text.starts_with(b"(")) {
        return false;
    }
    let is = |at: usize, text: &str| all.get(at).is_some_and(|word| word.is(text));
    let hex = |at: usize| {
        all.get(at)
            .is_some_and(|word| word.text.iter().all(u8::is_ascii_hexdigit))
    };
    hex(1) && all.get(2).is_some_and(|word| is_length(word.text))
        || (is(1, "RX") || is(1, "TX")) && hex(4)
        || all.get(1).is_some_and(|word| {
            let mut parts = word.text.splitn(2, |b| *b == b'#');
            let id = parts.next().unwrap_or_default();
            parts.next().is_some()
                && matches!(id.len(), 3 | 5 | 8)
                && id.iter().all(u8::is_ascii_hexdigit)
        })
}

/// Returns whether a word is a length: `[8]`, `{B}`, `[08]`.
fn is_length(word: &[u8]) -> bool {
    matches!(word, [b'[', .., b']'] | [b'{', .., b'}']) && word.len() <= 6
}

/// Returns whether the times of these lines are differences; `None`: more lines are needed, unless
/// these are `enough`. Times that count from the first frame nearly always grow; differences grow
/// half of the time.
pub(crate) fn is_delta(lines: &mut dyn Iterator<Item = &[u8]>, enough: bool) -> Option<bool> {
    let times = lines.filter_map(
        |line| match stamp(&mut LineWords::new(&without_colours(line))) {
            Ok(BracketStamp::Relative(ns)) => Some(ns),
            _ => None,
        },
    );
    let times: Vec<_> = times.take(TIMES).collect();
    if times.len() < TIMES && !enough {
        return None;
    }
    let steps = times.len().saturating_sub(1);
    let grows = times.iter().zip(times.iter().skip(1));
    let grows = grows.filter(|(a, b)| a < b).count();
    Some(4 * grows < 3 * steps)
}
