//! The receiving half.

use super::ArrivalRules;
use super::batch::BatchRule;
use super::guard::{LoopDrop, LoopGuard};
use super::place::{SenderPlace, SenderPlaces};
use super::presentation::PresentationReader;
use super::reports::PeerReports;
use super::senders::{SenderIndex, Senders};
use super::sent_frames::LoopAlarm;
use super::socket::DatagramSocket;
use crate::network::address::is_allowed;
use crate::network::remarks::LatestRemarks;
use crate::{
    PollReceive, PortError, PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport,
    StampSource, Token,
};
use frame::{FrameRef, Nanos};
use net::{DatagramReader, PlayOutRules, PlayOutStep};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// Greatest length of a datagram, bytes.
const LONGEST: usize = 65_536;

pub(super) struct DatagramReceive<S> {
    socket: S,
    reader: Box<dyn DatagramReader>,
    rules: ArrivalRules,
    /// The present datagram: its bytes, its length (0: none), and the place of its next frame.
    buffer: Box<[u8]>,
    len: usize,
    at: usize,
    /// The sender of the present datagram, if the protocol has numbers.
    sender: Option<SenderIndex>,
    senders: Senders,
    /// `None`: presentation times of frames have no effect.
    presentation: Option<PresentationReader>,
    reports: Option<PeerReports>,
    guard: LoopGuard,
    alarm: LoopAlarm,
    /// Those of the returned frames that had passed too many gateways.
    far: u64,
    counters: RxCounters,
    remarks: LatestRemarks,
    places: SenderPlaces,
    batch: BatchRule,
}

impl<S: DatagramSocket> DatagramReceive<S> {
    pub(super) fn new(
        socket: S,
        reader: Box<dyn DatagramReader>,
        rules: ArrivalRules,
        play_out: Option<PlayOutRules>,
        reports: Option<PeerReports>,
        guard: LoopGuard,
    ) -> Self {
        Self {
            socket,
            reader,
            rules,
            buffer: vec![0; LONGEST].into_boxed_slice(),
            len: 0,
            at: 0,
            sender: None,
            senders: Senders::new(play_out, reports.is_some()),
            presentation: None,
            reports,
            guard,
            alarm: LoopAlarm::default(),
            far: 0,
            counters: RxCounters::default(),
            remarks: LatestRemarks::default(),
            places: SenderPlaces::default(),
            batch: BatchRule::default(),
        }
    }

    /// Returns the half that takes presentation times for the stamps of frames, if there is
    /// something that reads them.
    pub(super) fn presented(mut self, presentation: Option<PresentationReader>) -> Self {
        self.presentation = presentation;
        self
    }

    /// Counts a datagram of a sender that is not allowed; returns false.
    fn deny(&mut self, from: SocketAddr, why: &str) -> bool {
        self.counters.denied += 1;
        let sender = from.ip();
        self.remarks
            .push(format!("datagrams from {sender} are refused: {why}"));
        false
    }

    /// Decides on a datagram of this length in the buffer, and makes it the present one if its
    /// frames are taken.
    fn accept(&mut self, len: usize, from: SocketAddr, now: Nanos) {
        if self.is_taken(len, from, now) {
            (self.len, self.at) = (len, 0);
        }
    }

    fn is_taken(&mut self, len: usize, from: SocketAddr, now: Nanos) -> bool {
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
        if let Some(reports) = &mut self.reports
            && reports.take(datagram, from, &mut self.senders, now)
        {
            return false;
        }
        match self.reader.check(datagram) {
            Ok(None) => {
                self.sender = None;
                true
            }
            Ok(Some(number)) => {
                self.sender = self.senders.arrive(from, number, datagram, now);
                self.sender.is_some()
            }
            Err(fault) => {
                self.counters.malformed += 1;
                self.remarks
                    .push(format!("a datagram from {from} was left out: {fault}"));
                false
            }
        }
    }

