//! Reports between two gateways: the sums of what was sent, the round trip, and the other clock.

use super::senders::Senders;
use super::socket::{SendMark, SendSocket};
use super::stream_run::StreamRun;
use crate::RxCounters;
use frame::Nanos;
use net::ieee1722::PeerReport;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of the latest round trips, of which the shortest one shows the other clock.
const KEPT_TRIPS: usize = 10;

/// When and about which stream a port sends reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReportRules {
    /// The stream.
    pub(crate) stream: u64,
    /// Time between two reports, ns.
    pub(crate) every: Nanos,
}

/// A round trip of a report and its answer.
#[derive(Clone, Copy)]
struct RoundTrip {
    time: u64,
    /// Time by which the other clock is ahead, ns, if both ways take the same time.
    ahead: i128,
}

/// The reports of one port.
pub(super) struct PeerReports {
    rules: ReportRules,
    to: SocketAddr,
    run: StreamRun,
    /// Unix time at which the gateway's clock was 0, ns.
    epoch: Nanos,
    number: u32,
    next: Nanos,
    /// The latest report of the other side, and the time of its arrival.
    latest: Option<(PeerReport, Nanos)>,
    trips: VecDeque<RoundTrip>,
}

impl PeerReports {
    pub(super) fn new(rules: ReportRules, to: SocketAddr, run: StreamRun, epoch: Nanos) -> Self {
        Self {
            rules,
            to,
            run,
            epoch,
            number: 0,
            next: 0,
            latest: None,
            trips: VecDeque::with_capacity(KEPT_TRIPS),
        }
    }

    /// Takes a datagram if it is a report; returns whether it is one.
    pub(super) fn take(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        senders: &mut Senders,
        now: Nanos,
    ) -> bool {
        let Some(report) = PeerReport::read(datagram, self.rules.stream) else {
            return false;
        };
        // A network, or a relay, sends it back: it is not about what the other side has sent.
        if report.run == self.run.run() {
            return true;
        }
        senders.state(from, &report, now);
        let unix = self.epoch.saturating_add(now);
        if report.echo > 0
            && let Some(away) = unix.checked_sub(report.echo)
            && let Some(time) = away.checked_sub(report.held)
        {
            if self.trips.len() == KEPT_TRIPS {
                self.trips.pop_front();
            }
            let middle = i128::from(unix) - i128::from(time / 2);
            self.trips.push_back(RoundTrip {
                time,
                ahead: i128::from(report.sent_at) - middle,
            });
        }
        self.latest = Some((report, now));
        true
    }

    /// Sends a report if it is time.
    pub(super) fn send(&mut self, socket: &impl SendSocket, senders: &Senders, now: Nanos) {
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(self.rules.every);
        let totals = self.run.totals();
        let sequence = senders.sequence();
        let (echo, held) = self.latest.map_or((0, 0), |(report, came)| {
            (report.sent_at, now.saturating_sub(came))
        });
        let report = PeerReport {
            run: self.run.run(),
            datagrams: totals.datagrams,
            frames: totals.frames,
            sent_at: self.epoch.saturating_add(now),
            echo,
            held,
            taken: sequence.taken,
            missing: sequence.missing,
        };
        let mark = SendMark::default();
        // A report that is lost is made up for by the next one.
        let _ = socket.send(&report.write(self.rules.stream, self.number), self.to, mark);
        self.number = self.number.wrapping_add(1);
    }

    /// Returns the time of the next report.
    pub(super) const fn deadline(&self) -> Nanos {
        self.next
    }

    /// Writes the round trip and the other clock.
    pub(super) fn measure(&self, counters: &mut RxCounters) {
        if let Some(best) = self.trips.iter().min_by_key(|trip| trip.time) {
            let within = |ns: i128| ns.clamp(0, u64::MAX.into()) as u64;
            counters.round_trip = best.time;
            counters.clock_ahead = within(best.ahead);
            counters.clock_behind = within(-best.ahead);
        }
    }

    /// Returns a sentence about the other side.
    pub(super) fn remark(&self) -> Option<String> {
        let (report, _) = self.latest?;
        Some(format!(
            "the other side took {} datagrams of this port and misses {}",
            report.taken, report.missing
        ))
    }
}
