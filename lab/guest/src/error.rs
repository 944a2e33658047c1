//! Why the lab could not do what was asked, in words for the one who asked.

use crate::kernels::{Kernel, UnknownKernel};
use crate::qemu::monitor::MonitorError;
use crate::spec::SpecError;
use std::io;
use std::path::{Path, PathBuf};

/// Why the lab could not do what was asked. A guest that goes wrong is no error of this kind: see
/// [`crate::Failure`].
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
    /// An image without an operating system cannot be had.
    #[error("the image without an operating system: {0}")]
    Image(String),
    /// No such kernel.
    #[error(transparent)]
    Kernel(#[from] UnknownKernel),
    /// A guest that cannot be.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It is not known where the cache folder is.
    #[error(
        "HOME is not set, so that the lab has no cache folder; name one with --cache or CANGATE_LAB"
    )]
    NoCacheFolder,
    /// A mirror's address that cannot be one.
    #[error(
        "`{0}` is not the address of a Debian mirror; give it as a line of sources.list has it"
    )]
    Mirror(String),
    /// The host's apt does not use a Debian mirror.
    #[error(
        "the host's apt names no Debian mirror (looked into {} and {}); name one with --mirror or \
         CANGATE_MIRROR, as a line of sources.list has it",
        list.display(),
        folder.display()
    )]
    NoMirror {
        /// The file that was looked into.
        list: PathBuf,
        /// The folder that was looked into.
        folder: PathBuf,
    },
    /// A folder whose name apt's configuration cannot express.
    #[error("apt cannot work in {}; choose a cache folder with a plainer name with --cache", .0.display())]
    AptFolder(PathBuf),
    /// Something other than a file is to go into a guest.
    #[error("{} is not a file; a guest takes single files", .0.display())]
    NotAFile(PathBuf),
    /// Two files are to have the same name in the guest.
    #[error("two files would be called {0} in the guest; give one another name with PATH=NAME")]
    SameName(String),
    /// A program that cannot be read.
    #[error("{} is a broken program: {source}", path.display())]
    BrokenProgram {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
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
    /// Something that was unpacked before is not complete.
    #[error("{} lacks {what}; remove that folder, and the same command fetches it again", folder.display())]
    Incomplete {
        /// What is missing.
        what: &'static str,
        /// From where.
        folder: PathBuf,
    },
    /// Debian's archive has another kernel than it should.
    #[error(
        "Debian's {} has no kernel {kernel} ({} has {found:?}); is the mirror complete?",
        kernel.release().target(),
        folder.display()
    )]
    NoKernel {
        /// Which.
        kernel: Kernel,
        /// Where the kernel's modules should be.
        folder: PathBuf,
        /// What is there.
        found: Vec<String>,
    },
    /// A bench whose cards the kernel has no driver for.
    #[error("kernel {kernel} has no driver {driver}: choose a newer one")]
    NoDriver {
        /// Which.
        kernel: Kernel,
        /// The module.
        driver: &'static str,
    },
    /// Debian's archive has another QEMU.
    #[error(
        "the lab needs QEMU {wanted}, whose virtual time its figures are from, and Debian's {suite} \
         has {found}"
    )]
    QemuVersion {
        /// The version that figures are from.
        wanted: &'static str,
        /// Where it was looked for.
        suite: &'static str,
        /// The version there.
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
    /// A job that cannot be given to a guest.
    #[error("the guest's job cannot be written down")]
    Job(#[source] serde_json::Error),
    /// A guest that was to be saved did not stop itself.
    #[error("a guest did not reach the point at which it is saved")]
    NotStopped(#[source] MonitorError),
    /// A guest that had stopped itself could not be saved.
    #[error("a guest cannot be saved")]
    NotSaved(#[source] MonitorError),
    /// A guest's state depends on the host each time.
    #[error(
        "a guest could not be saved in the state that it has on every machine, in {tries} tries; is \
         this host very busy? Try again"
    )]
    Unsteady {
        /// How often it was tried.
        tries: u32,
    },
    /// A program of the host is missing.
    #[error("the lab needs `{tool}` {why}, and it is not there; {advice}")]
    Tool {
        /// Which program.
        tool: &'static str,
        /// For what.
        why: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// A program of the host failed.
    #[error("{what} failed{advice}\n{tail}")]
    Command {
        /// What it was to do.
        what: String,
        /// What to do about it; empty, or beginning with a separator.
        advice: &'static str,
        /// The end of what it said.
        tail: String,
    },
    /// A file could not be read or written.
    #[error("cannot {verb} {}: {source}{}", path.display(), advice(source))]
    File {
        /// `read`, `write`, …
        verb: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// Whether what was asked for is wrong; otherwise it could not be done.
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

    /// For `map_err`: a file could not be read or written.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { verb, path, source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "; make room and give the same command again, it goes on where it stopped"
        }
        io::ErrorKind::PermissionDenied => {
            "; have you the right to do that there? --cache chooses another folder"
        }
        _ => "",
    }
}

/// The last lines of a text: at most `lines`, at most `bytes`.
pub(crate) fn tail(text: &[u8], lines: usize, bytes: usize) -> String {
    let text = &text[text.len().saturating_sub(bytes)..];
    let text = String::from_utf8_lossy(text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
