//! The kernels of the lab, and their places in Debian's archive.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Debian's releases from which the lab takes packages. A tree is resolved against one release (and
/// its backports) alone: a dependency must not be met by another release's package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DebianRelease {
    /// Debian 11.
    Bullseye,
    /// Debian 12.
    Bookworm,
    /// Debian 12 with its backports preferred.
    BookwormBackports,
    /// Debian 13 with its backports preferred.
    TrixieBackports,
}

impl DebianRelease {
    /// Returns the suites, the preferred one last.
    #[must_use]
    pub fn suites(self) -> &'static [&'static str] {
        match self {
            Self::Bullseye => &["bullseye"],
            Self::Bookworm => &["bookworm"],
            Self::BookwormBackports => &["bookworm", "bookworm-backports"],
            Self::TrixieBackports => &["trixie", "trixie-backports"],
        }
    }

    /// Returns the suite that is preferred.
    #[must_use]
    pub fn target(self) -> &'static str {
        self.suites().last().copied().unwrap_or_default()
    }
}

/// A kernel of the lab: `6.1`, `6.12-rt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Kernel {
    series: KernelSeries,
    rt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum KernelSeries {
    V5_10,
    V6_1,
    V6_12,
    V7_3,
}

const SERIES: [(KernelSeries, &str, DebianRelease); 4] = [
    (KernelSeries::V5_10, "5.10", DebianRelease::Bullseye),
    (KernelSeries::V6_1, "6.1", DebianRelease::Bookworm),
    (
        KernelSeries::V6_12,
        "6.12",
        DebianRelease::BookwormBackports,
    ),
    (KernelSeries::V7_3, "7.3", DebianRelease::TrixieBackports),
];

impl Kernel {
    /// Linux 5.10, the oldest of the lab.
    pub const V5_10: Self = Self::from_series(KernelSeries::V5_10);
    /// Linux 6.1.
    pub const V6_1: Self = Self::from_series(KernelSeries::V6_1);
    /// Linux 6.1 with PREEMPT_RT.
    pub const V6_1_RT: Self = Self {
        rt: true,
        ..Self::V6_1
    };
    /// Linux 6.12.
    pub const V6_12: Self = Self::from_series(KernelSeries::V6_12);
    /// Linux 7.3.
    pub const V7_3: Self = Self::from_series(KernelSeries::V7_3);
    /// The kernel that is used if none is specified.
    pub const USUAL: Self = Self::V6_1;

    const fn from_series(series: KernelSeries) -> Self {
        Self { series, rt: false }
    }

    /// Returns all kernels of the lab, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        SERIES
            .into_iter()
            .flat_map(|(series, _, _)| [false, true].map(|rt| Self { series, rt }))
    }

    fn row(self) -> (&'static str, DebianRelease) {
        // SERIES has a row for each series; the fallback is never taken.
        SERIES
            .iter()
            .find(|(series, _, _)| *series == self.series)
            .map_or(("6.1", DebianRelease::Bookworm), |(_, name, release)| {
                (name, *release)
            })
    }

    /// Returns the release that the kernel is from.
    #[must_use]
    pub fn release(self) -> DebianRelease {
        self.row().1
    }

    /// Returns the kernel's series, without the flavour: `6.12`.
    #[must_use]
    pub fn series(self) -> &'static str {
        self.row().0
    }

    /// Returns whether the kernel has full preemption.
    #[must_use]
    pub fn rt(self) -> bool {
        self.rt
    }

    /// Returns Debian's name of the flavour, the end of the kernel's own version: `amd64`,
    /// `rt-amd64`.
    #[must_use]
    pub fn flavour(self) -> &'static str {
        if self.rt { "rt-amd64" } else { "amd64" }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.series(), if self.rt { "-rt" } else { "" })
    }
}

impl From<Kernel> for String {
    fn from(kernel: Kernel) -> Self {
        kernel.to_string()
    }
}

impl TryFrom<String> for Kernel {
    type Error = UnknownKernel;

    fn try_from(name: String) -> Result<Self, UnknownKernel> {
        name.parse()
    }
}

/// A name that no kernel of the lab has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kernel of the lab: choose one of {all}", all = names().join(", "))]
pub struct UnknownKernel(pub String);

fn names() -> Vec<String> {
    Kernel::all().map(|kernel| kernel.to_string()).collect()
}

impl FromStr for Kernel {
    type Err = UnknownKernel;

    fn from_str(text: &str) -> Result<Self, UnknownKernel> {
        Self::all()
            .find(|kernel| kernel.to_string() == text)
            .ok_or_else(|| UnknownKernel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        let names: Vec<String> = Kernel::all().map(|k| k.to_string()).collect();
        assert_eq!(
            names,
            [
                "5.10", "5.10-rt", "6.1", "6.1-rt", "6.12", "6.12-rt", "7.3", "7.3-rt"
            ]
        );
        for kernel in Kernel::all() {
            assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
        }
    }

    #[test]
    fn a_wrong_name_lists_the_right_ones() {
        let error = "6.13".parse::<Kernel>().unwrap_err().to_string();
        assert!(error.contains("`6.13`"), "{error}");
        assert!(error.contains("6.12, 6.12-rt, 7.3"), "{error}");
    }

    #[test]
    fn each_kernel_is_of_one_release() {
        let kernel: Kernel = "6.12-rt".parse().unwrap();
        assert_eq!(kernel.release().target(), "bookworm-backports");
        assert_eq!(kernel.flavour(), "rt-amd64");
    }
}
