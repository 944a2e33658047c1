//! The exit status of `cangate run`.

use console::Failure;
use engine::CounterSnapshot;
use gateway::run::{EndReason, RunSummary, standard_output_is_closed};

/// The exit status for refused or lost frames.
const LOSS: u8 = 3;

/// The text for `cangate run --help`. docs/guide.md has the same table.
pub(crate) const STATUSES: &str = "\
Exit status:
  0  ended as asked: by a signal, on request, or at the end of all logs (--until-end, --replay)
  1  did not start, or ended because ports failed, or an answer for --replay did not come
  2  the options or the gateway file are wrong
  3  with --until-end or --replay: frames were refused or lost, or lines of a log were bad
  4  standard output was closed before all frames were written to it";

/// Returns the outcome of a run. `to_stdout`: the port that writes its log to standard output.
pub(crate) fn judge(
    summary: &RunSummary,
    until_end: bool,
    to_stdout: Option<&str>,
) -> Result<(), Failure> {
    let process = &summary.stats.process;
    let failed: Vec<&str> = process
        .ports
        .iter()
        .filter(|port| port.failure.is_some())
        .map(|port| port.name.as_str())
        .collect();
    if let Some(port) = to_stdout
        && failed.contains(&port)
        && standard_output_is_closed()
    {
        return Err(Failure::Ended {
            status: Failure::CLOSED,
            text: "standard output was closed before all frames were written to it".to_owned(),
        });
    }
    if summary.reason == EndReason::Failed {
        return Err(Failure::Run(format!(
            "ended because of ports that failed: {} (see above)",
            failed.join(", ")
        )));
    }
    balanced(process)?;
    let mut losses = process.losses();
    let rows = summary.stats.kernel.iter().flat_map(|part| &part.routes);
    losses.add_undeliverable(rows.map(|row| u128::from(row.failed)).sum());
    if until_end && !losses.is_none() {
        return Err(Failure::Ended {
            status: LOSS,
            text: format!("not all frames arrived: {losses}"),
        });
    }
    Ok(())
}

/// Checks that the counters add up; if not, cangate has a mistake.
pub(crate) fn balanced(snapshot: &CounterSnapshot) -> Result<(), Failure> {
    snapshot.check().map_err(|imbalance| {
        Failure::Run(format!(
            "the counters do not add up, which is a mistake in cangate; please report it: {imbalance}"
        ))
    })
}
