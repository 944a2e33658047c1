//! Common parts of the bounds of routing in the kernel: cangate's BPF program against can-gw.
//!
//! Unless stated otherwise: kvaser bench, kernel 6.1, one frame at a time, medians of one run.

use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::stats::{ratio, us};
use experiment::choices::MOST_FILTERS;
use experiment::{BenchKind, Experiment, FilterChoice};

/// The longest list of filters.
pub(super) const LIST: FilterChoice = FilterChoice::List(MOST_FILTERS);

/// Returns the experiment with one frame at a time and no filter.
pub(super) fn one_at_a_time(extent: Extent, path: DataPath) -> Experiment {
    path.apply_to(Experiment {
        bench: BenchKind::Kvaser,
        frames: extent.pick(500, 2000),
        ..Experiment::default()
    })
}

/// Returns the same experiment with filters.
pub(super) fn filtered(extent: Extent, path: DataPath, filters: FilterChoice) -> Experiment {
    Experiment {
        filters,
        ..one_at_a_time(extent, path)
    }
}

/// Compares the medians of two experiments: `first / second` must be at most `most`.
pub(super) fn compare(
    evidence: &ClaimEvidence,
    conditions: &mut Conditions,
    what: &str,
    first: &Experiment,
    second: &Experiment,
    most: f64,
) -> Result<String, MissingEvidence> {
    let (a, b) = (evidence.summary(first)?.p50, evidence.summary(second)?.p50);
    let times = ratio(a, b);
    conditions.add(
        times <= most,
        format!("{what}: {times:.4} (at most {most})"),
    );
    Ok(format!("{times:.4} ({} against {})", us(a), us(b)))
}
