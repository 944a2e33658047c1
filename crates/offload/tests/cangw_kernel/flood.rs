//! Reloads while frames pass.

use crate::frames::Owned;
use crate::{alone, from_env, interfaces, names, route, routes, set_id};
use cangate_offload::cangw::{CanGwKernel, CanGwOffload, GatewayInstance, JobRequest};
use frame::{CanId, FrameRef, Header, Kind};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Frames of three IDs, each with a number in its payload.
fn numbered(number: u64) -> Owned {
    let id = CanId::from_raw(0x70 + (number % 3) as u32);
    let header = Header::new(Kind::Classic, id, 8).unwrap();
    Owned::of(FrameRef::new(header, &number.to_le_bytes()).unwrap())
}

/// A table by its number: one rule stays, one gets another modification, and one has another
/// filter, so that it must be replaced.
fn table(number: u32) -> route::Routes {
    let mut updated = route("updated", 0x71);
    updated.actions.push(set_id(0x100 + number % 2));
    let mut replaced = route("replaced", 0x72);
    if number % 2 == 1 {
        replaced.matching.ids[0].set = route::IdSet::Masked {
            id: 0x72,
            mask: 0x7FE,
        };
    }
    routes(vec![route("stays", 0x70), updated, replaced])
}

#[test]
fn no_frame_is_sent_twice_while_tables_are_exchanged() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let reloads = from_env("CANGATE_CANGW_RELOADS", 100);
    let (mut offload, _) =
        CanGwOffload::start(&GatewayInstance::new("flood"), &table(0), &names).unwrap();
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut seen: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let reloading = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            for number in 1..=reloads {
                let start = Instant::now();
                let outcome = offload.reload(&table(number as u32), &names).unwrap();
                longest = longest.max(start.elapsed());
                assert!(outcome.unchanged >= 1 && outcome.added >= 1, "{outcome:?}");
                // Let frames meet each table, too.
                let met = sent.load(Ordering::Relaxed) + 30;
                while sent.load(Ordering::Relaxed) < met {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::Relaxed);
            longest
        });
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) && !reloading.is_finished() {
            kernel.send(&numbered(number));
            number += 1;
            sent.store(number, Ordering::Relaxed);
            if number % 64 == 0 {
                take(&mut kernel, 0, &mut seen);
            }
        }
        take(&mut kernel, 20, &mut seen);
        longest = reloading.join().unwrap();
    });
    let all = sent.load(Ordering::Relaxed);
    let mut lost = [0_u64; 3];
    let (mut gap, mut longest_gap) = (0_u64, 0);
    for number in 0..all {
        let copies = seen.get(&number).map_or(&[][..], Vec::as_slice);
        let expected: &[u32] = match number % 3 {
            0 => &[0x70],
            1 => &[0x100, 0x101],
            _ => &[0x72],
        };
        assert!(copies.len() <= 1, "frame {number} was sent as {copies:X?}");
        assert!(
            copies.iter().all(|id| expected.contains(id)),
            "{number} as {copies:X?}"
        );
        lost[(number % 3) as usize] += u64::from(copies.is_empty());
        if number % 3 == 2 {
            gap = if copies.is_empty() { gap + 1 } else { 0 };
            longest_gap = longest_gap.max(gap);
        }
    }
    let counts = offload.counts().unwrap();
    println!(
        "{reloads} reloads, the longest {longest:?}; {all} frames, {:?} of them not sent by the \
         rule that stays, is updated, is replaced; at most {longest_gap} in a row; counted as sent \
         {:?}",
        lost,
        counts.iter().map(|c| c.sent).collect::<Vec<_>>()
    );
    assert_eq!(lost[0], 0, "a rule that stays misses nothing");
    let updates = CanGwKernel::open().unwrap().limits().updates_in_place();
    assert!(!updates || lost[1] == 0, "an update misses nothing");
    assert!(all > reloads * 30, "frames passed all the time");
    assert_eq!(counts[0].sent, all.div_ceil(3));
    if updates {
        assert_eq!(counts[1].sent, (all + 1) / 3);
    }
    // Frames between the last reading of a counter and the removal are missing.
    let through = (all / 3) - lost[2];
    assert!(counts[2].sent <= through, "{} {through}", counts[2].sent);
}

