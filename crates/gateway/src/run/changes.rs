//! The changes of a reload to the routes, from a comparison of the old list with the new one.

use super::lines::{RouteDeeds, RouteLine};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, VecDeque};

/// The changes to the routes. Each route in force is in one of all lists but the last; a route is
/// identified by its name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteChanges {
    /// The number of routes that are as before, in the same order.
    pub unchanged: usize,
    /// Routes that kept their name and do something else now.
    pub changed: Vec<String>,
    /// Routes that do the same as a removed route, under another name: the old name and the new
    /// one. Their counters start anew.
    pub renamed: Vec<(String, String)>,
    /// Routes that do the same, and run in another data path now.
    pub moved: Vec<String>,
    /// Routes that are as before, and are tried earlier or later than others that are as before:
    /// the fewest that explain the new order.
    pub reordered: Vec<String>,
    /// Routes that are new.
    pub added: Vec<String>,
    /// Routes that are gone. Renamed ones are not among them.
    pub removed: Vec<String>,
}

impl RouteChanges {
    /// Compares two lists of routes, each in the order in which the routes are tried.
    #[must_use]
    pub fn between(old: &[RouteLine], new: &[RouteLine]) -> Self {
        let mut changes = Self::default();
        let places: HashMap<&str, usize> = (0..old.len())
            .filter_map(|place| Some((old.get(place)?.name.as_str(), place)))
            .collect();
        // Unchanged routes, with their places in the old list.
        let mut same: Vec<(&RouteLine, usize)> = Vec::new();
        let mut unknown: Vec<&RouteLine> = Vec::new();
        for line in new {
            match places.get(line.name.as_str()) {
                None => unknown.push(line),
                Some(&place) => match old.get(place) {
                    Some(old) if !old.is_equivalent(line) => {
                        changes.changed.push(line.name.clone());
                    }
                    Some(old) if old.data_path != line.data_path => {
                        changes.moved.push(line.name.clone());
                    }
                    _ => same.push((line, place)),
                },
            }
        }
        let stays: Vec<usize> = same.iter().map(|(_, place)| *place).collect();
        let in_order = longest_increasing(&stays);
        changes.unchanged = in_order.len();
        let reordered = same.iter().filter(|(_, place)| !in_order.contains(place));
        changes.reordered = reordered.map(|(line, _)| line.name.clone()).collect();

        let names: HashSet<&str> = new.iter().map(|line| line.name.as_str()).collect();
        let gone = old
            .iter()
            .filter(|line| !names.contains(line.name.as_str()));
        let gone: Vec<&RouteLine> = gone.collect();
        // Of equal routes, the first old one is paired with the first new one.
        let mut by_deeds: HashMap<RouteDeeds<'_>, VecDeque<&RouteLine>> = HashMap::new();
        for line in &gone {
            by_deeds.entry(line.deeds()).or_default().push_back(line);
        }
        let mut renamed: HashSet<&str> = HashSet::new();
        for line in unknown {
            let alike = by_deeds.get_mut(&line.deeds());
            let before = alike.and_then(VecDeque::pop_front);
            match before {
                Some(before) => {
                    renamed.insert(&before.name);
                    let names = (before.name.clone(), line.name.clone());
                    changes.renamed.push(names);
                }
                None => changes.added.push(line.name.clone()),
            }
        }
        let removed = gone
            .iter()
            .filter(|line| !renamed.contains(line.name.as_str()));
        changes.removed = removed.map(|line| line.name.clone()).collect();
        changes
    }
}

