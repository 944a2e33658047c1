//! The halves of the port, around one splitter.

use super::format::{MOST_PARTS, next_sequence, part_count, split};
use super::joiner::{FrameJoiner, FramePassed, JoinCounters, PartFate};
use crate::{
    Accepted, FlushReport, Halves, OutgoingFrame, PollReceive, PollTransmit, PortError, PortWait,
    Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, SplitIds, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{Frame, Kind, Nanos, dlc};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most frames that are handed over in one call.
const MOST_AT_ONCE: usize = 64;

/// The frames of one pair of identifiers.
struct SplitChannel {
    ids: SplitIds,
    /// The sequence number of the next FD frame that is split.
    sequence: u8,
    joiner: FrameJoiner,
}

/// Splits and joins frames, and has those that it made until the gateway takes them.
struct FrameSplitter {
    channels: Vec<SplitChannel>,
    /// The indices of the channels by the identifiers of FD frames and of parts, in their order.
    places: Vec<(u32, usize)>,
    made: VecDeque<(Frame, FramePassed)>,
    /// The most frames in `made`.
    room: usize,
    /// FD frames that were split, and their parts.
    split: (u64, u64),
}

impl FrameSplitter {
    fn new(pairs: &[SplitIds], timeout: Nanos, room: usize) -> Self {
        let channel = |ids: &SplitIds| SplitChannel {
            ids: *ids,
            sequence: 0,
            joiner: FrameJoiner::new(ids.whole, timeout),
        };
        let ids = pairs.iter().enumerate();
        let ids = ids.flat_map(|(at, pair)| [(pair.whole.raw(), at), (pair.parts.raw(), at)]);
        let mut places: Vec<_> = ids.collect();
        places.sort_unstable();
        Self {
            channels: pairs.iter().map(channel).collect(),
            places,
            made: VecDeque::with_capacity(room),
            room,
            split: (0, 0),
        }
    }

    fn take(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> Result<(), TransmitRefusal> {
        let (frame, id) = (outgoing.frame, outgoing.frame.id());
        let place = self.places.binary_search_by_key(&id.raw(), |(id, _)| *id);
        let place = place.ok().and_then(|at| self.places.get(at));
        let channel = place.and_then(|(_, at)| self.channels.get_mut(*at));
        let channel = channel.ok_or(TransmitRefusal::Unsupported)?;
        // The frame has not left this gateway: it is counted when the route takes what is made.
        let passed = FramePassed {
            hops: outgoing.hops.saturating_sub(1),
            token: outgoing.token,
        };
        let free = self.room.saturating_sub(self.made.len());
        match frame.kind() {
            Kind::Fd if id == channel.ids.whole => {
                let parts = part_count(dlc::fd_padded(frame.len()));
                if parts > free {
                    return Err(TransmitRefusal::Full);
                }
                let made = &mut self.made;
                split(frame, channel.ids.parts, channel.sequence, &mut |part| {
                    made.push_back((part, passed));
                });
                channel.sequence = next_sequence(channel.sequence);
                self.split = (self.split.0 + 1, self.split.1 + parts as u64);
            }
            Kind::Classic if id == channel.ids.parts => {
                if free == 0 {
                    return Err(TransmitRefusal::Full);
                }
                let joiner = &mut channel.joiner;
                if joiner.take(now, frame.data(), passed) == PartFate::Completes {
                    let (whole, passed) = joiner.whole();
                    self.made
                        .extend(Frame::from_view(whole).map(|whole| (whole, passed)));
                }
            }
            _ => return Err(TransmitRefusal::Unsupported),
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Nanos> {
        if !self.made.is_empty() {
            return Some(0);
        }
        let channels = self.channels.iter();
        channels
            .filter_map(|channel| channel.joiner.deadline())
            .min()
    }

    /// Returns the sums of all joiners, and the number of parts that wait in them.
    fn joined(&self) -> (JoinCounters, u64) {
        let mut sum = JoinCounters::default();
        let mut waiting = 0;
        for SplitChannel { joiner, .. } in &self.channels {
            let counters = joiner.counters();
            sum.joined += counters.joined;
            sum.repeated += counters.repeated;
            sum.dropped += counters.dropped;
            sum.completed += counters.completed;
            sum.incomplete += counters.incomplete;
            sum.timed_out += counters.timed_out;
            waiting += joiner.waiting();
        }
        (sum, waiting)
    }
}

type SplitterHandle = Arc<Mutex<FrameSplitter>>;

fn lock(handle: &SplitterHandle) -> MutexGuard<'_, FrameSplitter> {
    handle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the halves of a port for these frames, with room for this number of made
/// frames. All parts of a frame must come within `timeout`.
pub(super) fn halves(pairs: &[SplitIds], timeout: Nanos, room: usize) -> Halves {
    let handle = Arc::new(Mutex::new(FrameSplitter::new(pairs, timeout, room)));
    let receive = SplitReceiver {
        handle: Arc::clone(&handle),
        batch: Vec::with_capacity(MOST_AT_ONCE),
    };
    let transmit = SplitTransmitter { handle };
    (Box::new(receive), Box::new(transmit))
}

/// Hands over the frames that are made.
struct SplitReceiver {
    handle: SplitterHandle,
    batch: Vec<(Frame, FramePassed)>,
}

impl Receive for SplitReceiver {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let more;
        let mut ended = false;
        {
            // Frames are moved out under the lock, because `take` can lead one back to this port.
            let mut splitter = lock(&self.handle);
            for channel in &mut splitter.channels {
                ended |= channel.joiner.expire(now);
            }
            let count = budget.min(MOST_AT_ONCE).min(splitter.made.len());
            self.batch.extend(splitter.made.drain(..count));
            more = !splitter.made.is_empty();
        }
        let frames = self.batch.len();
        for (frame, FramePassed { hops, token }) in self.batch.drain(..) {
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Gateway,
                },
                hops,
                token,
            });
        }
        Ok(RxReport {
            frames,
            more,
            ended,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        lock(&self.handle).deadline()
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }

    fn remarks(&self) -> Vec<String> {
        let splitter = lock(&self.handle);
        let (frames, parts) = splitter.split;
        let (joined, _) = splitter.joined();
        let late = joined.timed_out;
        let gaps = joined.incomplete - late;
        let mut remarks = Vec::new();
        if frames > 0 {
            let (frames, parts) = (counted(frames, "FD frame"), counted(parts, "part"));
            remarks.push(format!("{frames} split into {parts}"));
        }
        if joined.completed > 0 {
            let frames = counted(joined.completed, "FD frame");
            let parts = counted(joined.joined, "part");
            remarks.push(format!("{parts} joined to {frames}"));
        }
        for (count, noun, what) in [
            (gaps, "FD frame", "dropped: a part was missing"),
            (late, "FD frame", "dropped: a part did not come in time"),
            (joined.dropped, "part", "dropped, which the losses count"),
            (joined.repeated, "part", "left out, which came twice"),
        ] {
            if count > 0 {
                remarks.push(format!("{} {what}", counted(count, noun)));
            }
        }
        remarks
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

impl PollReceive for SplitReceiver {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

/// Takes the frames that routes lead to the port.
struct SplitTransmitter {
    handle: SplitterHandle,
}

impl Transmit for SplitTransmitter {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        lock(&self.handle).take(now, &outgoing)?;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        let splitter = lock(&self.handle);
        let (joined, waiting) = splitter.joined();
        let sent = splitter.split.0 + joined.joined + joined.repeated;
        TxCounters {
            taken: sent + joined.dropped + waiting,
            sent,
            lost: joined.dropped,
            held: waiting,
            ..TxCounters::default()
        }
    }

    fn room(&self) -> usize {
        let splitter = lock(&self.handle);
        splitter.room.saturating_sub(splitter.made.len()) / MOST_PARTS
    }

    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

impl PollTransmit for SplitTransmitter {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}
