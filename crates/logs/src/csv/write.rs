//! CSV as python-can's `CSVWriter` writes it. It has no comments, so that lost frames cannot be
//! stated.

use super::{PYTHON_CAN, base64};
use crate::shortfall::{FileContext, Shortfall, applying, has_other_flags, is_strange};
use crate::write::{FrameEntry, FrameWriter, LossEntry};
use frame::{CanId, Kind};
use std::io::Write as _;

/// Writer of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvWriter;

impl FrameWriter for CsvWriter {
    fn begin(&mut self, out: &mut Vec<u8>) {
        // Writes into memory do not fail; this applies to all writes in this module.
        let _ = writeln!(out, "{PYTHON_CAN}");
    }

    fn frame(&mut self, entry: &FrameEntry<'_>, out: &mut Vec<u8>) -> bool {
        let (header, id) = (entry.frame.header(), entry.frame.id());
        let count = match header.kind() {
            Kind::Xl => return false,
            Kind::Fd => header.len() as u16,
            Kind::Classic => header.dlc(),
        };
        let (seconds, fraction) = (entry.stamp / 1_000_000_000, entry.stamp % 1_000_000_000);
        let _ = if fraction.is_multiple_of(1000) {
            write!(out, "{seconds}.{:06}", fraction / 1000)
        } else {
            write!(out, "{seconds}.{fraction:09}")
        };
        // Of an error frame, the bits of the ID are its class.
        let bits = if id.is_eff() || id.is_err() {
            CanId::EFF_MASK
        } else {
            CanId::SFF_MASK
        };
        let number = id.raw() & bits;
        let flags = [id.is_eff(), header.is_rtr(), id.is_err()].map(u8::from);
        let [is_extended, is_remote, is_error] = flags;
        let _ = write!(
            out,
            ",{number:#x},{is_extended},{is_remote},{is_error},{count},"
        );
        base64::encode(entry.frame.data(), out);
        out.push(b'\n');
        true
    }

    fn loss(&mut self, _: &LossEntry<'_>, _: &mut Vec<u8>) {}
}

/// Returns what CSV cannot express of a frame.
pub(super) fn shortfalls(entry: &FrameEntry<'_>, _: &FileContext) -> Vec<Shortfall> {
    let header = entry.frame.header();
    let is_fd = header.kind() == Kind::Fd;
    if header.kind() == Kind::Xl {
        return vec![Shortfall::Xl];
    }
    applying([
        // A reader takes a frame of more than 8 bytes for an FD frame without flags.
        (
            is_fd && (header.len() <= 8 || header.is_brs() || header.is_esi()),
            Shortfall::Fd,
        ),
        (
            is_strange(&entry.frame) || has_other_flags(&entry.frame),
            Shortfall::Bits,
        ),
        (entry.direction.is_some(), Shortfall::NoDirection),
        // A reader takes every frame for one of can0.
        (entry.name != "can0", Shortfall::Interface),
    ])
}
