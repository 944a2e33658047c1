//! `cangate lab list`.

use super::units::micros;
use crate::cli::lab::List;
use console::Failure;
use console::table::{row, table};
use experiment::describe::experiment_of;
use experiment::figures::{ExperimentFigures, LatencyFigures};
use experiment::store::ResultStore;
use serde_json::json;
use std::io::Write;

/// Lists a matrix's experiments, or a folder's results.
pub(crate) fn run(args: &List, color: bool) -> Result<(), Failure> {
    if args.what.is_dir() {
        return results(args);
    }
    let matrix = super::run::read(&args.what, color)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let all: Vec<_> = matrix
            .experiments
            .iter()
            .map(|e| {
                json!({
                    "name": e.name(),
                    "command": e.command(),
                })
            })
            .collect();
        let text = serde_json::to_string_pretty(&all).map_err(Failure::run)?;
        writeln!(out, "{text}")?;
    } else {
        for e in &matrix.experiments {
            writeln!(out, "{}", e.name())?;
        }
        writeln!(
            out,
            "{}: {} experiments",
            matrix.title,
            matrix.experiments.len()
        )?;
    }
    Ok(())
}

fn results(args: &List) -> Result<(), Failure> {
    let all = ResultStore::read_only(&args.what)
        .all()
        .map_err(Failure::run)?;
    let mut damaged = Vec::new();
    let mut json = Vec::new();
    let mut shown = table(&[
        "result", "received", "lost", "min µs", "p50 µs", "p99 µs", "max µs", "time",
    ]);
    for (name, results) in &all {
        let results = match results {
            Ok(results) => results,
            Err(why) => {
                damaged.push(format!("{name}: {why}"));
                continue;
            }
        };
        let experiment = experiment_of(&results.description);
        let known = experiment.is_some();
        let figures = ExperimentFigures::from_results(&experiment.unwrap_or_default(), results);
        let time = if known { figures.time } else { "?" };
        let latency = figures.latency_ns;
        let cell = |pick: fn(&LatencyFigures) -> i64| {
            latency.as_ref().map_or("—".to_owned(), |l| micros(pick(l)))
        };
        shown.add_row(row(vec![
            name.clone(),
            figures.received.to_string(),
            figures.lost.to_string(),
            cell(|l| l.min),
            cell(|l| l.p50),
            cell(|l| l.p99),
            cell(|l| l.max),
            time.to_owned(),
        ]));
        let mut one = serde_json::to_value(&figures).map_err(Failure::run)?;
        if let Some(object) = one.as_object_mut() {
            object.insert("name".to_owned(), name.clone().into());
        }
        json.push(one);
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        let text = serde_json::to_string_pretty(&json).map_err(Failure::run)?;
        writeln!(out, "{text}")?;
    } else {
        writeln!(out, "{shown}\n{} results", json.len())?;
    }
    if damaged.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(format!(
        "left out:\n  {}",
        damaged.join("\n  ")
    )))
}
