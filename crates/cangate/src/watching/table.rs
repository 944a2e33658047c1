//! The last frame of each ID, the bytes that have changed, and the periods.

use super::SeenFrame;
use frame::{CanId, Header, Kind, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most rows. Frames of further IDs are counted together.
const MAX_ROWS: usize = 4096;

/// The common properties of the frames of a row. Rows are in the order of the fields.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RowKey {
    /// The name of the port.
    pub(crate) port: Arc<str>,
    /// The CAN ID, without flags that are not part of it; an XL frame's priority.
    pub(crate) id: CanId,
    /// The frame format.
    pub(crate) kind: Kind,
    /// Remote frames.
    pub(crate) is_rtr: bool,
    /// Whether the port sent them.
    pub(crate) is_sent: bool,
}

/// The frames of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MessageRow {
    /// Number of frames.
    pub(crate) count: u64,
    first: Nanos,
    /// Time of the last frame, ns since the Unix epoch.
    pub(crate) last: Nanos,
    /// The shortest and the longest time between two frames, ns.
    gaps: Option<(Nanos, Nanos)>,
    /// The last frame without its payload.
    pub(crate) header: Header,
    /// The payload of the last frame.
    pub(crate) data: Vec<u8>,
    /// For each byte the time at which it changed last; 0: never.
    changed: Vec<Nanos>,
}

/// The times between the frames of a row, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowPeriod {
    /// The shortest one.
    pub(crate) min: Nanos,
    /// The mean of all.
    pub(crate) mean: Nanos,
    /// The longest one.
    pub(crate) max: Nanos,
}

impl MessageRow {
    fn new(seen: SeenFrame) -> Self {
        Self {
            count: 1,
            first: seen.at,
            last: seen.at,
            gaps: None,
            header: seen.header,
            changed: vec![0; seen.data.len()],
            data: seen.data,
        }
    }

    fn add(&mut self, seen: SeenFrame) {
        let gap = seen.at.saturating_sub(self.last);
        let (min, max) = self.gaps.unwrap_or((gap, gap));
        self.gaps = Some((min.min(gap), max.max(gap)));
        self.count += 1;
        self.last = self.last.max(seen.at);
        self.changed.resize(seen.data.len(), seen.at);
        let bytes = self.changed.iter_mut().zip(&seen.data).enumerate();
        for (place, (changed, byte)) in bytes {
            if self.data.get(place).is_some_and(|before| before != byte) {
                *changed = seen.at;
            }
        }
        self.header = seen.header;
        self.data = seen.data;
    }

    /// Returns the times between its frames; `None` before the second one.
    pub(crate) fn period(&self) -> Option<RowPeriod> {
        let (min, max) = self.gaps?;
        let mean = (self.last - self.first) / (self.count - 1).max(1);
        Some(RowPeriod { min, mean, max })
    }

    /// Returns whether a byte has changed within this time before `now`.
    pub(crate) fn has_changed(&self, byte: usize, now: Nanos, within: Nanos) -> bool {
        let at = self.changed.get(byte).copied().unwrap_or(0);
        at != 0 && at.saturating_add(within) > now
    }
}

/// A row for each port, ID and format.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageTable {
    rows: BTreeMap<RowKey, MessageRow>,
    /// Number of frames, also of those without a row.
    pub(crate) frames: u64,
    /// Number of frames without a row, because there are too many IDs.
    pub(crate) without_row: u64,
}

impl MessageTable {
    /// Takes a frame.
    pub(crate) fn add(&mut self, seen: SeenFrame) {
        self.frames += 1;
        let id = seen.header.id();
        let plain = match id.is_eff() {
            true => CanId::eff(id.number()),
            false => CanId::sff(id.number()),
        };
        let key = RowKey {
            port: Arc::clone(&seen.port),
            id: plain.unwrap_or(id),
            kind: seen.header.kind(),
            is_rtr: seen.header.is_rtr(),
            is_sent: seen.is_sent,
        };
        if let Some(row) = self.rows.get_mut(&key) {
            row.add(seen);
        } else if self.rows.len() < MAX_ROWS {
            self.rows.insert(key, MessageRow::new(seen));
        } else {
            self.without_row += 1;
        }
    }

    /// Iterates over the rows, by port and ID.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&RowKey, &MessageRow)> {
        self.rows.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Frame;

    fn seen(at: Nanos, port: &str, text: &str) -> SeenFrame {
        let frame: Frame = text.parse().unwrap();
        SeenFrame::new(at, &Arc::from(port), false, frame.view())
    }

    fn table(frames: &[(Nanos, &str, &str)]) -> MessageTable {
        let mut table = MessageTable::default();
        for (at, port, text) in frames {
            table.add(seen(*at, port, text));
        }
        table
    }

    #[test]
    fn each_port_id_and_format_has_a_row() {
        let all = [
            "123#11",
            "00000123#11",
            "123##011",
            "123#R",
            "124#",
            "123#22",
        ];
        let mut frames: Vec<_> = all.iter().map(|text| (1_000, "b", *text)).collect();
        frames.push((1_000, "a", "7FF#"));
        let table = table(&frames);
        let rows: Vec<(String, u64)> = table
            .rows()
            .map(|(key, row)| {
                (
                    format!("{} {} {} {}", key.port, key.id, key.kind, key.is_rtr),
                    row.count,
                )
            })
            .collect();
        let expected = [
            ("a 7FF classic false", 1),
            ("b 123 classic false", 2),
            ("b 123 classic true", 1),
            ("b 123 FD false", 1),
            ("b 124 classic false", 1),
            ("b 00000123 classic false", 1),
        ];
        assert_eq!(rows, expected.map(|(key, count)| (key.to_owned(), count)));
        assert_eq!((table.frames, table.without_row), (7, 0));
    }

    #[test]
    fn periods_are_of_all_frames() {
        let at = [1_000, 11_000, 20_000, 32_000];
        let frames = at.map(|at| (at, "a", "123#"));
        let table = table(&frames);
        let (_, row) = table.rows().next().unwrap();
        let period = row.period().unwrap();
        assert_eq!((period.min, period.max), (9_000, 12_000));
        assert_eq!((period.mean, row.count, row.last), (31_000 / 3, 4, 32_000));
        let one = self::table(&frames[..1]);
        assert_eq!(one.rows().next().unwrap().1.period(), None);
    }

    #[test]
    fn bytes_that_change_are_marked_for_a_while() {
        let table = table(&[
            (1_000, "a", "123#112233"),
            (2_000, "a", "123#11FF33"),
            (3_000, "a", "123#11FF3344"),
            (4_000, "a", "123#11FF3344"),
        ]);
        let (_, row) = table.rows().next().unwrap();
        let changed = |now| [0, 1, 2, 3, 4].map(|byte| row.has_changed(byte, now, 1_500));
        assert_eq!(changed(3_200), [false, true, false, true, false]);
        assert_eq!(changed(4_200), [false, false, false, true, false]);
        assert_eq!(changed(4_500), [false; 5]);
    }

    #[test]
    fn rows_are_bounded_and_no_frame_is_forgotten() {
        let mut table = MessageTable::default();
        for id in 0..MAX_ROWS + 10 {
            table.add(seen(1, "a", &format!("{id:08X}#")));
        }
        assert_eq!((table.rows().count(), table.without_row), (MAX_ROWS, 10));
        assert_eq!(table.frames, (MAX_ROWS + 10) as u64);
    }
}
