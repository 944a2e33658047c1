//! Reports between two gateways: what one sent and took, and its clock.
//!
//! A report is an NTSCF datagram with one message of a user-defined type (78), in a stream of its
//! own: programs for CAN pass it over as a whole. Its numbers are not those of the frames' stream.

use super::{ENCAPSULATION, NTSCF, NTSCF_HEADER, USER_TYPE};

/// Length of the message, bytes: its header, and eight numbers of 64 bits.
const MESSAGE: usize = 4 + 8 * NUMBERS;
const NUMBERS: usize = 8;

/// Length of a report, bytes.
pub const REPORT_LENGTH: usize = ENCAPSULATION + NTSCF_HEADER + MESSAGE;

/// The third and the fourth byte of the message: `c`, and the version of this layout.
const LAYOUT: [u8; 2] = [b'c', 1];

/// The bit of a stream's ID that distinguishes its reports from its frames.
pub const REPORT_BIT: u64 = 0x8000;

/// A report about one stream in one direction, and the answer to a report of the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PeerReport {
    /// A number that changes when the sender begins anew.
    pub run: u64,
    /// Datagrams with frames that the sender has sent: the next one has this number.
    pub datagrams: u64,
    /// Frames in these datagrams.
    pub frames: u64,
    /// Unix time of the report, ns.
    pub sent_at: u64,
    /// [`PeerReport::sent_at`] of the latest report that came from the other side; 0: none came.
    pub echo: u64,
    /// Time between the arrival of that report and this one, ns.
    pub held: u64,
    /// Datagrams with frames that were taken from the other side.
    pub taken: u64,
    /// Datagrams of the other side that are missing.
    pub missing: u64,
}

impl PeerReport {
    fn numbers(&self) -> [u64; NUMBERS] {
        [
            self.run,
            self.datagrams,
            self.frames,
            self.sent_at,
            self.echo,
            self.held,
            self.taken,
            self.missing,
        ]
    }

    /// Writes a report about a stream; `sequence` counts its reports.
    #[must_use]
    pub fn write(&self, stream: u64, sequence: u32) -> [u8; REPORT_LENGTH] {
        let mut out = [0; REPORT_LENGTH];
        let (head, message) = out.split_at_mut(ENCAPSULATION + NTSCF_HEADER);
        head[..4].copy_from_slice(&sequence.to_be_bytes());
        head[4..8].copy_from_slice(&[NTSCF, 0x80, MESSAGE as u8, sequence as u8]);
        head[8..].copy_from_slice(&(stream ^ REPORT_BIT).to_be_bytes());
        message[..2].copy_from_slice(&[USER_TYPE << 1, (MESSAGE / 4) as u8]);
        message[2..4].copy_from_slice(&LAYOUT);
        for (place, number) in message[4..].chunks_exact_mut(8).zip(self.numbers()) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        out
    }

    /// Reads a report about a stream; `None` if the datagram is something else.
    #[must_use]
    pub fn read(datagram: &[u8], stream: u64) -> Option<Self> {
        let datagram: &[u8; REPORT_LENGTH] = datagram.try_into().ok()?;
        let expected = Self::default().write(stream, 0);
        let (begin, numbers) = datagram.split_at(ENCAPSULATION + NTSCF_HEADER + 4);
        // All but the two sequence numbers.
        let is_report = (4..begin.len()).all(|at| at == 7 || begin[at] == expected[at]);
        let mut numbers = numbers.chunks_exact(8).map(|number| {
            let number = number.first_chunk().copied().unwrap_or_default();
            u64::from_be_bytes(number)
        });
        let mut next = || numbers.next().unwrap_or(0);
        is_report.then(|| Self {
            run: next(),
            datagrams: next(),
            frames: next(),
            sent_at: next(),
            echo: next(),
            held: next(),
            taken: next(),
            missing: next(),
        })
    }
}
