//! Checks of the descriptions of guests.

use crate::machine::{BenchKind, GuestSpec, TimeMode};
use std::time::Duration;

/// The least memory of a guest, MiB.
const LEAST_MEMORY: u32 = 64;
/// The most, MiB.
const MOST_MEMORY: u32 = 1 << 20;
/// The greatest shift of virtual time: QEMU supports no greater one.
const MAX_SHIFT: u8 = 10;
/// The most processors: QEMU's machine supports no more.
const MAX_CPUS: u32 = 255;
/// The memory that a kernel uses before it unpacks the image, MiB: 5.10 to 7.3 need 60 to 90.
const KERNEL: u64 = 96;

/// An error in the description of a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Too little or too much memory.
    #[error("a guest cannot have {0} MiB of memory: give {LEAST_MEMORY} to {MOST_MEMORY}")]
    Memory(u32),
    /// The image does not fit into the memory.
    #[error(
        "{memory} MiB of memory are too little for a guest with an image of {image} MiB: give at \
         least {least}"
    )]
    MemoryForImage {
        /// The memory that was specified, MiB.
        memory: u32,
        /// The image's size, MiB.
        image: u64,
        /// The least memory for this image, MiB.
        least: u64,
    },
    /// A shift of virtual time that QEMU does not support.
    #[error("an instruction cannot take 2^{0} ns: the shift is 0 to {MAX_SHIFT}")]
    Shift(u8),
    /// No processor, or too many.
    #[error("a guest cannot have {0} processors: give 1 to {MAX_CPUS}")]
    Processors(u32),
    /// Register accesses are requested on a bench that has no registers.
    #[error("only the kvaser bench has cards whose register accesses can be recorded")]
    NoRegisters,
    /// A timeout that is too long.
    #[error("a timeout of {} s is too long", .0.as_secs())]
    Timeout(Duration),
}

impl GuestSpec {
    /// Rejects a guest that is not valid, before anything is fetched for it.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !(LEAST_MEMORY..=MOST_MEMORY).contains(&self.memory) {
            return Err(SpecError::Memory(self.memory));
        }
        match self.time {
            TimeMode::Virtual { shift } if shift > MAX_SHIFT => Err(SpecError::Shift(shift)),
            TimeMode::Fast { cpus } if !(1..=MAX_CPUS).contains(&cpus) => {
                Err(SpecError::Processors(cpus))
            }
            _ if self.trace_registers && self.bench != BenchKind::Kvaser => {
                Err(SpecError::NoRegisters)
            }
            _ => Ok(()),
        }
    }

    /// Checks that there is enough memory for an image of this many bytes. A guest with too little
    /// memory dies without a message.
    pub(crate) fn check_memory(&self, image: u64) -> Result<(), SpecError> {
        let image = image >> 20;
        // The image is in memory while it is unpacked, which takes the same amount again.
        let least = image * 2 + KERNEL;
        if u64::from(self.memory) >= least {
            return Ok(());
        }
        Err(SpecError::MemoryForImage {
            memory: self.memory,
            image,
            least,
        })
    }
}
