//! Records of each planned frame, and matching of the frames that came out to planned ones.
//!
//! The papers' lookup table (gateway-2011 §2.1): the number in a frame's first two bytes leads to
//! the frame that was sent with it last. Work for each frame is small and constant, and nothing is
//! allocated while frames run. Numbers wrap after 65536 frames; a frame that comes out after its
//! number was used again is taken for the later one, so that the match is right as long as a frame
//! takes less time than 65536 frames do: more than two seconds on any bus on which frames take
//! time, twice the time after which a frame counts as lost.
//!
//! [`probe::matching::FrameMatcher`] is not used here: docs/decisions/0009-one-matcher.md gives the
//! reason.

use crate::plan::PlannedFrame;
use frame::wire::{self, BitRate};
use frame::{Frame, Nanos};
use probe::matching::ReorderCount;
use probe::traffic::number_in;
use probe::{FrameRecord, IncomingFrame, PayloadStore, SentCopy, Status};

/// The greatest number of records of duplicated or unexpected frames. Further ones are only
/// counted.
const MAX_EXTRAS: usize = 1 << 16;

/// The interval that is taken as the latency of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyMeasure {
    /// End of the outgoing frame − end of the incoming one − the outgoing one's duration.
    Gateway,
    /// Stamp of the receiver − stamp of the reference, of one frame on one bus: how well two
    /// stamps of the tester agree.
    Difference,
    /// Stamp of the reference − time before sending − duration (gateway-2011 §2.4, Fig. 5): the
    /// time that sending and receiving add to a frame that passes no gateway.
    Sending,
}

/// How long a frame takes on the outgoing bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusTime {
    /// None: the interfaces are emulated, or virtual.
    None,
    /// Calculated, bit by bit.
    Rate(BitRate),
    /// Contained in each stamp.
    Reception,
}

/// The fate of one planned frame.
#[derive(Clone, Copy, Debug, Default)]
struct FrameRow {
    /// Time at which it was handed over to be sent.
    sent: Option<Nanos>,
    /// Its stamp on the incoming bus.
    incoming: Option<Nanos>,
    /// The frame as it came out.
    outgoing: Option<OutFrames>,
}

#[derive(Clone, Copy, Debug)]
struct OutFrames {
    at: Nanos,
    frame: Frame,
    duration: Nanos,
    /// Its position among all frames that came out.
    order: u32,
}

/// A frame that came out, but not as the first of its number.
#[derive(Clone, Copy, Debug)]
struct ExtraFrame {
    of: Option<u32>,
    out: OutFrames,
}

/// Records of all planned frames, written as frames are sent and seen.
pub struct FateRecorder {
    planned: Vec<PlannedFrame>,
    rows: Vec<FrameRow>,
    /// By number: the frame that was last sent with it.
    latest: Vec<u32>,
    extras: Vec<ExtraFrame>,
    timeout: Nanos,
    bus: BusTime,
    order: u32,
    under_way: u32,
    tally: RecorderTally,
}

/// Counters that are kept while frames are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecorderTally {
    duplicated: u64,
    unexpected: u64,
    foreign: u64,
    twice: u64,
}

/// No frame has had this number yet.
const NONE: u32 = u32::MAX;

/// Number of frames by fate.
///
/// `planned = sent + never_in + not_tried` and `sent = received + lost`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FateCounts {
    /// Frames that were planned to be sent.
    pub planned: u64,
    /// Frames that went into the gateway: seen on its incoming bus, or coming out of it.
    pub sent: u64,
    /// Of those, how many came out in time.
    pub received: u64,
    /// Of those, how many did not come out, or came out too late.
    pub lost: u64,
    /// Of the lost ones, how many came out too late.
    pub late: u64,
    /// Frames handed to the sending interface that were never seen on the bus.
    pub never_in: u64,
    /// Frames that were not sent because the run ended first.
    pub not_tried: u64,
    /// Received frames that another one of the same incoming identifier overtook.
    pub reordered: u64,
    /// Frames that came out a second time.
    pub duplicated: u64,
    /// Frames that came out but that the tester never sent; frames that came out too late are not
    /// included.
    pub unexpected: u64,
    /// Frames on the incoming bus that are not the tester's.
    pub foreign: u64,
    /// Frames of the tester that were seen on the incoming bus a second time.
    pub twice: u64,
    /// Received frames that the reference did not see, and that therefore have no latency.
    pub unreferenced: u64,
    /// Received frames with another identifier than they were sent with.
    pub other_id: u64,
    /// Received frames with another length, kind or bit rate switch.
    pub other_length: u64,
    /// Received frames of the same length with other payload after the number.
    pub other_data: u64,
}

impl FateRecorder {
    /// Creates a recorder that has seen nothing yet. A frame is lost when it did not come out
    /// within `timeout` ns after it went in.
    #[must_use]
    pub fn new(planned: Vec<PlannedFrame>, timeout: Nanos, bus: BusTime) -> Self {
        Self {
            rows: vec![FrameRow::default(); planned.len()],
            planned,
            latest: vec![NONE; 1 << 16],
            extras: Vec::with_capacity(64),
            timeout,
            bus,
            order: 0,
            under_way: 0,
            tally: RecorderTally::default(),
        }
    }

