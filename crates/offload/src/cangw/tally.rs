//! Conversion of the kernel's 32-bit counters of rules into 64-bit counters of routes.

use super::wire::{FD, GatewayJob, JobCounters, ListedJob};
use crate::RouteCounts;
use route::{Modification, StopReason};
use std::collections::{BTreeMap, BTreeSet};

/// A rule of this instance that is in the kernel.
#[derive(Debug)]
pub(super) struct LiveRule {
    /// Its route's name.
    route: String,
    /// The rule changes lengths.
    lengthens: bool,
    /// Its counters when they were last added up.
    last: JobCounters,
}

/// Frames that were handed on, not accepted, deleted for hops, and deleted for length.
pub(super) type Total = [u64; 4];

impl LiveRule {
    /// Returns a rule of a route. Its counters continue from the known state, else from 0: those
    /// that an earlier process left have not been added up.
    pub(super) fn new(route: &str, job: &GatewayJob, known: Option<&Self>) -> Self {
        Self {
            route: route.to_owned(),
            lengthens: job
                .modifications()
                .any(|m| m.parts & Modification::LEN != 0),
            last: known.map_or(JobCounters::default(), |known| known.last),
        }
    }
}

/// Adds the counts of rules since the last time to the totals of their routes.
///
/// A route has a rule for each destination, and a deleted frame is deleted by each of them, so only
/// the first rule counts for deletions.
pub(super) fn add_up(
    list: &[ListedJob],
    live: &mut BTreeMap<u32, LiveRule>,
    totals: &mut BTreeMap<String, Total>,
) {
    let mut heard = BTreeSet::new();
    for ListedJob { job, counters } in list {
        let Some(live) = live.get_mut(&job.mark()) else {
            continue;
        };
        let total = totals.entry(live.route.clone()).or_default();
        let first = heard.insert((live.route.clone(), job.source, job.flags & FD));
        let deleted = if live.lengthens { 3 } else { 2 };
        for (place, now, last) in [
            (0, counters.handled, live.last.handled),
            (1, counters.dropped, live.last.dropped),
            (deleted, counters.deleted, live.last.deleted),
        ] {
            let speaks = place < 2 || first;
            if let Some(total) = total.get_mut(place).filter(|_| speaks) {
                *total += u64::from(counted(now, last));
            }
        }
        live.last = *counters;
    }
}

/// Returns the increase of a counter that wraps. It cannot have counted 2^31 frames since the last
/// reading. If it seems so, the counter started again, because another program removed the rule and
/// it was restored.
fn counted(now: u32, last: u32) -> u32 {
    let more = now.wrapping_sub(last);
    if more < 1 << 31 { more } else { now }
}

/// Returns a route's total in the form that is common to all data paths.
pub(super) fn counts([sent, failed, hops, long]: Total) -> RouteCounts {
    RouteCounts {
        taken: None,
        sent,
        stopped: StopReason::ALL.map(|stop| match stop {
            StopReason::HopLimit => hops,
            StopReason::TooLong => long,
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
        let job = GatewayJob::default().marked(7, true);
        let mut live = BTreeMap::from([(7, LiveRule::new("r", &job, None))]);
        let mut totals = BTreeMap::new();
        let mut count = |handled, deleted| {
            let counters = JobCounters {
                handled,
                dropped: 1,
                deleted,
            };
            let listed = ListedJob {
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
            [0, 0, 3, 0, 0, 0, 0, 0],
            "hops, as it changes no length"
        );
        assert_eq!(count(4, 3), after);
        let anew = count(2, 0);
        assert_eq!(anew.sent, u64::from(u32::MAX) + 7, "it began anew");
        assert_eq!(anew.stopped, after.stopped);
    }

    #[test]
    fn a_frame_that_all_rules_of_a_route_delete_is_one_frame() {
        let to = |destination, mark| {
            let job = GatewayJob {
                destination,
                ..GatewayJob::default()
            };
            job.marked(mark, true)
        };
        let jobs = [to(1, 7), to(2, 8), to(3, 9)];
        let routes = ["a", "a", "b"];
        let live = jobs.iter().zip(routes);
        let mut live: BTreeMap<_, _> = live
            .map(|(job, route)| (job.mark(), LiveRule::new(route, job, None)))
            .collect();
        let mut totals = BTreeMap::new();
        let listed = jobs.map(|job| ListedJob {
            job,
            counters: JobCounters {
                handled: 2,
                dropped: 1,
                deleted: 5,
            },
        });
        add_up(&listed, &mut live, &mut totals);
        assert_eq!(totals["a"], [4, 2, 5, 0]);
        assert_eq!(totals["b"], [2, 1, 5, 0]);
        // If the first rule was removed with its interface, the next one counts from here on.
        let mut rest = listed[1..].to_vec();
        rest[0].counters.deleted = 6;
        add_up(&rest, &mut live, &mut totals);
        assert_eq!(totals["a"], [4, 2, 6, 0]);
    }
}
