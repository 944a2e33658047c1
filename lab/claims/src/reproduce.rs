//! The steps from claims to experiments to verdicts.

use crate::claim::{Claim, ClaimKind, Verdict};
use crate::evidence::ClaimEvidence;
use crate::extent::Extent;
use crate::figure::ClaimFigure;
use crate::list;
use crate::own_share::{OwnShare, own_shares};
use experiment::bursts::BurstPoint;
use experiment::rate::RateSearch;
use experiment::recorders::RecorderRun;
use experiment::schedule::{ScheduleError, Versions};
use experiment::store::{ResultStore, StoreError, StoredResult};
use experiment::trial::{FailedGuest, GuestRunner, TrialError};
use experiment::{ByCommand, Experiment, with_floors};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the claims' file; the site reads it.
pub const CLAIMS: &str = "claims.json";

/// A claim and its outcome: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// Its name.
    pub id: &'static str,
    /// The claim, in words.
    pub claim: &'static str,
    /// The paper's figures.
    pub paper: &'static str,
    /// The measured ones.
    pub measured: String,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// The reason, in one sentence.
    pub why: String,
    /// The results on which the verdict depends, by file name.
    pub experiments: Vec<String>,
    /// The section of the paper that makes the claim.
    pub source: String,
    /// The condition under which it counts as reproduced.
    pub criterion: &'static str,
    /// The kind of origin: a paper's, or ours.
    pub kind: ClaimKind,
    /// The gateway's own part of the medians of its experiments.
    pub own_shares: Vec<OwnShare>,
    /// Its figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<ClaimFigure>,
}

/// A name that no claim has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a claim: choose one of {}", all.join(", "))]
pub struct UnknownClaim {
    /// The name.
    pub name: String,
    /// All existing names.
    pub all: Vec<&'static str>,
}

