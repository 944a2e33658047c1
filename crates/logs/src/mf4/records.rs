//! The records of all groups, and the frames in them.

use super::block::{Blocks, CUT, LE};
use super::channel::DataChannel;
use super::data::{DataPiece, each_piece, is_values};
use super::faults::FaultList;
use super::group::{ChannelGroup, DataGroup, read_groups};
use super::plan::{FramePlan, GroupRecord};
use super::store::FrameStore;
use crate::bad::LogFault;
use crate::read::PassedRecords;
use frame::Nanos;
use std::collections::HashMap;

/// The longest record that is read, in bytes: 16 MiB.
const LONGEST: usize = 16 << 20;

const UNKNOWN: LogFault = LogFault::Said("a record of a group that the file does not have");
const TOO_LONG: LogFault = LogFault::Said("a record of more than 16 MiB, or of no byte");
const TORN: LogFault = LogFault::Said("the data of a group end within a record");
const MORE: LogFault = LogFault::Said("more records than their group states: those are left out");
const FEWER: LogFault =
    LogFault::Said("fewer records than their group states: was the log cut off?");
const NO_TIME: LogFault = LogFault::Said("a group of frames without their times");
const TIME: LogFault = LogFault::Said("a time before 1970 or after 2554");
const VALUE: LogFault = LogFault::Said("a frame whose bytes are not in the file");

/// Reads records into a store.
pub(super) struct RecordReader<'a, 'f> {
    pub(super) blocks: &'a Blocks<'f>,
    pub(super) frames: &'a mut FrameStore,
    pub(super) faults: &'a mut FaultList,
    pub(super) passed: &'a mut Vec<PassedRecords>,
    /// Number of bytes of data that may still be read.
    pub(super) budget: u64,
}

/// The data that is needed to read the frames of a group.
struct FrameGroup<'g> {
    plan: FramePlan,
    time: RecordTime<'g>,
    /// The values of variable length, each after its length in 4 bytes.
    values: Option<Vec<u8>>,
    /// Where the next value begins, if the records do not state it.
    next: usize,
}

/// All groups by the position of their block, with the data that they are in.
type GroupPlaces<'g> = HashMap<u64, (&'g DataGroup, &'g ChannelGroup)>;

/// Where the times of a group's records are.
enum RecordTime<'g> {
    Channel(&'g DataChannel),
    /// In another group: ns of each record.
    Other(Vec<Option<i128>>),
}

impl RecordReader<'_, '_> {
    /// Reads the frames of all groups.
    ///
    /// # Errors
    /// If nothing of the file can be read.
    pub(super) fn read_all(&mut self) -> Result<(), LogFault> {
        let header = self.blocks.get_kind(super::ID_BLOCK as u64, b"##HD")?;
        let start = LE.u64(header.data, 0).ok_or(CUT)?;
        let mut found = |place, fault| self.faults.add(place, fault);
        let all = read_groups(self.blocks, header.link(0), &mut found);
        let masters = all.iter().flat_map(|data| {
            let groups = data.groups.iter();
            groups.map(move |group| (group.at, (data, group)))
        });
        let masters = masters.collect();
        for data in &all {
            let result = self.data_group(data, &masters, start);
            if let Err((place, fault)) = result {
                self.faults.add(place, fault);
            }
        }
        Ok(())
    }

    /// Reads the records of groups that share their data.
    fn data_group(
        &mut self,
        data: &DataGroup,
        masters: &GroupPlaces<'_>,
        start: Nanos,
    ) -> Result<(), (u64, LogFault)> {
        let mut plans = Vec::new();
        for group in &data.groups {
            plans.push(match FramePlan::from_group(group) {
                Some(plan) => self.frame_group(plan, data, group, masters),
                None => None,
            });
        }
        let needed = plans.iter().any(Option::is_some) || self.blocks.is_unfinished();
        let mut counts = vec![0_u64; data.groups.len()];
        let mut result = Ok(());
        if needed {
            let (frames, faults) = (&mut *self.frames, &mut *self.faults);
            let open = self.blocks.has_open_offsets();
            let mut visit = |number: usize, _: &ChannelGroup, place, record: &[u8]| {
                let count = counts.get_mut(number).ok_or(UNKNOWN)?;
                let index = *count;
                *count += 1;
                if let Some(Some(plan)) = plans.get_mut(number) {
                    match plan.frame(record, index, start, open) {
                        Ok((ns, planned)) => frames.add(ns, place, &planned)?,
                        Err(fault) => faults.add(place, fault),
                    }
                }
                Ok(())
            };
            result = each_record(self.blocks, data, &mut self.budget, &mut visit);
        }
        for ((group, plan), count) in data.groups.iter().zip(&plans).zip(counts) {
            let complete = needed && result.is_ok() && !self.blocks.is_unfinished();
            if plan.is_some() && complete && count < group.cycles {
                self.faults.add(group.at, FEWER);
            }
            let records = if needed { count } else { group.cycles };
            let other = FramePlan::from_group(group).is_none() && !group.is_values && records > 0;
            if let Some(name) = group.title().filter(|_| other) {
                let name = name.to_owned();
                self.passed.push(PassedRecords { name, records });
            }
        }
        result
    }

