//! `signal = { NAME = VALUE, … }`.

use super::WriteSignals;
use super::neighbours;
use crate::operations::toml::Toml;
use crate::text::limits::FrameLimits;
use crate::text::message::{find_signal, value_name_hint, with_unit};
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};
use signals::{
    AssignError, Decimal, FieldSource, FieldWrite, MAX_WRITES, MessageDefinition, OutOfRange,
    SignalDefinition,
};

/// The words of `overflow`, apart from `{ substitute = VALUE }`.
const OVERFLOW: [(&str, OutOfRange); 2] = [
    ("saturate", OutOfRange::Saturate),
    ("drop", OutOfRange::Drop),
];

/// An assignment, and its text.
struct ParsedWrite {
    write: FieldWrite,
    text: String,
    /// The index of the signal that is read.
    source: Option<usize>,
}

impl Toml for WriteSignals {
    const KEYS: &'static [&'static str] = &["signal"];

    fn keys() -> Vec<KeySpec> {
        vec![KeySpec::new(
            "signal",
            ValueShape::Named(Box::new(ValueShape::Anything)),
            "Writes signals of the message: a number, the name of a value, or `{ from = \"SIGNAL\", overflow = … }`.",
        )]
    }

    /// Parses `{ Source = 3, Gear = "Drive", Shown = { from = "Speed", overflow = "saturate" } }`.
    fn parse(
        _key: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let (message, when) = limits.message.one(value, found)?;
        let table = value.table("`signal`", found)?;
        let all = table.all();
        if all.is_empty() {
            value.wrong("`signal` writes no signal", "write { NAME = VALUE }", found);
            return None;
        }
        if all.len() > MAX_WRITES {
            let text = format!(
                "`signal` writes {} signals; the maximum is {MAX_WRITES}",
                all.len()
            );
            value.wrong(text, "write a second action: `{ signal = { … } }`", found);
            return None;
        }
        let errors = found.errors();
        let mut written = Vec::new();
        let mut writes = Vec::new();
        let mut texts = Vec::new();
        let mut read = Vec::new();
        for (name, value) in all {
            let (index, to) = match find_signal(message, name.value) {
                Ok(found) => found,
                Err((text, hint)) => {
                    found.push(Diagnostic::error(name.span, text).hint(hint));
                    continue;
                }
            };
            let end = to.field.end();
            if end > limits.payload {
                let text = format!(
                    "signal `{}` ends in byte {end}, but frames of this route carry at most {} bytes",
                    to.name, limits.payload
                );
                let hint = "`kind = \"fd\"` takes frames of up to 64 bytes";
                found.push(Diagnostic::error(name.span, text).hint(hint));
                continue;
            }
            if let Some(parsed) = assignment(to, &value, message, found) {
                texts.push(format!("{} = {}", to.name, parsed.text));
                written.push((index, name.span, parsed.write));
                read.extend(parsed.source.map(|source| (source, value.span())));
                writes.push(parsed.write);
            }
        }
        neighbours::check(message, when, &written, &read, found);
        (found.errors() == errors).then(|| Self {
            text: format!("{{ {} }}", texts.join(", ")),
            writes,
        })
    }

    fn write(&self) -> (&'static str, String) {
        ("signal", self.text.clone())
    }

    fn describe(&self) -> String {
        let inner = self.text.strip_prefix("{ ");
        let inner = inner.and_then(|text| text.strip_suffix(" }"));
        format!("writes {}", inner.unwrap_or(&self.text))
    }
}

/// Reads the value of one signal.
fn assignment(
    to: &SignalDefinition,
    value: &TomlValue<'_>,
    message: &MessageDefinition,
    found: &mut Diagnostics,
) -> Option<ParsedWrite> {
    if value.is_table() {
        return copy(to, value, message, found);
    }
    let Constant { bits, text } = constant(to, value, true, found)?;
    Some(ParsedWrite {
        write: FieldWrite {
            to: to.field,
            source: FieldSource::Constant(bits),
        },
        text,
        source: None,
    })
}

/// The bits of a constant, and its text.
struct Constant {
    bits: u64,
    text: String,
}

/// Reads a number, or the name of a value.
fn constant(
    to: &SignalDefinition,
    value: &TomlValue<'_>,
    warns_of_range: bool,
    found: &mut Diagnostics,
) -> Option<Constant> {
    if let Some(name) = value.as_str() {
        return named_constant(to, name, value, found);
    }
    let Some(digits) = value.as_decimal() else {
        let what = format!("a number, the name of a value of `{}`, or a table", to.name);
        value.expected_as(&what, "for example 3, 'Drive' or { from = 'Speed' }", found);
        return None;
    };
    let number: Decimal = match digits.parse() {
        Ok(number) => number,
        Err(error) => {
            value.wrong(format!("`{digits}`: {error}"), "", found);
            return None;
        }
    };
    let bits = match to.bits_of(number) {
        Ok(bits) => bits,
        Err(error) => {
            let message = format!("signal `{}` cannot have the value {number}", to.name);
            value.wrong(message, assign_hint(error, to), found);
            return None;
        }
    };
    if warns_of_range && is_outside_stated_range(to, number) {
        let (min, max) = to.range;
        let message = format!(
            "{number} is outside the range that the database states for `{}`",
            to.name
        );
        let d = Diagnostic::warning(value.span(), message);
        found.push(d.hint(format!("the range is {min} to {max}")));
    }
    Some(Constant {
        bits,
        text: format!("{number}"),
    })
}

