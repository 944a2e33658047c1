//! Reports between two gateways, and the frames that they show to be lost.

use net::ieee1722::{AcfReader, DEFAULT_STREAM, PeerReport, REPORT_LENGTH};
use net::{DatagramNumber, DatagramReader as _, FrameLedger, SequenceWindow};
use proptest::prelude::*;

/// A reader of frames passes a report over, as Open1722 does: it is another stream.
#[test]
fn a_report_is_a_datagram_of_another_stream() {
    let report = PeerReport {
        run: 1,
        datagrams: 2,
        frames: 3,
        sent_at: 0x1122_3344_5566_7788,
        ..PeerReport::default()
    };
    let bytes = report.write(DEFAULT_STREAM, 0x0102);
    assert_eq!(
        bytes[..36],
        [
            0, 0, 1, 2, 0x82, 0x80, 68, 2, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x80, 0x01, 0xF0,
            17, b'c', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2
        ]
    );
    let mut reader = AcfReader::new(DEFAULT_STREAM, None);
    assert_eq!(reader.check(&bytes), Ok(None));
    assert!(reader.next(&bytes, &mut 0).is_none());
    assert_eq!(PeerReport::read(&bytes, DEFAULT_STREAM), Some(report));
    assert_eq!(PeerReport::read(&bytes, 1), None);
    assert_eq!(PeerReport::read(&bytes[1..], DEFAULT_STREAM), None);
}

fn arrive(window: &mut SequenceWindow, ledger: &mut FrameLedger, number: u32, frames: u32) {
    let short = number as u8;
    let long = Some(number);
    let begins = window.counters().taken == 0;
    let arrival = window.arrive(
        DatagramNumber { short, long },
        &[number as u8, frames as u8],
        0,
    );
    if begins || arrival == net::Arrival::Restart {
        ledger.begin(window.order(), number == 0);
    }
    if arrival.is_taken() {
        for _ in 0..frames {
            ledger.count(window.order());
        }
    }
}

fn state(window: &mut SequenceWindow, ledger: &mut FrameLedger, run: u64, next: u32, frames: u64) {
    if ledger.is_of(run)
        && let Some(place) = window.announce(next, 0)
    {
        ledger.state(run, place, frames);
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn what_is_lost_counts_when_it_is_certain() {
    let (window, ledger) = (&mut SequenceWindow::default(), &mut FrameLedger::default());
    arrive(window, ledger, 0, 3);
    // The statement overtakes a datagram and is about a lost one, which is the last one.
    state(window, ledger, 7, 3, 10);
    ledger.settle(window.awaited());
    assert_eq!(ledger.lost(), 0);
    arrive(window, ledger, 1, 2);
    // Datagrams after the statement do not belong to it.
    arrive(window, ledger, 3, 100);
    window.settle(SECOND);
    ledger.settle(window.awaited());
    assert_eq!((ledger.lost(), window.counters().missing), (5, 1));
    // An overtaken statement, and one of another run.
    state(window, ledger, 7, 2, 5);
    state(window, ledger, 8, 5, 1000);
    ledger.settle(window.awaited());
    assert_eq!(ledger.lost(), 5);
    // The sender begins anew: its numbers begin at 0, and so do its sums.
    arrive(window, ledger, 0, 1);
    state(window, ledger, 8, 2, 5);
    window.settle(2 * SECOND);
    ledger.settle(window.awaited());
    assert_eq!(ledger.lost(), 5 + 4);
}

/// A receiver that begins later than the sender does not count what was sent before.
#[test]
fn a_late_beginning_is_no_loss() {
    let (window, ledger) = (&mut SequenceWindow::default(), &mut FrameLedger::default());
    state(window, ledger, 7, 1000, 5000);
    arrive(window, ledger, 1000, 3);
    for (next, frames, lost) in [(1001, 5003, 0), (1002, 5005, 2)] {
        state(window, ledger, 7, next, frames);
        window.settle(SECOND);
        ledger.settle(window.awaited());
        assert_eq!(ledger.lost(), lost);
    }
}

proptest! {
    #[test]
    fn reports_go_around(numbers: [u64; 8], stream: u64, sequence: u32) {
        let [run, datagrams, frames, sent_at, echo, held, taken, missing] = numbers;
        let report = PeerReport { run, datagrams, frames, sent_at, echo, held, taken, missing };
        let bytes = report.write(stream, sequence);
        prop_assert_eq!(PeerReport::read(&bytes, stream), Some(report));
    }

    /// Any bytes and any statements: no panic, and numbers only grow.
    #[test]
    fn any_statements_are_bounded(
        all in prop::collection::vec((any::<bool>(), 0..3_u64, any::<u32>(), any::<u64>()), 0..60),
        bytes: [u8; REPORT_LENGTH],
    ) {
        let _ = PeerReport::read(&bytes, DEFAULT_STREAM);
        let (window, ledger) = (&mut SequenceWindow::default(), &mut FrameLedger::default());
        let mut lost = 0;
        for (is_datagram, run, number, frames) in all {
            let number = if run == 0 { number } else { number % 5000 };
            match is_datagram {
                true => arrive(window, ledger, number, 1),
                false => state(window, ledger, run, number, frames),
            }
            ledger.settle(window.awaited());
            prop_assert!(ledger.lost() >= lost);
            lost = ledger.lost();
        }
    }
}