    /// Returns the planned frames.
    #[must_use]
    pub fn planned(&self) -> &[PlannedFrame] {
        &self.planned
    }

    /// Records that frame number `index` of the plan is about to be sent at `at`.
    pub fn sent(&mut self, index: u32, at: Nanos) {
        let Some(row) = self.rows.get_mut(index as usize) else {
            return;
        };
        if row.sent.replace(at).is_none() {
            self.under_way += 1;
        }
        let slot = self.latest.get_mut(usize::from(index as u16));
        if let Some(slot) = slot {
            *slot = index;
        }
    }

    /// Records that frame number `index` could not be sent after all.
    pub fn unsent(&mut self, index: u32) {
        if let Some(row) = self.rows.get_mut(index as usize)
            && row.sent.take().is_some()
        {
            self.under_way = self.under_way.saturating_sub(1);
        }
    }

    /// Returns the last frame sent with the number that this one carries.
    fn with_number(&self, frame: &Frame) -> Option<u32> {
        let number = number_in(frame.data(), 0)?;
        let index = *self.latest.get(usize::from(number))?;
        let sent = self.rows.get(index as usize)?.sent.is_some();
        (index != NONE && sent).then_some(index)
    }

    /// Records a frame that was seen on the incoming bus. Returns its index in the plan: it must be
    /// identical to the planned frame in all its bits.
    pub fn incoming(&mut self, frame: &Frame, at: Nanos) -> Option<u32> {
        let found = self.with_number(frame).filter(|&index| {
            let planned = self.planned.get(index as usize);
            planned.is_some_and(|p| same(&p.frame, frame))
        });
        let Some(index) = found else {
            self.tally.foreign += 1;
            return None;
        };
        let row = self.rows.get_mut(index as usize)?;
        if row.incoming.is_some() {
            self.tally.twice += 1;
        } else {
            row.incoming = Some(at);
        }
        Some(index)
    }

    /// Records a frame that was seen on the outgoing bus; `stamped` is its duration if the stamp
    /// contains one. Returns its index in the plan, if it is the first with its number.
    pub fn outgoing(&mut self, frame: &Frame, at: Nanos, stamped: Option<Nanos>) -> Option<u32> {
        let out = OutFrames {
            at,
            frame: *frame,
            duration: self.duration(frame, stamped),
            order: self.order,
        };
        self.order = self.order.saturating_add(1);
        let index = self.with_number(frame);
        let row = index.and_then(|index| self.rows.get_mut(index as usize));
        match row {
            Some(row) if row.outgoing.is_none() => {
                row.outgoing = Some(out);
                self.under_way = self.under_way.saturating_sub(1);
                return index;
            }
            Some(_) => self.tally.duplicated += 1,
            None => self.tally.unexpected += 1,
        }
        if self.extras.len() < MAX_EXTRAS {
            self.extras.push(ExtraFrame { of: index, out });
        }
        None
    }

    fn duration(&self, frame: &Frame, stamped: Option<Nanos>) -> Nanos {
        match self.bus {
            BusTime::None => 0,
            BusTime::Reception => stamped.unwrap_or(0),
            BusTime::Rate(rate) => {
                wire::length(frame.view()).map_or(0, |length| length.duration(rate, false))
            }
        }
    }

    /// Returns whether this frame of the plan has come out.
    #[must_use]
    pub fn is_back(&self, index: u32) -> bool {
        let row = self.rows.get(index as usize);
        row.is_some_and(|row| row.outgoing.is_some())
    }

    /// Returns whether any frame of the plan was seen on the incoming bus.
    #[must_use]
    pub fn any_in(&self) -> bool {
        self.rows.iter().any(|row| row.incoming.is_some())
    }

    /// Returns the number of frames that were sent and have not come out.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Returns the records of all frames, in the order of the plan, followed by those of duplicated
    /// or unexpected frames; and the number of frames by fate. Ports are 0 for the incoming bus and
    /// 1 for the outgoing one.
    #[must_use]
    pub fn finish(&self, measure: LatencyMeasure) -> (Vec<FrameRecord>, FateCounts) {
        let mut counts = FateCounts {
            planned: self.planned.len() as u64,
            duplicated: self.tally.duplicated,
            unexpected: self.tally.unexpected,
            foreign: self.tally.foreign,
            twice: self.tally.twice,
            ..FateCounts::default()
        };
        let mut records = Vec::with_capacity(self.rows.len() + self.extras.len());
        for (index, (row, planned)) in self.rows.iter().zip(&self.planned).enumerate() {
            records.extend(self.record(index as u64, row, planned, measure, &mut counts));
        }
        counts.reordered = self.reordered();
        for extra in &self.extras {
            let status = if extra.of.is_some() {
                Status::Duplicated
            } else {
                Status::Unexpected
            };
            records.push(FrameRecord {
                tag: extra.of.map_or(u64::MAX, u64::from),
                outgoing: Some(outgoing(&extra.out, measure)),
                ..empty(status)
            });
        }
        (records, counts)
    }

