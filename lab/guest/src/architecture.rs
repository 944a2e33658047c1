//! The processors whose Debian packages the lab unpacks.

/// A processor architecture, as Debian's archive divides packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// 64-bit PCs: the architecture of the host and of almost all guests.
    Amd64,
    /// 64-bit ARM, which QEMU emulates.
    Arm64,
}

impl Architecture {
    /// Returns Debian's name of the architecture, as in names of packages.
    pub(crate) const fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the folder of apt's state in the cache. Each architecture has its own, because apt
    /// resolves for one; that of amd64 keeps the name from the time when it was the only one.
    pub(crate) const fn apt_folder(self) -> &'static str {
        match self {
            Self::Amd64 => "apt",
            Self::Arm64 => "apt-arm64",
        }
    }
}
