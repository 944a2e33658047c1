//! The data of a group: in one block or in a list of blocks, packed or not.

use super::block::{Block, Blocks, CUT, LE};
use crate::bad::LogFault;
use flate2::read::ZlibDecoder;
use std::collections::HashSet;
use std::io::Read as _;

/// Maximum number of bytes of data that are read of one file, unpacked: 4 GiB. A small file can be
/// unpacked to any size.
pub(super) const MAX_UNPACKED: u64 = 4 << 30;

const TOO_MUCH: LogFault =
    LogFault::Said("more than 4 GiB of unpacked data: cut the log into several files");
const TWICE: LogFault = LogFault::Said("a list of blocks that has a block twice");
const KIND: LogFault = LogFault::Said("a block that is neither data nor a list of them");
const DAMAGED: LogFault = LogFault::Said("a packed block that cannot be unpacked");

/// A piece of the data.
pub(super) struct DataPiece<'a> {
    /// The position of its first byte in the file; for a packed piece, that of its block.
    pub(super) place: u64,
    pub(super) packed: bool,
    pub(super) bytes: &'a [u8],
}

impl DataPiece<'_> {
    /// Returns the position in the file of one of its bytes.
    pub(super) const fn place_of(&self, byte: u64) -> u64 {
        if self.packed {
            self.place
        } else {
            self.place + byte
        }
    }
}

/// Returns whether the data are values alone, without the bits that make them invalid.
pub(super) fn is_values(blocks: &Blocks<'_>, link: u64) -> bool {
    blocks
        .get(link)
        .is_ok_and(|block| matches!(block.id, b"##LD" | b"##DV"))
}

/// Hands over the data behind a link, in order. `budget`: number of bytes that may be read.
///
/// # Errors
/// The mistake at which the data end, with its place; all pieces before it were handed over. Or the
/// error of `visit`.
pub(super) fn each_piece(
    blocks: &Blocks<'_>,
    link: u64,
    budget: &mut u64,
    visit: &mut dyn FnMut(&DataPiece<'_>) -> Result<(), LogFault>,
) -> Result<(), (u64, LogFault)> {
    let mut seen = HashSet::new();
    let mut at = link;
    // The first byte after the last block of a list.
    let mut end = 0;
    while at != 0 {
        let block = blocks.get(at).map_err(|fault| (at, fault))?;
        if !seen.insert(at) {
            return Err((at, TWICE));
        }
        match block.id {
            b"##HL" => at = block.link(0),
            b"##DL" | b"##LD" => {
                for number in data_links(&block) {
                    let link = block.link(number);
                    // A list that was not finished has links that lead nowhere yet.
                    if link == 0 {
                        continue;
                    }
                    if !seen.insert(link) {
                        return Err((link, TWICE));
                    }
                    let part = blocks.get(link).map_err(|fault| (link, fault))?;
                    one_piece(&part, budget, visit).map_err(|fault| (link, fault))?;
                    end = part.end();
                }
                end = end.max(block.end());
                at = block.link(0);
            }
            _ => return one_piece(&block, budget, visit).map_err(|fault| (at, fault)),
        }
    }
    // The writer adds the links when it has written the blocks, which follow one another.
    while blocks.has_open_list() && end != 0 {
        let next = end.next_multiple_of(8);
        match blocks.get(next) {
            Ok(part) if matches!(part.id, b"##DT" | b"##DZ" | b"##DV") && seen.insert(next) => {
                one_piece(&part, budget, visit).map_err(|fault| (next, fault))?;
                end = part.end();
            }
            _ => break,
        }
    }
    Ok(())
}

/// Returns the numbers of the links of a list that lead to data.
fn data_links(list: &Block<'_>) -> std::ops::Range<usize> {
    let count = LE.u32(list.data, 4).unwrap_or(0) as usize;
    1..count.saturating_add(1).min(list.link_count())
}

fn one_piece(
    block: &Block<'_>,
    budget: &mut u64,
    visit: &mut dyn FnMut(&DataPiece<'_>) -> Result<(), LogFault>,
) -> Result<(), LogFault> {
    let unpacked;
    let (bytes, packed, fault) = match block.id {
        b"##DT" | b"##SD" | b"##DV" => (block.data, false, block.cut.then_some(CUT)),
        b"##DZ" => {
            let (bytes, fault) = unpack(block, *budget)?;
            unpacked = bytes;
            (&*unpacked, true, fault)
        }
        _ => return Err(KIND),
    };
    *budget = budget.checked_sub(bytes.len() as u64).ok_or(TOO_MUCH)?;
    let header = super::block::HEADER * u64::from(!packed);
    visit(&DataPiece {
        place: block.at + header,
        packed,
        bytes,
    })?;
    fault.map_or(Ok(()), Err)
}

/// Unpacks a DZ block. Returns the bytes up to a mistake, and the mistake.
fn unpack(block: &Block<'_>, budget: u64) -> Result<(Vec<u8>, Option<LogFault>), LogFault> {
    let cut = if block.cut { CUT } else { DAMAGED };
    let data = block.data;
    let (Some(columns), Some(size), Some(packed)) =
        (LE.u32(data, 4), LE.u64(data, 8), data.get(24..))
    else {
        return Err(cut);
    };
    let kind = data.get(2).copied().unwrap_or(0);
    if kind > 1 {
        return Err(LogFault::Unknown(
            "a block of compression type",
            kind.into(),
        ));
    }
    if size > budget {
        return Err(TOO_MUCH);
    }
    let mut bytes = Vec::new();
    // What comes before damage is valid.
    let read = ZlibDecoder::new(packed).take(size).read_to_end(&mut bytes);
    let whole = read.is_ok() && bytes.len() as u64 == size;
    match (kind, whole) {
        (1, true) => Ok((transposed(&bytes, columns as usize), None)),
        // A table whose end is missing has no complete line.
        (1, false) => Err(cut),
        (_, true) => Ok((bytes, None)),
        (_, false) => Ok((bytes, Some(cut))),
    }
}

/// Turns the columns of a table back into lines. What follows the last whole line was not turned.
fn transposed(bytes: &[u8], columns: usize) -> Vec<u8> {
    let lines = bytes.len().checked_div(columns).unwrap_or(0);
    let (table, rest) = bytes
        .split_at_checked(lines * columns)
        .unwrap_or((bytes, &[]));
    let mut out = Vec::with_capacity(bytes.len());
    for line in 0..lines {
        out.extend(table.iter().skip(line).step_by(lines));
    }
    if lines == 0 {
        out.extend_from_slice(table);
    }
    out.extend_from_slice(rest);
    out
}
