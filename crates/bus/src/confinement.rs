//! The two error counters of a node and the state that follows from them: ISO 11898-1, fault
//! confinement. The rules are numbered as in Bosch's CAN specification 2.0, chapter "Fault
//! confinement".

use crate::ErrorState;

/// Counters at this value make a controller report a warning.
pub(crate) const WARNING: u16 = 96;
/// A counter at this value makes a node error-passive (rule 9).
pub(crate) const PASSIVE: u16 = 128;
/// TEC at this value takes a node off the bus (rule 10).
pub(crate) const BUS_OFF: u16 = 256;
/// New value of REC after a good frame in the error-passive range: rule 8 allows 119 to 127,
/// the model takes the highest.
const REC_AFTER_PASSIVE: u16 = 127;
/// Highest value of REC: it has eight bits in controllers, and nothing depends on values above 128.
const REC_MAX: u16 = 255;

/// TEC and REC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConfinementCounters {
    pub(crate) tec: u16,
    pub(crate) rec: u16,
}

impl ConfinementCounters {
    /// Applies rule 3 (and 4): a sender raised an error flag.
    pub(crate) fn transmit_error(&mut self) {
        self.tec = (self.tec + 8).min(BUS_OFF + 7);
    }

    /// Applies rule 1: a receiver detected an error.
    pub(crate) fn receive_error(&mut self) {
        self.rec = (self.rec + 1).min(REC_MAX);
    }

    /// Applies rule 2: a receiver was the first to flag, and saw others do so after its own flag.
    pub(crate) fn receive_error_first(&mut self) {
        self.rec = (self.rec + 8).min(REC_MAX);
    }

    /// Applies rule 7: a frame was sent.
    #[inline]
    pub(crate) fn transmitted(&mut self) {
        self.tec = self.tec.saturating_sub(1);
    }

    /// Applies rule 8: a frame was received.
    #[inline]
    pub(crate) fn received(&mut self) {
        self.rec = match self.rec {
            0 => 0,
            n if n < PASSIVE => n - 1,
            _ => REC_AFTER_PASSIVE,
        };
    }

    /// Returns the state by rules 9 to 11.
    #[inline]
    pub(crate) fn state(self) -> ErrorState {
        if self.tec >= BUS_OFF {
            ErrorState::BusOff
        } else if self.tec >= PASSIVE || self.rec >= PASSIVE {
            ErrorState::Passive
        } else if self.tec >= WARNING || self.rec >= WARNING {
            ErrorState::Warning
        } else {
            ErrorState::Active
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        let state = |tec, rec| ConfinementCounters { tec, rec }.state();
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
    fn a_good_frame_ends_the_passive_range_of_rec() {
        let mut c = ConfinementCounters { tec: 0, rec: 200 };
        c.received();
        assert_eq!(c.rec, 127);
        c.received();
        assert_eq!(c.rec, 126);
    }

    #[test]
    fn thirty_two_failures_take_a_sender_off() {
        let mut c = ConfinementCounters::default();
        for _ in 0..31 {
            c.transmit_error();
        }
        assert_eq!(c.state(), ErrorState::Passive);
        c.transmit_error();
        assert_eq!(c.state(), ErrorState::BusOff);
    }
}
