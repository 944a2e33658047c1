//! Groups of records, and the channels in them.

use super::block::{Blocks, LE};
use super::channel::{ChannelType, DataChannel};
use crate::bad::LogFault;
use std::collections::HashSet;

/// Maximum number of channels of a group, and of groups of a file.
const MOST: usize = 100_000;

/// Maximum depth of channels within channels.
const DEPTH: usize = 8;

const TOO_MANY: LogFault = LogFault::Said("more than 100000 groups or channels");
const TWICE: LogFault = LogFault::Said("a list of groups or channels that has one of them twice");

/// Records in the same data: one or several groups (sorted or unsorted).
#[derive(Debug)]
pub(super) struct DataGroup {
    /// Number of bytes of the group's number before each record.
    pub(super) id_size: usize,
    /// The link to the data.
    pub(super) data: u64,
    pub(super) groups: Vec<ChannelGroup>,
}

/// Records of the same structure.
#[derive(Debug)]
pub(super) struct ChannelGroup {
    /// The position of its block in the file.
    pub(super) at: u64,
    pub(super) record_id: u64,
    /// Number of records, as the file states it.
    pub(super) cycles: u64,
    /// Its records are values of variable length.
    pub(super) is_values: bool,
    /// Size in bytes of a record's values, and of the bits behind them that make values invalid.
    pub(super) values: usize,
    pub(super) invalid: usize,
    /// The group that has the times of this group's records, if not the group itself.
    pub(super) master: u64,
    pub(super) name: String,
    /// The channels, with their names.
    pub(super) channels: Vec<(String, DataChannel)>,
}

impl ChannelGroup {
    /// Returns the name of the group for users: that of its bus event or its first value; `None`
    /// where it has only times.
    pub(super) fn title(&self) -> Option<&str> {
        let is_value = |channel: &DataChannel| {
            matches!(channel.kind, ChannelType::Fixed | ChannelType::Variable)
        };
        let mut values = self
            .channels
            .iter()
            .filter(|(_, channel)| is_value(channel));
        values
            .next()
            .map(|(name, _)| name.split('.').next().unwrap_or(name))
    }

    /// Returns the channel that is the time of the records.
    pub(super) fn time(&self) -> Option<&DataChannel> {
        let is_time = |channel: &&DataChannel| {
            channel.is_time
                && matches!(
                    channel.kind,
                    ChannelType::Master | ChannelType::VirtualMaster
                )
        };
        self.channels
            .iter()
            .map(|(_, channel)| channel)
            .find(is_time)
    }
}

/// Reads all groups. Mistakes are handed over to `fault`, with their places; the rest is read.
pub(super) fn read_groups(
    blocks: &Blocks<'_>,
    first: u64,
    fault: &mut dyn FnMut(u64, LogFault),
) -> Vec<DataGroup> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut at = first;
    while at != 0 {
        let block = match blocks.get_kind(at, b"##DG") {
            Ok(_) if !seen.insert(at) => return with_fault(found, at, TWICE, fault),
            Ok(_) if seen.len() > MOST => return with_fault(found, at, TOO_MANY, fault),
            Ok(block) => block,
            Err(why) => return with_fault(found, at, why, fault),
        };
        let mut groups = Vec::new();
        let mut link = block.link(1);
        while link != 0 {
            if !seen.insert(link) || seen.len() > MOST {
                fault(link, TWICE);
                break;
            }
            match read_group(blocks, link) {
                Ok((group, next)) => {
                    groups.push(group);
                    link = next;
                }
                Err((place, why)) => {
                    fault(place, why);
                    break;
                }
            }
        }
        found.push(DataGroup {
            id_size: block.data.first().copied().unwrap_or(0).into(),
            data: block.link(2),
            groups,
        });
        at = block.link(0);
    }
    found
}

fn with_fault(
    found: Vec<DataGroup>,
    at: u64,
    why: LogFault,
    fault: &mut dyn FnMut(u64, LogFault),
) -> Vec<DataGroup> {
    fault(at, why);
    found
}

/// Reads a CG block with its channels; returns the link to the next one, too.
fn read_group(blocks: &Blocks<'_>, at: u64) -> Result<(ChannelGroup, u64), (u64, LogFault)> {
    let block = blocks.get_kind(at, b"##CG").map_err(|fault| (at, fault))?;
    let data = block.data;
    let flags = LE.u16(data, 16).unwrap_or(0);
    let size = |at: usize| LE.u32(data, at).unwrap_or(0) as usize;
    let mut channels = Vec::new();
    read_channels(
        blocks,
        block.link(1),
        "",
        DEPTH,
        &mut HashSet::new(),
        &mut channels,
    )?;
    let group = ChannelGroup {
        at,
        record_id: LE.u64(data, 0).unwrap_or(0),
        cycles: LE.u64(data, 8).unwrap_or(0),
        is_values: flags & 1 != 0,
        values: size(24),
        invalid: size(28),
        master: if flags & 8 != 0 { block.link(6) } else { 0 },
        name: blocks.text(block.link(2)),
        channels,
    };
    Ok((group, block.link(0)))
}

/// Reads a list of CN blocks, with the channels that they are composed of. `parent`: the name of
/// the channel that is composed of them.
fn read_channels(
    blocks: &Blocks<'_>,
    first: u64,
    parent: &str,
    depth: usize,
    seen: &mut HashSet<u64>,
    channels: &mut Vec<(String, DataChannel)>,
) -> Result<(), (u64, LogFault)> {
    let mut at = first;
    while at != 0 {
        let block = blocks.get_kind(at, b"##CN").map_err(|fault| (at, fault))?;
        if !seen.insert(at) {
            return Err((at, TWICE));
        }
        if channels.len() == MOST {
            return Err((at, TOO_MANY));
        }
        let name = blocks.text(block.link(2));
        // Some writers name a member alone, others with the name of what it is a member of.
        let name = match name.strip_prefix(parent) {
            Some(rest) if rest.starts_with('.') || parent.is_empty() => name,
            _ => format!("{parent}.{name}"),
        };
        let channel = DataChannel::read(blocks, at).map_err(|fault| (at, fault))?;
        channels.push((name.clone(), channel));
        let members = block.link(1);
        if depth > 0 && members != 0 && blocks.get_kind(members, b"##CN").is_ok() {
            read_channels(blocks, members, &name, depth - 1, seen, channels)?;
        }
        at = block.link(0);
    }
    Ok(())
}
