//! The data path of a gateway.

use crate::evidence::MissingEvidence;
use crate::extent::Extent;
use experiment::{Experiment, GatewayChoice, WayPair};

/// The data path through which a gateway routes. The papers' claims are about the first; the others
/// are tested against the same criteria, with the first for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// can-gw, its rules added by `cangw`.
    Cangw,
    /// can-gw, its rules added by cangate.
    OwnRules,
    /// cangate in user space.
    User,
    /// cangate's BPF program.
    Bpf,
}

impl DataPath {
    pub(crate) fn gateway(self) -> GatewayChoice {
        match self {
            Self::Cangw => GatewayChoice::Cangw,
            Self::OwnRules => GatewayChoice::OwnRules,
            Self::User => GatewayChoice::User(WayPair::READ_WRITE),
            Self::Bpf => GatewayChoice::Bpf,
        }
    }

    /// Returns the data path to use where a quick run has thousands of rules for can-gw: cangate
    /// adds them then, because `cangw` is one process for each rule, and O8 compares the two.
    pub(crate) fn quickly(self, extent: Extent) -> Self {
        match (self, extent) {
            (Self::Cangw, Extent::Quick) => Self::OwnRules,
            (path, _) => path,
        }
    }

    /// Returns the same experiment on this data path.
    pub(crate) fn apply_to(self, experiment: Experiment) -> Experiment {
        Experiment {
            gateway: self.gateway(),
            ..experiment
        }
    }

    /// Returns the experiments that a claim needs on this data path, plus those on the papers' data
    /// path for comparison, if that is another one. Of the data paths other than can-gw, a quick
    /// run has BPF only.
    pub(crate) fn beside(
        self,
        extent: Extent,
        needs: impl Fn(Self) -> Vec<Experiment>,
    ) -> Vec<Experiment> {
        if extent == Extent::Quick && matches!(self, Self::OwnRules | Self::User) {
            return vec![];
        }
        let mut all = needs(self);
        if self != Self::Cangw {
            all.extend(needs(Self::Cangw));
        }
        all
    }

    /// Returns can-gw's figure as the end of a sentence, for the other data paths.
    pub(crate) fn against(
        self,
        cangw: impl FnOnce() -> Result<String, MissingEvidence>,
    ) -> Result<String, MissingEvidence> {
        Ok(match self {
            Self::Cangw => String::new(),
            _ => format!(" (can-gw: {})", cangw()?),
        })
    }
}
