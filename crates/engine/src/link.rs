//! The state of a port's interface on its bus.

use core::fmt;
use frame::ErrorState;
use serde::{Deserialize, Serialize};

/// The state of a port's interface on its bus. A port without an interface (a log) is always up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Frames can pass; a controller is error-active.
    #[default]
    Up,
    /// Frames can pass; an error counter of the controller is at 96 or more.
    ErrorWarning,
    /// Frames can pass; an error counter of the controller is at 128 or more.
    ErrorPassive,
    /// The controller took itself off the bus, because its TEC was above 255.
    BusOff,
    /// The interface is switched off, or has no carrier.
    Down,
    /// The interface does not exist.
    Gone,
}

impl LinkState {
    /// Returns whether frames can pass.
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Up | Self::ErrorWarning | Self::ErrorPassive)
    }

    /// Returns a word for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::ErrorWarning => "error-warning",
            Self::ErrorPassive => "error-passive",
            Self::BusOff => "bus-off",
            Self::Down => "down",
            Self::Gone => "gone",
        }
    }
}

impl From<ErrorState> for LinkState {
    fn from(state: ErrorState) -> Self {
        match state {
            ErrorState::Active => Self::Up,
            ErrorState::Warning => Self::ErrorWarning,
            ErrorState::Passive => Self::ErrorPassive,
            ErrorState::BusOff => Self::BusOff,
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}
