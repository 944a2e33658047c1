//! Definitions of a database that contradict one another, or that no frame can follow.

use crate::BitMeaning;
use crate::decimal::Decimal;
use crate::message::{DatabaseWarning, MessageDatabase, MessageDefinition};
use crate::shown::shown;
use crate::signal::{PhysicalValue, SignalDefinition};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The maximum number of signals in a message that are compared with each other.
const MOST_COMPARED: usize = 1024;

impl MessageDatabase {
    /// Returns the statements that the reader took in a doubtful way, and the messages that it left
    /// out, in the order of the file.
    #[must_use]
    pub fn doubtful(&self) -> Vec<DatabaseWarning> {
        let left_out = self.impossible.iter().map(|message| DatabaseWarning {
            line: message.error.line,
            problem: format!(
                "{}: {}; it is left out",
                shown(&message.name),
                message.error.problem
            ),
        });
        let mut all: Vec<DatabaseWarning> = left_out.chain(self.warnings.iter().cloned()).collect();
        all.sort_by_key(|warning| warning.line);
        all
    }

    /// Returns the contradictions in the definitions of signals, in the order of the file: ranges
    /// that the bits of a signal cannot have, signals that share bits.
    /// [`doubtful`](Self::doubtful) has the messages of one ID or name, and the signals of one
    /// name.
    #[must_use]
    pub fn check(&self) -> Vec<DatabaseWarning> {
        let mut all = Vec::new();
        for definition in self.messages.chunk_by(is_next_of_range) {
            let mut add = |line, problem| all.push(DatabaseWarning { line, problem });
            if let Some(message) = definition.first() {
                check_signals(message, &mut add);
            }
        }
        all.sort_by_key(|warning| warning.line);
        all
    }
}

/// Returns whether the second message has the same definition as the first one, and the next ID of
/// its range.
pub(crate) fn is_next_of_range(first: &MessageDefinition, second: &MessageDefinition) -> bool {
    first.line == second.line
        && first.name == second.name
        && first.id.raw().checked_add(1) == Some(second.id.raw())
}

fn check_signals(message: &MessageDefinition, add: &mut impl FnMut(usize, String)) {
    for signal in &message.signals {
        for problem in range_problems(signal) {
            let (name, message) = (shown(&signal.name), shown(&message.name));
            add(
                signal.line,
                format!("signal {name} of {message}: {problem}"),
            );
        }
    }
    if message.signals.len() > MOST_COMPARED {
        let problem = format!(
            "message {}: it has more than {MOST_COMPARED} signals; whether they share bits is not checked",
            shown(&message.name)
        );
        add(message.line, problem);
        return;
    }
    for (at, signal) in message.signals.iter().enumerate() {
        let mut before = message.signals.iter().take(at).enumerate();
        let shared = before.find(|(index, other)| {
            signal.field.shares_bits(&other.field) && message.can_coexist(at, *index)
        });
        if let Some((_, other)) = shared {
            let problem = format!(
                "signal {} of {}: it shares bits with {}",
                shown(&signal.name),
                shown(&message.name),
                shown(&other.name)
            );
            add(signal.line, problem);
        }
    }
}

/// Returns the contradictions between the stated range and the bits of a signal.
fn range_problems(signal: &SignalDefinition) -> Vec<String> {
    let (min, max) = signal.range;
    let mut all = Vec::new();
    if min.is_zero() && max.is_zero() {
        return all;
    }
    if compare(min, max) == Ordering::Greater {
        all.push(format!("its minimum {min} is above its maximum {max}"));
        return all;
    }
    let Some((lowest, highest)) = reach(signal) else {
        return all;
    };
    let bits = signal.layout.bits;
    if compare(max, highest) == Ordering::Greater {
        all.push(format!(
            "its maximum {max} is above {highest}, the highest value that its {bits} bits can have"
        ));
    }
    if compare(min, lowest) == Ordering::Less {
        all.push(format!(
            "its minimum {min} is below {lowest}, the lowest value that its {bits} bits can have"
        ));
    }
    all
}

