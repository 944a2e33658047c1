//! Sums: every datagram and every frame has one fate.

use super::*;

/// The frames and datagrams by what the network did with them.
#[derive(Default)]
struct NetworkFates {
    /// Second copies that arrived.
    copies: u64,
    lost_datagrams: u64,
    lost_frames: u64,
    slow_datagrams: u64,
    slow_frames: u64,
}

/// Sends 200 000 frames over a network that delays datagrams by up to 900 ms, loses some, doubles
/// some and holds some back for 3 s. Compares the counters of both sides, and returns those of the
/// far side.
fn compare(seed: u64, play_out: Option<PlayOutRules>) -> RxCounters {
    const FRAMES: u64 = 200_000;
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let totals = StreamRun::default();
    let mut out = sender(near.clone(), PackRules::default(), totals.clone());
    let mut back = receiver(near.clone(), None, Some(reports(totals)));
    let far_reports = reports(StreamRun::default());
    let mut into = receiver(far.clone(), play_out, Some(far_reports));
    let mut numbers = SeededNumbers(seed);
    let mut fates = NetworkFates::default();
    // Datagrams under way by the time of their arrival.
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let mut came = vec![0_u8; FRAMES as usize];
    let mut newest = [None; 32];
    let (mut sent, mut now, mut datagrams, mut order) = (0, 0, 0, 0);
    let mut end = Nanos::MAX;
    while now < end {
        now += MS;
        if sent == FRAMES && end == Nanos::MAX {
            end = now + 20_000 * MS;
        }
        let before = sent;
        for _ in 0..(1 + numbers.below(3)).min(FRAMES - sent) {
            out.transmit(now, OutgoingFrame::new(numbered(sent).view(), 0))
                .unwrap();
            sent += 1;
        }
        out.flush(now).unwrap();
        back.receive(now, 16, &mut |_| ()).unwrap();
        while let Some(datagram) = near.take() {
            let delay = numbers.below(900) * MS;
            order += 1;
            let mut arrives = |delay| under_way.insert((now + delay, order), datagram.clone());
            if PeerReport::read(&datagram, DEFAULT_STREAM).is_some() {
                // A part of the reports is lost.
                if numbers.below(4) > 0 {
                    arrives(delay);
                }
                continue;
            }
            datagrams += 1;
            // Nothing shows the loss of the first one. It comes twice before any other one.
            if before == 0 {
                arrives(0);
                arrives(1);
                fates.copies += 1;
                continue;
            }
            match numbers.below(100) {
                0..3 => {
                    fates.lost_datagrams += 1;
                    fates.lost_frames += sent - before;
                }
                3 => {
                    arrives(0);
                    fates.copies += u64::from(delay > 0);
                    arrives(delay);
                }
                4..20 => {
                    arrives(delay);
                }
                20 => {
                    fates.slow_datagrams += 1;
                    fates.slow_frames += sent - before;
                    arrives(3000 * MS);
                }
                _ => {
                    arrives(0);
                }
            }
        }
        while let Some(entry) = under_way.first_entry()
            && entry.key().0 <= now
        {
            far.put(entry.remove());
        }
        let mut more = true;
        while more {
            let report = into.receive(now, 16, &mut |frame| {
                let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
                came[number as usize] += 1;
                let newest: &mut Option<u64> = &mut newest[number as usize % 32];
                let is_newer = newest.is_none_or(|newest| newest < number);
                assert!(is_newer || play_out.is_none(), "{number} is behind");
                *newest = Some(number);
            });
            more = report.unwrap().more;
        }
    }
    let (rx, tx) = (into.counters(), out.counters());
    assert_eq!(
        (tx.taken, tx.sent, tx.datagrams),
        (FRAMES, FRAMES, datagrams)
    );
    // Every datagram of the far side has one fate, by the counters of both sides alone.
    assert_eq!(tx.datagrams, rx.datagrams + rx.missing);
    assert_eq!(rx.missing - rx.belated, fates.lost_datagrams);
    assert_eq!(rx.belated, fates.slow_datagrams);
    assert_eq!(rx.repeated, fates.copies);
    // So has every frame.
    let came_once = came.iter().filter(|times| **times == 1).count() as u64;
    let left_out = rx.expired + rx.behind + rx.refused;
    assert_eq!(tx.sent, came_once + left_out + rx.lost);
    assert_eq!(
        (rx.lost, rx.waiting),
        (fates.lost_frames + fates.slow_frames, 0)
    );
    assert!(came.iter().all(|times| *times <= 1));
    let others = (
        rx.malformed,
        rx.denied,
        rx.reopened,
        rx.overrun,
        rx.unstamped,
    );
    assert_eq!(others, (0, 0, 0, 0, 0));
    rx
}

