//! Times: gaps, frames that do not wait, reports.

use super::*;

/// Frames of a bus, the network's jitter, and the receiver called at its deadlines: the gaps are
/// those of the sender, to the nanosecond.
#[test]
fn gaps_are_restored_from_port_to_port() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), PackRules::default(), StreamRun::default());
    let delay = Some(20 * MS);
    let mut into = receiver(far.clone(), Some(PlayOutRules { delay, ..RULES }), None);
    let mut numbers = SeededNumbers(3);
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let (mut sent, mut came) = (Vec::new(), Vec::new());
    let mut step = |now, into: &mut DatagramReceive<MemorySocket>| {
        let report = into.receive(now, 64, &mut |frame| {
            let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
            came.push((number, now));
        });
        assert!(!report.unwrap().more);
    };
    let mut now = 0;
    for number in 0..5000 {
        let next = now + 100_000 + numbers.below(3 * MS);
        while let Some(at) = under_way
            .first_key_value()
            .map(|((at, _), _)| *at)
            .into_iter()
            .chain(into.deadline())
            .min()
            && at < next
        {
            if let Some(entry) = under_way.first_entry()
                && entry.key().0 == at
            {
                far.put(entry.remove());
            }
            step(at, &mut into);
        }
        now = next;
        sent.push(now);
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        let jitter = numbers.below(4) * numbers.below(5 * MS);
        let jitter = if number == 0 { 0 } else { jitter };
        let at = now + 2 * MS + jitter;
        under_way.insert((at, number), near.take().unwrap());
    }
    assert!(came.len() > 4900);
    for (n, (number, at)) in came.into_iter().enumerate() {
        assert_eq!((n as u64, sent[n] + 22 * MS), (number, at));
    }
    let rx = into.counters();
    assert_eq!((rx.late, rx.behind), (0, 0));
    assert!(rx.overtaken > 500, "{rx:?}");
}

/// Messages without stamps at a port with `delay`.
#[test]
fn frames_without_stamps_do_not_wait() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, true);
    let (rules, totals) = (PackRules::default(), StreamRun::default());
    let (writer, guard) = (Box::new(writer), guard(LoopRules::default()));
    let mut out = DatagramTransmit::new(near.clone(), PEER, writer, rules, totals, guard, 0);
    let mut into = receiver(far.clone(), Some(RULES), None);
    out.transmit(0, OutgoingFrame::new(numbered(1).view(), 0))
        .unwrap();
    out.flush(0).unwrap();
    far.put(near.take().unwrap());
    let mut came = 0;
    into.receive(MS, 64, &mut |_| came += 1).unwrap();
    assert_eq!((came, into.counters().unstamped), (1, 1));
    let remark = "1 frames had no time stamp and were handed over at once";
    assert_eq!(into.remarks(), [remark]);
}

/// An urgent frame leaves at once, before those that wait for others.
#[test]
fn urgent_frames_do_not_wait() {
    let near = MemorySocket::default();
    let rules = PackRules {
        pack: 10 * MS,
        urgent: vec![IdRange::parse("010-01F").unwrap()],
        ..PackRules::default()
    };
    let mut out = sender(near.clone(), rules, StreamRun::default());
    let mut offer = |number, now| {
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        let tx = out.counters();
        (tx.sent, tx.held)
    };
    // The IDs are 0 to 31.
    assert_eq!(offer(1, 0), (0, 1));
    assert_eq!(offer(2, 0), (0, 2));
    assert_eq!(offer(0x11, 0), (1, 2));
    assert_eq!(offer(0x12, MS), (2, 2));
    assert_eq!(offer(3, 10 * MS), (5, 0));
    let mut reader = AcfReader::new(DEFAULT_STREAM, Some(0));
    let mut datagrams = Vec::new();
    while let Some(datagram) = near.take() {
        let number = reader.check(&datagram).unwrap().unwrap();
        let (mut at, mut ids) = (0, Vec::new());
        while let Some(found) = reader.next(&datagram, &mut at) {
            ids.push(found.frame.id().number());
        }
        datagrams.push((number.short, ids));
    }
    assert_eq!(
        datagrams,
        [(0, vec![0x11]), (1, vec![0x12]), (2, vec![1, 2, 3])]
    );
}

