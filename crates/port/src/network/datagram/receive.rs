//! The receiving half.

use super::ArrivalRules;
use super::place::{SenderPlace, SenderPlaces};
use super::socket::DatagramSocket;
use crate::network::address::is_allowed;
use crate::network::remarks::LatestRemarks;
use crate::{
    PollReceive, PortError, PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport,
    StampSource,
};
use frame::Nanos;
use net::{DatagramReader, SequenceCounters, SequenceWindow};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

/// Greatest length of a datagram, bytes.
const LONGEST: usize = 65_536;

/// Number of senders whose sequence numbers are followed at a time. Another one takes the place of
/// the one that was silent for the longest time.
const MAX_SENDERS: usize = 16;

struct Sender {
    address: SocketAddr,
    window: SequenceWindow,
    last: Nanos,
}

pub(super) struct DatagramReceive<S> {
    socket: S,
    reader: Box<dyn DatagramReader>,
    rules: ArrivalRules,
    /// The present datagram: its bytes, its length (0: none), and the place of its next frame.
    buffer: Box<[u8]>,
    len: usize,
    at: usize,
    senders: Vec<Sender>,
    /// Counters of senders whose place was taken.
    before: SequenceCounters,
    counters: RxCounters,
    remarks: LatestRemarks,
    places: SenderPlaces,
}

impl<S: DatagramSocket> DatagramReceive<S> {
    pub(super) fn new(socket: S, reader: Box<dyn DatagramReader>, rules: ArrivalRules) -> Self {
        Self {
            socket,
            reader,
            rules,
            buffer: vec![0; LONGEST].into_boxed_slice(),
            len: 0,
            at: 0,
            senders: Vec::new(),
            before: SequenceCounters::default(),
            counters: RxCounters::default(),
            remarks: LatestRemarks::default(),
            places: SenderPlaces::default(),
        }
    }

    /// Counts a datagram of a sender that is not allowed; returns false.
    fn deny(&mut self, from: SocketAddr, why: &str) -> bool {
        self.counters.denied += 1;
        let sender = from.ip();
        self.remarks
            .push(format!("datagrams from {sender} are refused: {why}"));
        false
    }

    /// Decides on a datagram of this length in the buffer; returns whether its frames are taken.
    fn accept(&mut self, len: usize, from: SocketAddr, now: Nanos) -> bool {
        // A datagram of this port's own that comes back would go round for ever.
        if self.rules.own == Some(from.port()) && self.places.find(from) != SenderPlace::Elsewhere {
            return false;
        }
        if self.rules.local_only {
            match self.places.find(from) {
                SenderPlace::Here => {}
                SenderPlace::Elsewhere => return self.deny(from, "it is another machine"),
                SenderPlace::Unknown => return self.deny(from, "it may be another machine"),
            }
        }
        if !is_allowed(self.rules.allow.as_deref(), from.ip()) {
            return self.deny(from, "it is not in `allow`");
        }
        let datagram = &self.buffer[..len];
        match self.reader.check(datagram) {
            Ok(None) => true,
            Ok(Some(sequence)) => {
                let window = window(&mut self.senders, &mut self.before, from, now);
                window.arrive(sequence, datagram, now).is_taken()
            }
            Err(fault) => {
                self.counters.malformed += 1;
                self.remarks
                    .push(format!("a datagram from {from} was left out: {fault}"));
                false
            }
        }
    }
}

/// Returns the window of a sender.
fn window<'s>(
    senders: &'s mut Vec<Sender>,
    before: &mut SequenceCounters,
    from: SocketAddr,
    now: Nanos,
) -> &'s mut SequenceWindow {
    let known = senders.iter().position(|sender| sender.address == from);
    let at = known.unwrap_or_else(|| {
        if senders.len() == MAX_SENDERS {
            let oldest = (0..senders.len()).min_by_key(|at| senders[*at].last);
            let mut gone = senders.swap_remove(oldest.unwrap_or(0));
            gone.window.settle(Nanos::MAX);
            *before = before.plus(gone.window.counters());
        }
        senders.push(Sender {
            address: from,
            window: SequenceWindow::default(),
            last: now,
        });
        senders.len() - 1
    });
    let sender = &mut senders[at];
    sender.last = now;
    &mut sender.window
}

impl<S: DatagramSocket> Receive for DatagramReceive<S> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        for sender in &mut self.senders {
            sender.window.settle(now);
        }
        let mut report = RxReport::default();
        // A datagram may have no frame: the number of datagrams has a limit, too.
        let mut datagrams = 0;
        loop {
            while self.len > 0 {
                if report.frames == budget {
                    report.more = true;
                    return Ok(report);
                }
                match self.reader.next(&self.buffer[..self.len], &mut self.at) {
                    Some(found) => {
                        report.frames += 1;
                        take(ReceivedFrame {
                            frame: found.frame,
                            stamp: ReceiveStamp {
                                ns: now,
                                source: StampSource::Gateway,
                            },
                            hops: 0,
                            token: 0,
                        });
                    }
                    None => self.len = 0,
                }
            }
            if datagrams > budget {
                report.more = true;
                return Ok(report);
            }
            datagrams += 1;
            match self.socket.receive(&mut self.buffer) {
                Ok((len, from)) => {
                    if self.accept(len, from, now) {
                        (self.len, self.at) = (len, 0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(report),
                // Reports of the network about earlier datagrams, such as a closed port.
                Err(error) => {
                    self.remarks.push(format!("the network reported: {error}"));
                    return Ok(report);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        self.senders
            .iter()
            .filter_map(|sender| sender.window.deadline())
            .min()
    }

    fn counters(&self) -> RxCounters {
        let senders = self.senders.iter().map(|sender| sender.window.counters());
        let all = senders.fold(self.before, SequenceCounters::plus);
        RxCounters {
            overrun: self.socket.dropped(),
            datagrams: all.taken,
            missing: all.missing,
            belated: all.late,
            repeated: all.duplicates,
            overtaken: all.overtaken,
            reopened: all.restarts,
            ..self.counters
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.list();
        let others = self.reader.passed_over();
        if others > 0 {
            remarks.push(format!(
                "{others} messages of other streams or buses were passed over"
            ));
        }
        remarks
    }
}

impl PollReceive for DatagramReceive<Arc<UdpSocket>> {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: Some(self.socket.as_raw_fd()),
            readable: true,
            writable: false,
        }
    }
}