/// Returns the claims with these names, in their own order; all claims if no name is given. `G4`
/// also selects the same claim on other data paths, `G4/bpf`.
///
/// # Errors
/// [`UnknownClaim`].
pub fn select(names: &[String]) -> Result<Vec<Claim>, UnknownClaim> {
    let all = list::all();
    let is = |c: &Claim, name: &str| {
        let family = c.id.split('/').next().unwrap_or(c.id);
        [c.id, family]
            .iter()
            .any(|id| id.eq_ignore_ascii_case(name.trim()))
    };
    for name in names {
        if !all.iter().any(|c| is(c, name)) {
            return Err(UnknownClaim {
                name: name.clone(),
                all: all.iter().map(|c| c.id).collect(),
            });
        }
    }
    let wanted = |c: &Claim| names.is_empty() || names.iter().any(|name| is(c, name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Returns the searches for highest rates that the claims need, each once.
#[must_use]
pub fn searches(claims: &[Claim], extent: Extent) -> Vec<RateSearch> {
    let all: BTreeSet<_> = claims.iter().flat_map(|c| c.rates(extent)).collect();
    all.iter().map(RateSearch::new).collect()
}

/// Returns the experiments that the claims need, each once, the longest first: so that no guest
/// runs on alone at the end.
#[must_use]
pub fn plan(claims: &[Claim], extent: Extent) -> Vec<Experiment> {
    let all: BTreeSet<_> = claims.iter().flat_map(|c| c.needs(extent)).collect();
    let mut all = with_floors(all.into_iter().collect());
    all.sort_by_key(|e| std::cmp::Reverse(e.frames));
    all
}

/// The measurements that the claims need in addition to experiments: commands in guests that print
/// their results.
#[derive(Clone, Debug, Default)]
pub struct PrintedNeeds {
    /// The costs of system calls.
    pub points: Option<Result<Vec<BurstPoint>, FailedGuest>>,
    /// The costs of recorders.
    pub recordings: Option<Result<Vec<RecorderRun>, FailedGuest>>,
}

/// Makes the measurements that the claims need in addition to experiments, unless the folder has
/// them. `begin` is called with the name of the measurement that starts.
///
/// # Errors
/// [`ScheduleError`] where no guest can be started or nothing can be stored; a guest that fails is
/// in [`PrintedNeeds`].
pub fn printed(
    machine: &dyn GuestRunner,
    store: &ResultStore,
    claims: &[Claim],
    extent: Extent,
    begin: &mut dyn FnMut(&str),
) -> Result<PrintedNeeds, ScheduleError> {
    let bursts = claims.iter().find_map(|c| c.bursts(extent));
    let recorders = claims.iter().find_map(|c| c.recorders(extent));
    Ok(PrintedNeeds {
        points: print(machine, store, bursts, || begin("system calls"))?,
        recordings: print(machine, store, recorders, || begin("recorders"))?,
    })
}

/// Makes one of them, if there is a claim that needs it.
fn print<M: ByCommand>(
    machine: &dyn GuestRunner,
    store: &ResultStore,
    measurement: Option<M>,
    begin: impl FnOnce(),
) -> Result<Option<Result<M::Found, FailedGuest>>, ScheduleError> {
    let Some(measurement) = measurement else {
        return Ok(None);
    };
    let versions = machine.versions(measurement.kernel())?;
    if let Some(found) = measurement.find(store, &versions) {
        return Ok(Some(Ok(found)));
    }
    begin();
    only_failed(measurement.make(machine, store, &versions)?).map(Some)
}

/// Separates failures: a guest that failed is a result, a host that cannot run guests is an error.
fn only_failed<T>(made: Result<T, TrialError>) -> Result<Result<T, FailedGuest>, ScheduleError> {
    match made {
        Ok(found) => Ok(Ok(found)),
        Err(TrialError::Failed(failed)) => Ok(Err(failed)),
        Err(TrialError::Machine(error)) => Err(error.into()),
    }
}

/// Computes verdicts from the results in a folder and from the output of commands.
#[must_use]
pub fn judge(
    store: &ResultStore,
    versions: &Versions,
    printed: PrintedNeeds,
    claims: &[Claim],
    extent: Extent,
) -> Vec<ResultRow> {
    let mut evidence = ClaimEvidence::default();
    let find = |e: &Experiment| {
        let of = versions.get(&e.kernel).map_or(&[][..], Vec::as_slice);
        store.find(e, of)
    };
    let mut tried = BTreeMap::new();
    for mut search in searches(claims, extent) {
        let outcome = match (search.follow(&find), search.end()) {
            (None, Some(end)) => end.clone(),
            (Some(next), _) => {
                let why = format!("{} was not made", next.name());
                Err(FailedGuest::without_console(why))
            }
            (None, None) => Err(not_made()),
        };
        let names: Vec<_> = search.tried().iter().map(|t| t.name.clone()).collect();
        tried.insert(search.base().clone(), names);
        evidence.add_rate(search.base().clone(), outcome);
    }
    for e in plan(claims, extent) {
        let outcome = match find(&e) {
            StoredResult::Results(results) => Ok(*results),
            StoredResult::Failed(failed) => Err(failed),
            StoredResult::Absent => Err(not_made()),
            StoredResult::Stale(why) => Err(FailedGuest::without_console(why.to_string())),
        };
        evidence.add(e, outcome);
    }
    if let Some(points) = printed.points {
        evidence.add_points(points);
    }
    if let Some(recordings) = printed.recordings {
        evidence.add_recordings(recordings);
    }
    let row = |claim: &Claim| {
        let judgement = claim.judge(&evidence, extent);
        let made = |e: &Experiment| evidence.results(e).is_ok().then(|| e.name());
        let needs = claim.needs(extent);
        let rates = claim.rates(extent);
        let tries = rates.iter().filter_map(|base| tried.get(base)).flatten();
        ResultRow {
            id: claim.id,
            claim: claim.claim,
            paper: claim.figure,
            measured: judgement.measured,
            verdict: judgement.verdict,
            why: judgement.why,
            experiments: needs
                .iter()
                .filter_map(made)
                .chain(tries.cloned())
                .collect(),
            source: claim.origin.to_string(),
            criterion: claim.criterion,
            kind: claim.kind(),
            own_shares: own_shares(&evidence, &needs),
            figure: claim.picture(&evidence, extent),
        }
    };
    claims.iter().map(row).collect()
}

fn not_made() -> FailedGuest {
    FailedGuest::without_console("it was not made")
}

/// Writes the rows next to the results, for the site.
///
/// # Errors
/// [`StoreError`].
pub fn write(store: &ResultStore, rows: &[ResultRow]) -> Result<(), StoreError> {
    let path = store.dir().join(CLAIMS);
    let text = serde_json::to_string_pretty(rows).map_err(|e| StoreError::File {
        what: "write",
        path: path.clone(),
        source: e.into(),
    })?;
    store.put(&path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::MachineLoad;
    use experiment::fake::{self, FakeMachine};
    use experiment::schedule::{self, ScheduleOptions};
    use std::sync::atomic::AtomicBool;

    fn reproduce(machine: &FakeMachine, names: &[&str]) -> Vec<ResultRow> {
        let dir = tempfile::tempdir().unwrap();
        let store = ResultStore::open(dir.path()).unwrap();
        let names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
        let claims = select(&names).unwrap();
        let plan = plan(&claims, Extent::Quick);
        let options = ScheduleOptions {
            jobs: 2,
            retry_failed: false,
        };
        let stop = AtomicBool::new(false);
        schedule::run(machine, &store, &plan, options, &stop, &mut |_| {}).unwrap();
        let mut searches = searches(&claims, Extent::Quick);
        let bases: Vec<_> = searches.iter().map(|s| s.base().clone()).collect();
        let all: Vec<_> = plan.iter().chain(&bases).cloned().collect();
        let versions = schedule::versions(machine, &all).unwrap();
        let find = |e: &Experiment| store.find(e, &versions[&e.kernel]);
        experiment::rate::search(&mut searches, &find, &mut |todo| {
            schedule::run(machine, &store, todo, options, &stop, &mut |_| {})
        })
        .unwrap();
        let rows = judge(
            &store,
            &versions,
            PrintedNeeds::default(),
            &claims,
            Extent::Quick,
        );
        write(&store, &rows).unwrap();
        let text = std::fs::read_to_string(dir.path().join(CLAIMS)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (row, json) in rows.iter().zip(json.as_array().unwrap()) {
            assert_eq!(json["verdict"], row.verdict.to_string());
            let kind = match (row.id.starts_with('O'), row.id.contains('/')) {
                (true, _) => "bound",
                (_, true) => "other-way",
                _ => "paper",
            };
            assert_eq!(json["kind"], kind, "{}", row.id);
            for key in ["id", "claim", "paper", "measured", "why"] {
                assert!(json[key].is_string(), "{key}");
            }
            // The results on which it depends exist.
            for name in json["experiments"].as_array().unwrap() {
                let file = format!("{}.parquet", name.as_str().unwrap());
                assert!(dir.path().join(file).exists());
            }
        }
        rows
    }

    #[test]
    fn from_claims_to_a_table() {
        let machine = FakeMachine::default();
        let rows = reproduce(&machine, &[]);
        assert_eq!(rows.len(), list::all().len());
        let asked = machine.asked();
        let once: BTreeSet<_> = asked.iter().collect();
        assert_eq!(
            asked.len(),
            once.len(),
            "what several claims need is made once"
        );
        let g7 = rows.iter().find(|r| r.id == "G7").unwrap();
        assert_eq!(g7.verdict, Verdict::NotTestable);
        // The generated guests lose nothing, and all have the same latency.
        let o7 = rows.iter().find(|r| r.id == "O7").unwrap();
        assert_eq!(o7.verdict, Verdict::Reproduced, "{}", o7.why);
        assert_eq!(o7.experiments.len(), 4);
        assert!(o7.experiments.iter().all(|name| name.contains("_flood_")));
    }

    #[test]
    fn a_name_means_its_family_or_itself() {
        let ids = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
            let claims = select(&names).unwrap();
            claims.iter().map(|c| c.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&["g5"]), ["G5", "G5/user", "G5/bpf"]);
        assert_eq!(ids(&["G5/bpf", "O1"]), ["G5/bpf", "O1"]);
    }

    #[test]
    fn a_dead_guest_makes_its_claims_untestable_and_no_others() {
        let machine = FakeMachine::new(|e| {
            let mut outcome = fake::outcome(e);
            if e.load == MachineLoad::Cpu {
                outcome.status = Some(3);
            }
            Ok(outcome)
        });
        let rows = reproduce(&machine, &["g3", "G5"]);
        assert_eq!(rows[0].verdict, Verdict::NotTestable);
        assert!(rows[0].why.contains("status 3"), "{}", rows[0].why);
        assert_eq!((rows[1].id, rows[1].verdict), ("G5", Verdict::Differs));
    }

    #[test]
    fn a_wrong_name_lists_the_known_ones() {
        let wrong = select(&["G99".to_owned()]).unwrap_err();
        let text = wrong.to_string();
        assert!(
            text.starts_with("`G99` is not a claim: choose one of G1, G2"),
            "{text}"
        );
    }
}
