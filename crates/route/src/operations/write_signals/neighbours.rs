//! Assignments that meet other signals of the message: those that share bits with them, and the
//! switches that decide whether a frame contains them.

use crate::SignalCondition;
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;
use signals::{
    BitMeaning, FieldSource, FieldTest, FieldWrite, MessageDefinition, SignalDefinition,
    SignalPresence,
};

/// An assignment: the index of its signal, its place in the text, and its meaning.
pub(super) type PlacedWrite = (usize, Range<usize>, FieldWrite);

/// Checks assignments that happen at once, and the signals that they read.
pub(super) fn check(
    message: &MessageDefinition,
    when: Option<&SignalCondition>,
    written: &[PlacedWrite],
    read: &[(usize, Range<usize>)],
    found: &mut Diagnostics,
) {
    for (at, (index, span, write)) in written.iter().enumerate() {
        let others = written.get(..at).unwrap_or_default();
        if let Some((other, ..)) = others
            .iter()
            .find(|(_, _, other)| other.to.shares_bits(&write.to))
        {
            let text = format!(
                "signals `{}` and `{}` have common bits, and both are written",
                name(message, *other),
                name(message, *index)
            );
            found.push(Diagnostic::error(span.clone(), text).hint("write one of them"));
        }
        warn_of_neighbours(message, *index, span, written, found);
        if !warn_of_switched(message, *index, span, written, found) && when.is_none() {
            warn_of_left_out(message, (*index, write), span, written, found);
        }
        check_present(message, *index, span, when, written, found);
    }
    for (index, span) in read {
        check_present(message, *index, span, when, &[], found);
    }
}

fn name(message: &MessageDefinition, index: usize) -> &str {
    let signal = message.signals.get(index);
    signal.map_or("", |signal| signal.name.as_str())
}

/// Warns of signals that share bits with a written one, and are not written.
fn warn_of_neighbours(
    message: &MessageDefinition,
    index: usize,
    span: &Range<usize>,
    written: &[PlacedWrite],
    found: &mut Diagnostics,
) {
    let Some(signal) = message.signals.get(index) else {
        return;
    };
    let others = message.signals.iter().enumerate();
    let changed: Vec<&str> = others
        .filter(|(other, _)| written.iter().all(|(written, ..)| written != other))
        .filter(|(other, _)| message.can_coexist(index, *other))
        .filter(|(_, other)| signal.field.shares_bits(&other.field))
        .map(|(_, other)| other.name.as_str())
        .collect();
    if !changed.is_empty() {
        let text = format!(
            "writing `{}` changes `{}`, too: they have common bits",
            signal.name,
            changed.join("`, `")
        );
        found.push(Diagnostic::warning(span.clone(), text));
    }
}

/// Warns of a switch that is written with some of the signals that its new value selects, and
/// without others.
fn warn_of_left_out(
    message: &MessageDefinition,
    (index, write): (usize, &FieldWrite),
    span: &Range<usize>,
    written: &[PlacedWrite],
    found: &mut Diagnostics,
) {
    let FieldSource::Constant(bits) = write.source else {
        return;
    };
    let is_selected = |signal: &SignalDefinition| match &signal.presence {
        SignalPresence::Switched { switch, values } => {
            *switch == index && values.iter().any(|range| range.contains(&bits))
        }
        SignalPresence::Always => false,
    };
    let signals = message.signals.iter().enumerate();
    let left_out: Vec<&str> = signals
        .filter(|(_, signal)| is_selected(signal))
        .filter(|(at, _)| written.iter().all(|(written, ..)| written != at))
        .map(|(_, signal)| signal.name.as_str())
        .collect();
    if !left_out.is_empty() {
        let text = format!(
            "`{}` also selects `{}`, which is not written: its bytes keep the values of other signals",
            name(message, index),
            left_out.join("`, `")
        );
        let hint =
            "write all signals that the value selects, or take only frames that have it (`when`)";
        found.push(Diagnostic::warning(span.clone(), text).hint(hint));
    }
}