fn named_constant(
    to: &SignalDefinition,
    name: &str,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<Constant> {
    let named: Vec<_> = to
        .value_names
        .iter()
        .filter(|named| named.name == name)
        .collect();
    let (message, hint) = match named.as_slice() {
        [] => (
            format!("signal `{}` has no value '{name}'", to.name),
            value_name_hint(name, to),
        ),
        [one] => match to.bits_of_raw(one.raw) {
            Some(bits) => {
                let text = crate::config::toml_string(name);
                return Some(Constant { bits, text });
            }
            None => (
                format!(
                    "signal `{}` cannot have the value {} of '{name}'",
                    to.name, one.raw
                ),
                String::from("its bits cannot represent this value"),
            ),
        },
        [one, other, ..] => (
            format!(
                "'{name}' is the name of two values of `{}`: {} and {}",
                to.name, one.raw, other.raw
            ),
            String::from("write the number"),
        ),
    };
    value.wrong(message, hint, found);
    None
}

/// Returns whether a value is below or above what the database states. Where exact numbers are too
/// long to be compared, it counts as inside.
fn is_outside_stated_range(signal: &SignalDefinition, number: Decimal) -> bool {
    let (min, max) = signal.range;
    if min.is_zero() && max.is_zero() {
        return false;
    }
    number
        .checked_cmp(min)
        .is_some_and(core::cmp::Ordering::is_lt)
        || number
            .checked_cmp(max)
            .is_some_and(core::cmp::Ordering::is_gt)
}

/// Reads `{ from = "SIGNAL", overflow = … }`.
fn copy(
    to: &SignalDefinition,
    value: &TomlValue<'_>,
    message: &MessageDefinition,
    found: &mut Diagnostics,
) -> Option<ParsedWrite> {
    let mut table = value.table(format!("`{}`", to.name), found)?;
    let from = table.need("from", found);
    let overflow = table.get("overflow");
    table.finish(found);
    let from = from?;
    let name = from.string(found)?.value;
    let (index, source) = match find_signal(message, name) {
        Ok(found) => found,
        Err((text, hint)) => {
            from.wrong(text, hint, found);
            return None;
        }
    };
    let (outside, overflow_text) = match &overflow {
        None => (OutOfRange::Drop, String::new()),
        Some(overflow) => read_overflow(to, overflow, found)?,
    };
    let copy = match to.copy_of(source, outside) {
        Ok(copy) => copy,
        Err(error) => {
            let text = format!("`{name}` cannot be copied to `{}`", to.name);
            from.wrong(text, assign_hint(error, to), found);
            return None;
        }
    };
    if !copy.is_total && overflow.is_none() {
        let text = format!("`{name}` has values that `{}` cannot have", to.name);
        let hint = "add `overflow = \"saturate\"`, `\"drop\"` or `{ substitute = VALUE }`";
        value.wrong(text, hint, found);
        return None;
    }
    if let Some(overflow) = overflow.as_ref().filter(|_| copy.is_total) {
        let text = format!(
            "`overflow` does nothing: `{}` can have each value of `{name}`",
            to.name
        );
        found.push(Diagnostic::warning(overflow.span(), text).hint("leave it out"));
    }
    if source.unit.trim() != to.unit.trim() {
        let text = format!(
            "`{name}` is in `{}` and `{}` in `{}`; the number is copied as it is",
            source.unit, to.name, to.unit
        );
        found.push(Diagnostic::warning(from.span(), text));
    }
    if copy.is_coarser {
        let text = format!(
            "`{}` has larger steps than `{name}`: values are rounded",
            to.name
        );
        found.push(Diagnostic::warning(from.span(), text));
    }
    let name = crate::config::toml_string(name);
    Some(ParsedWrite {
        write: FieldWrite {
            to: to.field,
            source: copy.source,
        },
        text: format!("{{ from = {name}{overflow_text} }}"),
        source: Some(index),
    })
}

/// Reads `overflow`, and returns it with its text, which begins with a comma.
fn read_overflow(
    to: &SignalDefinition,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<(OutOfRange, String)> {
    if !value.is_table() {
        let word = value.one_of(&OVERFLOW, found)?.value;
        let text = ::config::word_of(&OVERFLOW, &word);
        return Some((word, format!(", overflow = \"{text}\"")));
    }
    let mut table = value.table("`overflow`", found)?;
    let substitute = table.need("substitute", found);
    table.finish(found);
    let Constant { bits, text } = constant(to, &substitute?, false, found)?;
    let text = format!(", overflow = {{ substitute = {text} }}");
    Some((OutOfRange::Substitute(bits), text))
}

/// Returns an error in the signal's unit.
fn assign_hint(error: AssignError, signal: &SignalDefinition) -> String {
    match error {
        AssignError::Between(below, above) => format!(
            "the nearest values of the signal are {} and {}",
            with_unit(&below, signal),
            with_unit(&above, signal)
        ),
        AssignError::Outside(lowest, highest) => format!(
            "the values of the signal reach from {} to {}",
            with_unit(&lowest, signal),
            with_unit(&highest, signal)
        ),
        other => format!("{other}"),
    }
}
