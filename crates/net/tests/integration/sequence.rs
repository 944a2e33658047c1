//! Sequence numbers: what was lost, doubled and delayed is counted, once.

use net::{Arrival, DatagramNumber, SequenceWindow};
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
    assert_eq!(arrive(&mut window, 254, 1002 * MS), Arrival::Duplicate);
    let counters = window.counters();
    assert_eq!((counters.missing, counters.late, counters.taken), (3, 1, 5));
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

/// Records a datagram of a stream that has the association for itself.
fn arrive_long(window: &mut SequenceWindow, number: u32, now: u64) -> Arrival {
    let (short, long) = (number as u8, Some(number));
    window.arrive(DatagramNumber { short, long }, &number.to_be_bytes(), now)
}

#[test]
fn long_numbers_tell_an_outage_from_a_new_beginning() {
    let mut window = SequenceWindow::default();
    for number in 0..5000 {
        arrive_long(&mut window, number, 0);
    }
    // An outage of a million datagrams; 100 newer ones do not hide an old one.
    assert_eq!(arrive_long(&mut window, 1_005_100, 0), Arrival::InOrder);
    assert_eq!(arrive_long(&mut window, 1_005_000, 0), Arrival::Overtaken);
    window.settle(1000 * MS);
    assert_eq!(window.counters().missing, 1_000_099);
    // Far behind the window: it counted as missing when it left the window.
    assert_eq!(arrive_long(&mut window, 1_000_000, 500 * MS), Arrival::Late);
    assert_eq!(arrive_long(&mut window, 3, 500 * MS), Arrival::Restart);
    assert_eq!(arrive_long(&mut window, 4, 500 * MS), Arrival::InOrder);
    // A sender that begins anew with any number: its datagrams are late for a second.
    arrive_long(&mut window, 9_000_000, 600 * MS);
    assert_eq!(arrive_long(&mut window, 8_000_000, 700 * MS), Arrival::Late);
    assert_eq!(
        arrive_long(&mut window, 8_000_001, 1600 * MS),
        Arrival::Restart
    );
    assert_eq!(
        arrive_long(&mut window, 1 << 31, 1600 * MS),
        Arrival::Restart
    );
    let counters = window.counters();
    assert_eq!((counters.restarts, counters.duplicates), (3, 0));
}

/// Another stream on the same association makes the long number grow faster.
#[test]
fn long_numbers_that_count_other_streams_are_not_used() {
    let mut window = SequenceWindow::default();
    for n in 0..1000_u32 {
        let (short, long) = (n as u8, Some(3 * n));
        let arrival = window.arrive(DatagramNumber { short, long }, &n.to_be_bytes(), 0);
        assert_eq!(arrival, Arrival::InOrder);
    }
    window.settle(1000 * MS);
    let counters = window.counters();
    assert_eq!((counters.taken, counters.missing), (1000, 0));
}

/// A datagram that is far behind is never one of those that still have a place: each of these can
/// arrive and is late then.
#[test]
fn a_number_far_behind_takes_no_place_of_a_missing_datagram() {
    let mut window = SequenceWindow::default();
    arrive_long(&mut window, 9_000_000, 0);
    // Two datagrams are missing, and have places.
    arrive_long(&mut window, 9_000_003, 0);
    window.settle(1000 * MS);
    arrive_long(&mut window, 9_000_004, 1000 * MS);
    let far = arrive_long(&mut window, 8_000_000, 1001 * MS);
    assert_eq!(far, Arrival::Duplicate, "or older than the first");
    for number in [9_000_001, 9_000_002] {
        let arrival = arrive_long(&mut window, number, 1002 * MS);
        assert_eq!(arrival, Arrival::Late);
    }
    let counters = window.counters();
    assert_eq!((counters.missing, counters.late), (2, 2));
    // Two more, of which one has left the window: only one number far behind can be late.
    arrive_long(&mut window, 9_000_006, 1003 * MS);
    arrive_long(&mut window, 9_000_008, 1003 * MS);
    window.settle(2003 * MS);
    arrive_long(&mut window, 9_000_005 + 4096, 2003 * MS);
    let far = [8_000_001, 8_000_002].map(|far| arrive_long(&mut window, far, 2004 * MS));
    assert_eq!(far, [Arrival::Late, Arrival::Duplicate]);
    let late = arrive_long(&mut window, 9_000_007, 2005 * MS);
    assert_eq!(late, Arrival::Late);
}

