//! What can go wrong with a machine.

use std::io;
use std::path::PathBuf;

/// A machine that cannot be made, or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum VmmError {
    /// KVM refuses something.
    #[error("KVM cannot {what}")]
    Kvm {
        /// What was asked.
        what: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// A file of the machine's.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The system refuses something.
    #[error("cannot {what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The kernel cannot be started.
    #[error("{} is no kernel that can be started: {why}", path.display())]
    Kernel {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Kernel and image do not fit.
    #[error("kernel and image need {needed} bytes, and the machine has {has}: give it more memory")]
    Memory {
        /// What they take, up to the image's end.
        needed: u64,
        /// The machine's.
        has: u64,
    },
    /// A command line that the kernel cannot have.
    #[error("the kernel's command line is no text of at most {most} bytes without zeros")]
    CommandLine {
        /// The most bytes.
        most: usize,
    },
    /// More devices than there are places.
    #[error("{count} virtio devices: a machine has at most {most}")]
    Devices {
        /// How many were asked for.
        count: usize,
        /// How many can be.
        most: usize,
    },
    /// The other end of a device.
    #[error("the device behind {} cannot be used: {why}", path.display())]
    Backend {
        /// Its socket.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// The processor stopped in a way that nothing can be done about.
    #[error("the machine's processor stopped: {0}")]
    Stopped(String),
}

/// Says what KVM was asked.
pub(crate) fn kvm(what: &'static str) -> impl FnOnce(vmm_sys_util::errno::Error) -> VmmError {
    move |error| VmmError::Kvm {
        what,
        source: error.into(),
    }
}

/// Says what the system was asked.
pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> VmmError {
    move |error| VmmError::System {
        what,
        source: error.into(),
    }
}

/// Says which file it was.
pub(crate) fn file(
    what: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(io::Error) -> VmmError {
    move |source| VmmError::File {
        what,
        path: path.to_path_buf(),
        source,
    }
}
