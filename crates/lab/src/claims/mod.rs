//! The papers' claims: what each needs, and how its verdict is computed from what was measured.
//!
//! Each claim's criterion stands beside the paper's figure and was taken from the paper. What is
//! compared are shapes and ratios: the guest is not the papers' board.

mod evidence;
mod filters;
mod hops;
mod kernels;
mod load;
mod modify;
mod offload;
mod precision;
mod simple;
pub(crate) mod stats;
mod syscalls;
mod user;

pub use evidence::{Evidence, Missing};

use crate::bursts::Bursts;
use crate::experiment::{Cpu, Experiment, Gateway};
use crate::machine::Bench;
use serde::Serialize;
use std::fmt;

/// How much is made for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Few frames, one kernel.
    Quick,
    /// As the papers did.
    Full,
}

impl Extent {
    /// Of two numbers the one that counts.
    fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// Does the claim hold here?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Everything that the criterion asks for was measured.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Something was not.
    #[serde(rename = "differs")]
    Differs,
    /// It was not measured.
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

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Does it hold?
    pub verdict: Verdict,
    /// The measured figures, in the paper's units.
    pub measured: String,
    /// One sentence.
    pub why: String,
}

/// A claim of a paper.
pub struct Claim {
    /// Its name in `findings.md`.
    pub id: &'static str,
    /// Where it is made.
    pub paper: &'static str,
    /// What it says.
    pub claim: &'static str,
    /// The paper's figures.
    pub figure: &'static str,
    /// When it counts as reproduced.
    pub criterion: &'static str,
    needs: fn(Extent) -> Vec<Experiment>,
    bursts: fn(Extent) -> Option<Bursts>,
    /// Experiments whose highest rate is searched for.
    rates: fn(Extent) -> Vec<Experiment>,
    judge: fn(&Evidence, Extent) -> Result<Judgement, Missing>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({})", self.id)
    }
}

impl Claim {
    /// The experiments that it needs; none where this extent is not enough for it.
    #[must_use]
    pub fn needs(&self, extent: Extent) -> Vec<Experiment> {
        (self.needs)(extent)
    }

    /// The measurement of system calls that it needs.
    #[must_use]
    pub fn bursts(&self, extent: Extent) -> Option<Bursts> {
        (self.bursts)(extent)
    }

    /// The experiments whose highest rate it needs.
    #[must_use]
    pub fn rates(&self, extent: Extent) -> Vec<Experiment> {
        (self.rates)(extent)
    }

    /// Whose it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self.id)
    }

    /// Its verdict on what was measured.
    #[must_use]
    pub fn judge(&self, evidence: &Evidence, extent: Extent) -> Judgement {
        let nothing = self.needs(extent).is_empty() && self.rates(extent).is_empty();
        if nothing && self.bursts(extent).is_none() {
            return Judgement {
                verdict: Verdict::NotTestable,
                measured: "—".to_owned(),
                why: "It is part of the full run: leave out --quick.".to_owned(),
            };
        }
        (self.judge)(evidence, extent).unwrap_or_else(|missing| Judgement {
            verdict: Verdict::NotTestable,
            measured: "—".to_owned(),
            why: format!("{missing}."),
        })
    }
}

/// All of them, in the order of `findings.md`: each of the papers', then the same on other ways
/// through the gateway; last the bounds that routing in the kernel is to keep.
#[must_use]
pub fn all() -> Vec<Claim> {
    let mut all = vec![simple::G1, simple::G2, load::G3];
    all.extend(filters::ALL);
    all.extend(modify::ALL);
    all.extend(kernels::ALL);
    all.push(user::G9);
    all.extend(hops::ALL);
    all.extend([precision::G11, load::G12, syscalls::S1]);
    all.extend(offload::ALL);
    all
}

/// Whose a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A paper's.
    Paper,
    /// A paper's about can-gw, held against another way through the gateway.
    OtherWay,
    /// A bound that this program is to keep.
    Bound,
}

impl Kind {
    /// By the claim's name.
    #[must_use]
    pub fn of(id: &str) -> Self {
        if id.starts_with('O') {
            Self::Bound
        } else if id.contains('/') {
            Self::OtherWay
        } else {
            Self::Paper
        }
    }
}