/// The whole window passes at once, so that one missing datagram has no place any more.
#[test]
fn a_missing_datagram_before_an_outage_can_be_late() {
    let mut window = SequenceWindow::default();
    arrive_long(&mut window, 9_000_000, 0);
    arrive_long(&mut window, 9_000_002, 0);
    window.settle(1000 * MS);
    arrive_long(&mut window, 9_000_002 + 4096, 1000 * MS);
    assert_eq!(window.counters().missing, 1);
    let far = [9_000_001, 9_000_000].map(|far| arrive_long(&mut window, far, 1001 * MS));
    assert_eq!(far, [Arrival::Late, Arrival::Duplicate]);
}

/// The input of the fuzz target that found it: numbers of 8 and 32 bits, and a statement.
#[test]
fn late_datagrams_are_among_the_missing_ones() {
    let mut window = SequenceWindow::default();
    let number = |short, long| DatagramNumber { short, long };
    window.arrive(number(0, Some(0x9B0_0000)), &[1], 10 * MS);
    assert!(window.announce(0x9B0_0004, 10 * MS).is_some());
    let last = window.arrive(number(3, None), &[235], 10 * MS);
    assert_eq!(last, Arrival::Overtaken);
    // Nothing counts as missing yet.
    let far = window.arrive(number(0xB1, Some(0x330_00B1)), &[234], 880 * MS);
    assert_eq!(far, Arrival::Duplicate);
    assert_eq!(window.announce(0x330_0030, 880 * MS), None);
    let late = window.arrive(number(2, None), &[1], 1840 * MS);
    assert_eq!(late, Arrival::Late);
    // Only the datagram with the number 1 is missing, and it has a place.
    let far = window.arrive(number(0, Some(0x10_0000)), &[0], 1850 * MS);
    assert_eq!(far, Arrival::Duplicate);
    let late = window.arrive(number(1, None), &[155], 3850 * MS);
    assert_eq!(late, Arrival::Late);
    let counters = window.counters();
    assert_eq!((counters.missing, counters.late), (2, 2));
}

proptest! {
    /// Numbers of 32 bits: delays that 8 bits could not express.
    #[test]
    fn sums_of_long_numbers_are_exact(
        fates in prop::collection::vec((0..10_u8, 0..900_u64), 1..3000),
    ) {
        let mut arrivals: Vec<(u64, u64)> = vec![(0, 0)];
        let mut lost = 0;
        for (number, (fate, delay)) in (1..).zip(&fates) {
            match fate {
                0 => lost += 1,
                1 => arrivals.extend([(number, number), (number + delay, number)]),
                2 => arrivals.push((number + delay, number)),
                // It counts as missing when it arrives.
                3 => arrivals.push((number + 1900, number)),
                _ => arrivals.push((number, number)),
            }
        }
        let end = fates.len() as u64 + 1;
        arrivals.push((end, end));
        arrivals.sort_by_key(|(at, _)| *at);
        let mut window = SequenceWindow::default();
        for (at, number) in &arrivals {
            let arrival = arrive_long(&mut window, *number as u32, at * MS);
            prop_assert_ne!(arrival, Arrival::Restart);
        }
        window.settle(100_000 * MS);
        let counters = window.counters();
        prop_assert_eq!(counters.taken + counters.missing, end + 1);
        prop_assert_eq!(counters.missing - counters.late, lost);
        let arrived = counters.taken + counters.late + counters.duplicates;
        prop_assert_eq!(arrived, arrivals.len() as u64);
    }

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