    /// Returns the payloads of these records, which [`FateRecorder::finish`] returned: those of the
    /// plan's frames as they went in, and those of the frames that came out.
    #[must_use]
    pub fn payloads(&self, records: &[FrameRecord]) -> PayloadStore {
        let mut payloads = PayloadStore::default();
        let rows = records.len().saturating_sub(self.extras.len());
        for (place, record) in records.iter().enumerate() {
            let row = usize::try_from(record.tag).ok();
            let row = row.filter(|_| place < rows);
            if let Some(planned) = row.and_then(|row| self.planned.get(row)) {
                payloads.set_incoming(place, planned.frame.data());
            }
            let out = match place.checked_sub(rows) {
                None => row.and_then(|row| self.rows.get(row)?.outgoing.as_ref()),
                Some(extra) => self.extras.get(extra).map(|extra| &extra.out),
            };
            if let Some(out) = out {
                payloads.set_outgoing(place, out.frame.data());
            }
        }
        payloads
    }

    fn record(
        &self,
        tag: u64,
        row: &FrameRow,
        planned: &PlannedFrame,
        measure: LatencyMeasure,
        counts: &mut FateCounts,
    ) -> Option<FrameRecord> {
        let stamps = match measure {
            LatencyMeasure::Gateway | LatencyMeasure::Difference => row.incoming,
            LatencyMeasure::Sending => row.sent,
        };
        let incoming = stamps.map(|end| IncomingFrame {
            port: 0,
            id: planned.frame.id(),
            kind: Some(planned.frame.kind()),
            len: planned.frame.len() as u16,
            end,
        });
        let record = |outgoing, status| FrameRecord {
            tag,
            incoming,
            outgoing,
            ..empty(status)
        };
        let Some(out) = &row.outgoing else {
            if row.incoming.is_some() {
                counts.sent += 1;
                counts.lost += 1;
                return Some(record(None, Status::Lost));
            }
            let Some(_) = row.sent else {
                counts.not_tried += 1;
                return None;
            };
            counts.never_in += 1;
            return Some(FrameRecord {
                incoming: None,
                ..record(None, Status::NeverIn)
            });
        };
        counts.sent += 1;
        if self.is_late(row, out) {
            counts.lost += 1;
            counts.late += 1;
            return Some(record(None, Status::Lost));
        }
        counts.received += 1;
        counts.unreferenced += u64::from(incoming.is_none());
        compare(&planned.frame, &out.frame, counts);
        Some(record(Some(outgoing(out, measure)), Status::Delivered))
    }

    fn is_late(&self, row: &FrameRow, out: &OutFrames) -> bool {
        row.incoming
            .or(row.sent)
            .is_some_and(|from| out.at.saturating_sub(from) > self.timeout)
    }

    /// Counts the frames that came out after a later one of the same incoming identifier (as RFC
    /// 4737 counts); frames of one identifier are expected to keep their order.
    fn reordered(&self) -> u64 {
        let mut arrived: Vec<(u32, usize)> = self
            .rows
            .iter()
            .enumerate()
            .filter_map(|(index, row)| {
                let out = row.outgoing.as_ref()?;
                (!self.is_late(row, out)).then_some((out.order, index))
            })
            .collect();
        arrived.sort_unstable();
        let mut order = ReorderCount::default();
        let overtaken = |&(_, index): &(u32, usize)| {
            let planned = self.planned.get(index);
            planned.is_some_and(|p| order.overtaken(p.frame.id().raw(), index as u64))
        };
        arrived.into_iter().filter(overtaken).count() as u64
    }
}

const fn empty(status: Status) -> FrameRecord {
    FrameRecord {
        tag: 0,
        route: None,
        incoming: None,
        outgoing: None,
        status,
        processing: None,
        accesses: None,
    }
}

fn outgoing(out: &OutFrames, measure: LatencyMeasure) -> SentCopy {
    SentCopy {
        port: 1,
        id: out.frame.id(),
        kind: Some(out.frame.kind()),
        len: out.frame.len() as u16,
        end: out.at,
        duration: match measure {
            // Both stamps are of the same frame.
            LatencyMeasure::Difference => 0,
            LatencyMeasure::Gateway | LatencyMeasure::Sending => out.duration,
        },
    }
}

/// Returns whether both are the same frame on a bus. ESI is the sender's state, and not part of the
/// frame as planned.
fn same(a: &Frame, b: &Frame) -> bool {
    a.id() == b.id() && alike(a, b) && a.data() == b.data()
}

/// Returns whether both are of the same kind and length.
fn alike(a: &Frame, b: &Frame) -> bool {
    let (a, b) = (a.header(), b.header());
    a.kind() == b.kind() && a.len() == b.len() && a.is_brs() == b.is_brs()
}

/// Counts the changes that the gateway made.
fn compare(sent: &Frame, out: &Frame, counts: &mut FateCounts) {
    counts.other_id += u64::from(sent.id() != out.id());
    if !alike(sent, out) {
        counts.other_length += 1;
    } else if sent.data() != out.data() {
        counts.other_data += 1;
    }
}

#[cfg(test)]
mod tests;