    /// Takes up to `budget` frames that have arrived; returns the number of those that were handed
    /// over, and whether more may have arrived.
    fn take_arrivals(
        &mut self,
        now: Nanos,
        budget: usize,
        pass: &mut dyn FnMut(FrameRef<'_>, Token),
    ) -> (usize, bool) {
        let (mut taken, mut passed) = (0, 0);
        // Frames that wait may be due after those of a datagram that is still in the socket.
        let takes_all = self.batch.takes_all() || self.senders.may_wait();
        // A datagram may have no frame: the number of datagrams has a limit, too.
        let mut datagrams = 0;
        loop {
            while self.len > 0 {
                if taken == budget {
                    self.batch.record_all(datagrams);
                    return (passed, true);
                }
                let Some(mut found) = self.reader.next(&self.buffer[..self.len], &mut self.at)
                else {
                    self.len = 0;
                    let foreign = self.reader.take_foreign();
                    if let Some(from) = self.sender {
                        (0..foreign).for_each(|_| self.senders.count(from));
                    }
                    break;
                };
                taken += 1;
                if let Some(why) = self.guard.drops(found.trail) {
                    self.counters.returned += 1;
                    self.far += u64::from(why == LoopDrop::TooFar);
                    if let Some(from) = self.sender {
                        self.senders.count(from);
                    }
                    continue;
                }
                let suspected =
                    self.guard
                        .suspects(found.trail, &found.frame, now, &mut self.alarm);
                self.counters.suspected += u64::from(suspected);
                let token = self.guard.token(found.trail);
                if let Some(presentation) = &mut self.presentation {
                    found.stamp = presentation.due(&found, now);
                }
                let take = |from| self.senders.take(from, &found, token, now);
                if self
                    .sender
                    .map(take)
                    .is_none_or(|step| step == PlayOutStep::Pass)
                {
                    passed += 1;
                    pass(found.frame, token);
                }
            }
            if datagrams > budget {
                self.batch.record_all(datagrams);
                return (passed, true);
            }
            if !takes_all && taken > 0 {
                // The frames leave, and then the worker calls again, before it waits.
                self.batch.record_single();
                return (passed, true);
            }
            datagrams += 1;
            match self.socket.receive(&mut self.buffer) {
                Ok((len, from)) => self.accept(len, from, now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.batch.record_all(datagrams - 1);
                    return (passed, false);
                }
                // Reports of the network about earlier datagrams, such as a closed port.
                Err(error) => {
                    self.remarks.push(format!("the network reported: {error}"));
                    return (passed, false);
                }
            }
        }
    }
}

impl<S: DatagramSocket> Receive for DatagramReceive<S> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        self.senders.settle(now);
        if let Some(presentation) = &mut self.presentation {
            presentation.clock.tick(now);
        }
        let mut report = RxReport::default();
        let mut pass = |frame: FrameRef<'_>, token: Token| {
            take(ReceivedFrame {
                frame,
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Gateway,
                },
                hops: 0,
                token,
            });
        };
        // What has arrived goes before what is due, so that frames are put in order. It cannot keep
        // due frames back for ever.
        let share = match self.senders.may_wait() {
            true => budget.div_ceil(2),
            false => budget,
        };
        (report.frames, report.more) = self.take_arrivals(now, share, &mut pass);
        let rest = budget - report.frames;
        let due = self.senders.pass_due(rest, now, &mut pass);
        report.frames += due;
        if let Some(reports) = &mut self.reports {
            reports.send(&self.socket, &self.senders, now);
        }
        report.more |= self.senders.may_wait() && due == rest;
        report.news = self.alarm.is_new();
        Ok(report)
    }

    fn deadline(&self) -> Option<Nanos> {
        if self.socket.has_waiting() {
            return Some(0);
        }
        let report = self.reports.as_ref().map(PeerReports::deadline);
        self.senders.deadline().into_iter().chain(report).min()
    }

    fn take_alarm(&mut self) -> Option<String> {
        let port = self.alarm.take()?;
        Some(self.guard.words(port))
    }

    fn counters(&self) -> RxCounters {
        let all = self.senders.sequence();
        let played = self.senders.played();
        let mut counters = RxCounters {
            overrun: self.socket.dropped(),
            datagrams: all.taken,
            missing: all.missing,
            lost: self.senders.lost(),
            belated: all.late,
            repeated: all.duplicates,
            overtaken: all.overtaken,
            reopened: all.restarts,
            late: played.late,
            unstamped: played.unstamped,
            expired: played.expired,
            behind: played.behind,
            refused: played.refused,
            waiting: self.senders.waiting(),
            ..self.counters
        };
        if let Some(reports) = &self.reports {
            reports.measure(&mut counters);
        }
        counters
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.list();
        let others = self.reader.passed_over();
        if others > 0 {
            remarks.push(format!(
                "{others} messages of other streams or buses were passed over"
            ));
        }
        let returned = self.counters.returned;
        remarks.extend(self.guard.remarks(returned, self.far, &self.alarm));
        let unstamped = self.senders.played().unstamped;
        if let Some(presentation) = &self.presentation {
            remarks.extend(presentation.remarks(unstamped));
        } else if unstamped > 0 {
            remarks.push(format!(
                "{unstamped} frames had no time stamp and were handed over at once"
            ));
        }
        remarks.extend(self.reports.as_ref().and_then(PeerReports::remark));
        remarks
    }
}

impl<S: DatagramSocket + AsRawFd> PollReceive for DatagramReceive<S> {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: Some(self.socket.as_raw_fd()),
            readable: true,
            writable: false,
        }
    }

    fn is_quiet(&self) -> bool {
        // What is due at a time is found by a step at that time: see `deadline`.
        self.socket.is_quiet()
    }
}
