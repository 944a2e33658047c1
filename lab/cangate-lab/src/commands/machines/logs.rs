//! Files of what happened on the links.

use console::Failure;
use experiment::passage::frame_of;
use frame::text::LogLine;
use frame::{CanId, FrameRef, Header, Kind};
use guest::lockstep::{LinkKind, LinkPlan, LinkRecord, LockstepPlan, RecordKind};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The identifier of an error frame: a protocol error on the bus (`CAN_ERR_PROT | CAN_ERR_BUSERROR`
/// of linux/can/error.h).
const BUS_ERROR: u32 = CanId::ERR_FLAG | 0x88;

/// Writes the files of all links.
pub(super) fn write(
    plan: &LockstepPlan,
    links: &[Vec<LinkRecord>],
    folder: &Path,
) -> Result<(), Failure> {
    let names: Vec<&str> = plan.machines.iter().map(|it| it.name.as_str()).collect();
    for (link, records) in plan.links.iter().zip(links) {
        let put = |ending: &str, bytes: Vec<u8>| {
            let path = folder.join(format!("{}.{ending}", link.name));
            fs::write(&path, bytes).map_err(|error| Failure::file("write", &path, &error))
        };
        match link.kind {
            LinkKind::Can(_) => put("log", candump(link, records).into_bytes())?,
            LinkKind::Ethernet(_) => put("pcap", pcap(records))?,
        }
        put("csv", csv(link, records, &names).into_bytes())?;
    }
    Ok(())
}

/// Returns the bus's frames as candump writes them, with the time of the end of frame.
fn candump(link: &LinkPlan, records: &[LinkRecord]) -> String {
    let mut text = String::new();
    let failed = Header::new(Kind::Classic, CanId::from_raw(BUS_ERROR), 8);
    let failed = failed
        .ok()
        .and_then(|header| FrameRef::new(header, &[0; 8]).ok());
    for record in records {
        let frame = match record.kind {
            RecordKind::Sent => frame_of(record),
            RecordKind::Error => failed,
            RecordKind::Lost | RecordKind::Crowded => None,
        };
        if let Some(frame) = frame {
            let line = LogLine {
                stamp: record.at,
                interface: &link.name,
                frame,
                direction: None,
            };
            // Writing to memory cannot fail.
            let _ = writeln!(text, "{line:.9}");
        }
    }
    text
}

/// Returns a table of all records: when they were sent by a card, and what became of them when.
fn csv(link: &LinkPlan, records: &[LinkRecord], names: &[&str]) -> String {
    let mut text = "machine,asked_ns,at_ns,fate,content\n".to_owned();
    for record in records {
        let fate = match record.kind {
            RecordKind::Sent => "sent",
            RecordKind::Error => "error",
            RecordKind::Lost => "lost",
            RecordKind::Crowded => "crowded",
        };
        let name = names.get(record.machine).copied().unwrap_or_default();
        let _ = write!(text, "{name},{},{},{fate},", record.asked, record.at);
        match (&link.kind, frame_of(record)) {
            (LinkKind::Can(_), Some(frame)) => {
                let line = LogLine {
                    stamp: 0,
                    interface: "",
                    frame,
                    direction: None,
                };
                let line = line.to_string();
                text.push_str(line.rsplit(' ').next().unwrap_or_default());
            }
            _ => {
                for byte in &record.bytes {
                    let _ = write!(text, "{byte:02x}");
                }
            }
        }
        text.push('\n');
    }
    text
}

/// Returns a capture file of the packets that the switch has forwarded, with ns: the format of
/// libpcap (draft-ietf-opsawg-pcap).
fn pcap(records: &[LinkRecord]) -> Vec<u8> {
    const MAGIC_NS: u32 = 0xa1b2_3c4d;
    const LINKTYPE_ETHERNET: u32 = 1;
    const LONGEST: u32 = 65_535;
    let mut bytes = Vec::new();
    let mut put = |words: &[u32]| bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    // Version 2.4, and two fields that are 0.
    put(&[MAGIC_NS, 4 << 16 | 2, 0, 0, LONGEST, LINKTYPE_ETHERNET]);
    for record in records.iter().filter(|it| it.kind == RecordKind::Sent) {
        let length = record.bytes.len() as u32;
        let (second, ns) = (record.at / 1_000_000_000, record.at % 1_000_000_000);
        for word in [second as u32, ns as u32, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend_from_slice(&record.bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use guest::lockstep::CanLink;

    fn record(kind: RecordKind, id: u32, data: &[u8]) -> LinkRecord {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend([data.len() as u8, 0, 0, 0]);
        bytes.extend(data);
        // struct can_frame or struct canfd_frame.
        bytes.resize(if data.len() > 8 { 72 } else { 16 }, 0);
        LinkRecord {
            at: 2_000_000_123,
            asked: 1_999_000_000,
            kind,
            machine: 1,
            bytes,
        }
    }

    #[test]
    fn a_bus_log_is_candumps_and_the_table_has_all() {
        let link = LinkPlan {
            name: "body".to_owned(),
            kind: LinkKind::Can(CanLink {
                bitrate: 500_000,
                data_bitrate: Some(2_000_000),
                queue: 1,
            }),
            members: vec![0, 1],
        };
        // With BRS.
        let mut fd = record(RecordKind::Sent, 0x123, &[0x10; 16]);
        fd.bytes[5] = 1;
        let records = [
            record(RecordKind::Error, 0x123, &[1]),
            record(RecordKind::Sent, 0x123, &[1, 0xab]),
            record(RecordKind::Sent, 0x8000_0005, &[]),
            record(RecordKind::Lost, 0x7ff, &[9]),
            fd,
        ];
        assert_eq!(
            candump(&link, &records),
            "(0000000002.000000123) body 20000088#0000000000000000\n\
             (0000000002.000000123) body 123#01AB\n\
             (0000000002.000000123) body 00000005#\n\
             (0000000002.000000123) body 123##510101010101010101010101010101010\n"
        );
        assert_eq!(
            csv(&link, &records, &["a", "b"]),
            "machine,asked_ns,at_ns,fate,content\n\
             b,1999000000,2000000123,error,123#01\n\
             b,1999000000,2000000123,sent,123#01AB\n\
             b,1999000000,2000000123,sent,00000005#\n\
             b,1999000000,2000000123,lost,7FF#09\n\
             b,1999000000,2000000123,sent,123##510101010101010101010101010101010\n"
        );
    }

    #[test]
    fn a_capture_has_the_header_of_libpcap() {
        let packet = LinkRecord {
            at: 3_000_000_007,
            asked: 0,
            kind: RecordKind::Sent,
            machine: 0,
            bytes: vec![0xee; 60],
        };
        let bytes = pcap(&[packet]);
        assert_eq!(&bytes[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!(bytes.len(), 24 + 16 + 60);
        assert_eq!(&bytes[24..32], [3, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(&bytes[32..36], [60, 0, 0, 0]);
    }
}
