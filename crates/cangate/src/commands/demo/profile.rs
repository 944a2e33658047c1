//! The latency profile as bars on a terminal.

use probe::LatencyProfile;
use std::fmt::Write;

/// The length of the longest bar, characters.
const WIDTH: f64 = 48.0;

/// The maximum number of rows.
const ROWS: i64 = 12;

/// Draws, for increasing latencies, the number of frames with that latency or more: bars on a
/// logarithmic scale, as in the papers' latency profile. Returns an empty text if there are no
/// frames.
pub(crate) fn bars(profile: &LatencyProfile) -> String {
    let Some(summary) = profile.summary() else {
        return String::new();
    };
    let step = step(summary.max.max(0));
    let scale = WIDTH / (summary.count as f64 + 1.0).log10();
    let mut text =
        String::from("Latency profile: frames with this latency or more, bars logarithmic\n");
    let mut at = 0;
    loop {
        let n = profile.at_least(at);
        let length = ((n as f64 + 1.0).log10() * scale).round() as usize;
        let micros = at / 1000;
        let bar = if n > 0 {
            "█".repeat(length.max(1))
        } else {
            String::new()
        };
        let _ = writeln!(text, "{micros:>9} µs  {bar} {n}");
        if n == 0 || at > summary.max {
            return text;
        }
        at += step;
    }
}

/// Returns the step between two rows, ns: 1, 2 or 5 times a power of ten of µs, so that [`ROWS`]
/// suffice.
fn step(max: i64) -> i64 {
    let mut decade = 1_000;
    loop {
        for factor in [1, 2, 5] {
            if decade * factor * ROWS > max {
                return decade * factor;
            }
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_rows_that_end_at_the_worst_case() {
        let profile: LatencyProfile = [0, 0, 0, 30_000, 100_000, 221_481].into_iter().collect();
        let text = bars(&profile);
        let counts: Vec<&str> = text
            .lines()
            .skip(1)
            .filter_map(|l| l.rsplit(' ').next())
            .collect();
        // Steps of 20 µs: 0, 20, 40 … 220, 240.
        assert_eq!(counts.len(), 13);
        assert_eq!(counts.first(), Some(&"6"));
        assert_eq!(counts.get(1), Some(&"3"), "20 µs or more");
        assert_eq!(counts.get(2), Some(&"2"), "40 µs or more");
        assert_eq!(counts.last(), Some(&"0"));
    }

    #[test]
    fn extremes_end_too() {
        assert_eq!(bars(&LatencyProfile::default()), "");
        let zero: LatencyProfile = [0].into_iter().collect();
        assert_eq!(bars(&zero).lines().count(), 3);
        let huge: LatencyProfile = [i64::MAX / 100].into_iter().collect();
        assert!(bars(&huge).lines().count() < 16);
    }
}
