//! The path of one frame, and the description of a run.

use crate::payloads::PayloadStore;
use frame::{CanId, Kind, Nanos};
use std::fmt;
use std::str::FromStr;

/// A frame as it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingFrame {
    /// Index into [`RunResults::ports`].
    pub port: u16,
    /// Its identifier, SocketCAN's 32 bits.
    pub id: CanId,
    /// Its kind; `None` where an older cangate wrote the results.
    pub kind: Option<Kind>,
    /// Number of payload bytes.
    pub len: u16,
    /// End of frame, ns.
    pub end: Nanos,
}

/// A frame as it went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentCopy {
    /// Index into [`RunResults::ports`].
    pub port: u16,
    /// Its identifier, SocketCAN's 32 bits.
    pub id: CanId,
    /// Its kind; `None` where an older cangate wrote the results.
    pub kind: Option<Kind>,
    /// Number of payload bytes.
    pub len: u16,
    /// End of frame, ns.
    pub end: Nanos,
    /// Time from start of frame to end of frame, stuff bits included, without intermission, ns.
    pub duration: Nanos,
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The outcome of a frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Status { $($(#[$doc])* $name,)* }

        impl Status {
            /// All statuses, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns its text in results and reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

statuses! {
    /// It came in, was routed and went out.
    Delivered = "delivered",
    /// It was routed, but no frame of it went out in time.
    Lost = "lost",
    /// It went out more often than it should.
    Duplicated = "duplicated",
    /// It went out, but no such frame came in.
    Unexpected = "unexpected",
    /// No route matched.
    NoRoute = "no route",
    /// A route has the rule to drop it.
    DroppedByRule = "dropped by rule",
    /// It exceeded a route's rate limit.
    DroppedByRate = "dropped by rate",
    /// It passed the maximum number of gateways.
    HopLimit = "hop limit",
    /// A modification made it longer than its kind allows.
    TooLong = "too long",
    /// An offset or a mapping gave it an ID that its format cannot have.
    IdRange = "ID out of range",
    /// A route writes or reads a signal that it does not contain.
    SignalAbsent = "signal absent",
    /// A signal cannot have the value that a route writes to it.
    OutOfRange = "value out of range",
    /// The end-to-end protection of the message was wrong.
    E2eWrong = "E2E wrong",
    /// The outgoing port's queue was full.
    Refused = "refused by a full queue",
    /// The outgoing port was gone, down, or cannot carry this kind of frame.
    Undeliverable = "undeliverable",
    /// The outgoing port's queue dropped it in favour of a newer one.
    Displaced = "displaced from a full queue",
    /// It waited in the outgoing port for the maximum time.
    Expired = "expired in the queue",
    /// It was routed and waited for the bus when the run ended.
    Waiting = "waiting at the end",
    /// The tester's own interface did not send it on the gateway's bus.
    NeverIn = "never on the incoming bus",
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let found = Self::ALL.iter().find(|s| s.as_str() == text);
        found.copied().ok_or(())
    }
}

/// The path of one frame: one row of the results. A frame that is routed to several destinations
/// has a row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// The number that identified it during the run ([`crate::traffic::TrafficRelease::tag`]).
    pub tag: u64,
    /// Index into [`RunResults::routes`], if a route took it.
    pub route: Option<u16>,
    /// The frame as it came in; `None` for [`Status::Unexpected`].
    pub incoming: Option<IncomingFrame>,
    /// The frame as it went out, if it did.
    pub outgoing: Option<SentCopy>,
    /// The outcome of the frame.
    pub status: Status,
    /// The CPU time for decision and modification, ns of real time, where measured. It is from a
    /// different clock than all the stamps: it is never added to a latency, and never plotted in
    /// one chart with it.
    pub processing: Option<Nanos>,
    /// Number of reads and writes of CAN controllers' registers between the two stamps, where the
    /// lab counted them. Virtual time charges an access as one instruction; hardware does not, so
    /// that the latency on a real bus of peripherals is `latency + accesses × their cost`.
    pub accesses: Option<u32>,
}

impl FrameRecord {
    /// Returns the gateway's latency, ns, as gateway-2011 §2.1 (Fig. 2) defines it: end of the
    /// outgoing frame − end of the incoming frame − duration of the outgoing frame. Negative where
    /// the stamps are inexact enough; `None` where a frame is missing.
    #[must_use]
    pub fn latency(&self) -> Option<i64> {
        let (incoming, outgoing) = (self.incoming?, self.outgoing?);
        let latency =
            i128::from(outgoing.end) - i128::from(incoming.end) - i128::from(outgoing.duration);
        i64::try_from(latency).ok()
    }
}

/// The events that the time stamps of a round trip mark ([`RunDescription::stamp`]). No other
/// results have this description.
pub const ROUND_TRIP_STAMP: &str =
    "just before the call that sends; just after the call that brings the answer";

/// The information needed to repeat a run and to interpret its results correctly.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RunDescription {
    /// A description of the run for display: the report's title.
    pub title: String,
    /// cangate's version (and commit, where known).
    pub version: String,
    /// The command line that started it.
    pub command: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The complete text of the gateway's configuration.
    pub config: String,
    /// The traffic: message set or log, and its source.
    pub traffic: String,
    /// Bit rates of the buses, for display.
    pub bit_rates: String,
    /// The time base of the stamps: "bus time (virtual)", "real time (kernel stamps)".
    pub time_base: String,
    /// The event that a stamp marks: "end of frame, last bit of EOF".
    pub stamp: String,
    /// The limitations of the method.
    pub blind_spots: String,
    /// Further information: name and value.
    pub more: Vec<(String, String)>,
}

/// The results of a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RunResults {
    /// The description of the run.
    pub description: RunDescription,
    /// Names of the routes.
    pub routes: Vec<String>,
    /// Names of the ports.
    pub ports: Vec<String>,
    /// A row for every frame.
    pub records: Vec<FrameRecord>,
    /// The frames' payloads, by the index of the row.
    pub payloads: PayloadStore,
}

