//! The registers of a controller, as the bus writes them.

use alloc::boxed::Box;
use controller::mapped::{BUFFERS, FIFO, FRAME_FD, VERSION, at};
use frame::{CanId, Frame, Kind, Nanos, flags};
use portable_atomic::{AtomicU64, Ordering::Relaxed};

/// Number of words of `struct bitcan_registers`.
const WORDS: usize = (at::RX + at::RX_SIZE * FIFO as usize) / 8;

/// The registers of one controller, shared by the bench and the gateway's driver. There is one
/// processor, so each sees the other's writes.
pub struct RegisterPage([AtomicU64; WORDS]);

/// Returns two registers of 32 bits as a word, the first one lowest.
const fn both(one: u32, two: u32) -> u64 {
    (two as u64) << 32 | one as u64
}

impl RegisterPage {
    /// Returns a page that is never freed: controllers exist as long as the image runs.
    #[must_use]
    pub fn forever() -> &'static Self {
        Box::leak(Box::new(Self([const { AtomicU64::new(0) }; WORDS])))
    }

    /// Returns a word; all ones beyond the page. `at` is in bytes.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> u64 {
        self.0
            .get(at / 8)
            .map_or(u64::MAX, |word| word.load(Relaxed))
    }

    /// Writes a word; does nothing beyond the page.
    #[inline]
    pub fn set(&self, at: usize, value: u64) {
        if let Some(word) = self.0.get(at / 8) {
            word.store(value, Relaxed);
        }
    }

    /// Returns whether something has happened that the driver has not seen. It is one comparison of
    /// two registers.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        (self.get(at::CHANGES) >> 32) as u32 != self.get(at::SEEN) as u32
    }

    /// Returns whether the driver has enabled interrupts.
    pub(super) fn interrupts(&self) -> bool {
        self.get(at::RX_TAIL) >> 32 != 0
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|word| word.store(0, Relaxed));
        self.changed(0);
    }

    pub(super) fn changed(&self, changes: u32) {
        self.set(at::CHANGES, both(VERSION, changes));
    }

    pub(super) fn tail(&self) -> u32 {
        self.get(at::RX_TAIL) as u32
    }

    /// Writes the FIFO's entry `head`, and the head after it.
    pub(super) fn receive(&self, head: u32, overruns: u32, frame: &Frame, end: Nanos) -> u32 {
        let entry = at::RX + at::RX_SIZE * (head % FIFO) as usize;
        let fd = frame.kind() == Kind::Fd;
        self.set(entry, end);
        self.set(entry + at::RX_FLAGS, if fd { FRAME_FD } else { 0 });
        let header = frame.header();
        let extra = if fd { header.flags() } else { 0 };
        let rest = u32::from_le_bytes([header.len() as u8, extra, 0, 0]);
        let place = entry + at::RX_FRAME;
        self.set(place, both(frame.id().raw(), rest));
        self.write_data(place + 8, frame.data());
        let head = head.wrapping_add(1);
        self.set_head(head, overruns);
        head
    }

    pub(super) fn set_head(&self, head: u32, overruns: u32) {
        self.set(at::RX_HEAD, both(head, overruns));
    }

    fn write_data(&self, place: usize, data: &[u8]) {
        for (i, bytes) in data.chunks(8).enumerate() {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(bytes) {
                *to = *from;
            }
            self.set(place + 8 * i, u64::from_le_bytes(word));
        }
    }

    /// Returns the frame in a transmit buffer; `None` if it is not a valid frame for a bus.
    pub(super) fn frame(&self, buffer: usize) -> Option<Frame> {
        let at = at::TX + at::TX_SIZE * buffer;
        let fd = self.get(at) & FRAME_FD != 0;
        let start = self.get(at + at::TX_FRAME);
        let [len, extra, _, _] = ((start >> 32) as u32).to_le_bytes();
        let id = CanId::from_raw(start as u32);
        if id.is_err() {
            return None;
        }
        let mut data = [0; 64];
        for (i, to) in data.chunks_mut(8).enumerate().take(if fd { 8 } else { 1 }) {
            to.copy_from_slice(&self.get(at + at::TX_FRAME + 8 + 8 * i).to_le_bytes());
        }
        let data = data.get(..usize::from(len))?;
        if fd {
            Frame::fd(id, extra & (flags::BRS | flags::ESI), data).ok()
        } else if id.is_rtr() {
            Frame::remote(id, data.len()).ok()
        } else {
            Frame::classic(id, data).ok()
        }
    }

    /// Writes the outcome of a transmit buffer's frame.
    pub(super) fn set_buffer(&self, buffer: usize, state: u32, end: Nanos) {
        let at = at::TX + at::TX_SIZE * buffer;
        self.set(at + at::TX_END, end);
        self.set(at + at::TX_STATE, both(state, 0));
    }

    pub(super) fn set_state(&self, state: u32, tec: u16, rec: u16) {
        self.set(at::STATE, both(state, u32::from(tec.min(255))));
        let lost = self.get(at::REC) >> 32;
        self.set(at::REC, both(u32::from(rec), lost as u32));
    }

    pub(super) fn set_errors(&self, errors: u32) {
        self.set(at::ERRORS, both(errors, 0));
    }

    pub(super) const fn is_buffer(buffer: usize) -> bool {
        buffer < BUFFERS
    }
}
