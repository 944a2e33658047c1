//! `cangate run`, and asking a gateway that runs: `stats`, `routes`, `reload`.

use super::outcome;
use crate::cli::{Control, Routes, Run, Stats};
use crate::counters;
use crate::failure::Failure;
use crate::input::{load_config, read_source};
use crate::kinds::kinds;
use crate::log::Log;
use gateway::control::{self, Request};
use gateway::notice::Level;
use gateway::run::{Reason, Reloaded, RouteLine, RunOptions};
use offload::with_causes;
use port::{PortSpec, Stream};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a gateway may take to answer. A reload of a large file takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Run, color: bool) -> Result<(), Failure> {
    let log = Log::new(args);
    let done = run_with(args, color, &log);
    log.end(done)
}

fn run_with(args: &Run, color: bool, log: &Log) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let (config, warnings) = load_config(&source, color)?;
    log.block(Level::Warning, "config_warnings", &warnings, &Value::Null);
    let from_file = args.file != Path::new("-");
    let options = RunOptions {
        file: from_file.then(|| args.file.clone()),
        until_end: args.until_end,
        strict: args.strict,
        signals: true,
        persist: args.persist,
    };
    let writes_stdout = |port: &PortSpec| port.settings.writes() == Some(&Stream::Standard);
    let to_stdout = config.ports.iter().find(|port| writes_stdout(port));
    let to_stdout = to_stdout.map(|port| port.name.clone());
    let summary = gateway::run::run(config, &kinds(), &options, &|said| log.hear(said))
        .map_err(|e| Failure::Run(with_causes(&e)))?;
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
    // Standard output may be a port's; and a table is for people, who look at both.
    match (args.json, &to_stdout) {
        (true, None) => std::io::stdout().write_all(text.as_bytes())?,
        (true, Some(_)) => log.asked_for("summary", &text, &value),
        (false, _) if log.is_json() => {
            let sentence = counters::accounting(&summary.stats.process);
            log.block(Level::Info, "summary", &sentence, &value);
        }
        (false, _) => log.block(Level::Info, "summary", &text, &value),
    }
    outcome::of(&summary, args.until_end, to_stdout.as_deref())
}

const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Signal => "signal",
        Reason::Request => "request",
        Reason::Finished => "finished",
        Reason::Failed => "failed",
    }
}

pub(crate) fn stats(args: &Stats) -> Result<(), Failure> {
    let value = ask(&args.control, Request::Stats)?;
    let stats: gateway::Stats = understand(value.clone())?;
    let text = if args.json {
        format!("{value:#}\n")
    } else {
        counters::render(&stats)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    outcome::balanced(&stats.process)
}

pub(crate) fn routes(args: &Routes) -> Result<(), Failure> {
    if args.kernel {
        return super::kernel::routes(args.stats.json);
    }
    let args = &args.stats;
    let routes: Vec<RouteLine> = understand(ask(&args.control, Request::Routes)?)?;
    let stats: gateway::Stats = understand(ask(&args.control, Request::Stats)?)?;
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
        }
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

pub(crate) fn reload(args: &Control) -> Result<(), Failure> {
    let done: Reloaded = understand(ask(args, Request::Reload)?)?;
    let mut text = format!(
        "{} routes in force, {} of them as before by name; ports: {} kept",
        done.routes,
        done.continued,
        done.kept.len()
    );
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

/// Sends a request to the gateway that is meant.
fn ask(which: &Control, request: Request) -> Result<Value, Failure> {
    let path = socket(which)?;
    control::request(&path, request, PATIENCE).map_err(|e| match e {
        // A reload of a broken file: what is wrong with it is what was given.
        control::CallError::Refused(text) if request == Request::Reload => Failure::Input(text),
        other => Failure::run(other),
    })
}

fn understand<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|e| {
        Failure::Run(format!(
            "the gateway's answer is not understood ({e}): is it another version of cangate?"
        ))
    })
}

/// The socket of the gateway that is meant: named, by its file, or the only one there is.
fn socket(which: &Control) -> Result<PathBuf, Failure> {
    if let Some(path) = &which.socket {
        return Ok(path.clone());
    }
    if let Some(file) = &which.file {
        // A file that has become wrong since the gateway started must still lead to it.
        let options = read_source(file)
            .ok()
            .and_then(|source| gateway::config::load(&source, &kinds()).ok())
            .map(|(config, _)| config.options)
            .unwrap_or_default();
        let path = gateway::run::control_path(Some(file), &options);
        if !path.exists()
            && let Err(error) = std::fs::metadata(file)
        {
            return Err(Failure::file("read", file, &error));
        }
        return Ok(path);
    }
    let folder = control::folder();
    let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| {
            entries
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.extension().is_some_and(|e| e == "sock"))
                .collect()
        })
        .unwrap_or_default();
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Run(format!(
            "no gateway's socket is in {}: start one with `cangate run`, or name its file or --socket",
            folder.display()
        ))),
        several => Err(Failure::input(format!(
            "several gateways have sockets in {}: name the file of the one that is meant, or --socket\n{}",
            folder.display(),
            several
                .iter()
                .map(|p| p.display().to_string())
                .collect::<Vec<_>>()
                .join("\n")
        ))),
    }
}
