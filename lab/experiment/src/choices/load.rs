//! The load on the gateway's machine.

use super::word::plain_words;

plain_words! {
    /// The load on the gateway's machine.
    pub enum MachineLoad, "load" {
        /// No other work.
        None = "none",
        /// hackbench with 400 tasks.
        Cpu = "cpu",
        /// Flood ping with 60000 bytes to the gateway.
        EthRx = "eth-rx",
        /// Flood ping with 60000 bytes from the gateway.
        EthTx = "eth-tx",
    }
}