/// A way of a frame through the gateway. The papers' claims are about the first; the others are
/// held against the same criteria, with the first beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// can-gw, its rules put in by `cangw`.
    Cangw,
    /// can-gw, its rules put in by cangate.
    OwnRules,
    /// cangate in user space.
    User,
    /// cangate's BPF program.
    Bpf,
}

impl Way {
    fn gateway(self) -> Gateway {
        match self {
            Self::Cangw => Gateway::Cangw,
            Self::OwnRules => Gateway::OwnRules,
            Self::User => Gateway::User("read-write".to_owned()),
            Self::Bpf => Gateway::Bpf,
        }
    }

    /// Where a quick run has thousands of rules, cangate puts in can-gw's: `cangw` is a process to
    /// be started for each of them, and O8 holds the two against one another.
    fn quickly(self, extent: Extent) -> Self {
        match (self, extent) {
            (Self::Cangw, Extent::Quick) => Self::OwnRules,
            (way, _) => way,
        }
    }

    /// The same experiment with this way.
    fn of(self, experiment: Experiment) -> Experiment {
        Experiment {
            gateway: self.gateway(),
            ..experiment
        }
    }

    /// What a claim needs on this way; on another than the papers' that one's too, to be seen
    /// beside it. A quick run has BPF only.
    fn beside(self, extent: Extent, needs: impl Fn(Self) -> Vec<Experiment>) -> Vec<Experiment> {
        if extent == Extent::Quick && matches!(self, Self::OwnRules | Self::User) {
            return vec![];
        }
        let mut all = needs(self);
        if self != Self::Cangw {
            all.extend(needs(Self::Cangw));
        }
        all
    }

    /// The end of a sentence about can-gw's figure, on the other ways.
    fn against(self, cangw: impl FnOnce() -> Result<String, Missing>) -> Result<String, Missing> {
        Ok(match self {
            Self::Cangw => String::new(),
            _ => format!(" (can-gw: {})", cangw()?),
        })
    }
}

/// The papers' gateway: bit-timed buses, the board's controllers and speed, 4 bytes.
fn board(frames: u32) -> Experiment {
    Experiment {
        bench: Bench::Timed,
        cpu: Cpu::Board,
        frames,
        ..Experiment::default()
    }
}

/// Conditions that must all hold.
#[derive(Default)]
struct Conditions(Vec<(bool, String)>);

impl Conditions {
    /// Adds one; `text` says what was found, as part of a sentence.
    fn add(&mut self, holds: bool, text: impl Into<String>) {
        self.0.push((holds, text.into()));
    }

    /// Do all hold?
    fn hold(&self) -> bool {
        self.0.iter().all(|c| c.0)
    }

