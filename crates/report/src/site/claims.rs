//! The papers' claims and their verdicts, as `cangate lab reproduce` writes them.

use super::digest::IndexLine;
use super::figures::ClaimFigure;
use super::lookup::ExperimentLookup;
use serde::{Deserialize, Serialize};

/// A claim, as it is in `claims.json`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct SiteClaim {
    id: String,
    claim: String,
    paper: String,
    measured: String,
    verdict: ClaimVerdict,
    why: String,
    experiments: Vec<String>,
    /// The section of the paper that states it.
    #[serde(default)]
    source: String,
    /// The condition for its reproduction.
    #[serde(default)]
    criterion: String,
    #[serde(default)]
    kind: ClaimKind,
    #[serde(default)]
    figure: Option<ClaimFigure>,
}

/// The origin of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ClaimKind {
    /// A claim of a paper.
    #[default]
    Paper,
    /// A claim of a paper about can-gw, compared with another way through the gateway.
    OtherWay,
    /// A bound that cangate must keep.
    Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ClaimVerdict {
    #[serde(rename = "reproduced")]
    Reproduced,
    #[serde(rename = "differs")]
    Differs,
    #[serde(rename = "not testable here")]
    NotTestableHere,
}

/// A claim as the page shows it: with the indices of its experiments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ClaimRow {
    id: String,
    claim: String,
    paper: String,
    measured: String,
    verdict: ClaimVerdict,
    why: String,
    source: String,
    criterion: String,
    kind: ClaimKind,
    experiments: Vec<usize>,
    /// Experiments that are not in the folder.
    missing: Vec<String>,
}

/// Reads `claims.json`, or returns a description of its error.
pub(super) fn read(text: &str) -> Result<Vec<SiteClaim>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a list of claims: {error}"))
}

/// Returns the claims' figures, with the names of their claims.
pub(super) fn figures(claims: &mut [SiteClaim]) -> Vec<(String, ClaimFigure)> {
    let all = claims.iter_mut();
    all.filter_map(|c| Some((c.id.clone(), c.figure.take()?)))
        .collect()
}

/// Finds each claim's experiments: by path below the folder, else by a file name that only one
/// experiment has; with or without `.parquet`.
pub(super) fn rows(claims: Vec<SiteClaim>, lines: &[IndexLine]) -> Vec<ClaimRow> {
    let lookup = ExperimentLookup::new(lines);
    let row = |claim: SiteClaim| {
        let (mut experiments, mut missing) = (Vec::new(), Vec::new());
        for name in claim.experiments {
            match lookup.find(&name) {
                Some(index) => experiments.push(index),
                None => missing.push(name),
            }
        }
        ClaimRow {
            id: claim.id,
            claim: claim.claim,
            paper: claim.paper,
            measured: claim.measured,
            verdict: claim.verdict,
            why: claim.why,
            source: claim.source,
            criterion: claim.criterion,
            kind: claim.kind,
            experiments,
            missing,
        }
    };
    claims.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::digest::digest;
    use super::*;
    use probe::RunResults;

    #[test]
    fn experiments_are_found_by_path_and_by_a_name_that_is_unique() {
        let line = |name: &str| digest(name, &RunResults::default()).0;
        let lines = [line("a/x"), line("b/x"), line("b/y")];
        let text = r#"[{"id":"G1","claim":"c","paper":"p","measured":"m","verdict":"differs","why":"w",
            "experiments":["b/x.parquet","./a/x","y.parquet","x","z"],"further":1}]"#;
        let rows = rows(read(text).unwrap(), &lines);
        assert_eq!(rows[0].experiments, [1, 0, 2]);
        assert_eq!(rows[0].missing, ["x", "z"]);
        assert_eq!(rows[0].verdict, ClaimVerdict::Differs);
    }

    #[test]
    fn what_is_no_list_of_claims_is_refused() {
        for text in ["", "{}", "[{}]", "[{\"id\":1}]"] {
            assert!(
                read(text).unwrap_err().starts_with("not a list of claims"),
                "{text}"
            );
        }
        let typed = r#"[{"id":"","claim":"","paper":"","measured":"","verdict":"fine","why":"","experiments":[]}]"#;
        assert!(
            read(typed).unwrap_err().contains("reproduced"),
            "the verdicts are named"
        );
    }
}
