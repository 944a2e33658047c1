//! Errors of a machine.

use std::io;
use std::path::PathBuf;

/// An error because of which a machine cannot be made, or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum VmmError {
    /// KVM rejects a request.
    #[error("KVM cannot {what}")]
    Kvm {
        /// The request.
        what: &'static str,
        /// KVM's error.
        source: io::Error,
    },
    /// A file of the machine cannot be used.
    #[error("cannot {what} {}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The operating system rejects a request.
    #[error("cannot {what}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The kernel cannot be started.
    #[error("{} is not a kernel that can be started: {why}", path.display())]
    Kernel {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Kernel and image do not fit into the memory.
    #[error("kernel and image need {needed} bytes, and the machine has {has}: give it more memory")]
    Memory {
        /// The bytes that they need, up to the image's end.
        needed: u64,
        /// The machine's memory in bytes.
        has: u64,
    },
    /// A command line that the kernel does not support.
    #[error("the kernel's command line must be a text of at most {most} bytes without zeros")]
    CommandLine {
        /// The greatest length in bytes.
        most: usize,
    },
    /// More devices than there are slots.
    #[error("{count} virtio devices: a machine has at most {most}")]
    Devices {
        /// The number of devices that were requested.
        count: usize,
        /// The greatest number of devices.
        most: usize,
    },
    /// The other end of a device cannot be used.
    #[error("the device behind {} cannot be used: {why}", path.display())]
    Backend {
        /// Its socket.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The processor stopped in a way from which the monitor cannot recover.
    #[error("the machine's processor stopped: {0}")]
    Stopped(String),
}

/// Returns a function for `map_err`: KVM rejected this request.
pub(crate) fn kvm(what: &'static str) -> impl FnOnce(vmm_sys_util::errno::Error) -> VmmError {
    move |error| VmmError::Kvm {
        what,
        source: error.into(),
    }
}

/// Returns a function for `map_err`: the operating system rejected this request.
pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> VmmError {
    move |error| VmmError::System {
        what,
        source: error.into(),
    }
}

/// Returns a function for `map_err`: this file could not be used.
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