fn take(kernel: &mut crate::kernel::Kernel, more: u64, seen: &mut BTreeMap<u64, Vec<u32>>) {
    let out = kernel.receive(0, Duration::from_millis(more));
    for frame in &out[1] {
        let view = frame.view();
        let number = u64::from_le_bytes(view.data().try_into().unwrap());
        let id = view.header().id().raw();
        seen.entry(number).or_default().push(id);
    }
}

mod long {
    use super::*;

    /// The time without a rule during a replacement: at most the duration of the call that removes
    /// the old rule and adds the new one. It is printed, not checked; it is meaningful in virtual
    /// time.
    #[test]
    #[ignore = "a measurement"]
    fn how_long_a_replacement_takes() {
        let _alone = alone();
        let kernel = interfaces!();
        let mut cangw = CanGwKernel::open().unwrap();
        let names = names(&kernel);
        for rules in [1, 100, 1000] {
            let all = (0..rules).map(|id| route(&format!("r{id}"), id)).collect();
            let (offload, _) =
                CanGwOffload::start(&GatewayInstance::new("gap"), &routes(all), &names).unwrap();
            // The rule that is tried last is at the end of the kernel's list.
            let old = cangw.list().unwrap().pop().unwrap().job;
            let mut times = Vec::new();
            for number in 0..200_u32 {
                let new = old.clone().unmarked();
                let new = new.marked(old.mark() ^ 0x4000_0000, true);
                let (from, to) = if number % 2 == 0 {
                    (&old, new)
                } else {
                    (&new, old.clone())
                };
                let requests = [JobRequest::Delete(from.clone()), JobRequest::Add(to)];
                let start = Instant::now();
                let answers = cangw.carry_out(&requests).unwrap();
                times.push(start.elapsed());
                assert_eq!(answers, [None, None]);
            }
            times.sort();
            println!(
                "{rules} rules: a replacement takes {:?}, {:?}, {:?} (least, median, most of {})",
                times[0],
                times[times.len() / 2],
                times[times.len() - 1],
                times.len()
            );
            drop(offload);
        }
    }

    /// The cost of a rule's mark for each frame. It is printed, not checked; it is meaningful in
    /// virtual time.
    #[test]
    #[ignore = "a measurement"]
    fn what_a_mark_costs() {
        const FRAMES: u64 = 500;
        let _alone = alone();
        let mut kernel = interfaces!();
        let mut cangw = CanGwKernel::open().unwrap();
        let (offload, _) = CanGwOffload::start(
            &GatewayInstance::new("cost"),
            &routes(vec![route("r", 0x70)]),
            &names(&kernel),
        )
        .unwrap();
        let job = cangw.list().unwrap().pop().unwrap().job.unmarked();
        drop(offload);
        for (what, job) in [
            ("no mark", job.clone()),
            (
                "a mark that is not carried out",
                job.clone().marked(0x9000_0001, true),
            ),
            (
                "CGW_MOD_UID and a modification of nothing",
                job.marked(0x9000_0001, false),
            ),
        ] {
            cangw.one(&JobRequest::Add(job)).unwrap();
            let mut frame = || kernel.send(&numbered(0));
            (0..50).for_each(|_| frame());
            let start = Instant::now();
            (0..FRAMES).for_each(|_| frame());
            let each = start.elapsed() / FRAMES as u32;
            let job = cangw.list().unwrap().pop().unwrap();
            println!("{what}: {each:?} a frame, {} handled", job.counters.handled);
            kernel.receive(2 * (FRAMES as usize + 50), Duration::ZERO);
            cangw.one(&JobRequest::Delete(job.job)).unwrap();
        }
    }
}
