//! Figures among the entries of a description: the values that a measurement reports in addition to
//! its latencies.

use probe::RunResults;
use std::str::FromStr;

/// The prefix of the entries for KVM's counts per frame, by kind.
const PER_FRAME: &str = "kvm a frame, ";

/// Returns the figure of this entry. `None`: there is no such entry, or it is not a number of this
/// type.
pub(crate) fn figure<T: FromStr>(results: &RunResults, name: &str) -> Option<T> {
    let more = &results.description.more;
    let (_, value) = more.iter().find(|(known, _)| known == name)?;
    value.parse().ok()
}

/// Returns the figures whose entries begin with this, each with the rest of its entry's name.
pub(crate) fn figures<'r>(
    results: &'r RunResults,
    begin: &'r str,
) -> impl Iterator<Item = (&'r str, f64)> {
    results
        .description
        .more
        .iter()
        .filter_map(move |(name, value)| Some((name.strip_prefix(begin)?, value.parse().ok()?)))
}

/// Returns KVM's counts per frame, as entries.
pub(crate) fn of_exits(exits: &[(String, f64)]) -> impl Iterator<Item = (String, String)> {
    let one = |(kind, each): &(String, f64)| (format!("{PER_FRAME}{kind}"), format!("{each:.2}"));
    exits.iter().map(one)
}

/// Reads these entries again.
pub(crate) fn exits(results: &RunResults) -> Vec<(String, f64)> {
    let all = figures(results, PER_FRAME);
    all.map(|(kind, each)| (kind.to_owned(), each)).collect()
}
