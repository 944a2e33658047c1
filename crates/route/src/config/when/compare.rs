//! The meaning of a comparison.

use super::ConditionMistake;
use super::scan::ScannedPart;
use super::tree::ConditionTree;
use crate::text::message::{find_signal, value_name_hint, with_unit};
use ::config::Severity;
use alloc::{format, string::String, vec, vec::Vec};
use core::ops::Range;
use signals::{
    BitMeaning, CompareOperator, CompareReason, CompareResult, Decimal, FieldTest,
    MessageDefinition, SignalDefinition,
};

/// A signal in a condition.
pub(super) struct ComparedSignal<'t> {
    pub(super) name: &'t str,
    pub(super) part: Range<usize>,
    index: usize,
    definition: &'t SignalDefinition,
}

/// The value with which a signal is compared.
pub(super) enum ComparedValue<'t> {
    /// A physical value, and its place.
    Number(Decimal, Range<usize>),
    /// The name of a value.
    Name(ScannedPart<'t>),
}

/// Makes comparisons of the signals of a message, and collects the mistakes.
pub(super) struct ComparisonMaker<'t> {
    pub(super) message: &'t MessageDefinition,
    /// The length of the longest payload.
    longest: usize,
    pub(super) mistakes: Vec<ConditionMistake>,
}

impl<'t> ComparisonMaker<'t> {
    pub(super) const fn new(message: &'t MessageDefinition, longest: usize) -> Self {
        Self {
            message,
            longest,
            mistakes: Vec::new(),
        }
    }

    fn report(
        &mut self,
        severity: Severity,
        part: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.mistakes.push(ConditionMistake {
            severity,
            part,
            message: message.into(),
            hint: hint.into(),
        });
    }

    /// Reports an error; returns `None`.
    pub(super) fn wrong<T>(
        &mut self,
        part: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        self.report(Severity::Error, part, message, hint);
        None
    }

    fn warn(&mut self, part: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.report(Severity::Warning, part, message, hint);
    }

