//! Figures among the entries of a description: what a measurement says beside its latencies.

use probe::Results;
use std::str::FromStr;

/// How the entries begin that say how often KVM did something for a frame, by kind.
const PER_FRAME: &str = "kvm a frame, ";

/// The figure of this entry. `None`: there is no such entry, or it is no such figure.
pub(crate) fn figure<T: FromStr>(results: &Results, name: &str) -> Option<T> {
    let more = &results.description.more;
    let (_, value) = more.iter().find(|(known, _)| known == name)?;
    value.parse().ok()
}

/// The figures whose entries begin with this, each with the rest of its entry's name.
pub(crate) fn figures<'r>(
    results: &'r Results,
    begin: &'r str,
) -> impl Iterator<Item = (&'r str, f64)> {
    results
        .description
        .more
        .iter()
        .filter_map(move |(name, value)| Some((name.strip_prefix(begin)?, value.parse().ok()?)))
}

/// What KVM counted for a frame, as entries.
pub(crate) fn of_exits(exits: &[(String, f64)]) -> impl Iterator<Item = (String, String)> {
    let one = |(kind, each): &(String, f64)| (format!("{PER_FRAME}{kind}"), format!("{each:.2}"));
    exits.iter().map(one)
}

/// The same, read again.
pub(crate) fn exits(results: &Results) -> Vec<(String, f64)> {
    let all = figures(results, PER_FRAME);
    all.map(|(kind, each)| (kind.to_owned(), each)).collect()
}
