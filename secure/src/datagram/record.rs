//! The headers of DTLS records (RFC 6347, 4.1), which are not encrypted.
//!
//! A datagram is looked at here before the library sees it: by its headers, it has its fate in the
//! counters, and belongs to a session or to a handshake. What no peer sends, such as application
//! data without encryption (epoch 0), ends here.

/// Length of the header of a record.
const HEADER: usize = 13;

/// Bytes that DTLS adds to a datagram of the gateway: the header of a record (13), an explicit
/// nonce (8) and a tag (8, RFC 6655: CCM_8).
pub const OVERHEAD: usize = 29;

/// The longest datagram of a gateway that fits a record (RFC 6347, 4.1.1: 2¹⁴).
pub const LONGEST: usize = 16_384;

/// The contents of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RecordContent {
    ChangeCipherSpec,
    Alert,
    Handshake,
    Application,
}

/// The kind of a datagram from the network, by its headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatagramKind {
    /// A message of a client that begins a handshake: a ClientHello.
    Hello,
    /// A part of a handshake, or an alert, of which something is not encrypted.
    Open,
    /// A part of a handshake, or an alert, encrypted.
    Sealed,
    /// Application data alone, encrypted; the number of the first record.
    Data(u64),
}

/// Returns what a datagram may be; `None` if it is not DTLS 1.2, or has what no peer sends.
#[must_use]
pub fn classify(datagram: &[u8]) -> Option<DatagramKind> {
    let mut rest = datagram;
    let (mut is_data, mut is_sealed) = (true, true);
    let mut first = None;
    while !rest.is_empty() {
        let header = rest.get(..HEADER)?;
        let content = match header[0] {
            20 => RecordContent::ChangeCipherSpec,
            21 => RecordContent::Alert,
            22 => RecordContent::Handshake,
            23 => RecordContent::Application,
            _ => return None,
        };
        // DTLS 1.2; the first flight may have the version of DTLS 1.0.
        if header[1] != 0xFE || !matches!(header[2], 0xFD | 0xFF) {
            return None;
        }
        let epoch = u16::from_be_bytes([header[3], header[4]]);
        let len = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let body = rest.get(HEADER..HEADER + len)?;
        match (epoch, content) {
            // Peers send data only when the keys are in use.
            (0, RecordContent::Application) | (1, RecordContent::ChangeCipherSpec) => return None,
            (0 | 1, _) => {}
            // There is one change of keys, so no further epoch.
            _ => return None,
        }
        is_sealed &= epoch == 1;
        is_data &= content == RecordContent::Application;
        if first.is_none() {
            let is_hello = content == RecordContent::Handshake && body.first() == Some(&1);
            let mut number = [0; 8];
            number[2..].copy_from_slice(&header[5..11]);
            first = Some((epoch == 0 && is_hello, u64::from_be_bytes(number)));
        }
        rest = &rest[HEADER + len..];
    }
    let (is_hello, number) = first?;
    Some(match (is_hello, is_sealed, is_data) {
        (true, _, _) => DatagramKind::Hello,
        (_, false, _) => DatagramKind::Open,
        (_, _, true) => DatagramKind::Data(number),
        _ => DatagramKind::Sealed,
    })
}

/// Returns whether a datagram of a server goes on with a handshake (ServerHello, type 2): the
/// client's cookie was right.
#[must_use]
pub fn is_server_hello(datagram: &[u8]) -> bool {
    datagram.len() > HEADER && datagram[0] == 22 && datagram[HEADER] == 2
}

/// The numbers of the records of a session that were accepted: the newest, and 64 before it, as in
/// RFC 6347, 4.1.2.6.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberWindow {
    /// The number after the newest.
    next: u64,
    /// Bit n: the number n + 1 before `next` was accepted.
    seen: u64,
}

impl NumberWindow {
    /// Records a number that was accepted.
    pub fn accept(&mut self, number: u64) {
        if number >= self.next {
            let ahead = number - self.next + 1;
            let shift = u32::try_from(ahead).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.next = number + 1;
        } else if self.next - number <= 64 {
            self.seen |= 1 << (self.next - number - 1);
        }
    }

    /// Returns whether a number was accepted, or is too old to be accepted.
    #[must_use]
    pub fn is_repeated(&self, number: u64) -> bool {
        let Some(back) = self.next.checked_sub(number).filter(|back| *back > 0) else {
            return false;
        };
        back > 64 || self.seen & (1 << (back - 1)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(content: u8, epoch: u16, number: u64, body: &[u8]) -> Vec<u8> {
        let mut record = vec![content, 0xFE, 0xFD];
        record.extend_from_slice(&epoch.to_be_bytes());
        record.extend_from_slice(&number.to_be_bytes()[2..]);
        record.extend_from_slice(&(body.len() as u16).to_be_bytes());
        record.extend_from_slice(body);
        record
    }

    #[test]
    fn datagrams_are_classified_by_all_their_records() {
        let data = record(23, 1, 7, &[0; 20]);
        assert_eq!(classify(&data), Some(DatagramKind::Data(7)));
        assert_eq!(
            classify(&[data.clone(), data.clone()].concat()),
            Some(DatagramKind::Data(7))
        );
        let hello = record(22, 0, 0, &[1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 1]);
        assert_eq!(classify(&hello), Some(DatagramKind::Hello));
        let cookie = record(22, 0, 1, &[1, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 9, 1]);
        assert_eq!(classify(&cookie), Some(DatagramKind::Hello));
        let change = record(20, 0, 2, &[1]);
        let finished = record(22, 1, 0, &[0; 40]);
        assert_eq!(classify(&finished), Some(DatagramKind::Sealed));
        let both = [change, finished].concat();
        assert_eq!(classify(&both), Some(DatagramKind::Open));
        // Data without encryption, alone or behind something else; other versions and epochs.
        let open = record(23, 0, 9, b"forged");
        assert_eq!(classify(&open), None);
        assert_eq!(classify(&[data.clone(), open.clone()].concat()), None);
        assert_eq!(classify(&[cookie, open].concat()), None);
        assert_eq!(classify(&record(23, 2, 9, b"forged")), None);
        assert_eq!(classify(&data[..30]), None);
        assert_eq!(classify(b"rubbish"), None);
        assert_eq!(classify(b""), None);
    }

    proptest! {
        /// The window says of each number the same as a list of those that were accepted.
        #[test]
        fn the_window_is_a_list(numbers in prop::collection::vec(0_u64..200, 1..100)) {
            let mut window = NumberWindow::default();
            let mut list = Vec::new();
            for number in numbers {
                let newest = list.iter().max().copied();
                let old = newest.is_some_and(|newest: u64| newest >= number + 64);
                prop_assert_eq!(window.is_repeated(number), old || list.contains(&number));
                if !window.is_repeated(number) {
                    window.accept(number);
                    list.push(number);
                }
            }
        }

        #[test]
        fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (classify(&bytes), is_server_hello(&bytes));
        }
    }
}