    /// The verdict, with what holds or else what does not; `besides` is a sentence's end that is
    /// added to both.
    fn judge(self, measured: String, besides: &str) -> Judgement {
        let failed: Vec<_> = self.0.iter().filter(|c| !c.0).collect();
        let (verdict, said) = if failed.is_empty() {
            (Verdict::Reproduced, self.0.iter().collect())
        } else {
            (Verdict::Differs, failed)
        };
        let said: Vec<_> = said.iter().map(|c| c.1.as_str()).collect();
        let mut why = said.join("; ");
        if !besides.is_empty() {
            why.push_str("; ");
            why.push_str(besides);
        }
        why.push('.');
        let mut letters = why.chars();
        if let Some(first) = letters.next() {
            why = first.to_uppercase().chain(letters).collect();
        }
        Judgement {
            verdict,
            measured,
            why,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Made-up evidence.

    use super::*;
    use crate::fake;
    use probe::Record;

    /// Evidence in which each needed experiment has the records that `make` gives it.
    pub(crate) fn judge(
        claim: &Claim,
        extent: Extent,
        make: impl Fn(&Experiment) -> Vec<Record>,
    ) -> Judgement {
        let mut evidence = Evidence::default();
        for e in claim.needs(extent) {
            let records = make(&e);
            evidence.add(e, Ok(fake::results(records)));
        }
        claim.judge(&evidence, extent)
    }

    pub(crate) fn verdict(
        claim: &Claim,
        extent: Extent,
        make: impl Fn(&Experiment) -> Vec<Record>,
    ) -> Verdict {
        judge(claim, extent, make).verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::trial::Failed;
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_needs_what_can_be_made() {
        for claim in all() {
            for extent in [Extent::Quick, Extent::Full] {
                for e in claim.needs(extent).into_iter().chain(claim.rates(extent)) {
                    assert_eq!(e.check(), Ok(()), "{}: {}", claim.id, e.name());
                }
            }
            let bursts = claim.bursts(Extent::Full).is_some();
            let rates = !claim.rates(Extent::Full).is_empty();
            assert!(
                bursts || rates || !claim.needs(Extent::Full).is_empty(),
                "{}",
                claim.id
            );
        }
    }

    #[test]
    fn the_quick_extent_is_one_kernel_and_few_guests() {
        let all = all();
        let needs = all.iter().flat_map(|c| c.needs(Extent::Quick));
        let needs: BTreeSet<_> = needs.collect();
        assert!(needs.iter().all(|e| e.kernel == "6.1" && e.frames <= 2000));
        assert!(needs.len() <= 80, "{}", needs.len());
        // Thousands of processes are started for what O3 and O8 share, once.
        let many = needs
            .iter()
            .filter(|e| e.gateway == Gateway::Cangw && e.filters.count().is_some_and(|n| n > 1));
        assert_eq!(many.count(), 1);
        let rates: BTreeSet<_> = all.iter().flat_map(|c| c.rates(Extent::Quick)).collect();
        assert!(rates.len() <= 6, "{}", rates.len());
        let needs = all.iter().flat_map(|c| c.needs(Extent::Full));
        let needs: BTreeSet<_> = needs.collect();
        assert!(needs.len() <= 250, "{}", needs.len());
    }

    #[test]
    fn names_are_used_once_and_other_ways_have_can_gw_beside_them() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|c| c.id).collect();
        assert_eq!(names.len(), all.len());
        let of = |kind| all.iter().filter(|c| c.kind() == kind).count();
        assert_eq!((of(Kind::Paper), of(Kind::Bound)), (13, 8));
        for id in ["G4", "G5", "G6", "G7", "G8", "G10"] {
            for way in ["user", "bpf"] {
                let name = format!("{id}/{way}");
                let claim = all.iter().find(|c| c.id == name).unwrap();
                let papers = all.iter().find(|c| c.id == id).unwrap();
                let needs = claim.needs(Extent::Full);
                let of = |gateway: &Gateway| needs.iter().filter(|e| e.gateway == *gateway).count();
                assert_eq!(of(&Gateway::Cangw), of(&needs[0].gateway), "{name}");
                for e in papers.needs(Extent::Full) {
                    assert!(needs.contains(&e), "{name}: {}", e.name());
                }
            }
        }
    }

    #[test]
    fn a_failed_experiment_is_no_verdict() {
        for claim in all() {
            let mut evidence = Evidence::default();
            let failed = Failed {
                why: "the guest hung".to_owned(),
                console: String::new(),
            };
            for e in claim.needs(Extent::Full) {
                evidence.add(e, Err(failed.clone()));
            }
            for e in claim.rates(Extent::Full) {
                evidence.add_rate(e, Err(failed.clone()));
            }
            evidence.add_points(Err(failed));
            let judgement = claim.judge(&evidence, Extent::Full);
            assert_eq!(judgement.verdict, Verdict::NotTestable);
            assert!(
                judgement.why.contains("the guest hung"),
                "{}",
                judgement.why
            );
            // Nor is one that was not made, or in which no frame came back.
            let judgement = claim.judge(&Evidence::default(), Extent::Full);
            assert_eq!(judgement.verdict, Verdict::NotTestable);
            let nothing = |_: &Experiment| fake::losing(fake::records(20, 1), |_| true);
            let verdict = testing::verdict(&claim, Extent::Full, nothing);
            assert_ne!(verdict, Verdict::Reproduced, "{}", claim.id);
        }
    }
}
