//! Data as scripts.

use super::claims::ClaimRow;
use super::digest::{COSTS, IndexLine};
use super::failed::FailedExperiment;
use super::figures::FigureRow;
use super::left_out::LeftOut;
use crate::json::json;
use crate::settings::KNOWN;
use serde::Serialize;

#[derive(Serialize)]
struct SiteIndex<'a> {
    cangate: &'static str,
    settings: &'static [&'static str],
    costs: [u32; 3],
    experiments: &'a [IndexLine],
    left_out: &'a [LeftOut],
    failed: &'a [FailedExperiment],
    claims: &'a [ClaimRow],
    figures: &'a [FigureRow],
}

/// Returns the index as a script.
pub(super) fn index(
    lines: &[IndexLine],
    left_out: &[LeftOut],
    failed: &[FailedExperiment],
    claims: &[ClaimRow],
    figures: &[FigureRow],
) -> String {
    let index = SiteIndex {
        cangate: env!("CARGO_PKG_VERSION"),
        settings: &KNOWN,
        costs: COSTS,
        experiments: lines,
        left_out,
        failed,
        claims,
        figures,
    };
    format!("cangateIndex({});\n", json(&index))
}

/// Returns an experiment's details, JSON already, as a script.
pub(super) fn details(index: usize, json: &str) -> String {
    format!("cangateDetails({index}, {json});\n")
}
