//! The driver's settings of a queue, and the addresses of its three parts in the machine's memory
//! (virtio 1.4, §2.7).

use super::{QUEUES, VECTORS};
use vm_memory::{GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap};

/// Number of buffers of the longest queue.
pub(super) const LONGEST: u16 = 256;
/// The value for no interrupt.
pub(super) const NO_VECTOR: u16 = 0xFFFF;

/// The driver's settings of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DriverQueue {
    /// Number of buffers: a power of two, at most [`LONGEST`].
    pub(crate) size: u16,
    /// Its interrupt, if it has one.
    pub(super) vector: u16,
    pub(crate) enabled: bool,
    /// The addresses of its descriptors, of the part that the driver writes and of the part that
    /// the device writes, in the machine's address space.
    pub(crate) descriptors: u64,
    pub(crate) driver: u64,
    pub(crate) device: u64,
}

/// The addresses of a queue's parts, in the address space of the process that holds the memory. The
/// parts are completely inside the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueueParts {
    pub(crate) descriptors: u64,
    pub(crate) driver: u64,
    pub(crate) device: u64,
}

impl DriverQueue {
    pub(super) const NEW: Self = Self {
        size: LONGEST,
        vector: NO_VECTOR,
        enabled: false,
        descriptors: 0,
        driver: 0,
        device: 0,
    };

    /// Returns the queue's interrupt.
    pub(crate) fn vector(&self) -> Option<usize> {
        let vector = usize::from(self.vector);
        (vector < VECTORS).then_some(vector)
    }

    /// Returns the addresses of its parts in this memory. `None` if one of them is not completely
    /// inside it, or is not aligned as required (§2.7: multiples of 16, 2 and 4). Otherwise the
    /// process that works on the queue would have to check that.
    pub(crate) fn parts(&self, memory: &GuestMemoryMmap) -> Option<QueueParts> {
        let size = usize::from(self.size);
        // Includes the word with the awaited event, whether or not it was negotiated.
        let part = |at: u64, align: u64, bytes: usize| {
            let whole = memory.get_slice(GuestAddress(at), bytes).ok();
            let whole = whole.filter(|_| at.is_multiple_of(align))?;
            Some(whole.ptr_guard().as_ptr() as u64)
        };
        Some(QueueParts {
            descriptors: part(self.descriptors, 16, 16 * size)?,
            driver: part(self.driver, 2, 6 + 2 * size)?,
            device: part(self.device, 4, 6 + 8 * size)?,
        })
    }
}

/// Returns the addresses of the parts of all queues that the driver has enabled. `None` if one of
/// them is not in this memory.
pub(crate) fn all_parts(
    queues: &[DriverQueue; QUEUES],
    memory: &GuestMemoryMmap,
) -> Option<[Option<QueueParts>; QUEUES]> {
    let mut all = [None; QUEUES];
    for (parts, queue) in all
        .iter_mut()
        .zip(queues)
        .filter(|(_, queue)| queue.enabled)
    {
        *parts = Some(queue.parts(memory)?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: usize = 0x4000;

    fn memory() -> GuestMemoryMmap {
        GuestMemoryMmap::from_ranges(&[(GuestAddress(0), MEMORY)]).unwrap()
    }

    fn queue(descriptors: u64, driver: u64, device: u64) -> DriverQueue {
        DriverQueue {
            size: 256,
            descriptors,
            driver,
            device,
            ..DriverQueue::NEW
        }
    }

    #[test]
    fn a_queue_is_in_memory_as_a_whole() {
        let memory = memory();
        let base = memory.get_host_address(GuestAddress(0)).unwrap() as u64;
        let parts = queue(0x3000, 0x1000, 0x1400).parts(&memory).unwrap();
        let places = [parts.descriptors, parts.driver, parts.device].map(|at| at - base);
        assert_eq!(places, [0x3000, 0x1000, 0x1400]);
        // The last addresses at which 256 buffers fit, and those after them.
        let last = [0x3000, 0x4000 - 518, 0x4000 - 2056];
        assert!(queue(last[0], last[1], last[2]).parts(&memory).is_some());
        for (descriptors, driver, device) in [
            (last[0] + 16, 0, 0),
            (0, last[1] + 2, 0),
            (0, 0, last[2] + 4),
            (u64::MAX - 15, 0, 0),
            (0, u64::MAX - 1, 0),
            (0, 0, u64::MAX - 3),
            (8, 0, 0),
            (0, 1, 0),
            (0, 0, 2),
        ] {
            let wanted = queue(descriptors, driver, device);
            assert_eq!(wanted.parts(&memory), None, "{wanted:x?}");
        }
    }
}
