//! The grammar of a condition.

use super::compare::{ComparedSignal, ComparedValue, ComparisonMaker};
use super::scan::ConditionScanner;
use super::tree::ConditionTree;
use alloc::{format, string::String, vec, vec::Vec};
use core::ops::Range;
use signals::{CompareOperator, MessageDefinition};

/// The most parentheses and negations inside one another.
const MAX_DEPTH: usize = 32;

/// Reads a condition on the signals of a message.
pub(super) struct ConditionParser<'t> {
    scanner: ConditionScanner<'t>,
    pub(super) maker: ComparisonMaker<'t>,
    depth: usize,
}

impl<'t> ConditionParser<'t> {
    pub(super) const fn new(text: &'t str, message: &'t MessageDefinition, longest: usize) -> Self {
        Self {
            scanner: ConditionScanner::new(text),
            maker: ComparisonMaker::new(message, longest),
            depth: 0,
        }
    }

    /// Reads the whole text. `None` after a mistake.
    pub(super) fn parse(&mut self) -> Option<ConditionTree> {
        let tree = self.any(false)?;
        if self.scanner.rest().is_empty() {
            return Some(tree);
        }
        let hint = match self.scanner.rest() {
            rest if rest.starts_with('&') || rest.starts_with("and") => "write `&&`",
            rest if rest.starts_with('|') || rest.starts_with("or") => "write `||`",
            rest if rest.starts_with(')') => "no parenthesis is open here",
            _ => "`&&` (and) or `||` (or) joins comparisons",
        };
        let part = self.scanner.next_part();
        self.wrong(part, "the condition should end here", hint)
    }

    fn wrong<T>(
        &mut self,
        part: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        self.maker.wrong(part, message, hint)
    }

    /// Reads alternatives. If `is_negated`, the result holds if none of them does, apart from
    /// absent signals.
    fn any(&mut self, is_negated: bool) -> Option<ConditionTree> {
        let mut parts = vec![self.all(is_negated)?];
        while self.scanner.eat("||") {
            parts.push(self.all(is_negated)?);
        }
        Some(match is_negated {
            false => ConditionTree::Any(parts),
            true => ConditionTree::All(parts),
        })
    }

    fn all(&mut self, is_negated: bool) -> Option<ConditionTree> {
        let mut parts = vec![self.one(is_negated)?];
        while self.scanner.eat("&&") {
            parts.push(self.one(is_negated)?);
        }
        Some(match is_negated {
            false => ConditionTree::All(parts),
            true => ConditionTree::Any(parts),
        })
    }

