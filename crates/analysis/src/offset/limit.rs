//! The selection of the offsets that are used.

use super::{OffsetUse, phases};
use crate::sent::SentMessage;
use alloc::vec::Vec;

/// Maximum number of sets of messages that are tried where not all of a node can be considered in
/// all phases.
const MAX_CHOICES: usize = 16;

/// Removes offsets where a node would have too many phases; returns for each node the number that
/// it had and the number that it has.
pub(crate) fn limit(messages: &mut [SentMessage], nodes: usize) -> Vec<OffsetUse> {
    let mut all = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let of_node = (0..messages.len()).filter(|&i| {
            let sent = &messages[i];
            sent.node == node && sent.offset.is_some()
        });
        let mut of_node: Vec<usize> = of_node.collect();
        let given = of_node.len();
        let load = |i: usize| u128::from(messages[i].occupied);
        let period = |i: usize| messages[i].arrival.period();
        // The greatest load first: a / b before c / d, if a · d is greater than c · b.
        of_node.sort_by(|&a, &b| {
            let left = load(a) * u128::from(period(b));
            (load(b) * u128::from(period(a))).cmp(&left)
        });
        // As many as fit together with the first one of each period; of these choices, the one with
        // the greatest load.
        let mut firsts: Vec<usize> = Vec::new();
        for &i in &of_node {
            if firsts.len() < MAX_CHOICES && firsts.iter().all(|&f| period(f) != period(i)) {
                firsts.push(i);
            }
        }
        let mut best: (f64, Vec<usize>) = (0.0, Vec::new());
        for first in firsts {
            let (mut chosen, mut periods) = (Vec::new(), Vec::new());
            let others = of_node.iter().copied().filter(|&i| i != first);
            for i in [first].into_iter().chain(others) {
                periods.push(period(i));
                match phases::count(&periods) {
                    Some(_) => chosen.push(i),
                    None => {
                        periods.pop();
                    }
                }
            }
            let sum = chosen.iter().map(|&i| load(i) as f64 / period(i) as f64);
            let sum = sum.sum();
            if sum > best.0 {
                best = (sum, chosen);
            }
            if best.1.len() == given {
                break;
            }
        }
        let used = best.1.len();
        for i in of_node {
            if !best.1.contains(&i) {
                messages[i].offset = None;
            }
        }
        all.push(OffsetUse {
            given,
            used,
            own: true,
        });
    }
    all
}