/// Returns a longest increasing subsequence of the values, which are all different. By patience
/// sorting.
fn longest_increasing(values: &[usize]) -> HashSet<usize> {
    // For each length, the end of the sequence of that length that ends lowest.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: HashMap<usize, usize> = HashMap::new();
    for &value in values {
        let length = ends.partition_point(|&end| end < value);
        if let Some(shorter) = length.checked_sub(1).and_then(|at| ends.get(at)) {
            before.insert(value, *shorter);
        }
        match ends.get_mut(length) {
            Some(end) => *end = value,
            None => ends.push(value),
        }
    }
    let mut sequence = HashSet::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(value) = next {
        sequence.insert(value);
        next = before.get(&value).copied();
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::super::lines::COMPARISONS;
    use super::*;
    use proptest::prelude::*;
    use route::{PortId, Route, Routes};

    /// Returns routes with these names, each between the ports of its number.
    fn lines(routes: &[(u8, u16)], ports: &[&str]) -> Vec<RouteLine> {
        let ports: Vec<String> = ports.iter().map(|&name| name.to_owned()).collect();
        let route = |&(name, to): &(u8, u16)| {
            Route::new(format!("r{name}"), vec![PortId(0)], vec![PortId(to)])
        };
        let routes = Routes {
            routes: routes.iter().map(route).collect(),
            ..Routes::default()
        };
        RouteLine::all(&routes, &ports)
    }

    const PORTS: [&str; 5] = ["in", "a", "b", "c", "d"];

    /// Computes the same in the simplest way: all pairs, and the table of common subsequences.
    fn slowly(old: &[(u8, u16)], new: &[(u8, u16)]) -> [usize; 6] {
        let same: Vec<_> = new.iter().filter(|route| old.contains(route)).collect();
        let before: Vec<_> = old.iter().filter(|route| new.contains(route)).collect();
        let mut common = vec![vec![0; same.len() + 1]; before.len() + 1];
        for i in 0..before.len() {
            for j in 0..same.len() {
                common[i + 1][j + 1] = if before[i] == same[j] {
                    common[i][j] + 1
                } else {
                    common[i][j + 1].max(common[i + 1][j])
                };
            }
        }
        let unchanged = common[before.len()][same.len()];
        let named = |list: &[(u8, u16)], name| list.iter().any(|route| route.0 == name);
        let kept = new.iter().filter(|route| named(old, route.0)).count();
        let mut gone: Vec<_> = old.iter().filter(|route| !named(new, route.0)).collect();
        let (mut renamed, mut added) = (0, 0);
        for route in new.iter().filter(|route| !named(old, route.0)) {
            match gone.iter().position(|old| old.1 == route.1) {
                Some(at) => {
                    gone.remove(at);
                    renamed += 1;
                }
                None => added += 1,
            }
        }
        let reordered = same.len() - unchanged;
        [
            unchanged,
            kept - same.len(),
            renamed,
            reordered,
            added,
            gone.len(),
        ]
    }

    /// Draws routes with different names in any order.
    fn routes() -> impl Strategy<Value = Vec<(u8, u16)>> {
        let all = proptest::collection::btree_map(0u8..12, 1u16..5, 0..10);
        all.prop_flat_map(|all| Just(all.into_iter().collect::<Vec<_>>()).prop_shuffle())
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_slow_way(old in routes(), new in routes()) {
            let changes = RouteChanges::between(&lines(&old, &PORTS), &lines(&new, &PORTS));
            let counts = [
                changes.unchanged, changes.changed.len(), changes.renamed.len(),
                changes.reordered.len(), changes.added.len(), changes.removed.len(),
            ];
            prop_assert_eq!(counts, slowly(&old, &new));
            prop_assert_eq!(counts[..5].iter().sum::<usize>(), new.len());
        }
    }

    #[test]
    fn each_kind_of_change_is_named() {
        let old = [(1, 1), (2, 2), (3, 3), (7, 3), (4, 4), (5, 1)];
        let new = [(1, 1), (3, 3), (7, 3), (9, 4), (2, 2), (5, 2), (6, 3)];
        let changes = RouteChanges::between(&lines(&old, &PORTS), &lines(&new, &PORTS));
        assert_eq!(changes.unchanged, 3);
        assert_eq!(changes.changed, ["r5"]);
        assert_eq!(changes.renamed, [("r4".to_owned(), "r9".to_owned())]);
        assert_eq!(changes.reordered, ["r2"]);
        assert_eq!(changes.moved, [""; 0]);
        assert_eq!(changes.added, ["r6"]);
        assert_eq!(changes.removed, [""; 0]);
    }

    #[test]
    fn another_data_path_is_a_change_of_its_own() {
        let old = lines(&[(1, 1), (2, 2)], &PORTS);
        let mut new = lines(&[(2, 2), (1, 1)], &PORTS);
        new[0].data_path = "bpf".to_owned();
        let changes = RouteChanges::between(&old, &new);
        assert_eq!(
            (changes.unchanged, changes.moved),
            (1, vec!["r2".to_owned()])
        );
        assert_eq!(changes.reordered, [""; 0]);
    }

    #[test]
    fn ports_are_compared_by_name_and_not_by_number() {
        let old = lines(&[(1, 1)], &["in", "a", "b"]);
        let same = lines(&[(1, 2)], &["in", "new", "a"]);
        let other = lines(&[(1, 1)], &["in", "new", "a"]);
        assert_eq!(RouteChanges::between(&old, &same).unchanged, 1);
        assert_eq!(RouteChanges::between(&old, &other).changed, ["r1"]);
    }

    #[test]
    fn what_words_do_not_show_counts_too() {
        let routes = |frames| Routes {
            routes: vec![Route {
                limit: Some(route::RateLimit {
                    frames,
                    per: 1_000_000_000,
                    burst: 1,
                    per_id: None,
                }),
                ..Route::new("r", vec![PortId(0)], vec![PortId(1)])
            }],
            ..Routes::default()
        };
        let names = PORTS.map(str::to_owned);
        let mut old = RouteLine::all(&routes(1), &names);
        let new = RouteLine::all(&routes(2), &names);
        old[0].words.clone_from(&new[0].words);
        assert_eq!(RouteChanges::between(&old, &new).changed, ["r"]);
    }

    /// Half of the routes have another name, half do something else under another name; all have
    /// the same words.
    #[test]
    fn very_many_renamed_routes_are_looked_up_and_not_compared_in_pairs() {
        const MANY: u64 = 100_000;
        let names = PORTS.map(str::to_owned);
        let lines = |letter: char, periods: std::ops::Range<u64>| {
            let route = |per| Route {
                limit: Some(route::RateLimit {
                    frames: 1,
                    per,
                    burst: 1,
                    per_id: None,
                }),
                ..Route::new(format!("{letter}{per}"), vec![PortId(0)], vec![PortId(1)])
            };
            let routes = Routes {
                routes: periods.map(route).collect(),
                ..Routes::default()
            };
            let mut lines = RouteLine::all(&routes, &names);
            for line in &mut lines {
                line.words = "the same".to_owned();
            }
            lines
        };
        let old = lines('a', 0..MANY);
        let new = lines('b', MANY / 2..MANY + MANY / 2);
        let before = COMPARISONS.get();
        let changes = RouteChanges::between(&old, &new);
        let made = COMPARISONS.get() - before;
        let half = MANY as usize / 2;
        let counts = [&changes.added, &changes.removed].map(Vec::len);
        assert_eq!((changes.renamed.len(), counts), (half, [half, half]));
        assert_eq!(
            changes.renamed[0],
            ("a50000".to_owned(), "b50000".to_owned())
        );
        // Each pair of equal routes is compared once. A hash table also compares a few routes whose
        // hashes share the bits that it keeps.
        assert!((half..4 * half).contains(&made), "{made} comparisons");
    }
}
