//! The clock of the guest.

use super::word::plain_words;

plain_words! {
    /// The clock of the guest.
    pub enum ClockChoice, "clock" {
        /// Virtual time, counted in instructions: results repeat.
        Virtual = "virtual",
        /// Real time: results do not repeat.
        Real = "real",
    }
}
