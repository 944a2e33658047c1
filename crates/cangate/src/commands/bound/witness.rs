//! `cangate bound --witness`: the worst case, shown.

use super::table::micros;
use super::{Found, id, label};
use crate::failure::Failure;
use analysis::{Lengths, Outcome, Release, critical_instant, replay};
use frame::Nanos;
use frame::text::Line;
use std::io::Write;
use std::path::Path;

/// The stamp of the first release: a second, so that a log does not begin at nothing.
const START: Nanos = 1_000_000_000;

pub(super) fn run(
    all: &[Found<'_>],
    wanted: &str,
    lengths: &mut Lengths,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let (found, message) = find(all, wanted)?;
    let spec = found.spec;
    let bound = found.assessment.messages.get(message).map(|m| m.bound);
    let bound = match bound {
        Some(Ok(bound)) => bound,
        Some(Err(why)) => {
            let why = super::json::words(why, found);
            return Err(Failure::Ended {
                status: super::MISSED,
                text: format!("{wanted} has no bound: {why}"),
            });
        }
        None => return Ok(()),
    };
    let Found {
        compiled,
        assessment,
        ..
    } = found;
    let releases = critical_instant(compiled, spec, assessment, lengths, message, START)
        .map_err(Failure::run)?;
    let outcomes = replay(spec, &releases).map_err(Failure::run)?;
    let own = outcomes.iter().filter(|o| o.message == message);
    let Some(worst) = own.max_by_key(|o| o.latency()) else {
        return Err(Failure::Run("no frame of it was sent".to_owned()));
    };
    let mut stdout = std::io::stdout().lock();
    let what = spec.messages.get(message).map_or_else(String::new, label);
    writeln!(
        stdout,
        "{what} on bus {}: {} releases, replayed on a simulated bus.\n\
         From its release to its end of frame: {} µs; the bound is {} µs: {}.",
        spec.name,
        releases.len(),
        micros(worst.latency()),
        micros(bound.latency),
        verdict(worst, bound.latency)
    )?;
    if let Some(path) = out {
        write_log(path, &spec.name, &releases)?;
        writeln!(stdout, "Written: {}", path.display())?;
    }
    Ok(())
}

fn verdict(worst: &Outcome, bound: Nanos) -> String {
    let latency = worst.latency();
    match bound.checked_sub(latency) {
        Some(0) => "reached".to_owned(),
        Some(1) => "reached, less the nanosecond by which the blocking frame is earlier".to_owned(),
        Some(_) => format!("{:.1} % of it", latency as f64 / bound as f64 * 100.0),
        None => "EXCEEDED".to_owned(),
    }
}

fn write_log(path: &Path, interface: &str, releases: &[Release]) -> Result<(), Failure> {
    let mut text = String::new();
    for release in releases {
        let line = Line {
            stamp: release.at,
            interface,
            frame: release.frame.view(),
            direction: None,
        };
        text.push_str(&format!("{line:.9}\n"));
    }
    let written = std::fs::File::create(path).and_then(|mut f| f.write_all(text.as_bytes()));
    written.map_err(|e| Failure::file("write", path, &e))
}

/// The message with this ID, or BUS:ID.
fn find<'a, 's>(all: &'a [Found<'s>], wanted: &str) -> Result<(&'a Found<'s>, usize), Failure> {
    let (bus, number) = match wanted.rsplit_once(':') {
        Some((bus, number)) => (Some(bus), number),
        None => (None, wanted),
    };
    let fits = all
        .iter()
        .filter(|found| bus.is_none_or(|bus| found.spec.name == bus))
        .flat_map(|found| {
            let messages = found.spec.messages.iter().enumerate();
            let same = messages.filter(|(_, m)| id(m).eq_ignore_ascii_case(number));
            same.map(move |(i, _)| (found, i))
        });
    let fits: Vec<(&Found<'_>, usize)> = fits.collect();
    match fits[..] {
        [one] => Ok(one),
        [] => Err(Failure::input(format!(
            "--witness {wanted}: no message has this ID; write it as in the table, or BUS:ID"
        ))),
        [(one, _), ..] => Err(Failure::input(format!(
            "--witness {wanted}: several buses have this ID: write {}:{number}",
            one.spec.name
        ))),
    }
}
