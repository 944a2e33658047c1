//! Plans, applied to a list that behaves like the kernel's.

use crate::cangw::plan::{JobChange, plan};
use crate::cangw::wire::GatewayJob;
use proptest::collection::vec;
use proptest::prelude::*;
use route::{Modification, ModifyOp};

/// The IDs of the frames; few, so that filters often intersect.
fn frames() -> impl Iterator<Item = u32> {
    (0..8).chain((0..8).map(|id| id | 0x8000_0000))
}

/// `can_rcv_filter` for frames without error flag, as the man page describes it.
fn takes(job: &GatewayJob, frame: u32) -> bool {
    let (id, mask) = job.filter;
    let number = if mask & 0x8000_0000 != 0 && id & 0x8000_0000 == 0 {
        0x7FF
    } else {
        u32::MAX
    };
    let mask = mask & (number | 0xC000_0000);
    let same = frame & mask == id & mask;
    same != (id & 0x2000_0000 != 0)
}

/// The visible properties of a job, except its modifications.
fn face(job: &GatewayJob) -> (u32, u32, u16, u8, (u32, u32)) {
    (job.source, job.destination, job.flags, job.hops, job.filter)
}

fn small_job() -> impl Strategy<Value = GatewayJob> {
    let filters = vec![
        (0, 0),
        (1, 0xC000_07FF),
        (2, 0xC000_07FF),
        (0x8000_0001, 0xDFFF_FFFF),
        (0, 1),
        (1, 1),
        (2, 6),
        (4, 0x8000_0004),
        (0x2000_0001, 3),
    ];
    (1..3_u32, 3..5_u32, prop::sample::select(filters), 0..3_u32).prop_map(
        |(source, destination, filter, id)| {
            let or = Modification {
                parts: Modification::ID,
                id,
                ..Modification::new(ModifyOp::Or, false)
            };
            GatewayJob {
                source,
                destination,
                filter,
                changes: (id != 0).then(|| or.to_attribute()).into_iter().collect(),
                ..GatewayJob::default()
            }
        },
    )
}

/// The jobs as the kernel has them.
fn marked(jobs: &[GatewayJob], hidden: bool) -> Vec<GatewayJob> {
    let jobs = (1..).zip(jobs);
    jobs.map(|(mark, job)| job.clone().marked(mark, hidden))
        .collect()
}

/// The jobs of a list that take a frame of a source, in the order in which they are tried.
fn takers(list: &[GatewayJob], source: u32, frame: u32) -> Vec<GatewayJob> {
    let takes = |job: &&GatewayJob| job.source == source && takes(job, frame);
    list.iter().filter(takes).cloned().collect()
}

