//! The report of a run: the figures of the summary as plain data for the `report` crate, with the
//! description of how they were made.

use crate::names::message_names;
use crate::play::PlayedRun;
use crate::scene::DemoScene;
use crate::summary::{DemoSummary, RouteLine};
use engine::{Fate, PortCount, PortRow};
use gateway::config::GatewayConfig;
use probe::{RunDescription, RunResults};
use report::run::{BusRow, FrameAccount, RouteRow, RunData};

/// The description of how the run was made, as far as the figures do not show it.
pub(crate) struct Provenance<'a> {
    pub(crate) title: String,
    pub(crate) command: String,
    pub(crate) seed: u64,
    pub(crate) config: &'a config::SourceText,
    pub(crate) traffic: String,
}

const STAMP: &str = "end of frame: the end of its seventh recessive bit, before the intermission";

const BLIND: &str = "Bus time does not include processing: the gateway reacts at once, and its \
latency is queueing and arbitration only. The bus model has no propagation delay, no oscillator \
tolerance and no overload frames. Processing time is this machine's, taken from the monotonic \
clock around one step of the gateway, the embedded bus's ports and the demo's taps included, and \
shared out evenly among the frames of that step; it does not include drivers and interrupts.";

/// Returns all data that the page shows.
pub(crate) fn data(
    made: &Provenance<'_>,
    config: &GatewayConfig,
    scene: &DemoScene,
    played: PlayedRun,
    summary: &DemoSummary,
) -> RunData {
    let names = config.port_names();
    let buses: Vec<BusRow> = scene
        .buses
        .iter()
        .zip(&played.loads)
        .map(|(bus, (load, stats))| {
            let row = BusRow {
                name: bus.name.clone(),
                bit_rate: bus.rate.to_string(),
                frames: stats.frames,
                errors: stats.errors,
                ..BusRow::default()
            };
            row.with_load(load, played.end)
        })
        .collect();
    let rates: Vec<String> = scene
        .buses
        .iter()
        .map(|b| format!("{} {} bit/s", b.name, b.rate))
        .collect();
    let description = RunDescription {
        title: format!("cangate demo: {}", made.title),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: made.command.clone(),
        seed: made.seed,
        config: made.config.text.clone(),
        traffic: made.traffic.clone(),
        bit_rates: rates.join(", "),
        time_base: "bus time (simulated, the same on every machine)".to_owned(),
        stamp: STAMP.to_owned(),
        blind_spots: BLIND.to_owned(),
        more: vec![("Gateway file".to_owned(), made.config.name.clone())],
    };
    let carried = config.carried();
    let routes = config
        .routes
        .routes
        .iter()
        .zip(&summary.routes)
        .zip(&carried)
        .map(|((route, line), carried)| RouteRow {
            name: route.name.clone(),
            text: match carried.words(false) {
                Some(messages) => format!(
                    "{}; messages: {messages}",
                    words(&route::config::describe(route, &names))
                ),
                None => words(&route::config::describe(route, &names)),
            },
            taken: line.taken,
            out: line.out,
            stopped: stopped(line),
        });
    RunData {
        names: message_names(config, &played.recorder.records),
        time: "bus time (virtual)".to_owned(),
        waiting_only: true,
        routes: routes.collect(),
        accounts: accounts(summary),
        buses,
        notes: notes(summary),
        results: RunResults {
            description,
            routes: config
                .routes
                .routes
                .iter()
                .map(|r| r.name.clone())
                .collect(),
            ports: names,
            records: played.recorder.records,
            payloads: played.recorder.payloads,
        },
    }
}

/// Returns a route's description on one line, without its name, which is shown next to it.
fn words(description: &str) -> String {
    let words = description
        .split_once(": ")
        .map_or(description, |(_, words)| words);
    let lines: Vec<&str> = words.lines().map(str::trim).collect();
    lines.join("; ")
}

fn stopped(line: &RouteLine) -> Vec<(String, u64)> {
    let reasons = line.stopped.iter().filter(|&(_, n)| n > 0);
    reasons
        .map(|(reason, n)| (reason.words().to_owned(), n))
        .collect()
}

fn accounts(summary: &DemoSummary) -> Vec<FrameAccount> {
    let part = |what: &str, n: u64| (what.to_owned(), n);
    let mut accounts = Vec::new();
    let frames = &summary.frames;
    if let Some(log) = &summary.log {
        let mut parts = vec![part("handed to the testers", frames.released)];
        parts.extend(
            log.left_out
                .iter()
                .map(|(why, &n)| part(&format!("not replayed: {why}"), n)),
        );
        accounts.push(FrameAccount {
            title: "frames of the log".to_owned(),
            total: log.frames,
            parts,
        });
    }
    accounts.push(FrameAccount {
        title: "frames handed to the testers".to_owned(),
        total: frames.released,
        parts: vec![
            part("sent", frames.on_the_bus),
            part("not sent", frames.not_sent),
            part("waiting at the end", frames.waiting),
        ],
    });
    for PortRow { name, count, .. } in &summary.gateway.ports {
        let fates = Fate::ALL
            .iter()
            .map(|&fate| (fate.words().to_owned(), count.fates.get(fate)));
        accounts.push(FrameAccount {
            title: format!("frames received from {name}"),
            total: count.received,
            parts: fates.filter(|&(_, n)| n > 0).collect(),
        });
        let outcomes = PortCount::outcomes();
        accounts.push(FrameAccount {
            title: format!("copies for {name}"),
            total: count.copies.offered,
            parts: outcomes
                .map(|counter| part(counter.words, counter.get(count)))
                .collect(),
        });
    }
    let tester = &summary.tester;
    accounts.push(FrameAccount {
        title: "what a tester that sees only the buses would find".to_owned(),
        total: frames.forwarded,
        parts: vec![
            part(
                "frames that it matches to the right frame in",
                tester.agreed,
            ),
            part(
                "frames that it may match to another one of the same content",
                tester.matched - tester.agreed - tester.mistaken,
            ),
            part("frames that it matches to a wrong one", tester.mistaken),
            part(
                "frames that it cannot match",
                tester.duplicated + tester.unexpected,
            ),
        ],
    });
    accounts
}

pub(crate) fn notes(summary: &DemoSummary) -> Vec<String> {
    let mut notes = summary.warnings.clone();
    notes.extend(summary.imbalances.iter().cloned());
    notes.extend(summary.frames.unsent());
    if let Some(log) = &summary.log {
        if log.bad_lines > 0 {
            let are = "lines of the log are not frames and were left out. The first of them:";
            notes.push(format!("{} {are}", log.bad_lines));
        }
        notes.extend(log.first_bad.iter().cloned());
        notes.extend(log.absent());
        if log.backwards > 0 {
            notes.push(format!(
                "{} time stamps of the log are earlier than that of the line above; these frames \
                 were sent at the time of the line above.",
                log.backwards
            ));
        }
    }
    notes
}
