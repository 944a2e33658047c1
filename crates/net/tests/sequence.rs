//! Sequence numbers: what was lost, doubled and delayed is counted, once.
#![allow(clippy::unwrap_used, missing_docs)]

use net::{Arrival, SequenceWindow};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Returns the datagram with this number, counted without end.
fn datagram(number: u64) -> (u8, [u8; 8]) {
    (number as u8, number.to_be_bytes())
}

fn arrive(window: &mut SequenceWindow, number: u64, now: u64) -> Arrival {
    let (sequence, bytes) = datagram(number);
    window.arrive(sequence, &bytes, now)
}

#[test]
fn each_arrival_is_recognised() {
    let mut window = SequenceWindow::default();
    let all = [250, 252, 251, 252, 256, 249].map(|number| arrive(&mut window, number, 0));
    use Arrival::{Duplicate, InOrder, Overtaken};
    let expected = [InOrder, InOrder, Overtaken, Duplicate, InOrder, Overtaken];
    assert_eq!(all, expected);
    assert_eq!(window.counters().missing, 0, "253 to 255 may still come");
    assert_eq!(window.deadline(), Some(1000 * MS));
    window.settle(1000 * MS);
    let counters = window.counters();
    assert_eq!(
        (counters.missing, counters.overtaken, counters.duplicates),
        (3, 2, 1)
    );
    assert_eq!(window.deadline(), None);
    // It counts as missing already.
    assert_eq!(arrive(&mut window, 254, 1001 * MS), Arrival::Late);
    assert_eq!(window.counters().missing, 3);
}

#[test]
fn a_gap_is_missing_when_64_newer_ones_have_come() {
    let mut window = SequenceWindow::default();
    arrive(&mut window, 0, 0);
    for number in 2..=64 {
        arrive(&mut window, number, 0);
        assert_eq!(window.counters().missing, 0);
    }
    arrive(&mut window, 65, 0);
    assert_eq!(window.counters().missing, 1);
    // A burst that is longer than the window.
    arrive(&mut window, 65 + 101, 0);
    assert_eq!(window.counters().missing, 1 + 100 - 63);
    window.settle(1000 * MS);
    assert_eq!(window.counters().missing, 101);
}

#[test]
fn a_sender_that_begins_anew() {
    let mut window = SequenceWindow::default();
    for number in 0..=10 {
        arrive(&mut window, number, 0);
    }
    // A known number with another content.
    assert_eq!(window.arrive(0, b"other", MS), Arrival::Restart);
    assert_eq!(window.arrive(1, b"other", MS), Arrival::InOrder);
    // A number that is far away.
    assert_eq!(
        window.arrive(1_u8.wrapping_sub(100), b"other", MS),
        Arrival::Restart
    );
    // The same datagram after a second.
    let again = window.arrive(1_u8.wrapping_sub(100), b"other", 1001 * MS);
    assert_eq!(again, Arrival::Restart);
    let counters = window.counters();
    assert_eq!(
        (counters.restarts, counters.missing, counters.duplicates),
        (3, 0, 0)
    );
}

proptest! {
    /// A network that loses, doubles and delays within the window: every datagram has one fate.
    #[test]
    fn sums_are_exact(
        fates in prop::collection::vec((0..10_u8, 0..20_u64), 1..600),
    ) {
        // The network's last datagram arrives, so that no loss is invisible at the end, and the
        // first one, before which nothing can be missed.
        let mut arrivals: Vec<(u64, u64)> = vec![(0, 0)];
        let mut lost = 0;
        for (number, (fate, delay)) in (1..).zip(&fates) {
            match fate {
                0 => lost += 1,
                1 => arrivals.extend([(number, number), (number + delay, number)]),
                2 => arrivals.push((number + delay, number)),
                _ => arrivals.push((number, number)),
            }
        }
        let end = fates.len() as u64 + 1;
        arrivals.push((end + 20, end));
        arrivals.sort_by_key(|(at, _)| *at);
        let mut window = SequenceWindow::default();
        let mut taken = std::collections::BTreeSet::new();
        for (at, number) in &arrivals {
            let arrival = arrive(&mut window, *number, at * MS);
            let is_new = !taken.contains(number);
            prop_assert_eq!(arrival.is_taken(), is_new, "{} {:?}", number, arrival);
            prop_assert_ne!(arrival, Arrival::Restart);
            taken.insert(*number);
        }
        window.settle(10_000 * MS);
        let counters = window.counters();
        prop_assert_eq!(counters.missing, lost);
        prop_assert_eq!(counters.duplicates + taken.len() as u64, arrivals.len() as u64);
        let mut newest = 0;
        let mut seen = std::collections::BTreeSet::new();
        let mut overtaken = 0;
        for (_, number) in &arrivals {
            overtaken += u64::from(*number < newest && !seen.contains(number));
            newest = newest.max(*number);
            seen.insert(*number);
        }
        prop_assert_eq!(counters.overtaken, overtaken);
    }
}