    /// Collects what is needed to read the frames of a group; `None`, with a fault, where it is not
    /// there.
    fn frame_group<'g>(
        &mut self,
        plan: FramePlan,
        data: &DataGroup,
        group: &'g ChannelGroup,
        masters: &GroupPlaces<'_>,
    ) -> Option<FrameGroup<'g>> {
        let time = match group.time() {
            Some(time) => time.fault.map_or(Ok(RecordTime::Channel(time)), Err),
            None => self.times_of(group.master, masters).map(RecordTime::Other),
        };
        let time = match time {
            Ok(time) => time,
            Err(fault) => {
                self.faults.add(group.at, fault);
                return None;
            }
        };
        let link = plan.variable().map(|channel| channel.data);
        Some(FrameGroup {
            values: link.map(|link| self.values(link, data)),
            plan,
            time,
            next: 0,
        })
    }

    /// Reads the times of all records of a group.
    fn times_of(
        &mut self,
        master: u64,
        masters: &GroupPlaces<'_>,
    ) -> Result<Vec<Option<i128>>, LogFault> {
        let (data, group) = *masters.get(&master).ok_or(NO_TIME)?;
        let time = group.time().ok_or(NO_TIME)?;
        if let Some(fault) = time.fault {
            return Err(fault);
        }
        let mut times = Vec::new();
        let mut visit = |_: usize, group: &ChannelGroup, _: u64, record: &[u8]| {
            if group.at == master {
                times.push(time.time(record, times.len() as u64));
            }
            Ok(())
        };
        let read = each_record(self.blocks, data, &mut self.budget, &mut visit);
        if let Err((place, fault)) = read {
            self.faults.add(place, fault);
        }
        Ok(times)
    }

    /// Reads the values of variable length behind a link: signal data, or a group in the same data.
    fn values(&mut self, link: u64, data: &DataGroup) -> Vec<u8> {
        let mut values = Vec::new();
        let in_group = data.groups.iter().any(|group| group.at == link);
        let read = if in_group {
            let mut visit = |_: usize, group: &ChannelGroup, _: u64, record: &[u8]| {
                if group.at == link {
                    values.extend((record.len() as u32).to_le_bytes());
                    values.extend_from_slice(record);
                }
                Ok(())
            };
            each_record(self.blocks, data, &mut self.budget, &mut visit)
        } else {
            let mut visit = |piece: &DataPiece<'_>| {
                values.extend_from_slice(piece.bytes);
                Ok(())
            };
            each_piece(self.blocks, link, &mut self.budget, &mut visit)
        };
        // The second reading of a group's data reports the same mistakes.
        if let (false, Err((place, fault))) = (in_group, read) {
            self.faults.add(place, fault);
        }
        values
    }
}

impl FrameGroup<'_> {
    /// Reads a record with its number.
    fn frame(
        &mut self,
        record: &[u8],
        number: u64,
        start: Nanos,
        open: bool,
    ) -> Result<(Nanos, super::plan::PlannedFrame), LogFault> {
        let time = match &self.time {
            RecordTime::Channel(channel) => channel.time(record, number),
            RecordTime::Other(times) => times.get(number as usize).copied().flatten(),
        };
        let ns = time.and_then(|ns| ns.checked_add(start.into()));
        let ns = ns.and_then(|ns| Nanos::try_from(ns).ok()).ok_or(TIME)?;
        let payload = match (&self.values, self.plan.variable()) {
            (Some(values), Some(channel)) => {
                let at = if open {
                    self.next
                } else {
                    let at = channel.raw(record).ok_or(VALUE)?;
                    usize::try_from(at).map_err(|_| VALUE)?
                };
                let len = LE.u32(values.get(at..).ok_or(VALUE)?, 0).ok_or(VALUE)? as usize;
                let bytes = values.get(at + 4..).and_then(|rest| rest.get(..len));
                self.next = at + 4 + len;
                Some(bytes.ok_or(VALUE)?)
            }
            _ => None,
        };
        let record = GroupRecord {
            bytes: record,
            payload,
        };
        Ok((ns, self.plan.read(&record)?))
    }
}

