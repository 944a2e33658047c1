//! The senders of datagrams: the numbers of each, and its frames that wait for their time.

use crate::Token;
use frame::{FrameRef, Nanos};
use net::ieee1722::PeerReport;
use net::{
    Arrival, DatagramFrame, DatagramNumber, FrameLedger, PlayOut, PlayOutCounters, PlayOutRules,
    PlayOutStep, SequenceCounters, SequenceWindow,
};
use std::net::SocketAddr;

/// Number of senders that are followed at a time. Another one takes the place of the one that was
/// silent for the longest time.
const MAX_SENDERS: usize = 16;

struct Sender {
    address: SocketAddr,
    window: SequenceWindow,
    /// `None`: its frames are handed over as they arrive.
    play_out: Option<PlayOut>,
    /// `None`: the port has no reports.
    ledger: Option<FrameLedger>,
    last: Nanos,
}

/// The place of a sender, until the next datagram arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderIndex(usize);

/// The senders of one port.
pub(super) struct Senders {
    all: Vec<Sender>,
    rules: Option<PlayOutRules>,
    has_reports: bool,
    /// Counters of senders whose place was taken.
    before: SequenceCounters,
    played_before: PlayOutCounters,
    lost_before: u64,
}

impl Senders {
    pub(super) fn new(rules: Option<PlayOutRules>, has_reports: bool) -> Self {
        Self {
            has_reports,
            lost_before: 0,
            all: Vec::new(),
            rules,
            before: SequenceCounters::default(),
            played_before: PlayOutCounters::default(),
        }
    }

    /// Records the arrival of a datagram; returns its sender if its frames are taken.
    pub(super) fn arrive(
        &mut self,
        from: SocketAddr,
        number: DatagramNumber,
        datagram: &[u8],
        now: Nanos,
    ) -> Option<SenderIndex> {
        let index = self.index(from);
        let sender = &mut self.all[index];
        sender.last = now;
        let is_first = sender.window.counters().taken == 0;
        let arrival = sender.window.arrive(number, datagram, now);
        if (is_first || arrival == Arrival::Restart)
            && let Some(ledger) = &mut sender.ledger
        {
            ledger.begin(sender.window.order(), number.long == Some(0));
        }
        if arrival == Arrival::Restart
            && let Some(play_out) = &mut sender.play_out
        {
            play_out.restart(now);
        }
        arrival.is_taken().then_some(SenderIndex(index))
    }

    fn index(&mut self, from: SocketAddr) -> usize {
        if let Some(known) = self.all.iter().position(|sender| sender.address == from) {
            return known;
        }
        if self.all.len() == MAX_SENDERS {
            let oldest = (0..self.all.len()).min_by_key(|at| self.all[*at].last);
            let mut gone = self.all.swap_remove(oldest.unwrap_or(0));
            gone.window.settle(Nanos::MAX);
            self.before = self.before.plus(gone.window.counters());
            let lost = gone.ledger.map_or(0, |ledger| ledger.lost());
            self.lost_before = self.lost_before.saturating_add(lost);
            if let Some(play_out) = gone.play_out {
                let mut counters = play_out.counters();
                counters.refused += play_out.waiting();
                self.played_before = self.played_before.plus(counters);
            }
        }
        self.all.push(Sender {
            address: from,
            window: SequenceWindow::default(),
            play_out: self.rules.map(PlayOut::new),
            ledger: self.has_reports.then(FrameLedger::default),
            last: 0,
        });
        self.all.len() - 1
    }

    /// Counts a frame of the sender's present datagram as one that has arrived.
    pub(super) fn count(&mut self, SenderIndex(index): SenderIndex) {
        if let Some(sender) = self.all.get_mut(index)
            && let Some(ledger) = &mut sender.ledger
        {
            ledger.count(sender.window.order());
        }
    }

    /// Takes a frame of the sender's present datagram, with its token.
    pub(super) fn take(
        &mut self,
        from: SenderIndex,
        found: &DatagramFrame<'_>,
        token: Token,
        now: Nanos,
    ) -> PlayOutStep {
        self.count(from);
        let sender = self.all.get_mut(from.0);
        let play_out = sender.and_then(|one| Some((one.play_out.as_mut()?, one.window.order())));
        play_out.map_or(PlayOutStep::Pass, |(play_out, order)| {
            play_out.take(found, token, order, now)
        })
    }

    /// Takes a report of a sender that is known by its frames.
    pub(super) fn state(&mut self, from: SocketAddr, report: &PeerReport, now: Nanos) {
        let sender = self.all.iter_mut().find(|sender| sender.address == from);
        if let Some(sender) = sender
            && let Some(ledger) = &mut sender.ledger
            && ledger.is_of(report.run)
            && let Some(place) = sender.window.announce(report.datagrams as u32, now)
        {
            sender.last = now;
            ledger.state(report.run, place, report.frames);
            ledger.settle(sender.window.awaited());
        }
    }

    /// Hands over up to `budget` frames that are due; returns their number.
    pub(super) fn pass_due(
        &mut self,
        budget: usize,
        now: Nanos,
        pass: &mut dyn FnMut(FrameRef<'_>, Token),
    ) -> usize {
        let mut passed = 0;
        for play_out in self.all.iter_mut().filter_map(|one| one.play_out.as_mut()) {
            while passed < budget
                && let Some((frame, token)) = play_out.next(now)
            {
                passed += 1;
                pass(frame, token);
            }
        }
        passed
    }

    /// Counts the datagrams as missing that have not arrived in time.
    pub(super) fn settle(&mut self, now: Nanos) {
        for sender in &mut self.all {
            sender.window.settle(now);
            if let Some(ledger) = &mut sender.ledger {
                ledger.settle(sender.window.awaited());
            }
        }
    }

    /// Returns the time at which a frame is due, or a datagram counts as missing.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let all = self.all.iter().flat_map(|sender| {
            let due = sender.play_out.as_ref().and_then(PlayOut::deadline);
            due.into_iter().chain(sender.window.deadline())
        });
        all.min()
    }

    pub(super) fn sequence(&self) -> SequenceCounters {
        let all = self.all.iter().map(|sender| sender.window.counters());
        all.fold(self.before, SequenceCounters::plus)
    }

    pub(super) fn played(&self) -> PlayOutCounters {
        let all = self.all.iter().filter_map(|one| one.play_out.as_ref());
        let all = all.map(PlayOut::counters);
        all.fold(self.played_before, PlayOutCounters::plus)
    }

    /// Returns the number of frames in missing datagrams, as far as reports show.
    pub(super) fn lost(&self) -> u64 {
        let all = self.all.iter().filter_map(|one| one.ledger.as_ref());
        // The numbers are the other sides' own.
        all.map(FrameLedger::lost)
            .fold(self.lost_before, u64::saturating_add)
    }

    /// Returns the number of frames that wait for their time.
    pub(super) fn waiting(&self) -> u64 {
        let all = self.all.iter().filter_map(|one| one.play_out.as_ref());
        all.map(PlayOut::waiting).sum()
    }

    /// Returns whether frames may wait for their time.
    pub(super) fn may_wait(&self) -> bool {
        self.rules.is_some_and(|rules| rules.delay.is_some())
    }
}
