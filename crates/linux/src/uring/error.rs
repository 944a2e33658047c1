//! Reasons why io_uring is unavailable, with messages that state the remedy.

use crate::Errno;
use std::fmt;

/// io_uring cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UringUnavailable {
    obstacle: UringObstacle,
    /// The kernel's error.
    pub source: Errno,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum UringObstacle {
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

impl UringUnavailable {
    /// Returns the error for a refused io_uring_setup(2).
    pub(super) fn set_up(source: Errno) -> Self {
        let obstacle = match source {
            Errno::NOSYS => UringObstacle::NotThere,
            Errno::PERM | Errno::ACCESS => UringObstacle::Forbidden,
            Errno::MFILE | Errno::NFILE => UringObstacle::OpenFiles,
            // Settings that the kernel does not know.
            Errno::INVAL => UringObstacle::Old(release()),
            _ => UringObstacle::Step("setting up"),
        };
        Self { obstacle, source }
    }

    /// Returns the error for a missing feature of Linux 6.0.
    pub(super) fn old() -> Self {
        Self {
            obstacle: UringObstacle::Old(release()),
            source: Errno::OPNOTSUPP,
        }
    }

    /// Returns the error for a later step that was refused.
    pub(super) const fn step(step: &'static str, source: Errno) -> Self {
        Self {
            obstacle: UringObstacle::Step(step),
            source,
        }
    }
}

fn release() -> String {
    let uname = rustix::system::uname();
    uname.release().to_string_lossy().into_owned()
}

impl std::error::Error for UringUnavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl fmt::Display for UringUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.obstacle {
            UringObstacle::NotThere => f.write_str(
                "this kernel was built without io_uring (CONFIG_IO_URING), or a filter of system \
                 calls (seccomp, as in containers) hides it",
            ),
            UringObstacle::Forbidden => f.write_str(
                "io_uring is disabled for this process: enable it with `sysctl \
                 kernel.io_uring_disabled=0`, or in the filter of system calls (seccomp, as in \
                 containers)",
            ),
            UringObstacle::Old(release) => write!(
                f,
                "receiving and sending by io_uring need Linux 6.0 or later, and this is {release}"
            ),
            UringObstacle::OpenFiles => f.write_str(
                "no more rings can be opened: raise the limit of open files (`ulimit -n`)",
            ),
            UringObstacle::Step(step) => write!(f, "io_uring: {step} failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_reported() {
        let output = |errno| UringUnavailable::set_up(errno).to_string();
        assert!(output(Errno::NOSYS).contains("CONFIG_IO_URING"));
        assert!(output(Errno::PERM).contains("kernel.io_uring_disabled"));
        assert!(output(Errno::MFILE).contains("ulimit -n"));
        let release = release();
        assert!(release.starts_with(|c: char| c.is_ascii_digit()));
        assert!(output(Errno::INVAL).contains(&release));
        assert!(UringUnavailable::old().to_string().contains("6.0"));
        assert!(output(Errno::NOMEM).contains("setting up"));
    }
}