fn subset(part: &[GatewayJob], whole: &[GatewayJob]) -> bool {
    let mut rest: Vec<_> = whole.iter().map(face).collect();
    part.iter().all(|job| {
        let place = rest.iter().position(|other| *other == face(job));
        place.map(|place| rest.remove(place)).is_some()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The list ends up as wanted, as far as the order affects frames; jobs that stay are not
    /// touched; at no moment does a frame meet both old and new rules.
    #[test]
    fn plans_lead_to_what_is_wanted(
        old in vec(small_job(), 0..7),
        extra in vec(small_job(), 0..5),
        picks in vec(any::<prop::sample::Index>(), 0..5),
        update in any::<bool>(),
        hidden in any::<bool>(),
    ) {
        // Many of the old jobs are still wanted, in another order.
        let mut wanted = extra;
        for pick in picks {
            if !old.is_empty() {
                let at = pick.index(wanted.len() + 1);
                wanted.insert(at, old[pick.index(old.len())].clone());
            }
        }
        let plan = plan(&wanted, &marked(&old, hidden), update);
        let mut list: Vec<(Option<usize>, GatewayJob)> =
            old.iter().cloned().enumerate().map(|(i, job)| (Some(i), job)).collect();
        for change in &plan.changes {
            match *change {
                JobChange::Delete { there } => {
                    let before = list.len();
                    list.retain(|(i, _)| *i != Some(there));
                    prop_assert_eq!(list.len(), before - 1);
                }
                JobChange::Update { wanted: i, there } => {
                    prop_assert!(update);
                    prop_assert!(!hidden || old[there].modifies());
                    prop_assert!(wanted[i].modifies());
                    let place = list.iter().position(|(i, _)| *i == Some(there)).unwrap();
                    prop_assert_eq!(face(&list[place].1), face(&wanted[i]));
                    list[place].1 = wanted[i].clone();
                }
                JobChange::Add { wanted: i } => list.insert(0, (None, wanted[i].clone())),
            }
            let jobs: Vec<GatewayJob> = list.iter().map(|(_, job)| job.clone()).collect();
            for (source, frame) in [1, 2].into_iter().flat_map(|s| frames().map(move |f| (s, f))) {
                let now = takers(&jobs, source, frame);
                prop_assert!(
                    subset(&now, &takers(&old, source, frame))
                        || subset(&now, &takers(&wanted, source, frame)),
                    "{:08X} meets {:?} amid {:?}", frame, now, plan
                );
            }
        }
        for (i, stays) in plan.stays.iter().enumerate() {
            if let Some(there) = stays {
                let place = list.iter().position(|(i, _)| *i == Some(*there)).unwrap();
                prop_assert_eq!(&list[place].1, &wanted[i]);
            }
        }
        let jobs: Vec<GatewayJob> = list.into_iter().map(|(_, job)| job).collect();
        prop_assert_eq!(jobs.len(), wanted.len());
        for (source, frame) in [1, 2].into_iter().flat_map(|s| frames().map(move |f| (s, f))) {
            for (destination, class) in [3, 4].into_iter().flat_map(|d| (0..4).map(move |c| (d, c))) {
                let seen = |list: &[GatewayJob]| -> Vec<GatewayJob> {
                    let takers = takers(list, source, frame).into_iter();
                    takers.filter(|j| j.destination == destination && list_class(j) == class).collect()
                };
                prop_assert_eq!(seen(&jobs), seen(&wanted), "{:08X}", frame);
            }
        }
    }

    /// An existing job is left alone, and a new job at the end causes no other change unless the
    /// order affects frames.
    #[test]
    fn nothing_new_changes_nothing(jobs in vec(small_job(), 0..8), update in any::<bool>()) {
        prop_assert_eq!(plan(&jobs, &marked(&jobs, update), update).changes, []);
    }
}

/// The kernel's lists, within which the order is kept: all, masks, inverted, one ID.
fn list_class(job: &GatewayJob) -> u8 {
    match job.filter {
        (id, _) if id & 0x2000_0000 != 0 => 2,
        (0, 0) => 0,
        (_, 0xC000_07FF | 0xDFFF_FFFF) => 3,
        _ => 1,
    }
}

fn of(filter: (u32, u32)) -> GatewayJob {
    GatewayJob {
        source: 1,
        destination: 2,
        filter,
        ..GatewayJob::default()
    }
}

#[test]
fn a_new_rule_moves_only_those_that_a_frame_could_tell_apart() {
    let (low, high, all) = (of((0, 4)), of((4, 4)), of((0, 0)));
    let there = [low.clone(), high.clone(), all.clone()];
    let new = of((1, 5));
    // It is tried after the others; only `low` takes frames that it takes, in the same list.
    let wanted = [low, high, all, new];
    let plan = plan(&wanted, &marked(&there, true), true);
    assert_eq!(plan.stays, [None, Some(1), Some(2), None]);
    assert_eq!(
        plan.changes,
        [
            JobChange::Delete { there: 0 },
            JobChange::Add { wanted: 3 },
            JobChange::Add { wanted: 0 }
        ]
    );
}

#[test]
fn modifications_are_updated_where_the_kernel_can() {
    let changes = |filter, id| {
        let or = Modification {
            parts: Modification::ID,
            id,
            ..Modification::new(ModifyOp::Or, false)
        };
        GatewayJob {
            changes: vec![or.to_attribute()],
            ..of(filter)
        }
    };
    let there = [of((1, 0x7FF)), changes((2, 0x7FF), 0x200)];
    let wanted = [of((1, 0x7FF)), changes((2, 0x7FF), 0x100)];
    let with = plan(&wanted, &marked(&there, true), true).changes;
    assert_eq!(
        with,
        [JobChange::Update {
            wanted: 1,
            there: 1
        }]
    );
    let without = plan(&wanted, &marked(&there, true), false).changes;
    assert_eq!(
        without,
        [JobChange::Delete { there: 1 }, JobChange::Add { wanted: 1 }]
    );
    // Without a modification before and after, there is no mark that the kernel knows.
    for (there, wanted) in [
        (&there[..1], changes((1, 0x7FF), 1)),
        (&there[1..], of((2, 0x7FF))),
    ] {
        let changes = plan(&[wanted], &marked(there, true), true).changes;
        let replaced = [JobChange::Delete { there: 0 }, JobChange::Add { wanted: 0 }];
        assert_eq!(changes, replaced);
    }
}
