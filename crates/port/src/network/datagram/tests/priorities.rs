//! Priorities while the socket has no room: a slow network takes a datagram now and then.

use super::*;
use crate::TransmitRefusal;
use crate::network::datagram::transmit::BACKLOG;
use crate::network::ids::is_urgent;

fn rules() -> PackRules {
    PackRules {
        urgent: vec![IdRange::parse("000-007").unwrap()],
        dscp: 46,
        ..PackRules::default()
    }
}

/// Returns a frame of this ID, which carries a number.
fn with_id(id: u64, number: u64) -> Frame {
    let id = CanId::sff(id as u32).unwrap();
    Frame::classic(id, &number.to_be_bytes()).unwrap()
}

/// Returns the IDs and numbers of a datagram's frames.
fn content(datagram: &[u8]) -> Vec<(u64, u64)> {
    let mut reader = AcfReader::new(DEFAULT_STREAM, Some(0));
    reader.check(datagram).unwrap();
    let (mut at, mut found) = (0, Vec::new());
    while let Some(frame) = reader.next(datagram, &mut at) {
        let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
        found.push((frame.frame.id().number().into(), number));
    }
    found
}

/// 100 000 frames of 32 IDs in bursts, and a network with room for three datagrams. An urgent frame
/// leaves before every other one that waits in the tunnel; the others wait by their IDs, behind at
/// most the datagram that was being packed. No ID changes its order, the datagrams have consecutive
/// numbers, and each frame has one fate.
#[test]
fn urgent_frames_pass_those_that_wait() {
    for seed in 1..=4 {
        let near = MemorySocket::default();
        near.room.store(3, Relaxed);
        let mut out = sender(near.clone(), rules(), StreamRun::default());
        let mut numbers = SeededNumbers(seed);
        // Numbers of the frames that the port holds, by their IDs.
        let mut held: Vec<VecDeque<u64>> = vec![VecDeque::new(); 32];
        let (mut refused, mut seen, mut sequence, mut blocked) = (0, 0_u64, 0_u8, 0);
        let (mut taken, mut now) = (0_u64, 0);
        let mut number = 0;
        while number < 100_000 || out.counters().held > 0 {
            now += MS;
            let burst = if numbers.below(50) == 0 {
                200
            } else {
                numbers.below(4)
            };
            for _ in 0..burst.min(100_000 - number) {
                let id = numbers.below(32);
                let frame = with_id(id, number);
                match out.transmit(now, OutgoingFrame::new(frame.view(), 0)) {
                    Ok(_) => {
                        taken += 1;
                        held[id as usize].push_back(number);
                    }
                    Err(refusal) => {
                        assert_eq!(refusal, TransmitRefusal::Full);
                        assert!(id > 7, "an urgent frame gets the place of another one");
                        refused += 1;
                    }
                }
                number += 1;
            }
            out.flush(now).unwrap();
            // What the network has taken is out of the port's hands; the rest is in order.
            let in_kernel = near.outgoing.lock().unwrap().len();
            blocked += u64::from(in_kernel == 3);
            assert!(out.counters().held == 0 || in_kernel == 3);
            if numbers.below(3) == 0 {
                continue;
            }
            while let Some(datagram) = near.take() {
                assert_eq!(datagram[7], sequence, "numbers are consecutive");
                sequence = sequence.wrapping_add(1);
                let frames = content(&datagram);
                let urgent = frames[0].0 < 8;
                for (id, number) in &frames {
                    assert_eq!(*id < 8, urgent, "classes share no datagram");
                    let waiting = &mut held[*id as usize];
                    // Those before it were displaced.
                    while waiting.front().is_some_and(|first| first < number) {
                        waiting.pop_front();
                    }
                    assert_eq!(waiting.pop_front(), Some(*number));
                    seen += 1;
                }
                if numbers.below(2) == 0 {
                    break;
                }
            }
        }
        while let Some(datagram) = near.take() {
            seen += content(&datagram).len() as u64;
        }
        let tx = out.counters();
        assert_eq!((tx.taken, tx.sent, tx.lost, tx.held), (taken, seen, 0, 0));
        assert_eq!(tx.taken, tx.sent + tx.displaced);
        assert_eq!(taken + refused, 100_000);
        assert!(tx.displaced > 0 && refused > 0 && blocked > 100, "{tx:?}");
    }
}

/// While the socket has no room, the order of leaving is exactly that of class and priority.
#[test]
fn the_order_of_those_that_wait() {
    let near = MemorySocket::default();
    near.room.store(0, Relaxed);
    let mut out = sender(near.clone(), rules(), StreamRun::default());
    // The first one is being packed when the socket turns out to have no room.
    for (number, id) in (0..).zip([0x31_u64, 0x30, 5, 0x700, 0x20, 5, 3, 0x20]) {
        let frame = with_id(id, number);
        out.transmit(number * MS, OutgoingFrame::new(frame.view(), 0))
            .unwrap();
        out.flush(number * MS).unwrap();
    }
    assert_eq!(out.counters().held, 8);
    near.room.store(usize::MAX, Relaxed);
    out.flush(10 * MS).unwrap();
    let mut datagrams = Vec::new();
    while let Some(datagram) = near.take() {
        datagrams.push(content(&datagram));
    }
    assert_eq!(
        datagrams,
        [
            vec![(3, 6), (5, 2), (5, 5)],
            vec![(0x31, 0)],
            vec![(0x20, 4), (0x20, 7), (0x30, 1), (0x700, 3)],
        ]
    );
    assert_eq!(*near.marks.lock().unwrap(), [46, 0, 0]);
    assert_eq!(out.counters().held, 0);
}

/// A full backlog: an urgent frame takes the place of the last one, which is counted.
#[test]
fn an_urgent_frame_takes_the_place_of_the_last() {
    let near = MemorySocket::default();
    near.room.store(0, Relaxed);
    let mut out = sender(near.clone(), rules(), StreamRun::default());
    let mut offer = |id, number| {
        let frame = with_id(id, number);
        let taken = out.transmit(0, OutgoingFrame::new(frame.view(), 0));
        out.flush(0).unwrap();
        let room = out.room();
        (taken.is_ok(), out.counters().displaced, room)
    };
    assert_eq!(offer(0x100, 0), (true, 0, BACKLOG));
    for number in 0..BACKLOG as u64 {
        assert_eq!(
            offer(0x100, number),
            (true, 0, BACKLOG - 1 - number as usize)
        );
    }
    assert_eq!(offer(0x100, 1000), (false, 0, 0));
    assert_eq!(offer(0x101, 1001), (false, 0, 0));
    assert_eq!(offer(0x0FF, 1002), (true, 1, 0));
    assert_eq!(offer(5, 1003), (true, 2, 0));
    assert!(is_urgent(&rules().urgent, CanId::sff(5).unwrap()));
}
