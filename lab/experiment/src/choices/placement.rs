//! The machines of an experiment.

use super::word::plain_words;

plain_words! {
    /// Where the tester and the other end of an Ethernet load run.
    pub enum MachinePlacement, "placement of machines" {
        /// In the gateway's guest, on its processor.
        Together = "no",
        /// On machines of their own, in one virtual time.
        Apart = "yes",
    }
}