/// Warns of a switch that is written without the signals that it selects; returns whether it does.
fn warn_of_switched(
    message: &MessageDefinition,
    index: usize,
    span: &Range<usize>,
    written: &[PlacedWrite],
    found: &mut Diagnostics,
) -> bool {
    let is_of_switch = |signal: &SignalDefinition| match &signal.presence {
        SignalPresence::Switched { switch, .. } => *switch == index,
        SignalPresence::Always => false,
    };
    let signals = message.signals.iter().enumerate();
    let mut selected = signals
        .filter(|(_, signal)| is_of_switch(signal))
        .peekable();
    let is_alone = selected.peek().is_some()
        && selected.all(|(at, _)| written.iter().all(|(written, ..)| *written != at));
    if is_alone {
        let text = format!(
            "`{}` selects the signals that the frame contains; writing it alone gives their bytes another meaning",
            name(message, index)
        );
        found.push(
            Diagnostic::warning(span.clone(), text).hint("write the signals that it selects, too"),
        );
    }
    is_alone
}

/// Reports a signal that is used without a test of its switch: in the other frames, its bits belong
/// to other signals.
fn check_present(
    message: &MessageDefinition,
    index: usize,
    span: &Range<usize>,
    when: Option<&SignalCondition>,
    written: &[PlacedWrite],
    found: &mut Diagnostics,
) {
    for switch in message.switches(index) {
        let values = switch.values;
        let Some(definition) = message.signals.get(switch.index) else {
            continue;
        };
        let field = definition.field;
        let is_set = written.iter().any(|(at, _, write)| match write.source {
            FieldSource::Constant(bits) => *at == switch.index && switch.has(bits),
            _ => false,
        });
        let allowed = |test: &FieldTest| {
            values.iter().any(|range| {
                let range = (*range.start(), *range.end());
                let wanted = FieldTest::new(field, BitMeaning::Unsigned, range, false);
                wanted.is_some_and(|wanted| unsigned(test).implies(&wanted))
            })
        };
        let is_tested = when.is_some_and(|when| {
            let mut alternatives = when.alternatives.iter();
            alternatives.all(|tests| tests.iter().any(allowed))
        });
        if is_set || is_tested {
            continue;
        }
        let text = format!(
            "`{}` is part of a frame only if `{}` is {}",
            name(message, index),
            definition.name,
            range_text(values)
        );
        let hint = format!(
            "compare it: `when = \"{}\"`",
            switch_condition(definition, values)
        );
        found.push(Diagnostic::error(span.clone(), text).hint(hint));
    }
}

/// Returns the same test of the bits as an unsigned number, if there is one: numbers of one sign
/// have the same order with and without it.
fn unsigned(test: &FieldTest) -> FieldTest {
    let (first, last) = test.raw_range();
    let has_one_sign = (first ^ last) >> (test.field().bits() - 1) & 1 == 0;
    let has_one_order = first == last || test.meaning() == BitMeaning::Signed && has_one_sign;
    let same = FieldTest::new(
        test.field(),
        BitMeaning::Unsigned,
        (first, last),
        test.is_negated(),
    );
    same.filter(|_| has_one_order).unwrap_or(*test)
}

fn range_text(values: &[core::ops::RangeInclusive<u64>]) -> String {
    let ranges = values
        .iter()
        .map(|range| match range.start() == range.end() {
            true => format!("{}", range.start()),
            false => format!("{} to {}", range.start(), range.end()),
        });
    ranges.collect::<Vec<_>>().join(" or ")
}

/// Returns a condition for the first values of a switch.
fn switch_condition(
    switch: &SignalDefinition,
    values: &[core::ops::RangeInclusive<u64>],
) -> String {
    let value = |raw: u64| switch.physical(switch.raw_of(raw));
    match values.first() {
        Some(range) if range.start() == range.end() => {
            format!("{} == {}", switch.name, value(*range.start()))
        }
        Some(range) => format!(
            "{} in {}..{}",
            switch.name,
            value(*range.start()),
            value(*range.end())
        ),
        None => String::new(),
    }
}