impl RunResults {
    /// Returns the latencies of a route's frames, in the records' order; of all frames for `None`.
    pub fn latencies(&self, route: Option<u16>) -> impl Iterator<Item = i64> + '_ {
        self.records
            .iter()
            .filter(move |r| route.is_none() || r.route == route)
            .filter_map(FrameRecord::latency)
    }

    /// Returns the number of records with each status, in the statuses' order, without those at 0.
    #[must_use]
    pub fn fates(&self) -> Vec<(Status, u64)> {
        let count = |s| self.records.iter().filter(|r| r.status == s).count() as u64;
        let all = Status::ALL.iter().map(|&s| (s, count(s)));
        all.filter(|&(_, n)| n > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(end_in: Nanos, end_out: Nanos, duration: Nanos) -> FrameRecord {
        let id = CanId::from_raw(1);
        FrameRecord {
            tag: 0,
            route: None,
            incoming: Some(IncomingFrame {
                port: 0,
                id,
                kind: None,
                len: 0,
                end: end_in,
            }),
            outgoing: Some(SentCopy {
                port: 1,
                id,
                kind: None,
                len: 0,
                end: end_out,
                duration,
            }),
            status: Status::Delivered,
            processing: Some(77),
            accesses: Some(12),
        }
    }

    #[test]
    fn latency_is_the_papers_and_leaves_processing_out() {
        assert_eq!(record(1_000, 250_000, 222_000).latency(), Some(27_000));
        assert_eq!(record(1_000, 222_900, 222_000).latency(), Some(-100));
        assert_eq!(record(u64::MAX, 0, u64::MAX).latency(), None, "no overflow");
        let lost = FrameRecord {
            outgoing: None,
            ..record(0, 0, 0)
        };
        assert_eq!(lost.latency(), None);
    }

    #[test]
    fn status_words_come_back() {
        for &status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert_eq!("vanished".parse::<Status>(), Err(()));
    }
}
