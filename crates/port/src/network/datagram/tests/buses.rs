//! Several buses in one stream: a port each.

use super::*;
use crate::network::datagram::StreamRun;

fn sender_of(bus: u16, socket: MemorySocket, run: &StreamRun) -> DatagramTransmit<MemorySocket> {
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, bus, false);
    let writer = Box::new(writer.numbered_by(run.numbers()));
    let guard = guard(LoopRules::default());
    let rules = PackRules::default();
    DatagramTransmit::new(socket, PEER, writer, rules, run.clone(), guard, 0)
}

fn receiver_of(bus: u16, socket: MemorySocket) -> DatagramReceive<MemorySocket> {
    let reader = Box::new(AcfReader::new(DEFAULT_STREAM, Some(bus)));
    let rules = ArrivalRules {
        allow: None,
        local_only: false,
        own: None,
    };
    let reports = Some(reports(StreamRun::default()));
    let guard = guard(LoopRules::default());
    DatagramReceive::new(socket, reader, rules, None, reports, guard)
}

/// Three buses in one stream, and a network that loses datagrams: each port gets the frames of its
/// bus, and counts what is lost of the stream, to the frame.
#[test]
fn losses_are_counted_for_the_stream() {
    let run = StreamRun::default();
    let near = MemorySocket::default();
    let far = [0, 1, 2].map(|_| MemorySocket::default());
    let mut out = [0, 1, 2].map(|bus| sender_of(bus, near.clone(), &run));
    let mut into = [0, 1, 2].map(|bus| receiver_of(bus, far[usize::from(bus)].clone()));
    let mut back = receiver(near.clone(), None, Some(reports(run.clone())));
    let mut numbers = SeededNumbers(3);
    let (mut lost, mut lost_datagrams, mut came, mut sent) = (0, 0, [0; 3], [0; 3]);
    for step in 0..5000 {
        let now = step * MS;
        // No datagram is lost at the end, so that reports account for all.
        let is_open = step < 4000;
        for bus in 0..3 {
            for _ in 0..numbers.below(3) * u64::from(step < 3000) {
                let frame = numbered(numbers.below(1000));
                let outgoing = OutgoingFrame::new(frame.view(), 0);
                out[bus].transmit(now, outgoing).unwrap();
                sent[bus] += 1;
            }
            let before = out[bus].counters().sent;
            out[bus].flush(now).unwrap();
            let frames = out[bus].counters().sent - before;
            while let Some(datagram) = near.take() {
                if is_open && step > 0 && numbers.below(10) == 0 {
                    lost += frames;
                    lost_datagrams += 1;
                    continue;
                }
                far.iter().for_each(|socket| socket.put(datagram.clone()));
            }
        }
        back.receive(now, 16, &mut |_| ()).unwrap();
        while let Some(report) = near.take() {
            far.iter().for_each(|socket| socket.put(report.clone()));
        }
        for (port, came) in into.iter_mut().zip(&mut came) {
            while port.receive(now, 64, &mut |_| *came += 1).unwrap().more {}
        }
    }
    let datagrams: u64 = out.iter().map(|port| port.counters().datagrams).sum();
    assert!(lost > 100 && lost_datagrams > 100);
    for port in &into {
        let rx = port.counters();
        assert_eq!((rx.missing, rx.lost), (lost_datagrams, lost), "{rx:?}");
        assert_eq!(rx.datagrams + rx.missing, datagrams);
        assert_eq!((rx.malformed, rx.reopened), (0, 0));
    }
    let all: u64 = came.iter().sum();
    assert_eq!(all + lost, sent.iter().sum::<u64>());
}
