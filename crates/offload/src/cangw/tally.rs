//! From the kernel's 32-bit counters of rules to 64-bit counters of routes.

use super::wire::{Counters, Job, Listed, MOD_LEN};
use crate::RouteCounts;
use route::Stop;
use std::collections::BTreeMap;

/// A rule of ours that is in the kernel.
#[derive(Debug)]
pub(super) struct Live {
    /// Its route's name.
    route: String,
    /// It changes lengths.
    lengthens: bool,
    /// Its counters when they were added up last.
    last: Counters,
}

/// Handed on, not taken, deleted for hops, deleted for length.
pub(super) type Total = [u64; 4];

impl Live {
    /// A rule of a route; its counters go on from where they are known, else from 0: what an
    /// earlier process left has not been added up.
    pub(super) fn new(route: &str, job: &Job, known: Option<&Self>) -> Self {
        Self {
            route: route.to_owned(),
            lengthens: job.modify.iter().flatten().any(|m| m.kinds & MOD_LEN != 0),
            last: known.map_or(Counters::default(), |known| known.last),
        }
    }
}

/// Adds what rules counted since the last time to their routes' totals.
pub(super) fn add_up(
    list: &[Listed],
    live: &mut BTreeMap<u32, Live>,
    totals: &mut BTreeMap<String, Total>,
) {
    for Listed { job, counters } in list {
        let Some(live) = live.get_mut(&job.mark()) else {
            continue;
        };
        let total = totals.entry(live.route.clone()).or_default();
        let deleted = if live.lengthens { 3 } else { 2 };
        for (place, now, last) in [
            (0, counters.handled, live.last.handled),
            (1, counters.dropped, live.last.dropped),
            (deleted, counters.deleted, live.last.deleted),
        ] {
            if let Some(total) = total.get_mut(place) {
                *total += u64::from(counted(now, last));
            }
        }
        live.last = *counters;
    }
}

/// What came to a counter that wraps. It cannot have counted 2^31 frames since the last look; where
/// it seems so, it began anew, because somebody took the rule away and it was put back.
fn counted(now: u32, last: u32) -> u32 {
    let more = now.wrapping_sub(last);
    if more < 1 << 31 { more } else { now }
}

/// A route's total in the terms of all data paths.
pub(super) fn counts([sent, failed, hops, long]: Total) -> RouteCounts {
    RouteCounts {
        taken: None,
        sent,
        stopped: Stop::ALL.map(|stop| match stop {
            Stop::HopLimit => hops,
            Stop::TooLong => long,
            _ => 0,
        }),
        failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_on_when_they_wrap() {
        let job = Job::default().marked(7, true);
        let mut live = BTreeMap::from([(7, Live::new("r", &job, None))]);
        let mut totals = BTreeMap::new();
        let mut count = |handled, deleted| {
            let counters = Counters {
                handled,
                dropped: 1,
                deleted,
            };
            let listed = Listed {
                job: job.clone(),
                counters,
            };
            add_up(&[listed], &mut live, &mut totals);
            counts(totals["r"])
        };
        count(1 << 30, 0);
        count(1 << 31, 0);
        count(3 << 30, 0);
        assert_eq!(count(u32::MAX, 0).sent, u64::from(u32::MAX));
        let after = count(4, 3);
        assert_eq!((after.sent, after.failed), (u64::from(u32::MAX) + 5, 1));
        assert_eq!(
            after.stopped,
            [0, 0, 3, 0, 0],
            "hops, as it changes no length"
        );
        assert_eq!(count(4, 3), after);
        let anew = count(2, 0);
        assert_eq!(anew.sent, u64::from(u32::MAX) + 7, "it began anew");
        assert_eq!(anew.stopped, after.stopped);
    }
}
