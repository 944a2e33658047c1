//! The gateway's own time: given by the user, or the longest that was measured.

use super::words::micros;
use crate::cli::bound::Bound;
use console::Failure;
use frame::Nanos;
use probe::{RunResults, Status};
use std::path::Path;

/// The longest time that the gateway itself takes, and its source.
pub(super) struct GatewayDelay {
    /// The time in ns; `None` if it was not given: then it is taken as 0.
    pub(super) ns: Option<Nanos>,
    /// The source of a measured time, as a sentence.
    pub(super) from: Option<String>,
}

impl GatewayDelay {
    /// Reads the options.
    pub(super) fn from_options(args: &Bound) -> Result<Self, Failure> {
        let Some(path) = &args.gateway_delay_from else {
            return Ok(Self {
                ns: args.gateway_delay,
                from: None,
            });
        };
        if args.check.as_deref().is_some_and(|check| same(check, path)) {
            return Err(Failure::input(format!(
                "--check and --gateway-delay-from name the same results, {}: no frame can exceed a bound that \
                 contains its own longest time; measure the gateway's own time in another run",
                path.display()
            )));
        }
        let results = probe::results::read(path).map_err(Failure::input)?;
        longest(&results).map_err(|why| Failure::input(format!("{}: {why}", path.display())))
    }

    /// Returns the time, or 0 if it was not given.
    pub(super) fn or_none(&self) -> Nanos {
        self.ns.unwrap_or(0)
    }
}

/// Returns whether both paths name the same file.
fn same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Returns the longest latency of the results. It includes the time that the frame waited for the
/// bus on which it left, so that it is not less than the gateway's own time.
fn longest(results: &RunResults) -> Result<GatewayDelay, String> {
    let description = &results.description;
    if description.stamp == probe::ROUND_TRIP_STAMP {
        return Err("these are round trips, not frames that a gateway passed on".to_owned());
    }
    let all = results.latencies(None);
    let (count, most) = all.fold((0_u64, i64::MIN), |(n, most), ns| (n + 1, most.max(ns)));
    if count == 0 {
        return Err(
            "it contains no frame that came in and went out, so it has no time in the \
                    gateway"
                .to_owned(),
        );
    }
    let lost = results.records.iter().filter(|r| r.status == Status::Lost);
    let lost = match lost.count() {
        0 => String::new(),
        n => format!("; {n} more were lost"),
    };
    // Negative only because of the time stamps' own error.
    let ns = u64::try_from(most).unwrap_or(0);
    Ok(GatewayDelay {
        ns: Some(ns),
        from: Some(format!(
            "the longest of {count} frames of \"{}\", {}{lost}. A measured time is not a bound.",
            description.title, description.time_base
        )),
    })
}

impl GatewayDelay {
    /// Describes the time for people.
    pub(super) fn sentence(&self) -> String {
        match (self.ns, &self.from) {
            (Some(ns), None) => format!("The gateway itself takes at most {} µs.\n", micros(ns)),
            (Some(ns), Some(from)) => {
                format!("The gateway itself takes {} µs: {from}\n", micros(ns))
            }
            (None, _) => {
                "The gateway itself is assumed to need no time; --gateway-delay TIME sets it.\n"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::CanId;
    use probe::{FrameRecord, IncomingFrame, SentCopy};

    fn record(latency: u64) -> FrameRecord {
        let id = CanId::from_raw(0x123);
        FrameRecord {
            tag: 0,
            route: None,
            incoming: Some(IncomingFrame {
                port: 0,
                id,
                kind: None,
                len: 0,
                end: 1000,
            }),
            outgoing: Some(SentCopy {
                port: 1,
                id,
                kind: None,
                len: 0,
                end: 1000 + latency + 250_000,
                duration: 250_000,
            }),
            status: Status::Delivered,
            processing: None,
            accesses: None,
        }
    }

    #[test]
    fn the_longest_counts() {
        let mut results = RunResults::default();
        assert!(
            longest(&results)
                .err()
                .unwrap()
                .contains("no time in the gateway")
        );
        results.records = [20_000, 69_100, 18_000].map(record).to_vec();
        let delay = longest(&results).ok().unwrap();
        assert_eq!(delay.ns, Some(69_100));
        assert!(
            delay
                .sentence()
                .contains("takes 69.1 µs: the longest of 3 frames")
        );
        results.records[1].outgoing = None;
        results.records[1].status = Status::Lost;
        let less = longest(&results).ok().unwrap();
        assert_eq!(less.ns, Some(20_000));
        assert!(less.sentence().contains("1 more were lost"));
        results.description.stamp = probe::ROUND_TRIP_STAMP.to_owned();
        assert!(longest(&results).err().unwrap().contains("round trips"));
    }
}
