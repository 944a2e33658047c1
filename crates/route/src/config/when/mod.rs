//! `when = "Speed > 5 km/h && Gear == 'Drive'"`: a condition on signals of the route's message.
//!
//! ```text
//! any        = all { "||" all }
//! all        = one { "&&" one }
//! one        = "!" one | "(" any ")" | comparison        (after "!", one is not a comparison)
//! comparison = signal operator value
//!            | signal "in" number ".." number [unit]     (both included)
//!            | signal "in" "(" value { "," value } ")"
//! signal     = [message "."] name
//! value      = number [unit] | "'" text "'" | '"' text '"'
//! ```

mod compare;
mod parser;
mod scan;
mod tree;

use crate::text::limits::FrameLimits;
use crate::{MAX_ALTERNATIVES, MAX_TESTS, SignalCondition};
use ::config::{Diagnostic, Diagnostics, Severity, TomlValue};
use alloc::{format, string::String};
use core::ops::Range;
use tree::TooLarge;

/// A mistake in a condition, and its place in the text.
struct ConditionMistake {
    severity: Severity,
    part: Range<usize>,
    message: String,
    hint: String,
}

/// Reads `when`. `None` if there is a mistake.
pub(super) fn parse(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<SignalCondition> {
    let text = value.string(found)?.value;
    let (message, _) = limits.message.one(value, found)?;
    let mut parser = parser::ConditionParser::new(text, message, limits.payload);
    let tree = parser.parse();
    let mut is_right = true;
    for mistake in parser.maker.mistakes {
        let span = value.part(mistake.part);
        let diagnostic = match mistake.severity {
            Severity::Error => {
                is_right = false;
                Diagnostic::error(span, mistake.message)
            }
            Severity::Warning => Diagnostic::warning(span, mistake.message),
        };
        found.push(diagnostic.hint(mistake.hint));
    }
    let alternatives = match tree.filter(|_| is_right)?.alternatives() {
        Ok(alternatives) => alternatives,
        Err(TooLarge::Alternatives) => {
            let message = format!("the condition has more than {MAX_ALTERNATIVES} alternatives");
            let hint = "`||` of `||` multiplies them; write several routes instead";
            value.wrong(message, hint, found);
            return None;
        }
        Err(TooLarge::Tests) => {
            let message =
                format!("an alternative of the condition has more than {MAX_TESTS} comparisons");
            value.wrong(
                message,
                "write it shorter: `&&` joins at most that many",
                found,
            );
            return None;
        }
    };
    if alternatives.is_empty() {
        let message = "the condition is never true: its comparisons exclude one another";
        let hint = "no frame has all of these values; `||` instead of `&&` may be meant";
        value.wrong(message, hint, found);
        return None;
    }
    Some(SignalCondition {
        text: text.trim().into(),
        alternatives,
    })
}
