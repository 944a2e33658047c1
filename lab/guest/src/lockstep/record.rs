//! The plugins' records of what happened on a link.

use std::path::PathBuf;

/// The bytes before a record's content: `struct record` of `plugin/lockstep/record.h`.
const HEADER: usize = 24;

/// Something that happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The common time, ns: the end of a CAN frame; the time at which the switch forwards a packet,
    /// or would do so.
    pub at: u64,
    /// The common time at which the sender's card sent it, ns.
    pub asked: u64,
    /// The event.
    pub kind: RecordKind,
    /// The number of the sender; of a [`RecordKind::Crowded`] packet, that of the receiver.
    pub machine: usize,
    /// The CAN frame as Linux's `struct can_frame`, or `struct canfd_frame` if it is an FD frame;
    /// or the packet.
    pub bytes: Vec<u8>,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The frame has ended, acknowledged; the packet is forwarded.
    Sent,
    /// An attempt to send the frame has failed.
    Error,
    /// The frame is lost: there was no room in the queue, or the node is bus-off. The packet is
    /// lost before the switch: at random, or there was no room in the queue of its line.
    Lost,
    /// The packet is forwarded, and does not reach one machine: there was no room in the queue of
    /// its line.
    Crowded,
}

/// Records that cannot be parsed, or that differ between machines.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The file does not have the plugin's format.
    #[error("{} is broken at byte {at}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The offset of the record.
        at: usize,
    },
    /// Two machines have computed the same link differently.
    #[error(
        "machines {first} and {second} have computed link {link} differently from byte {at} of their records on"
    )]
    Different {
        /// The link.
        link: String,
        /// A machine.
        first: String,
        /// Another one.
        second: String,
        /// The offset of the first difference.
        at: usize,
    },
}

/// Parses the records of a file: those before the first one that is broken, and its offset.
pub(super) fn parse(bytes: &[u8]) -> (Vec<LinkRecord>, Option<usize>) {
    let mut all = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some((record, after)) = one(rest) else {
            return (all, Some(bytes.len() - rest.len()));
        };
        all.push(record);
        rest = after;
    }
    (all, None)
}

fn one(bytes: &[u8]) -> Option<(LinkRecord, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let number = |at: usize| -> Option<u64> {
        let bytes = header.get(at..at + 8)?.try_into().ok()?;
        u64::try_from(i64::from_le_bytes(bytes)).ok()
    };
    let length = u16::from_le_bytes(header.get(18..20)?.try_into().ok()?);
    let (content, rest) = rest.split_at_checked(usize::from(length))?;
    let record = LinkRecord {
        at: number(0)?,
        asked: number(8)?,
        kind: match header.get(16)? {
            1 => RecordKind::Sent,
            2 => RecordKind::Error,
            3 => RecordKind::Lost,
            4 => RecordKind::Crowded,
            _ => return None,
        },
        machine: usize::from(*header.get(17)?),
        bytes: content.to_vec(),
    };
    Some((record, rest))
}

/// Returns the number and the bytes of the longest of several copies, of which each has to be the
/// beginning of it. The error is the numbers of two copies that differ, and the offset.
pub(super) fn longest(copies: &[Vec<u8>]) -> Result<(usize, &[u8]), (usize, usize, usize)> {
    let longest = copies.iter().enumerate().max_by_key(|(_, copy)| copy.len());
    let Some((first, longest)) = longest else {
        return Ok((0, &[]));
    };
    for (second, copy) in copies.iter().enumerate() {
        let mut pairs = copy.iter().zip(longest);
        if let Some(at) = pairs.position(|(own, other)| own != other) {
            return Err((first, second, at));
        }
    }
    Ok((first, longest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(record: &LinkRecord) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(record.at.to_le_bytes());
        bytes.extend(record.asked.to_le_bytes());
        bytes.push(match record.kind {
            RecordKind::Sent => 1,
            RecordKind::Error => 2,
            RecordKind::Lost => 3,
            RecordKind::Crowded => 4,
        });
        bytes.push(record.machine as u8);
        bytes.extend((record.bytes.len() as u16).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&record.bytes);
        bytes
    }

    fn any_record() -> impl Strategy<Value = LinkRecord> {
        let kinds = [
            RecordKind::Sent,
            RecordKind::Error,
            RecordKind::Lost,
            RecordKind::Crowded,
        ];
        let bytes = prop::collection::vec(any::<u8>(), 0..40);
        (
            0..1_u64 << 60,
            0..1_u64 << 60,
            0..4_usize,
            0..16_usize,
            bytes,
        )
            .prop_map(move |(at, asked, kind, machine, bytes)| LinkRecord {
                at,
                asked,
                kind: kinds[kind],
                machine,
                bytes,
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in prop::collection::vec(any_record(), 0..10), cut in 1_usize..24) {
            let bytes: Vec<u8> = all.iter().flat_map(written).collect();
            prop_assert_eq!(parse(&bytes), (all.clone(), None));
            if let Some((last, before)) = all.split_last() {
                let whole = bytes.len() - written(last).len();
                prop_assert_eq!(parse(&bytes[..bytes.len() - cut]), (before.to_vec(), Some(whole)));
            }
        }

        #[test]
        fn garbage_is_an_error_or_records(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }

    #[test]
    fn a_copy_that_differs_is_found() {
        let copies =
            |all: &[&[u8]]| -> Vec<Vec<u8>> { all.iter().map(|copy| copy.to_vec()).collect() };
        let all = copies(&[b"abc", b"abcd", b""]);
        assert_eq!(longest(&all), Ok((1, b"abcd".as_slice())));
        let all = copies(&[b"abcd", b"abx"]);
        assert_eq!(longest(&all), Err((0, 1, 2)));
        assert_eq!(longest(&[]), Ok((0, b"".as_slice())));
    }
}
