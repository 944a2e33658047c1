//! What became of every frame.

use serde::Serialize;

/// What became of the frames of an interface or a character device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct InterfaceCounts {
    /// Frames that the kernel or the device's driver handed over.
    pub received: u64,
    /// Of these: bytes of payload.
    pub payload_bytes: u64,
    /// Besides: frames for which the kernel's ring had no room. `None` where nobody knows of which
    /// interface they were: they are in [`Counts::lost_ring`] only.
    pub lost_ring: Option<u64>,
    /// Besides: frames for which a character device's queue had no room; and how often its
    /// controller's own FIFO had none, which is at least one frame each. 0 for interfaces.
    pub lost_device: u64,
    /// Of these: frames for which the queue to the file had no room.
    pub lost_queue: u64,
    /// Of these: frames that could not be written.
    pub lost_file: u64,
    /// Of these: what has no CAN frame's form; it is written nowhere.
    pub no_frames: u64,
}

/// What became of every frame that passed the filter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// By the interfaces' places in [`crate::Names`].
    pub interfaces: Vec<InterfaceCounts>,
    /// Frames for which the kernel's ring had no room. All interfaces together.
    pub lost_ring: u64,
    /// Frames that the kernel announced and that were not in the ring whole; queues of devices that
    /// cannot be.
    pub malformed: u64,
    /// Frames that the kernel says it put into the ring, as soon as all of it has been read.
    pub passed: u64,
    /// Of the received frames: those of which it was asked who sent them, and nobody knows.
    pub no_direction: u64,
}

impl Counts {
    pub(crate) fn at(&mut self, place: u16) -> &mut InterfaceCounts {
        let place = usize::from(place);
        if self.interfaces.len() <= place {
            self.interfaces
                .resize(place + 1, InterfaceCounts::default());
        }
        // The last one stands for all that are too many; there is at least one.
        let last = self.interfaces.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the vector was made long enough")]
        &mut self.interfaces[place.min(last)]
    }

    /// Frames that the kernel handed over.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.interfaces.iter().map(|i| i.received).sum()
    }

    /// Frames that are missing in the record, wherever they were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let here = self
            .interfaces
            .iter()
            .map(|i| i.lost_device + i.lost_queue + i.lost_file + i.no_frames);
        here.sum::<u64>() + self.lost_ring + self.malformed
    }

    /// Frames that were recorded; with a trigger, those that were in memory.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        let all = self.interfaces.iter();
        all.map(|i| i.received - i.lost_queue - i.lost_file - i.no_frames)
            .sum()
    }
}
