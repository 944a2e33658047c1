//! Conditions on the signals of a frame.

use alloc::{boxed::Box, string::String, vec::Vec};
use signals::FieldTest;

/// A condition on the signals of a frame: at least one of the alternatives must hold, and an
/// alternative holds if all of its tests pass. A signal that the payload does not contain passes no
/// test.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SignalCondition {
    /// The condition as a gateway file has it (`when`), for messages and for writing it back.
    pub text: String,
    /// The alternatives, at most [`MAX_ALTERNATIVES`], each with at most [`MAX_TESTS`] tests.
    pub alternatives: Vec<Vec<FieldTest>>,
}

/// The most alternatives of a condition.
pub const MAX_ALTERNATIVES: usize = 16;

/// The most tests of an alternative.
pub const MAX_TESTS: usize = 16;

impl SignalCondition {
    /// Returns the least length of a payload for which the condition can hold, in bytes.
    #[must_use]
    pub fn least_length(&self) -> usize {
        let of_tests = |tests: &Vec<FieldTest>| tests.iter().map(|test| test.field().end()).max();
        let all = self.alternatives.iter().filter_map(of_tests);
        all.min().unwrap_or(0)
    }

    /// Returns whether no payload meets both conditions.
    #[must_use]
    pub fn excludes(&self, other: &Self) -> bool {
        let apart = |tests: &Vec<FieldTest>, others: &Vec<FieldTest>| {
            let mut tests = tests.iter();
            tests.any(|test| others.iter().any(|other| test.excludes(other)))
        };
        let mut alternatives = self.alternatives.iter();
        alternatives.all(|tests| other.alternatives.iter().all(|others| apart(tests, others)))
    }

    /// Returns whether each payload that meets this condition meets the other one, too; `false`
    /// where that is not obvious.
    #[must_use]
    pub fn implies(&self, other: &Self) -> bool {
        let within = |tests: &Vec<FieldTest>, others: &Vec<FieldTest>| {
            let mut others = others.iter();
            others.all(|other| tests.iter().any(|test| test.implies(other)))
        };
        let mut alternatives = self.alternatives.iter();
        alternatives.all(|tests| {
            other
                .alternatives
                .iter()
                .any(|others| within(tests, others))
        })
    }
}

/// A compiled [`SignalCondition`]: the tests of all alternatives in one list.
#[derive(Clone, Debug)]
pub(crate) struct CompiledCondition(Box<[ConditionTest]>);

#[derive(Clone, Copy, Debug)]
struct ConditionTest {
    test: FieldTest,
    /// Whether it is the last test of its alternative.
    is_last: bool,
}

impl CompiledCondition {
    /// Compiles a condition. Each alternative must have a test.
    pub(crate) fn new(condition: &SignalCondition) -> Self {
        let alternatives = condition.alternatives.iter();
        let tests = alternatives.flat_map(|tests| {
            let last = tests.len().saturating_sub(1);
            let numbered = tests.iter().enumerate();
            numbered.map(move |(at, test)| ConditionTest {
                test: *test,
                is_last: at == last,
            })
        });
        Self(tests.collect())
    }

    /// Returns whether the condition holds for a payload.
    #[inline]
    pub(crate) fn holds(&self, payload: &[u8]) -> bool {
        let mut holds = true;
        for ConditionTest { test, is_last } in &self.0 {
            holds = holds && test.matches(payload);
            if *is_last {
                if holds {
                    return true;
                }
                holds = true;
            }
        }
        false
    }
}