#[test]
fn every_frame_has_one_fate_over_both_machines() {
    for seed in 0..2 {
        let rx = compare(seed, None);
        assert!(rx.overtaken > 10_000 && rx.belated > 900, "{rx:?}");
    }
}

/// With play-out, frames that are late, behind, too old or without room are counted as well.
#[test]
fn every_frame_has_one_fate_with_play_out() {
    let rx = compare(0, Some(RULES));
    assert!(rx.behind > 10_000 && rx.late > 100, "{rx:?}");
    assert_eq!((rx.expired, rx.refused), (0, 0));
    let max_age = Some(50 * MS);
    let rx = compare(1, Some(PlayOutRules { max_age, ..RULES }));
    assert!(rx.expired > 10_000 && rx.behind > 1000, "{rx:?}");
    let rules = PlayOutRules {
        late: LateRule::Expire,
        clock: StampClock::Common(0),
        frames: 300,
        ..RULES
    };
    let rx = compare(2, Some(rules));
    assert!(rx.expired > 10_000 && rx.refused > 1000, "{rx:?}");
    assert_eq!((rx.behind, rx.late), (0, 0));
}

/// Twenty senders: four give up their places, and what waits there is refused and counted.
#[test]
fn senders_are_bounded() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut into = receiver(far.clone(), Some(RULES), None);
    for sender_number in 1..=20 {
        let mut out = sender(near.clone(), PackRules::default(), StreamRun::default());
        let now = Nanos::from(sender_number) * MS;
        for number in 0..3 {
            out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
                .unwrap();
        }
        out.flush(now).unwrap();
        let mut datagram = near.take().unwrap();
        datagram[..2].copy_from_slice(&[OTHER_SENDER, sender_number]);
        far.put(datagram);
        let report = into.receive(now, 64, &mut |_| panic!("it waits"));
        assert_eq!(report.unwrap().frames, 0);
    }
    let rx = into.counters();
    assert_eq!((rx.datagrams, rx.waiting, rx.refused), (20, 48, 12));
    let mut came = 0;
    into.receive(500 * MS, 64, &mut |_| came += 1).unwrap();
    assert_eq!((came, into.counters().waiting), (48, 0));
}

/// A datagram that the system refuses is lost here, and the other side does not miss it as well.
#[test]
fn a_datagram_that_was_not_sent_is_not_missed() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), PackRules::default(), StreamRun::default());
    let mut into = receiver(far.clone(), None, None);
    let mut came = 0;
    for number in 0..10 {
        let now = number * MS;
        if number % 3 == 1 {
            *near.fails.lock().unwrap() = Some(ErrorKind::NetworkUnreachable);
        }
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        near.take()
            .into_iter()
            .for_each(|datagram| far.put(datagram));
        into.receive(now, 16, &mut |_| came += 1).unwrap();
    }
    into.receive(2000 * MS, 16, &mut |_| ()).unwrap();
    let (rx, tx) = (into.counters(), out.counters());
    assert_eq!((tx.sent, tx.lost, tx.datagrams, came), (7, 3, 7, 7));
    assert_eq!((rx.datagrams, rx.missing), (7, 0));
}
