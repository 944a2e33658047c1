//! The error state of a node.

/// The error state of a node by its two error counters, TEC for sending and REC for receiving
/// (ISO 11898-1, *Fault confinement*), with the warning limit that controllers have in addition.
///
/// A controller that is stopped or asleep has none: where that can be, the type is
/// `Option<ErrorState>`. The numbers are those of the first four values of Linux's
/// `enum can_state` (`uapi/linux/can/netlink.h`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum ErrorState {
    /// Error-active, both counters below [`WARNING_LIMIT`](ErrorState::WARNING_LIMIT).
    Active = 0,
    /// Error-active, a counter at [`WARNING_LIMIT`](ErrorState::WARNING_LIMIT) or more.
    Warning = 1,
    /// Error-passive: a counter at [`PASSIVE_LIMIT`](ErrorState::PASSIVE_LIMIT) or more.
    Passive = 2,
    /// TEC at [`BUS_OFF_LIMIT`](ErrorState::BUS_OFF_LIMIT) or more: the node takes no part in the
    /// communication until it is restarted.
    BusOff = 3,
}

impl ErrorState {
    /// The value of a counter from which on controllers report a warning.
    pub const WARNING_LIMIT: u16 = 96;
    /// The value of a counter from which on a node is error-passive.
    pub const PASSIVE_LIMIT: u16 = 128;
    /// The value of TEC from which on a node is bus-off.
    pub const BUS_OFF_LIMIT: u16 = 256;

    /// Returns the state of a node with these error counters.
    #[inline]
    #[must_use]
    pub const fn from_counters(tec: u16, rec: u16) -> Self {
        let higher = if tec > rec { tec } else { rec };
        if tec >= Self::BUS_OFF_LIMIT {
            Self::BusOff
        } else if higher >= Self::PASSIVE_LIMIT {
            Self::Passive
        } else if higher >= Self::WARNING_LIMIT {
            Self::Warning
        } else {
            Self::Active
        }
    }

    /// Returns the state with this number, 0 to 3, in `enum can_state`.
    #[inline]
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Active,
            1 => Self::Warning,
            2 => Self::Passive,
            3 => Self::BusOff,
            _ => return None,
        })
    }

    /// Returns whether a node in this state sends and receives frames: it is not bus-off.
    #[inline]
    #[must_use]
    pub const fn is_on_bus(self) -> bool {
        !matches!(self, Self::BusOff)
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorState;

    #[test]
    fn thresholds() {
        let state = ErrorState::from_counters;
        assert_eq!(state(95, 95), ErrorState::Active);
        assert_eq!(state(96, 0), ErrorState::Warning);
        assert_eq!(state(0, 96), ErrorState::Warning);
        assert_eq!(state(127, 127), ErrorState::Warning);
        assert_eq!(state(128, 0), ErrorState::Passive);
        assert_eq!(state(0, 128), ErrorState::Passive);
        assert_eq!(state(255, 255), ErrorState::Passive);
        assert_eq!(state(256, 0), ErrorState::BusOff);
    }

    #[test]
    fn numbers() {
        for number in 0..4 {
            let state = ErrorState::from_number(number);
            assert_eq!(state.map(|state| state as u32), Some(number));
        }
        assert_eq!(ErrorState::from_number(4), None);
    }
}