/// Reports show the round trip and the other clock, and the loss of the last datagram.
#[test]
fn reports_show_the_other_side() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let totals = StreamRun::default();
    let mut out = sender(near.clone(), PackRules::default(), totals.clone());
    let mut back = receiver(near.clone(), None, Some(reports(totals)));
    let rules = ReportRules {
        stream: DEFAULT_STREAM,
        every: 300 * MS,
    };
    // The clock of the far side is five seconds ahead.
    let ahead = PeerReports::new(rules, PEER, StreamRun::default(), 5000 * MS);
    let mut into = receiver(far.clone(), None, Some(ahead));
    assert_eq!(into.remarks(), [""; 0]);
    let mut under_way: BTreeMap<(Nanos, u64), (bool, Vec<u8>)> = BTreeMap::new();
    let mut order = 0;
    for step in 0..40_000_u64 {
        let now = step * MS / 10;
        if step % 100 == 0 && step < 1000 {
            let frame = numbered(step);
            out.transmit(now, OutgoingFrame::new(frame.view(), 0))
                .unwrap();
            out.flush(now).unwrap();
            // The last two are lost.
            let datagram = near.take().unwrap();
            if step < 800 {
                far.put(datagram);
            }
        }
        back.receive(now, 16, &mut |_| ()).unwrap();
        into.receive(now, 16, &mut |_| ()).unwrap();
        for (is_near, socket) in [(true, &near), (false, &far)] {
            if let Some(datagram) = socket.take() {
                // Reports need 2 ms there and 4 ms back.
                let way = if is_near { 2 * MS } else { 4 * MS };
                order += 1;
                under_way.insert((now + way, order), (is_near, datagram));
            }
        }
        while let Some(entry) = under_way.first_entry()
            && entry.key().0 <= now
        {
            let (is_near, datagram) = entry.remove();
            if is_near { &far } else { &near }.put(datagram);
        }
    }
    let rx = into.counters();
    assert_eq!((rx.datagrams, rx.missing, rx.lost), (8, 2, 2));
    assert_eq!(rx.malformed, 0);
    let remark = "the other side took 8 datagrams of this port and misses 2";
    assert_eq!(back.remarks(), [remark]);
    // The true offset is 5 s; the ways differ by 2 ms, and the error is half of that.
    let (near, far) = (back.counters(), into.counters());
    assert_eq!((near.round_trip, far.round_trip), (6_200_000, 6_200_000));
    assert_eq!((near.clock_ahead, near.clock_behind), (4999 * MS, 0));
    assert_eq!(far.clock_ahead, 0);
    assert!(far.clock_behind.abs_diff(5000 * MS) <= 3_100_000);
}

/// A report of a port's own that comes back has no effect, also before the first one of the other
/// side.
#[test]
fn a_report_that_comes_back_is_passed_over() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let totals = StreamRun::default();
    let mut out = sender(near.clone(), PackRules::default(), totals.clone());
    let mut back = receiver(near.clone(), None, Some(reports(totals)));
    let own = reports(StreamRun::default());
    let mut into = receiver(far.clone(), None, Some(own));
    for step in 0..8_u64 {
        let now = step * 1000 * MS;
        if step < 4 {
            let frame = numbered(step);
            out.transmit(now, OutgoingFrame::new(frame.view(), 0))
                .unwrap();
            out.flush(now).unwrap();
            // Every second one is lost.
            let datagram = near.take().unwrap();
            if step % 2 == 0 {
                far.put(datagram);
            }
        }
        into.receive(now, 16, &mut |_| ()).unwrap();
        far.put(far.take().unwrap());
        into.receive(now, 16, &mut |_| ()).unwrap();
        back.receive(now, 16, &mut |_| ()).unwrap();
        far.put(near.take().unwrap());
        into.receive(now, 16, &mut |_| ()).unwrap();
    }
    let rx = into.counters();
    assert_eq!((rx.datagrams, rx.missing, rx.lost), (2, 2, 2));
    assert_eq!((rx.malformed, rx.round_trip), (0, 0));
}