    /// Returns the signal of a name.
    pub(super) fn find(
        &mut self,
        name: ScannedPart<'t>,
        part: Range<usize>,
    ) -> Option<ComparedSignal<'t>> {
        let (index, definition) = match find_signal(self.message, name.text) {
            Ok(found) => found,
            Err((message, hint)) => return self.wrong(name.part, message, hint),
        };
        let end = definition.field.end();
        if end > self.longest {
            let message = format!(
                "signal `{}` ends in byte {end}, but frames of this route carry at most {} bytes",
                name.text, self.longest
            );
            return self.wrong(
                name.part,
                message,
                "`kind = \"fd\"` takes frames of up to 64 bytes",
            );
        }
        Some(ComparedSignal {
            name: name.text,
            part,
            index,
            definition,
        })
    }

    /// Reports a unit that is not the signal's.
    pub(super) fn check_unit(
        &mut self,
        signal: &ComparedSignal<'_>,
        unit: Option<&ScannedPart<'_>>,
    ) -> Option<()> {
        let Some(unit) = unit else {
            return Some(());
        };
        let own = signal.definition.unit.trim();
        if unit.text == own {
            return Some(());
        }
        let last = unit.text.rsplit(' ').next().unwrap_or_default();
        if find_signal(self.message, last).is_ok() {
            let part = unit.part.end - last.len()..unit.part.end;
            let message = format!("an operator is missing before `{last}`");
            return self.wrong(part, message, "join comparisons by `&&` (and) or `||` (or)");
        }
        let (message, hint) = match own {
            "" => (
                format!("signal `{}` has no unit", signal.name),
                String::from("write the number alone"),
            ),
            own => (
                format!(
                    "signal `{}` is in `{own}`, not in `{}`",
                    signal.name, unit.text
                ),
                format!("convert the number to `{own}`, or leave the unit out"),
            ),
        };
        self.wrong(unit.part.clone(), message, hint)
    }

    /// Returns the decimal number of a text.
    pub(super) fn number(&mut self, number: &ScannedPart<'_>) -> Option<Decimal> {
        match number.text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                let message = format!("`{}`: {error}", number.text);
                self.wrong(number.part.clone(), message, "")
            }
        }
    }

    /// Returns a comparison as a tree, with the tests of the signal's switches.
    pub(super) fn compare(
        &mut self,
        signal: &ComparedSignal<'t>,
        operator: CompareOperator,
        value: &ComparedValue<'t>,
    ) -> ConditionTree {
        let tree = match value {
            ComparedValue::Name(name) => self.compare_name(signal, operator, name),
            ComparedValue::Number(number, part) => {
                self.compare_number(signal, operator, *number, part.clone())
            }
        };
        present(self.message, signal.index, tree)
    }

    fn compare_name(
        &mut self,
        signal: &ComparedSignal<'t>,
        operator: CompareOperator,
        name: &ScannedPart<'t>,
    ) -> ConditionTree {
        let definition = signal.definition;
        let is_negated = match operator {
            CompareOperator::Equal => false,
            CompareOperator::NotEqual => true,
            _ => {
                let message = "names of values have no order";
                let hint = "compare by == or !=, or with a number";
                let _: Option<()> = self.wrong(name.part.clone(), message, hint);
                return ConditionTree::All(Vec::new());
            }
        };
        let tests = definition.tests_of_name(name.text, is_negated);
        if tests.is_empty() {
            let mut named = definition.value_names.iter();
            let (message, hint) = match named.find(|named| named.name == name.text) {
                Some(named) => (
                    format!(
                        "signal `{}` never has the value {} of '{}'",
                        signal.name, named.raw, name.text
                    ),
                    String::from("its bits cannot represent this value"),
                ),
                None => (
                    format!("signal `{}` has no value '{}'", signal.name, name.text),
                    value_name_hint(name.text, definition),
                ),
            };
            let _: Option<()> = self.wrong(name.part.clone(), message, hint);
        }
        let tests = tests.into_iter().map(ConditionTree::Test).collect();
        match is_negated {
            true => ConditionTree::All(tests),
            false => ConditionTree::Any(tests),
        }
    }

    fn compare_number(
        &mut self,
        signal: &ComparedSignal<'t>,
        operator: CompareOperator,
        number: Decimal,
        part: Range<usize>,
    ) -> ConditionTree {
        let place = signal.part.start..part.end;
        match self.result(signal, operator, number, part) {
            None => ConditionTree::All(Vec::new()),
            Some(CompareResult::Test(test)) => ConditionTree::Test(test),
            Some(CompareResult::Always(test, reason)) => {
                let message = format!("`{} {operator} {number}` is always true", signal.name);
                self.warn(place, message, reason_text(signal, reason));
                ConditionTree::Test(test)
            }
            Some(CompareResult::Never(reason)) => {
                let message = format!("`{} {operator} {number}` is never true", signal.name);
                let _: Option<()> = self.wrong(place, message, reason_text(signal, reason));
                ConditionTree::All(Vec::new())
            }
        }
    }

    fn result(
        &mut self,
        signal: &ComparedSignal<'t>,
        operator: CompareOperator,
        number: Decimal,
        part: Range<usize>,
    ) -> Option<CompareResult> {
        match signal.definition.compare(operator, number) {
            Ok(result) => Some(result),
            Err(error) => {
                let message = format!("`{}` cannot be compared with {number}", signal.name);
                self.wrong(part, message, format!("{error}"))
            }
        }
    }

    /// Returns the comparison with a range of which both ends are included, as a tree.
    pub(super) fn compare_range(
        &mut self,
        signal: &ComparedSignal<'t>,
        (first, last): (Decimal, Decimal),
        is_negated: bool,
        part: Range<usize>,
    ) -> ConditionTree {
        let ends = [
            (CompareOperator::GreaterOrEqual, first),
            (CompareOperator::LessOrEqual, last),
        ];
        let mut trees = Vec::new();
        let mut always = 0;
        for (operator, number) in ends {
            let operator = match is_negated {
                true => operator.negated(),
                false => operator,
            };
            match self.result(signal, operator, number, part.clone()) {
                None => return ConditionTree::All(Vec::new()),
                Some(CompareResult::Test(test)) => trees.push(ConditionTree::Test(test)),
                // One end can be beyond all values; then the other one decides.
                Some(CompareResult::Always(test, reason)) if !is_negated => {
                    always += 1;
                    if always == 2 {
                        let message = format!("`{}` is always in this range", signal.name);
                        self.warn(part.clone(), message, reason_text(signal, reason));
                    }
                    trees.push(ConditionTree::Test(test));
                }
                Some(CompareResult::Never(_)) if is_negated => {}
                Some(CompareResult::Always(_, reason) | CompareResult::Never(reason)) => {
                    let message = format!("`{}` is never in this range", signal.name);
                    let _: Option<()> = self.wrong(part, message, reason_text(signal, reason));
                    return ConditionTree::All(Vec::new());
                }
            }
        }
        if is_negated && trees.is_empty() {
            let message = format!("`{}` is always in this range", signal.name);
            let _: Option<()> = self.wrong(part, message, "the negated condition is never true");
        }
        let tree = match is_negated {
            false => ConditionTree::All(trees),
            true => ConditionTree::Any(trees),
        };
        present(self.message, signal.index, tree)
    }
}

fn reason_text(signal: &ComparedSignal<'_>, reason: CompareReason) -> String {
    let definition = signal.definition;
    match reason {
        CompareReason::Between(below, above) => format!(
            "the nearest values of the signal are {} and {}",
            with_unit(&below, definition),
            with_unit(&above, definition)
        ),
        CompareReason::Outside(lowest, highest) => format!(
            "the values of the signal reach from {} to {}",
            with_unit(&lowest, definition),
            with_unit(&highest, definition)
        ),
        CompareReason::Constant(value) => {
            format!("the signal has the factor 0: its value is {value}")
        }
    }
}

/// Returns the condition that a signal is present and passes `tree`.
fn present(message: &MessageDefinition, index: usize, tree: ConditionTree) -> ConditionTree {
    let mut parts = vec![tree];
    for switch in message.switches(index) {
        let Some(definition) = message.signals.get(switch.index) else {
            break;
        };
        let test = |range: (u64, u64)| {
            let range = (range.0, range.1.min(definition.field.mask()));
            // A floating-point number switches nothing (`MessageDefinition::read`).
            if definition.meaning() == BitMeaning::Float {
                return None;
            }
            FieldTest::new(definition.field, BitMeaning::Unsigned, range, false)
        };
        let tests = switch.values.iter();
        let tests = tests.filter_map(|range| test((*range.start(), *range.end())));
        parts.push(ConditionTree::Any(tests.map(ConditionTree::Test).collect()));
    }
    // The switches are tested first: most frames of a message with a switch differ in it.
    parts.reverse();
    ConditionTree::All(parts)
}
