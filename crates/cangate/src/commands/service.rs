//! `cangate run`, and requests to a running gateway: `stats`, `routes`, `reload`.

use super::choice::{GatewayChoice, understand};
use super::outcome;
#[cfg(feature = "demo")]
use super::simulation::SimulatedRun;
use crate::cli::{Control, Routes, Run, StatsWatch};
use crate::counters;
use crate::input::load_config;
use crate::kinds::kinds;
use crate::log::ErrorLog;
use console::Failure;
use console::input::read_source;
use gateway::control::ControlRequest;
use gateway::notice::{LoggedNotice, NoticeLevel};
use gateway::run::{EndReason, ReloadSummary, RouteLine, RunOptions};
use gateway::service::ServiceContext;
use offload::with_causes;
use port::{FileOrStream, PortSpec};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &Run, color: bool) -> Result<(), Failure> {
    let log = ErrorLog::new(args);
    let done = run_with(args, color, &log);
    log.end(done)
}

fn run_with(args: &Run, color: bool, log: &ErrorLog) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let (config, warnings) = load_config(&source, &args.file, color)?;
    log.block(
        NoticeLevel::Warning,
        "config_warnings",
        &warnings,
        &Value::Null,
    );
    #[cfg(feature = "demo")]
    let mut simulation = SimulatedRun::open(args, &config, log)?;
    let from_file = args.file != Path::new("-");
    let options = RunOptions {
        file: from_file.then(|| args.file.clone()),
        until_end: until_end(args),
        strict: args.strict,
        signals: true,
        service: ServiceContext::of_this_process(),
        persist: args.persist,
    };
    let writes_stdout = |port: &PortSpec| port.settings.writes() == Some(&FileOrStream::Standard);
    let to_stdout = config.ports.iter().find(|port| writes_stdout(port));
    let to_stdout = to_stdout.map(|port| port.name.clone());
    let listener = |notice: &LoggedNotice| log.record(notice);
    #[cfg(feature = "demo")]
    let ran = match &mut simulation {
        Some(simulation) => simulation.run(config, &options, &listener),
        None => gateway::run::run(config, &kinds(), &options, &listener),
    };
    #[cfg(not(feature = "demo"))]
    let ran = gateway::run::run(config, &kinds(), &options, &listener);
    let summary = ran.map_err(|e| Failure::Run(with_causes(&e)))?;
    let ran = u64::try_from(summary.ran.as_nanos()).unwrap_or(u64::MAX);
    let value = json!({
        "reason": reason(summary.reason),
        "ran_ns": ran,
        "remarks": summary.remarks,
        "counters": summary.stats,
    });
    let text = if args.json {
        format!("{value:#}\n")
    } else {
        let mut text = counters::render(&summary.stats);
        for remark in &summary.remarks {
            text.push_str(remark);
            text.push('\n');
        }
        text
    };
    // A port may write to standard output; and a table is for people, who see both outputs.
    match (args.json, &to_stdout) {
        (true, None) => std::io::stdout().write_all(text.as_bytes())?,
        (true, Some(_)) => log.asked_for("summary", &text, &value),
        (false, _) if log.is_json() => {
            let sentence = counters::accounting(&summary.stats.process);
            log.block(NoticeLevel::Info, "summary", &sentence, &value);
        }
        (false, _) => log.block(NoticeLevel::Info, "summary", &text, &value),
    }
    #[cfg(feature = "demo")]
    if let Some(simulation) = simulation {
        simulation.finish(log)?;
    }
    outcome::judge(&summary, until_end(args), to_stdout.as_deref())
}

/// Returns whether the run ends with its inputs: a log that is replayed is one.
fn until_end(args: &Run) -> bool {
    #[cfg(feature = "demo")]
    let replays = args.simulation.log.is_some();
    #[cfg(not(feature = "demo"))]
    let replays = false;
    args.until_end || replays
}

const fn reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Signal => "signal",
        EndReason::Request => "request",
        EndReason::Finished => "finished",
        EndReason::Failed => "failed",
    }
}

