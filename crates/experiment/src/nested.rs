//! What results of round trips in inner machines say.

use probe::Results;

/// How the entries of a description begin that say how often KVM did something in a round trip, by kind.
pub(crate) const PER_TRIP: &str = "kvm a round trip, ";
/// KVM's own name for all exits together.
const ALL: &str = "exits";

/// What KVM counted in a round trip, which is a frame sent and a frame received, by its own names
/// (`/sys/kernel/debug/kvm`). Empty for results without inner machines.
pub fn exits(results: &Results) -> impl Iterator<Item = (&str, f64)> {
    results.description.more.iter().filter_map(|(name, value)| {
        let kind = name.strip_prefix(PER_TRIP)?;
        Some((kind, value.parse().ok()?))
    })
}

/// How often KVM left the machine for a frame: half of a round trip's. `None` for results without inner machines.
#[must_use]
pub fn exits_a_frame(results: &Results) -> Option<f64> {
    let (_, count) = exits(results).find(|(kind, _)| *kind == ALL)?;
    Some(count / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_half_of_a_round_trips_exits() {
        let mut results = Results::default();
        assert_eq!(exits_a_frame(&results), None);
        for (name, value) in [("kernel", "6.1"), ("kvm a round trip, exits", "12.50")] {
            let entry = (name.to_owned(), value.to_owned());
            results.description.more.push(entry);
        }
        assert_eq!(exits(&results).collect::<Vec<_>>(), [("exits", 12.5)]);
        assert_eq!(exits_a_frame(&results), Some(6.25));
    }
}