/// The visitor of records: the number of the group, the group, the place of the record in the file,
/// the record.
type RecordVisitor<'v> = dyn FnMut(usize, &ChannelGroup, u64, &[u8]) -> Result<(), LogFault> + 'v;

/// Hands over all records of groups that share their data, in the order of the file.
fn each_record(
    blocks: &Blocks<'_>,
    data: &DataGroup,
    budget: &mut u64,
    visit: &mut RecordVisitor<'_>,
) -> Result<(), (u64, LogFault)> {
    let mut splitter = RecordSplitter {
        groups: data
            .groups
            .iter()
            .enumerate()
            .map(|(n, g)| (g.record_id, n))
            .collect(),
        data,
        values: is_values(blocks, data.data),
        // A file that was not finished does not know how many records it has.
        limit: (!blocks.is_unfinished() && data.id_size == 0)
            .then(|| data.groups.first().map_or(0, |group| group.cycles)),
    };
    let mut rest = Vec::new();
    let mut place = data.data;
    let mut take = |piece: &DataPiece<'_>| {
        if splitter.limit == Some(0) && !rest.is_empty() {
            return Err(MORE);
        }
        if rest.is_empty() {
            let used = splitter.split(piece.bytes, &|at| piece.place_of(at), visit)?;
            rest.extend_from_slice(piece.bytes.get(used..).unwrap_or_default());
            place = piece.place_of(used as u64);
        } else {
            let before = rest.len() as u64;
            rest.extend_from_slice(piece.bytes);
            // A record in two pieces has the place of its beginning.
            let begun = place;
            let of = |at: u64| {
                at.checked_sub(before)
                    .map_or(begun, |at| piece.place_of(at))
            };
            let used = splitter.split(&rest, &of, visit)?;
            place = of(used as u64);
            rest.drain(..used);
        }
        Ok(())
    };
    each_piece(blocks, data.data, budget, &mut take)?;
    match (splitter.limit, rest.is_empty()) {
        (_, true) => Ok(()),
        (Some(0), false) => Err((place, MORE)),
        (_, false) => Err((place, TORN)),
    }
}

/// Splits data into records.
struct RecordSplitter<'d> {
    data: &'d DataGroup,
    groups: HashMap<u64, usize>,
    values: bool,
    /// Number of records that may still come.
    limit: Option<u64>,
}

impl RecordSplitter<'_> {
    /// Hands over the complete records at the beginning; returns the number of bytes that were
    /// used. `place`: returns the position of a byte in the file.
    fn split(
        &mut self,
        bytes: &[u8],
        place: &dyn Fn(u64) -> u64,
        visit: &mut RecordVisitor<'_>,
    ) -> Result<usize, LogFault> {
        let mut at = 0;
        while self.limit != Some(0) {
            let Some((number, begin, end)) = self.record(bytes, at)? else {
                break;
            };
            let Some(record) = bytes.get(begin..end) else {
                break;
            };
            let group = self.data.groups.get(number).ok_or(UNKNOWN)?;
            visit(number, group, place(at as u64), record)?;
            at = end;
            if let Some(limit) = &mut self.limit {
                *limit -= 1;
            }
        }
        Ok(at)
    }

    /// Returns the group of the record at this place, where its values begin, and where it ends;
    /// `None` where more bytes are needed.
    fn record(&self, bytes: &[u8], at: usize) -> Result<Option<(usize, usize, usize)>, LogFault> {
        let rest = bytes.get(at..).unwrap_or_default();
        let number = match self.data.id_size {
            0 => 0,
            size @ (1 | 2 | 4 | 8) => {
                let Some(id) = rest.get(..size) else {
                    return Ok(None);
                };
                let id = id
                    .iter()
                    .rev()
                    .fold(0, |id, byte| id << 8 | u64::from(*byte));
                *self.groups.get(&id).ok_or(UNKNOWN)?
            }
            _ => return Err(UNKNOWN),
        };
        let group = self.data.groups.get(number).ok_or(UNKNOWN)?;
        let begin = at + self.data.id_size;
        let (begin, size) = if group.is_values {
            let Some(size) = LE.u32(rest, self.data.id_size) else {
                return Ok(None);
            };
            (begin + 4, size as usize)
        } else if self.values {
            (begin, group.values)
        } else {
            (begin, group.values.saturating_add(group.invalid))
        };
        if size > LONGEST || begin + size == at {
            return Err(TOO_LONG);
        }
        Ok(Some((number, begin, begin + size)))
    }
}