/// Returns the lowest and the highest physical value of an integer; `None` for a float, and for
/// values with too many digits.
fn reach(signal: &SignalDefinition) -> Option<(Decimal, Decimal)> {
    if signal.meaning() == BitMeaning::Float {
        return None;
    }
    let (low, high) = signal.raw_limits();
    let exact = |raw| match signal.physical_of(raw) {
        PhysicalValue::Exact(value) => Some(value),
        PhysicalValue::Float(_) => None,
    };
    let (low, high) = (exact(low)?, exact(high)?);
    Some(match compare(low, high) {
        Ordering::Greater => (high, low),
        _ => (low, high),
    })
}

/// Compares two numbers; numbers whose difference has too many digits, as floating-point numbers.
fn compare(a: Decimal, b: Decimal) -> Ordering {
    let minus = Decimal::new(-1, 0);
    let difference = b.checked_mul(minus).and_then(|b| a.checked_add(b));
    match difference {
        Some(difference) => difference.to_f64().total_cmp(&0.0),
        None => a.to_f64().total_cmp(&b.to_f64()),
    }
}

#[cfg(feature = "dbc")]
#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let database = crate::dbc::read(text.as_bytes()).unwrap();
        let line = |warning: &DatabaseWarning| format!("{}: {}", warning.line, warning.problem);
        database.check().iter().map(line).collect()
    }

    #[test]
    fn a_clean_database_has_no_contradictions() {
        let text = "BU_: A\nBO_ 256 M: 8 A\n SG_ S M : 0|8@1+ (1,0) [0|255] \"\" A\n \
            SG_ A0 m0 : 8|16@1- (0.5,0) [-16384|16383.5] \"\" A\n \
            SG_ A1 m1 : 8|16@1+ (-0.5,10) [0|0] \"\" A\n \
            SG_ B : 31|8@0+ (1,0) [1|200] \"\" A\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn each_contradiction_has_its_line() {
        let text = "BU_: A\nBO_ 256 M: 8 A\n SG_ S : 0|8@1+ (0.5,-10) [-10|300] \"\" A\n \
            SG_ T : 15|4@0- (1,0) [-9|7] \"\" A\n SG_ U : 12|4@1+ (1,0) [5|4] \"\" A\n \
            SG_ V : 32|4@1+ (-1,0) [-15|1] \"\" A\nBO_ 256 N: 8 A\nBO_ 257 M: 8 A\n";
        assert_eq!(
            found(text),
            [
                "3: signal S of M: its maximum 300 is above 117.5, the highest value that its 8 bits can have",
                "4: signal T of M: its minimum -9 is below -8, the lowest value that its 4 bits can have",
                "5: signal U of M: its minimum 5 is above its maximum 4",
                "5: signal U of M: it shares bits with T",
                "6: signal V of M: its maximum 1 is above 0, the highest value that its 4 bits can have",
            ]
        );
    }

    #[test]
    fn signals_of_other_switch_values_share_bits_rightly() {
        let text = "BU_: A\nBO_ 256 M: 8 A\n SG_ S M : 0|8@1+ (1,0) [0|0] \"\" A\n \
            SG_ A0 m0 : 8|16@1+ (1,0) [0|0] \"\" A\n SG_ A1 m1 : 8|16@1+ (1,0) [0|0] \"\" A\n \
            SG_ A2 m1 : 16|8@1+ (1,0) [0|0] \"\" A\n SG_ C : 15|1@1+ (1,0) [0|0] \"\" A\n";
        assert_eq!(
            found(text),
            [
                "6: signal A2 of M: it shares bits with A1",
                "7: signal C of M: it shares bits with A0",
            ]
        );
    }

    #[test]
    fn what_the_reader_left_out_is_doubtful() {
        let text = "BU_: A\nBO_ 2952790016 Big: 8 A\nBO_ 4660 Long: 8 A\n";
        let database = crate::dbc::read(text.as_bytes()).unwrap();
        let all = database.doubtful();
        assert_eq!(all.iter().map(|one| one.line).collect::<Vec<_>>(), [2, 3]);
        assert!(all[0].problem.starts_with("Big: "), "{all:?}");
        assert!(all[0].problem.ends_with("; it is left out"), "{all:?}");
    }
}
