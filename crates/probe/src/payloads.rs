//! The payloads of a run's frames, stored apart from its records: each byte sequence once, and for
//! each record its place.

/// The place of a payload. 8 bytes, because there are two for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PayloadSpan {
    /// [`NOWHERE`] where the payload is not known.
    at: u32,
    len: u16,
}

const NOWHERE: u32 = u32::MAX;
const UNKNOWN: PayloadSpan = PayloadSpan {
    at: NOWHERE,
    len: 0,
};

/// The payloads of frames as they came in and as they went out, by the record's index in
/// [`crate::RunResults::records`].
///
/// At most 4 GiB of them are stored; later ones are not kept, and are unknown.
#[derive(Clone, Debug, Default)]
pub struct PayloadStore {
    bytes: Vec<u8>,
    rows: Vec<[PayloadSpan; 2]>,
}

/// Compares the payloads of the same records, wherever the bytes are stored.
impl PartialEq for PayloadStore {
    fn eq(&self, other: &Self) -> bool {
        let rows = self.rows.len().max(other.rows.len());
        (0..rows)
            .all(|n| (self.incoming(n), self.outgoing(n)) == (other.incoming(n), other.outgoing(n)))
    }
}

impl Eq for PayloadStore {}

impl PayloadStore {
    /// Sets the payload of the record's frame as it came in.
    pub fn set_incoming(&mut self, record: usize, payload: &[u8]) {
        self.set(record, 0, payload);
    }

    /// Sets the payload of the record's frame as it went out.
    pub fn set_outgoing(&mut self, record: usize, payload: &[u8]) {
        self.set(record, 1, payload);
    }

    /// Returns the payload as it came in; `None` where it is not known, or no frame came in.
    #[must_use]
    pub fn incoming(&self, record: usize) -> Option<&[u8]> {
        self.get(record, 0)
    }

    /// Returns the payload as it went out; `None` where it is not known, or no frame went out.
    #[must_use]
    pub fn outgoing(&self, record: usize) -> Option<&[u8]> {
        self.get(record, 1)
    }

    fn get(&self, record: usize, side: usize) -> Option<&[u8]> {
        let span = self.rows.get(record)?.get(side)?;
        let at = usize::try_from(span.at).ok()?;
        self.bytes.get(at..at.checked_add(usize::from(span.len))?)
    }

    fn set(&mut self, record: usize, side: usize, payload: &[u8]) {
        if self.rows.len() <= record {
            self.rows.resize(record + 1, [UNKNOWN; 2]);
        }
        // Most frames go out with the payload with which they came in.
        let other = self.rows.get(record).and_then(|row| row.get(1 - side));
        let span = match other {
            Some(other) if self.get(record, 1 - side) == Some(payload) => *other,
            _ => self.keep(payload),
        };
        let place = self.rows.get_mut(record).and_then(|row| row.get_mut(side));
        if let Some(place) = place {
            *place = span;
        }
    }

    fn keep(&mut self, payload: &[u8]) -> PayloadSpan {
        let end = self.bytes.len() + payload.len();
        match (
            u32::try_from(self.bytes.len()),
            u16::try_from(payload.len()),
        ) {
            (Ok(at), Ok(len)) if end < NOWHERE as usize => {
                self.bytes.extend_from_slice(payload);
                PayloadSpan { at, len }
            }
            _ => UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_comes_back_and_the_same_is_kept_once() {
        let mut payloads = PayloadStore::default();
        assert_eq!(payloads.incoming(0), None);
        payloads.set_incoming(2, &[1, 2, 3]);
        payloads.set_outgoing(2, &[1, 2, 3]);
        assert_eq!(payloads.bytes.len(), 3);
        payloads.set_outgoing(0, &[]);
        payloads.set_incoming(0, &[9]);
        assert_eq!(payloads.incoming(2), Some(&[1, 2, 3][..]));
        assert_eq!(payloads.outgoing(2), Some(&[1, 2, 3][..]));
        assert_eq!(payloads.outgoing(0), Some(&[][..]), "none is not unknown");
        assert_eq!(payloads.incoming(0), Some(&[9][..]));
        let mut same = PayloadStore::default();
        same.set_incoming(0, &[9]);
        assert_ne!(same, payloads);
        same.set_outgoing(0, &[]);
        same.set_outgoing(2, &[1, 2, 3]);
        same.set_incoming(2, &[1, 2, 3]);
        assert_eq!(same, payloads);
        assert_eq!((payloads.incoming(1), payloads.outgoing(3)), (None, None));
    }
}
