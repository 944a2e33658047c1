//! Results and counters of a half of a port.

use crate::definition::CounterRole::{Held, Lost, Measured, Other, Sent, Taken};
use crate::definition::{CounterDefinition, counters};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The result of a call of [`Receive::receive`](crate::Receive::receive).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxReport {
    /// Frames handed over.
    pub frames: usize,
    /// More frames may be available immediately: call again before waiting.
    pub more: bool,
    /// No frame will ever come again (end of a file).
    pub finished: bool,
    /// The result of [`Receive::link`](crate::Receive::link) may have changed.
    pub news: bool,
    /// Frames that the transmitting half of this port held have left or were given up: it is
    /// flushed once more, so that it reports what it still holds.
    pub ended: bool,
}

/// The result of [`Transmit::flush`](crate::Transmit::flush).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlushReport {
    /// Frames that left in this call.
    pub sent: usize,
    /// Frames that wait for another call. (A frame in a bus's own transmit queue does not: it is
    /// only in [`TxCounters::held`].)
    pub held: usize,
}

/// The result that a frame was taken; the port counts its further fate ([`TxCounters`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepted;

/// Reason why a port did not take a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitRefusal {
    /// Its queue is full.
    Full,
    /// It is down, gone or bus-off at the moment.
    Down,
    /// It cannot carry this kind of frame: FD on a classic bus, a bare RTR on FD, XL.
    Unsupported,
}

impl TransmitRefusal {
    /// Returns whether the port may take the same frame later.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Full | Self::Down)
    }
}

