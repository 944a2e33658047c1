//! Reasons why io_uring is unavailable, with messages that state the remedy.

use crate::Errno;
use std::fmt;

/// io_uring cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable {
    obstacle: Obstacle,
    /// The kernel's error.
    pub source: Errno,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Obstacle {
    /// The system call does not exist.
    NotThere,
    /// The system call is forbidden.
    Forbidden,
    /// The kernel's release, which is before 6.0.
    Old(String),
    /// Too many open files.
    OpenFiles,
    /// Another failure, in this step.
    Step(&'static str),
}

impl Unavailable {
    /// Returns the error for a refused io_uring_setup(2).
    pub(super) fn set_up(source: Errno) -> Self {
        let obstacle = match source {
            Errno::NOSYS => Obstacle::NotThere,
            Errno::PERM | Errno::ACCESS => Obstacle::Forbidden,
            Errno::MFILE | Errno::NFILE => Obstacle::OpenFiles,
            // Settings that the kernel does not know.
            Errno::INVAL => Obstacle::Old(release()),
            _ => Obstacle::Step("setting up"),
        };
        Self { obstacle, source }
    }

    /// Returns the error for a missing feature of Linux 6.0.
    pub(super) fn old() -> Self {
        Self {
            obstacle: Obstacle::Old(release()),
            source: Errno::OPNOTSUPP,
        }
    }

    /// Returns the error for a later step that was refused.
    pub(super) const fn step(step: &'static str, source: Errno) -> Self {
        Self {
            obstacle: Obstacle::Step(step),
            source,
        }
    }
}

fn release() -> String {
    let uname = rustix::system::uname();
    uname.release().to_string_lossy().into_owned()
}

impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.obstacle {
            Obstacle::NotThere => f.write_str(
                "this kernel was built without io_uring (CONFIG_IO_URING), or a filter of system \
                 calls (seccomp, as in containers) hides it",
            ),
            Obstacle::Forbidden => f.write_str(
                "io_uring is switched off for this process: allow it with `sysctl \
                 kernel.io_uring_disabled=0`, or in the filter of system calls (seccomp, as in \
                 containers)",
            ),
            Obstacle::Old(release) => write!(
                f,
                "receiving and sending by io_uring need Linux 6.0 or later, and this is {release}"
            ),
            Obstacle::OpenFiles => f.write_str(
                "no more rings can be opened: raise the limit of open files (`ulimit -n`)",
            ),
            Obstacle::Step(step) => write!(f, "io_uring: {step} failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_said() {
        let said = |errno| Unavailable::set_up(errno).to_string();
        assert!(said(Errno::NOSYS).contains("CONFIG_IO_URING"));
        assert!(said(Errno::PERM).contains("kernel.io_uring_disabled"));
        assert!(said(Errno::MFILE).contains("ulimit -n"));
        let release = release();
        assert!(release.starts_with(|c: char| c.is_ascii_digit()));
        assert!(said(Errno::INVAL).contains(&release));
        assert!(Unavailable::old().to_string().contains("6.0"));
        assert!(said(Errno::NOMEM).contains("setting up"));
    }
}