pub(crate) fn stats(args: &StatsWatch, color: bool) -> Result<(), Failure> {
    let gateway = GatewayChoice::which(&args.stats.control, color)?;
    gateway.warn();
    if args.watch {
        return super::stats_watch::watch(args, &gateway);
    }
    let value = gateway.ask(&ControlRequest::Stats)?;
    let stats: gateway::GatewayStats = understand(value.clone())?;
    let text = if args.stats.json {
        format!("{value:#}\n")
    } else {
        counters::render(&stats)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    outcome::balanced(&stats.process)
}

pub(crate) fn routes(args: &Routes, color: bool) -> Result<(), Failure> {
    if args.kernel {
        return super::kernel::routes(args.stats.json);
    }
    let args = &args.stats;
    let gateway = GatewayChoice::which(&args.control, color)?;
    gateway.warn();
    let routes: Vec<RouteLine> = understand(gateway.ask(&ControlRequest::Routes)?)?;
    let stats: gateway::GatewayStats = understand(gateway.ask(&ControlRequest::Stats)?)?;
    let count = |name: &str| stats.process.route(name).copied().unwrap_or_default();
    let in_kernel = |name: &str| {
        stats.kernel.iter().find_map(|part| {
            let row = part.routes.iter().find(|row| row.name == name)?;
            Some((part.how.as_str(), row))
        })
    };
    let mut text = String::new();
    if args.json {
        let rows: Vec<Value> = routes
            .iter()
            .map(|r| {
                let mut row = json!({
                    "name": r.name, "from": r.from, "to": r.to, "words": r.words,
                    "messages": r.messages,
                    "data_path": r.data_path, "because": r.because,
                });
                match in_kernel(&r.name) {
                    Some((how, counted)) => {
                        row["data_path"] = json!(how);
                        row["kernel"] = json!(counted);
                    }
                    None => row["count"] = json!(count(&r.name)),
                }
                row
            })
            .collect();
        text = format!("{:#}\n", Value::from(rows));
    } else {
        for r in &routes {
            text.push_str(&r.words);
            if !r.messages.is_empty() {
                text.push_str(&format!("\n  messages: {}", r.messages.join(", ")));
            }
            text.push_str(&match in_kernel(&r.name) {
                Some((how, c)) => format!("\n  {how}: {} sent, {} failed\n", c.sent, c.failed),
                None => {
                    let c = count(&r.name);
                    format!(
                        "\n  {} taken, {} copies accepted\n",
                        c.taken, c.copies.accepted
                    )
                }
            });
            for objection in &r.because {
                let (path, why) = (&objection.data_path, &objection.why);
                text.push_str(&format!("  not by {path}: {why}\n"));
            }
        }
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

pub(crate) fn reload(args: &Control, color: bool) -> Result<(), Failure> {
    let done: ReloadSummary =
        understand(GatewayChoice::which(args, color)?.ask(&ControlRequest::Reload)?)?;
    let mut text = format!("{}; ports: {} kept", routes_now(&done), done.kept.len());
    for (what, ports) in [("opened", &done.opened), ("closed", &done.closed)] {
        if !ports.is_empty() {
            text.push_str(&format!(", {what} {}", ports.join(", ")));
        }
    }
    text.push('\n');
    for remark in &done.remarks {
        text.push_str(remark.trim_end());
        text.push('\n');
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Describes the changes to the routes. Each route in force is counted in one of the numbers before
/// the semicolon.
fn routes_now(done: &ReloadSummary) -> String {
    let changes = &done.changes;
    let mut text = format!(
        "{} routes in force: {} unchanged",
        done.routes, changes.unchanged
    );
    let renamed: Vec<String> = changes
        .renamed
        .iter()
        .map(|(old, new)| format!("{old} → {new}"))
        .collect();
    let mut add = |before: &str, what: &str, names: &[String]| {
        if !names.is_empty() {
            let names = first_names(names);
            text.push_str(&format!("{before}{} {what} ({})", names.0, names.1));
        }
    };
    add(", ", "changed", &changes.changed);
    add(", ", "renamed", &renamed);
    add(", ", "in another data path", &changes.moved);
    add(", ", "in another order", &changes.reordered);
    add(", ", "added", &changes.added);
    add("; ", "removed", &changes.removed);
    text
}

/// Returns the number of names, and the first of them.
fn first_names(names: &[String]) -> (usize, String) {
    const SHOWN: usize = 4;
    let first: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    (names.len(), first.join(", ") + more)
}
