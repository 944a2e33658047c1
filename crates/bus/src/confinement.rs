//! The two error counters of a node and the state that follows from them: ISO 11898-1, fault
//! confinement. The rules are numbered as in Bosch's CAN specification 2.0, chapter "Fault
//! confinement".

use crate::ErrorState;

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
        self.tec = (self.tec + 8).min(ErrorState::BUS_OFF_LIMIT + 7);
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
            n if n < ErrorState::PASSIVE_LIMIT => n - 1,
            _ => REC_AFTER_PASSIVE,
        };
    }

    /// Returns the state by rules 9 to 11.
    #[inline]
    pub(crate) fn state(self) -> ErrorState {
        ErrorState::from_counters(self.tec, self.rec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
