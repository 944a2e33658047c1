//! Errors of the lab, with messages for the user.

use crate::kernels::{Kernel, UnknownKernel};
use crate::qemu::monitor::MonitorError;
use crate::spec::SpecError;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why the lab could not do what was requested. A guest that fails is not an error of
/// this kind: see [`crate::GuestFailure`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host cannot run guests.
    #[error("guests run this same program on an x86-64 with Linux: the lab needs such a host")]
    Host,
    /// No gateway under test was found.
    #[error(
        "guests get the program cangate as the gateway under test, which is neither in {} nor in PATH; install it, \
         build it beside this program (`cargo build --release -p cangate`), or name it with --cangate PATH",
        folder.display()
    )]
    NoGateway {
        /// The folder of the program that runs.
        folder: PathBuf,
    },
    /// The gateway under test that was named is not a file.
    #[error("{} is not a file; --cangate names the program of a gateway", .0.display())]
    NotTheGateway(PathBuf),
    /// An image without an operating system is not available.
    #[error("the image without an operating system: {0}")]
    Image(String),
    /// The lab has no such kernel.
    #[error(transparent)]
    Kernel(#[from] UnknownKernel),
    /// The description of a guest is not valid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// No cache folder is known.
    #[error(
        "HOME is not set, so that the lab has no cache folder; name one with --cache or CANGATE_LAB"
    )]
    NoCacheFolder,
    /// A text that is not a mirror's address.
    #[error("`{0}` is not the address of a Debian mirror; give it as in a line of sources.list")]
    Mirror(String),
    /// The host's apt does not use a Debian mirror.
    #[error(
        "the host's apt names no Debian mirror (looked into {} and {}); name one with --mirror or \
         CANGATE_MIRROR, as in a line of sources.list",
        list.display(),
        folder.display()
    )]
    NoMirror {
        /// The file that was searched.
        list: PathBuf,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A folder whose name apt's configuration cannot express.
    #[error("apt cannot work in {}; choose a cache folder with a plainer name with --cache", .0.display())]
    AptFolder(PathBuf),
    /// Something other than a file should be put into a guest.
    #[error("{} is not a file; a guest takes single files", .0.display())]
    NotAFile(PathBuf),
    /// Two files would have the same name in the guest.
    #[error("two files would be called {0} in the guest; give one another name with PATH=NAME")]
    SameName(String),
    /// A program that cannot be read.
    #[error("{} is a broken program: {source}", path.display())]
    BrokenProgram {
        /// The path of the program.
        path: PathBuf,
        /// The error of the ELF parser.
        source: goblin::error::Error,
    },
    /// A program for another processor.
    #[error("{} is a program for another processor; guests have an x86-64", .0.display())]
    Processor(PathBuf),
    /// A program for the guest needs a library that is not on the host.
    #[error(
        "{} needs the shared library {library}, which is in none of the folders where the loader looks; \
         install it, name its folder in LD_LIBRARY_PATH, or link the program statically",
        file.display()
    )]
    Library {
        /// The program.
        file: PathBuf,
        /// The library's name.
        library: String,
    },
    /// A tree that was unpacked earlier is not complete.
    #[error("{} lacks {what}; remove that folder, and the same command fetches it again", folder.display())]
    Incomplete {
        /// The missing part.
        what: &'static str,
        /// The folder of the tree.
        folder: PathBuf,
    },
    /// Debian's archive has another kernel than expected.
    #[error(
        "Debian's {} has no kernel {kernel} ({} has {found:?}); is the mirror complete?",
        kernel.release().target(),
        folder.display()
    )]
    NoKernel {
        /// The kernel.
        kernel: Kernel,
        /// The folder where the kernel's modules should be.
        folder: PathBuf,
        /// The names that were found there.
        found: Vec<String>,
    },
    /// A bench with cards for which the kernel has no driver.
    #[error("kernel {kernel} has no driver {driver}: choose a newer one")]
    NoDriver {
        /// The kernel.
        kernel: Kernel,
        /// The driver's module.
        driver: &'static str,
    },
    /// Debian's archive has another version of QEMU.
    #[error(
        "the lab needs QEMU {wanted}, with which its figures were measured, and Debian's {suite} \
         has {found}"
    )]
    QemuVersion {
        /// The version with which the lab's figures were measured.
        wanted: &'static str,
        /// The suite that was searched.
        suite: &'static str,
        /// The version that was found there.
        found: String,
    },
    /// The kernel and its headers are of different versions.
    #[error(
        "the kernel is {version}, and {} has headers of another version: the mirror changed in \
         between. Remove that folder and the kernel's beside it, and set up again",
        folder.display()
    )]
    Headers {
        /// The kernel's version.
        version: String,
        /// The headers' folder.
        folder: PathBuf,
    },
    /// A job that cannot be serialized for a guest.
    #[error("the guest's job cannot be written down")]
    Job(#[source] serde_json::Error),
    /// A guest that should be saved did not stop itself.
    #[error("a guest did not reach the point at which it is saved")]
    NotStopped(#[source] MonitorError),
    /// A guest that had stopped itself could not be saved.
    #[error("a guest cannot be saved")]
    NotSaved(#[source] MonitorError),
    /// A guest's state depended on the host in every try.
    #[error(
        "a guest could not be saved in the state that it has on every machine, in {tries} tries; is \
         this host very busy? Try again"
    )]
    Unsteady {
        /// Number of tries.
        tries: u32,
    },
    /// A program of the host is missing.
    #[error("the lab needs `{tool}` {why}, and it is missing; {advice}")]
    Tool {
        /// The name of the program.
        tool: &'static str,
        /// The purpose for which it is needed.
        why: &'static str,
        /// Advice on how to install it.
        advice: &'static str,
    },
    /// A program of the host failed.
    #[error("{what} failed{advice}\n{tail}")]
    Command {
        /// The purpose of the command.
        what: String,
        /// Advice on the cause; empty, or beginning with a separator.
        advice: &'static str,
        /// The end of the command's output.
        tail: String,
    },
    /// A file could not be read or written.
    #[error("cannot {verb} {}: {source}{}", path.display(), advice(source))]
    File {
        /// `read`, `write`, …
        verb: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns whether the request is wrong; otherwise the request was valid, but could not be
    /// carried out.
    #[must_use]
    pub const fn is_wrong_input(&self) -> bool {
        matches!(
            self,
            Self::Host
                | Self::NoGateway { .. }
                | Self::NotTheGateway(_)
                | Self::Kernel(_)
                | Self::Spec(_)
                | Self::NoCacheFolder
                | Self::Mirror(_)
                | Self::NoMirror { .. }
                | Self::AptFolder(_)
                | Self::NotAFile(_)
                | Self::SameName(_)
                | Self::BrokenProgram { .. }
                | Self::Processor(_)
        )
    }

    /// Returns a function for `map_err`: a file could not be read or written.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { verb, path, source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; make room and run the same command to resume",
        io::ErrorKind::PermissionDenied => {
            "; check your permissions there, or choose another folder with --cache"
        }
        _ => "",
    }
}

/// Returns the last lines of a text: at most `lines`, at most `bytes`.
pub(crate) fn tail(text: &[u8], lines: usize, bytes: usize) -> String {
    let text = &text[text.len().saturating_sub(bytes)..];
    let text = String::from_utf8_lossy(text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