    fn one(&mut self, is_negated: bool) -> Option<ConditionTree> {
        let start = self.scanner.position();
        let is_not = self.scanner.eat("!");
        if is_not && !self.scanner.rest().starts_with(['!', '(']) {
            let hint = "write !(…): `!` refers to a whole comparison";
            return self.wrong(start..start + 1, "`!` without parentheses", hint);
        }
        if !is_not && !self.scanner.eat("(") {
            return self.comparison(is_negated);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} parentheses inside one another");
            return self.wrong(start..start + 1, message, "write it with fewer of them");
        }
        let tree = if is_not {
            self.one(!is_negated)?
        } else {
            let tree = self.any(is_negated)?;
            if !self.scanner.eat(")") {
                let part = self.scanner.next_part();
                let message = "`)` is missing";
                let hint = format!("it closes the parenthesis in column {}", start + 1);
                return self.wrong(part, message, hint);
            }
            tree
        };
        self.depth -= 1;
        Some(tree)
    }

    /// Reads a comparison. A mistake in its meaning does not end the search for others.
    fn comparison(&mut self, is_negated: bool) -> Option<ConditionTree> {
        let signal = self.signal()?;
        if self.scanner.eat_word("in") {
            return self.membership(&signal, is_negated);
        }
        let operators = CompareOperator::ALL.into_iter();
        let mut operators = operators.filter(|operator| self.scanner.eat(operator.text()));
        let Some(operator) = operators.next() else {
            let rest = self.scanner.rest();
            let hint = match rest {
                _ if rest.starts_with("=") => "write `==`",
                _ => "compare it by ==, !=, <, <=, >, >= or in",
            };
            let part = match self.scanner.next_part() {
                part if part.is_empty() => signal.part,
                part => part,
            };
            let message = format!("`{}` is not compared", signal.name);
            return self.wrong(part, message, hint);
        };
        let value = self.value(&signal)?;
        let operator = match is_negated {
            true => operator.negated(),
            false => operator,
        };
        Some(self.maker.compare(&signal, operator, &value))
    }

    /// Reads what follows `in`.
    fn membership(
        &mut self,
        signal: &ComparedSignal<'t>,
        is_negated: bool,
    ) -> Option<ConditionTree> {
        if !self.scanner.eat("(") {
            return self.range(signal, is_negated);
        }
        let mut parts = Vec::new();
        let operator = match is_negated {
            true => CompareOperator::NotEqual,
            false => CompareOperator::Equal,
        };
        loop {
            let value = self.value(signal)?;
            parts.push(self.maker.compare(signal, operator, &value));
            if !self.scanner.eat(",") {
                break;
            }
        }
        if !self.scanner.eat(")") {
            let part = self.scanner.next_part();
            return self.wrong(part, "`)` is missing", "it closes the list of values");
        }
        Some(match is_negated {
            true => ConditionTree::All(parts),
            false => ConditionTree::Any(parts),
        })
    }

    /// Reads `3..5 km/h`.
    fn range(&mut self, signal: &ComparedSignal<'t>, is_negated: bool) -> Option<ConditionTree> {
        let start = self.scanner.position();
        let first = self.scanner.number();
        let has_points = first.is_some() && self.scanner.eat("..");
        let last = self.scanner.number().filter(|_| has_points);
        let (Some(first), Some(last)) = (first, last) else {
            let part = self.scanner.next_part();
            let message = "`in` needs a range or a list";
            let hint = "write `in 3..5` (both included) or `in (3, 5)`";
            return self.wrong(part, message, hint);
        };
        let unit = self.scanner.unit();
        self.maker.check_unit(signal, unit.as_ref())?;
        let first = self.maker.number(&first)?;
        let last = self.maker.number(&last)?;
        let part = start..self.scanner.position();
        Some(
            self.maker
                .compare_range(signal, (first, last), is_negated, part),
        )
    }

    /// Reads `Signal` or `Message.Signal`.
    fn signal(&mut self) -> Option<ComparedSignal<'t>> {
        let Some(mut name) = self.scanner.name() else {
            let part = self.scanner.next_part();
            let hint = "write a comparison: `Speed > 5`, `Gear == 'Drive'`";
            return self.wrong(part, "a signal is expected here", hint);
        };
        let mut part = name.part.clone();
        if self.scanner.eat(".") {
            let message = name;
            let Some(signal) = self.scanner.name() else {
                let part = self.scanner.next_part();
                let hint = "write MESSAGE.SIGNAL, or the signal alone";
                return self.wrong(part, "a signal is expected after the point", hint);
            };
            if message.text != self.maker.message.name {
                let text = format!("`{}` is not the message of this route", message.text);
                let hint = format!(
                    "a condition compares signals of the routed message, `{}`",
                    self.maker.message.name
                );
                return self.wrong(message.part, text, hint);
            }
            part.end = signal.part.end;
            name = signal;
        }
        self.maker.find(name, part)
    }

    /// Reads a number with its unit, or a text in quotes.
    fn value(&mut self, signal: &ComparedSignal<'t>) -> Option<ComparedValue<'t>> {
        if let Some(text) = self.scanner.quoted() {
            return match text {
                Ok(text) => Some(ComparedValue::Name(text)),
                Err(part) => self.wrong(part, "the closing quote is missing", ""),
            };
        }
        let Some(number) = self.scanner.number() else {
            let part = self.scanner.next_part();
            let hint = match self.scanner.name() {
                Some(name) => format!("the name of a value is in quotes: '{}'", name.text),
                None => "write 5, -0.25 or 1e3, or the name of a value in quotes".into(),
            };
            return self.wrong(part, "a number is expected here", hint);
        };
        let unit = self.scanner.unit();
        self.maker.check_unit(signal, unit.as_ref())?;
        let value = self.maker.number(&number)?;
        Some(ComparedValue::Number(value, number.part))
    }
}
