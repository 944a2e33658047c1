//! The name of an interface, stored by value.

use std::fmt;

/// The name of an interface: at most 15 bytes (`IFNAMSIZ` less its terminating zero), so that it
/// can be stored and passed without allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InterfaceName {
    bytes: [u8; InterfaceName::MAX],
    len: u8,
}

impl InterfaceName {
    /// The longest name in bytes.
    pub const MAX: usize = 15;

    /// Creates a name; `None` where it is too long.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; Self::MAX];
        bytes
            .get_mut(..name.len())?
            .copy_from_slice(name.as_bytes());
        Some(Self {
            bytes,
            len: name.len() as u8,
        })
    }

    /// Creates the name `can0`, `can1`, ….
    #[must_use]
    pub fn numbered(number: u32) -> Self {
        // At most 13 bytes.
        Self::new(&format!("can{number}")).unwrap_or_default()
    }

    /// Creates the name of the interface for channel N of a program that counts them from 1:
    /// `can(N-1)`. Some programs write a channel 0, too; it has a different name, so that it is not
    /// mistaken for channel 1.
    #[must_use]
    pub fn of_channel(channel: u32) -> Self {
        match channel.checked_sub(1) {
            Some(number) => Self::numbered(number),
            None => Self::new("channel0").unwrap_or_default(),
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Created from a str of this length.
        let bytes = self.bytes.get(..usize::from(self.len));
        str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_bytes_fit() {
        for name in ["", "can0", "exactly15bytes!", "ü"] {
            assert_eq!(InterfaceName::new(name).unwrap().as_str(), name);
        }
        assert_eq!(InterfaceName::numbered(u32::MAX).as_str(), "can4294967295");
        assert_eq!(InterfaceName::new("sixteen bytes !!"), None);
    }
}
