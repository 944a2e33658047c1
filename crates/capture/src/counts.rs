//! Counters for the outcome of every frame.

use serde::Serialize;

/// The outcome of the frames of an interface or a character device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct InterfaceCounts {
    /// Frames that the kernel or the device's driver delivered.
    pub received: u64,
    /// Bytes of payload of the received frames.
    pub payload_bytes: u64,
    /// Frames, in addition to `received`, for which the kernel's ring had no room. `None` if their
    /// interface is unknown: then they are only in [`CaptureCounts::lost_ring`].
    pub lost_ring: Option<u64>,
    /// Losses, in addition to `received`, in a character device: frames for which its queue had no
    /// room, and the number of overruns of its controller's own FIFO, each of which is at least one
    /// frame. 0 for interfaces.
    pub lost_device: u64,
    /// Received frames for which the queue to the file had no room.
    pub lost_queue: u64,
    /// Received frames that could not be written.
    pub lost_file: u64,
    /// Received data that does not have the form of a CAN frame; it is not written to any file.
    pub no_frames: u64,
}

/// The outcome of every frame that passed the filter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CaptureCounts {
    /// By the index of the interface in [`crate::InterfaceNames`].
    pub interfaces: Vec<InterfaceCounts>,
    /// Frames for which the kernel's ring had no room, of all interfaces together.
    pub lost_ring: u64,
    /// Frames that the kernel announced and that were not complete in the ring, and impossible
    /// states of the queues of devices.
    pub malformed: u64,
    /// Frames that the kernel reports to have put into the ring, valid as soon as all of it has
    /// been read.
    pub passed: u64,
    /// Received frames whose direction was requested but is unknown.
    pub no_direction: u64,
}

impl CaptureCounts {
    pub(crate) fn at(&mut self, place: u16) -> &mut InterfaceCounts {
        let place = usize::from(place);
        if self.interfaces.len() <= place {
            self.interfaces
                .resize(place + 1, InterfaceCounts::default());
        }
        // The last counter is shared by all interfaces beyond the maximum; there is at least one.
        let last = self.interfaces.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the vector was made long enough")]
        &mut self.interfaces[place.min(last)]
    }

    /// Returns the number of frames that the kernel delivered.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.interfaces.iter().map(|i| i.received).sum()
    }

    /// Returns the number of frames that are missing in the record, regardless of the place of the
    /// loss.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let here = self
            .interfaces
            .iter()
            .map(|i| i.lost_device + i.lost_queue + i.lost_file + i.no_frames);
        here.sum::<u64>() + self.lost_ring + self.malformed
    }

    /// Returns the number of frames that were recorded; with a trigger, those that were in memory.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        let all = self.interfaces.iter();
        all.map(|i| i.received - i.lost_queue - i.lost_file - i.no_frames)
            .sum()
    }
}
