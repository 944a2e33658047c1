//! A condition as a tree, and as alternatives of tests.

use crate::{MAX_ALTERNATIVES, MAX_TESTS};
use alloc::{vec, vec::Vec};
use signals::FieldTest;

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum ConditionTree {
    /// A comparison.
    Test(FieldTest),
    /// All must hold; an empty list always holds.
    All(Vec<ConditionTree>),
    /// At least one must hold; an empty list never holds.
    Any(Vec<ConditionTree>),
}

/// The reason why a condition is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TooLarge {
    /// It has more than [`MAX_ALTERNATIVES`].
    Alternatives,
    /// One of them has more than [`MAX_TESTS`].
    Tests,
}

impl ConditionTree {
    /// Returns alternatives of which one must hold, each with tests that must all pass. Those that
    /// cannot hold are left out.
    pub(super) fn alternatives(&self) -> Result<Vec<Vec<FieldTest>>, TooLarge> {
        match self {
            Self::Test(test) => Ok(vec![vec![*test]]),
            Self::Any(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    for tests in part.alternatives()? {
                        add(&mut all, tests)?;
                    }
                }
                Ok(all)
            }
            Self::All(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    all = product(&all, &part.alternatives()?)?;
                }
                Ok(all)
            }
        }
    }
}

fn add(all: &mut Vec<Vec<FieldTest>>, tests: Vec<FieldTest>) -> Result<(), TooLarge> {
    if all.contains(&tests) {
        return Ok(());
    }
    all.push(tests);
    match all.len() <= MAX_ALTERNATIVES {
        true => Ok(()),
        false => Err(TooLarge::Alternatives),
    }
}

/// Returns the alternatives in which one of each list holds.
fn product(
    left: &[Vec<FieldTest>],
    right: &[Vec<FieldTest>],
) -> Result<Vec<Vec<FieldTest>>, TooLarge> {
    let mut all = Vec::new();
    for first in left {
        for second in right {
            if let Some(both) = joined(first, second) {
                if both.len() > MAX_TESTS {
                    return Err(TooLarge::Tests);
                }
                add(&mut all, both)?;
            }
        }
    }
    Ok(all)
}

/// Returns all tests of two lists, as few as possible; `None` if no value passes two of them.
fn joined(first: &[FieldTest], second: &[FieldTest]) -> Option<Vec<FieldTest>> {
    let mut all = first.to_vec();
    for test in second {
        join(&mut all, *test)?;
    }
    Some(all)
}

fn join(all: &mut Vec<FieldTest>, mut test: FieldTest) -> Option<()> {
    if all.iter().any(|other| other.excludes(&test)) {
        return None;
    }
    // Two ranges of one signal are one range, which can exclude a third test.
    while let Some(at) = all.iter().position(|other| other.and(&test).is_some()) {
        let other = all.swap_remove(at);
        test = other.and(&test).unwrap_or(test);
        if all.iter().any(|other| other.excludes(&test)) {
            return None;
        }
    }
    if all.iter().any(|other| other.implies(&test)) {
        return Some(());
    }
    all.retain(|other| !test.implies(other));
    all.push(test);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use signals::{BitMeaning, ByteOrder, FieldLayout, SignalField};

    fn test(byte: u16, first: u64, last: u64, is_negated: bool) -> ConditionTree {
        let layout = FieldLayout {
            start: 8 * byte,
            bits: 3,
            order: ByteOrder::Intel,
        };
        let field = SignalField::new(layout, 8).unwrap();
        let range = (first.min(last), first.max(last));
        ConditionTree::Test(FieldTest::new(field, BitMeaning::Unsigned, range, is_negated).unwrap())
    }

    fn trees() -> impl Strategy<Value = ConditionTree> {
        let one = (0..3_u16, 0..8_u64, 0..8_u64, any::<bool>());
        let one = one.prop_map(|(byte, first, last, negated)| test(byte, first, last, negated));
        one.prop_recursive(4, 20, 3, |inner| {
            let list = proptest::collection::vec(inner, 1..4);
            (list, any::<bool>()).prop_map(|(list, all)| match all {
                true => ConditionTree::All(list),
                false => ConditionTree::Any(list),
            })
        })
    }

    fn holds(tree: &ConditionTree, payload: &[u8]) -> bool {
        match tree {
            ConditionTree::Test(test) => test.matches(payload),
            ConditionTree::All(parts) => parts.iter().all(|part| holds(part, payload)),
            ConditionTree::Any(parts) => parts.iter().any(|part| holds(part, payload)),
        }
    }

    proptest! {
        #[test]
        fn alternatives_hold_where_the_tree_does(tree in trees()) {
            let Ok(alternatives) = tree.alternatives() else {
                return Ok(());
            };
            for values in 0..512_u16 {
                let payload = [values & 7, values >> 3 & 7, values >> 6].map(|value| value as u8);
                let any = alternatives
                    .iter()
                    .any(|tests| tests.iter().all(|test| test.matches(&payload)));
                prop_assert_eq!(any, holds(&tree, &payload), "{:?}", payload);
            }
        }
    }

    #[test]
    fn a_contradiction_is_left_out() {
        let tree = ConditionTree::All(vec![test(0, 0, 3, false), test(0, 4, 7, false)]);
        assert_eq!(tree.alternatives(), Ok(vec![]));
        let tree = ConditionTree::All(vec![test(0, 2, 3, false), test(0, 1, 2, false)]);
        assert_eq!(tree.alternatives().unwrap()[0].len(), 1);
    }

    #[test]
    fn a_product_is_limited() {
        let two = |byte| ConditionTree::Any(vec![test(byte, 0, 1, false), test(byte, 3, 4, false)]);
        let tree = |n| ConditionTree::All((0..n).map(two).collect());
        assert_eq!(tree(4).alternatives().unwrap().len(), 16);
        assert_eq!(tree(5).alternatives(), Err(TooLarge::Alternatives));
        let tree = ConditionTree::All((0..17).map(|byte| test(byte, 0, 1, false)).collect());
        assert_eq!(tree.alternatives(), Err(TooLarge::Tests));
    }
}