counters! {
    /// Counters of a port's receiving side. Frames counted here never reached the gateway, except
    /// those of `local`.
    RxCounters in rx {
        /// Frames that were lost because a receive queue was full: the socket's (SO_RXQ_OVFL), or
        /// the controller's FIFO. SocketCAN's controllers report an overflow but not the number of
        /// lost frames: each report counts as one.
        overrun = CounterDefinition::new(Lost, "lost before the gateway saw them")
            .column("overrun")
            .metric("cangate_port_overrun_frames");
        /// Input that was not a valid frame: a bad line of a log, a short read.
        malformed = CounterDefinition::new(Lost, "left out: not valid frames (bad lines)")
            .of_errors()
            .column("bad input")
            .metric("cangate_port_malformed_inputs");
        /// Error frames of the controller that were received and not handed on.
        error_frames = CounterDefinition::new(Other, "").of_errors()
            .column("error frames")
            .metric("cangate_port_error_frames");
        /// Number of times that the port was lost and opened again.
        reopened = CounterDefinition::new(Other, "")
            .column("reopened")
            .metric("cangate_port_reopenings");
        /// Frames that programs on this machine sent, if the port can distinguish them. They are
        /// among the frames received.
        local [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_local_frames");
        /// Bits of the frames received on a Linux interface, at the nominal bit rate, without the
        /// stuff bits that depend on their contents.
        bits [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_received_bit_times");
        /// Bits of the frames received, at the data bit rate: of FD frames with BRS.
        data_bits [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_received_data_bit_times");
        /// Numbered datagrams of which the frames were taken. Together with the missing ones, they
        /// are those that the other side sent.
        datagrams [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_taken_datagrams");
        /// Numbered datagrams that did not arrive within a second, or before 64 newer ones (with
        /// numbers of 32 bits, 4096). Each had at least one frame.
        missing [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Lost, "datagrams lost on the network")
                .column("missing")
                .metric("cangate_port_missing_datagrams");
        /// Frames in missing datagrams, by the reports of the other side (`reports`): frames that
        /// the other side sent and that did not arrive.
        lost [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "")
                .column("lost on the network")
                .metric("cangate_port_lost_arrivals");
        /// Numbered datagrams that arrived when they already counted as missing, and were left out.
        /// They are among the missing ones.
        belated [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_belated_datagrams");
        /// Numbered datagrams that arrived again and were left out.
        repeated [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_repeated_datagrams");
        /// Numbered datagrams that arrived after newer ones. Their frames were handed over in the
        /// order of arrival, or, at a port with `delay`, in the order of the sender.
        overtaken [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_overtaken_datagrams");
        /// Frames that were handed over after their time (`delay`), because they had arrived after
        /// it.
        late [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "")
                .column("late")
                .metric("cangate_port_late_frames");
        /// Frames without a time stamp at a port with `delay` or `max_age`, or without a certain
        /// presentation time at one with `delay = "presentation"`. They were handed over at once.
        unstamped [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_unstamped_frames");
        /// Frames that arrived too late and were left out: they were older than the `max_age` of
        /// the port allows, or arrived after their time at a port with `late` set to `expire`.
        expired [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Lost, "expired on the network")
                .column("expired on the network")
                .metric("cangate_port_expired_arrivals");
        /// Frames that arrived after their time and were left out, because a later frame of the
        /// same ID had been handed over.
        behind [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Lost, "behind later frames of their ID")
                .column("behind")
                .metric("cangate_port_behind_frames");
        /// Frames that found no room among those that wait for their time.
        refused [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Lost, "without room to wait for their time")
                .column("no room")
                .metric("cangate_port_refused_arrivals");
        /// Frames that had passed this gateway before and came back over networks (or had passed 16
        /// gateways), and were left out: the tunnels are a loop.
        returned [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Lost, "came back over networks, in a loop")
                .column("came back")
                .metric("cangate_port_returned_arrivals");
        /// Frames equal to a frame that had left by a tunnel of this gateway less than a second
        /// before. They were handed over: many of them are a sign of a loop over a bus.
        suspected [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_suspected_arrivals");
        /// Frames that arrived and wait for their time. Those that wait when the port is closed are
        /// lost.
        waiting [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Held, "waiting for their time at the end")
                .column("waiting")
                .metric("cangate_port_waiting_frames");
        /// The shortest of the latest round trips of reports to the other side (`reports`), in ns
        /// (as a metric, in s).
        round_trip [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Measured, "")
                .column("round trip, ns")
                .metric("cangate_port_round_trip_seconds");
        /// Time by which the other side's clock is ahead of this one, exact to half of the round
        /// trip, in ns (as a metric, in s).
        clock_ahead [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Measured, "")
                .column("clock ahead, ns")
                .metric("cangate_port_clock_ahead_seconds");
        /// Time by which the other side's clock is behind this one, exact to half of the round
        /// trip, in ns (as a metric, in s).
        clock_behind [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Measured, "")
                .column("clock behind, ns")
                .metric("cangate_port_clock_behind_seconds");
        /// Connections and datagrams that were refused: the sender is not in `allow`, there were
        /// too many clients, or the client asked for a bus that there is not. Also clients without
        /// a bus that were closed: they sent too much, were too slow, or did not read their
        /// answers.
        denied [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "")
                .column("denied")
                .metric("cangate_port_denied_senders");
    }
}

counters! {
    /// Counters of a port's transmitting side: the fate of frames after
    /// [`Transmit::transmit`](crate::Transmit::transmit) took them. [`TxCounters::equation`] always
    /// holds, where frames that were duplicated on purpose are among those taken.
    TxCounters in tx {
        /// Frames that the port took to send.
        taken = CounterDefinition::new(Taken, "").metric("cangate_port_taken_frames");
        /// Frames that were handed to the kernel, written to the file, or sent on the bus.
        sent = CounterDefinition::new(Sent, "sent")
            .column("sent")
            .metric("cangate_port_sent_frames");
        /// Frames that were taken and then lost: interface gone or down, bus-off, one-shot failure,
        /// or still waiting when the port failed or was closed.
        lost = CounterDefinition::new(Lost, "accepted and lost")
            .on_purpose(|port| port.tx.faults.dropped)
            .column("lost")
            .metric("cangate_port_lost_frames");
        /// Frames that were taken and dropped, because they had waited for the port's `max_age`.
        expired [default] = CounterDefinition::new(Lost, "expired in a queue")
            .column("expired")
            .metric("cangate_port_expired_frames");
        /// Frames that were taken and dropped, because the queue was full and a newer frame took
        /// the place.
        displaced [default] = CounterDefinition::new(Lost, "displaced by newer frames")
            .column("displaced")
            .metric("cangate_port_displaced_frames");
        /// Frames that were taken and are still waiting.
        held = CounterDefinition::new(Held, "waiting at the end")
            .column("held")
            .metric("cangate_port_held_frames");
        /// Number of times that the other side had no room (ENOBUFS, a full ring) and the frame was
        /// kept.
        stalled = CounterDefinition::new(Other, "").metric("cangate_port_stalls");
        /// Bits of the frames that a port on a Linux interface took to send, at the nominal bit
        /// rate, without the stuff bits that depend on their contents.
        bits [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_sent_bit_times");
        /// Bits of the frames taken to send, at the data bit rate: of FD frames with BRS.
        data_bits [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_sent_data_bit_times");
        /// Datagrams of frames that were handed to the network.
        datagrams [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "").metric("cangate_port_sent_datagrams");
        /// Copies that one of several clients did not get, because it did not read them in time or
        /// left. A frame counts as sent when it was handed to the first client.
        missed [default, skip_serializing_if = "crate::definition::is_zero"] =
            CounterDefinition::new(Other, "")
                .column("missed by clients")
                .metric("cangate_port_missed_copies");
    }
}

impl TxCounters {
    /// Returns the balance of a port, for people: `taken = sent + lost + …`.
    #[must_use]
    pub fn equation() -> String {
        let outcomes = Self::DEFINITIONS
            .iter()
            .filter(|counter| counter.is_outcome());
        let names: Vec<&str> = outcomes.map(CounterDefinition::name).collect();
        format!("taken = {}", names.join(" + "))
    }

    /// Returns the sum of the outcomes of frames that were taken.
    pub(crate) fn outcomes(&self) -> u128 {
        let all = self.iter().zip(Self::DEFINITIONS);
        let outcomes = all.filter(|(_, counter)| counter.is_outcome());
        outcomes.map(|((_, number), _)| u128::from(number)).sum()
    }

    /// Returns the number of frames whose end is known.
    #[must_use]
    pub fn gone(&self) -> u64 {
        let gone = self.outcomes() - u128::from(self.held);
        u64::try_from(gone).unwrap_or(u64::MAX)
    }

    /// Returns the counts since the counters were at `base`. `over`: the port will send nothing
    /// more, so the frames that it holds are lost.
    #[must_use]
    pub(crate) fn since(&self, base: &Self, over: bool) -> Self {
        // Frames that were held at `base` are not counted here. They leave first, so all outcomes
        // at `base` count as one: gone.
        let outcomes = u64::try_from(self.outcomes().saturating_sub(base.outcomes()));
        let mut more = self.minus(base);
        more.held = self.held.min(more.taken + more.faults.duplicated);
        if over {
            more.lost += core::mem::take(&mut more.held);
        }
        more.sent = 0;
        more.sent = outcomes
            .unwrap_or(u64::MAX)
            .saturating_sub(more.gone() + more.held);
        more
    }
}
