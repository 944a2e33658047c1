//! The load on the gateway's machine.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// The load on the gateway's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineLoad {
    /// No load.
    None,
    /// hackbench.
    Cpu,
    /// The tester's side floods the gateway with 60 kB pings.
    EthRx,
    /// The gateway floods the tester's side with 60 kB pings.
    EthTx,
}

plain_words!(
    MachineLoad,
    "load",
    MachineLoad::None = "none",
    MachineLoad::Cpu = "cpu",
    MachineLoad::EthRx = "eth-rx",
    MachineLoad::EthTx = "eth-tx"
);
