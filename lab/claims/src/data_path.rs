//! Where a gateway routes.

use crate::evidence::Missing;
use crate::extent::Extent;
use experiment::{Experiment, Gateway, Ways};

/// Where a gateway routes. The papers' claims are about the first; the others are held against the
/// same criteria, with the first beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// can-gw, its rules put in by `cangw`.
    Cangw,
    /// can-gw, its rules put in by cangate.
    OwnRules,
    /// cangate in user space.
    User,
    /// cangate's BPF program.
    Bpf,
}

impl DataPath {
    pub(crate) fn gateway(self) -> Gateway {
        match self {
            Self::Cangw => Gateway::Cangw,
            Self::OwnRules => Gateway::OwnRules,
            Self::User => Gateway::User(Ways::READ_WRITE),
            Self::Bpf => Gateway::Bpf,
        }
    }

    /// Where a quick run has thousands of rules for can-gw, cangate puts them in: `cangw` is a
    /// process to be started for each of them, and O8 compares the two.
    pub(crate) fn quickly(self, extent: Extent) -> Self {
        match (self, extent) {
            (Self::Cangw, Extent::Quick) => Self::OwnRules,
            (path, _) => path,
        }
    }

    /// The same experiment on this data path.
    pub(crate) fn of(self, experiment: Experiment) -> Experiment {
        Experiment {
            gateway: self.gateway(),
            ..experiment
        }
    }

    /// What a claim needs on this data path; where that is not the papers', theirs too, to be shown
    /// beside it. Of the others a quick run has BPF only.
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

    /// On the other data paths, the end of a sentence: can-gw's figure.
    pub(crate) fn against(
        self,
        cangw: impl FnOnce() -> Result<String, Missing>,
    ) -> Result<String, Missing> {
        Ok(match self {
            Self::Cangw => String::new(),
            _ => format!(" (can-gw: {})", cangw()?),
        })
    }
}
