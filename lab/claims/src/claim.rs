//! Claims and their verdicts.

use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::figure::{ClaimFigure, FigurePlan};
use crate::papers::ClaimOrigin;
use experiment::Experiment;
use experiment::bursts::BurstMeasurement;
use experiment::recorders::RecorderMeasurement;
use serde::Serialize;
use std::fmt;

/// The verdict on a claim on this bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Everything that the criterion requires was observed.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// A condition of the criterion was not met.
    #[serde(rename = "differs")]
    Differs,
    /// The claim was not measured.
    #[serde(rename = "not testable here")]
    NotTestable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotTestable => "not testable here",
        })
    }
}

/// The judgement of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimJudgement {
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// The measured figures, in the paper's units.
    pub measured: String,
    /// The reason for the verdict, in one sentence.
    pub why: String,
}

/// The kind of origin of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A claim of a paper.
    Paper,
    /// A claim of a paper about can-gw, tested against another data path.
    #[serde(rename = "other-way")]
    OtherDataPath,
    /// A bound that this program must keep.
    Bound,
}

/// A claim of a paper, or a bound, about one data path.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Its name: `G4`, on another data path `G4/bpf`.
    pub id: &'static str,
    /// The papers and sections that make the claim, or the bound.
    pub origin: ClaimOrigin,
    /// The claim, in words.
    pub claim: &'static str,
    /// The paper's figures, or the bound.
    pub figure: &'static str,
    /// The condition under which it counts as reproduced, or the bound as met.
    pub criterion: &'static str,
    /// The data path against which it is tested.
    pub path: DataPath,
    /// The experiments that it needs.
    pub(crate) needs: fn(Extent, DataPath) -> Vec<Experiment>,
    /// The measurement of system calls that it needs.
    pub(crate) bursts: fn(Extent) -> Option<BurstMeasurement>,
    /// The measurement of recorders that it needs.
    pub(crate) recorders: fn(Extent) -> Option<RecorderMeasurement>,
    /// The experiments whose highest rate is searched for.
    pub(crate) rates: fn(Extent) -> Vec<Experiment>,
    /// Computes its verdict.
    pub(crate) judge:
        fn(&ClaimEvidence, Extent, DataPath) -> Result<ClaimJudgement, MissingEvidence>,
    /// Its figure, where it has one.
    pub(crate) picture: Option<fn() -> FigurePlan>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({})", self.id)
    }
}

impl Claim {
    /// A claim that needs no experiment, as a base for others.
    pub(crate) const BLANK: Self = Self {
        id: "",
        origin: ClaimOrigin::Papers(&[]),
        claim: "",
        figure: "",
        criterion: "",
        path: DataPath::Cangw,
        needs: |_, _| vec![],
        bursts: |_| None,
        recorders: |_| None,
        rates: |_| vec![],
        judge: |_, _, _| {
            Err(MissingEvidence {
                experiment: "the claim".to_owned(),
                why: "it has no criterion".to_owned(),
            })
        },
        picture: None,
    };

    /// Returns the same claim, tested against another data path.
    pub(crate) const fn on(self, id: &'static str, path: DataPath) -> Self {
        Self { id, path, ..self }
    }

    /// Returns the experiments that it needs; none where this extent is not sufficient for it.
    #[must_use]
    pub fn needs(&self, extent: Extent) -> Vec<Experiment> {
        (self.needs)(extent, self.path)
    }

    /// Returns the measurement of system calls that it needs.
    #[must_use]
    pub fn bursts(&self, extent: Extent) -> Option<BurstMeasurement> {
        (self.bursts)(extent)
    }

    /// Returns the measurement of recorders that it needs.
    #[must_use]
    pub fn recorders(&self, extent: Extent) -> Option<RecorderMeasurement> {
        (self.recorders)(extent)
    }

    /// Returns the experiments whose highest rate it needs.
    #[must_use]
    pub fn rates(&self, extent: Extent) -> Vec<Experiment> {
        (self.rates)(extent)
    }

    /// Returns whether any of its experiments has virtual machines in its guest; those take most of
    /// the time.
    #[must_use]
    pub fn has_machines(&self, extent: Extent) -> bool {
        let needs = self.needs(extent);
        needs.iter().any(Experiment::has_machines)
    }

    /// Returns whether it needs searches for the highest rate: each is a series of experiments, one
    /// after the other.
    #[must_use]
    pub fn has_searches(&self, extent: Extent) -> bool {
        !self.rates(extent).is_empty()
    }

    /// Returns the kind of its origin.
    #[must_use]
    pub fn kind(&self) -> ClaimKind {
        match (self.origin, self.path) {
            (ClaimOrigin::Bound(_), _) => ClaimKind::Bound,
            (ClaimOrigin::Papers(_), DataPath::Cangw) => ClaimKind::Paper,
            (ClaimOrigin::Papers(_), _) => ClaimKind::OtherDataPath,
        }
    }

    /// Draws its figure from the measured evidence.
    #[must_use]
    pub fn picture(&self, evidence: &ClaimEvidence, extent: Extent) -> Option<ClaimFigure> {
        let experiments = [self.needs(extent), self.rates(extent)].concat();
        (self.picture?)().draw(evidence, &experiments)
    }

    /// Judges it by the measured evidence.
    #[must_use]
    pub fn judge(&self, evidence: &ClaimEvidence, extent: Extent) -> ClaimJudgement {
        let nothing = self.needs(extent).is_empty() && self.rates(extent).is_empty();
        let printed = self.bursts(extent).is_some() || self.recorders(extent).is_some();
        if nothing && !printed {
            return ClaimJudgement {
                verdict: Verdict::NotTestable,
                measured: "—".to_owned(),
                why: "It is part of the full run: leave out --quick.".to_owned(),
            };
        }
        let judgement = (self.judge)(evidence, extent, self.path);
        judgement.unwrap_or_else(|missing| ClaimJudgement {
            verdict: Verdict::NotTestable,
            measured: "—".to_owned(),
            why: format!("{missing}."),
        })
    }
}
