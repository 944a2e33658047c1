//! `cangate bound --witness`: a demonstration of the worst case.

use super::AssessedBus;
use super::connected::ConnectedSet;
use super::words::micros;
use analysis::{
    LatencyBound, LengthSearch, Message, MessagePlace, NetworkFound, ReleaseOutcome,
    critical_instant, replay, search,
};
use console::Failure;
use frame::text::LogLine;
use frame::{Frame, Nanos};
use std::io::Write;
use std::path::Path;

/// The time stamp of the first release: one second, so that a log does not start at zero.
const START: Nanos = 1_000_000_000;

/// The effort of the search for a message whose bound no construction reaches, in simulated
/// scenarios.
#[derive(Clone, Copy)]
pub(super) struct SearchEffort {
    pub(super) plays: u32,
    pub(super) seed: u64,
}

/// The witness to show.
struct ShownWitness {
    releases: Vec<(Nanos, usize, Frame)>,
    words: String,
}

pub(super) fn run(
    connected: &ConnectedSet,
    assessed: &NetworkFound,
    wanted: &str,
    lengths: &mut LengthSearch,
    effort: SearchEffort,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let all = super::by_bus(connected, assessed);
    let (bus, message) = find(&all, wanted)?;
    let Some(found) = all.get(bus) else {
        return Ok(());
    };
    let bound = match found.assessment.messages.get(message).map(|m| m.bound) {
        Some(Ok(bound)) => bound,
        Some(Err(why)) => {
            let why = why.describe(Some(found.spec));
            return Err(Failure::Ended {
                status: super::MISSED,
                text: format!("{wanted} has no bound: {why}"),
            });
        }
        None => return Ok(()),
    };
    let place = MessagePlace { bus, message };
    let sent_on = found.via.get(message).is_some_and(Option::is_some);
    let built = if sent_on {
        None
    } else {
        constructed(found, bus, message, &bound, lengths)?
    };
    let shown = match built {
        Some((shown, left)) if left <= 1 => shown,
        built => {
            let searched = searched(connected, assessed, lengths, place, effort)?;
            match built {
                // Both are witnesses; the one nearer to the bound is shown.
                Some((shown, left)) if left <= searched.1 => shown,
                _ => searched.0,
            }
        }
    };
    let mut stdout = std::io::stdout().lock();
    let what = found
        .spec
        .messages
        .get(message)
        .map_or_else(String::new, Message::label);
    let names = |bus: usize| all.get(bus).map_or("", |found| found.spec.name.as_str());
    writeln!(
        stdout,
        "{what} on bus {}: {} releases, replayed on {}.\n{}",
        found.spec.name,
        shown.releases.len(),
        if sent_on {
            "simulated buses"
        } else {
            "a simulated bus"
        },
        shown.words
    )?;
    if let Some(path) = out {
        write_log(path, names, &shown.releases)?;
        writeln!(stdout, "Written: {}", path.display())?;
    }
    Ok(())
}

/// Returns the critical instant, and its difference to the bound, ns.
fn constructed(
    found: &AssessedBus<'_>,
    bus: usize,
    message: usize,
    bound: &LatencyBound,
    lengths: &mut LengthSearch,
) -> Result<Option<(ShownWitness, Nanos)>, Failure> {
    let AssessedBus {
        compiled,
        assessment,
        spec,
        ..
    } = found;
    let releases = critical_instant(compiled, spec, assessment, lengths, message, START)
        .map_err(Failure::run)?;
    let outcomes = replay(spec, &releases).map_err(Failure::run)?;
    let own = outcomes.iter().filter(|o| o.message == message);
    let Some(worst) = own.map(ReleaseOutcome::latency).max() else {
        return Ok(None);
    };
    let words = format!(
        "From its release to its end of frame: {} µs; the bound is {} µs: {}.",
        micros(worst),
        micros(bound.latency),
        verdict(worst, bound.latency)
    );
    let releases = releases.iter().map(|r| (r.at, bus, r.frame)).collect();
    let left = bound.latency.saturating_sub(worst);
    Ok(Some((ShownWitness { releases, words }, left)))
}

/// Returns the worst case that a search finds, and its difference to the bound, ns.
fn searched(
    connected: &ConnectedSet,
    assessed: &NetworkFound,
    lengths: &mut LengthSearch,
    place: MessagePlace,
    effort: SearchEffort,
) -> Result<(ShownWitness, Nanos), Failure> {
    let SearchEffort { plays, seed } = effort;
    let network = &connected.network;
    let worst = search(network, assessed, lengths, place, plays, seed).map_err(Failure::run)?;
    let bound = assessed.response(place).unwrap_or(Nanos::MAX);
    let mut words = format!(
        "From its event to its end of frame: {} µs; the bound is {} µs: {}.\n\
         Found by a search: {} scenarios of at most {plays}. The release is {} µs after the event.",
        micros(worst.response),
        micros(bound),
        verdict(worst.response, bound),
        worst.plays,
        micros(worst.response - worst.latency)
    );
    if network
        .hops
        .iter()
        .any(|hop| hop.to == place && hop.delay > 0)
    {
        words.push_str(
            "\nThe gateway takes its longest time here; a replay with a shorter one shows less.",
        );
    }
    let releases = worst.releases.iter();
    let releases = releases
        .map(|r| (START + r.at, r.place.bus, r.frame))
        .collect();
    let left = bound.saturating_sub(worst.response);
    Ok((ShownWitness { releases, words }, left))
}

fn verdict(seen: Nanos, bound: Nanos) -> String {
    match bound.checked_sub(seen) {
        Some(0) => "reached".to_owned(),
        Some(1) => "reached, less the nanosecond by which the blocking frame is earlier".to_owned(),
        Some(_) => format!("{:.1} % of it", seen as f64 / bound as f64 * 100.0),
        None => "EXCEEDED".to_owned(),
    }
}

fn write_log<'n>(
    path: &Path,
    name: impl Fn(usize) -> &'n str,
    releases: &[(Nanos, usize, Frame)],
) -> Result<(), Failure> {
    let mut text = String::new();
    for (stamp, bus, frame) in releases {
        let line = LogLine {
            stamp: *stamp,
            interface: name(*bus),
            frame: frame.view(),
            direction: None,
        };
        text.push_str(&format!("{line:.9}\n"));
    }
    let written = std::fs::File::create(path).and_then(|mut f| f.write_all(text.as_bytes()));
    written.map_err(|e| Failure::file("write", path, &e))
}

/// Finds the bus of the message with this ID, or BUS:ID, and its index there.
fn find(all: &[AssessedBus<'_>], wanted: &str) -> Result<(usize, usize), Failure> {
    let (bus, number) = match wanted.rsplit_once(':') {
        Some((bus, number)) => (Some(bus), number),
        None => (None, wanted),
    };
    let mut fits: Vec<(usize, usize)> = Vec::new();
    for (place, found) in all.iter().enumerate() {
        let messages = found.spec.messages.iter().enumerate();
        let same = messages.filter(|(_, m)| m.id().to_string().eq_ignore_ascii_case(number));
        if bus.is_none_or(|bus| found.spec.name == bus) {
            fits.extend(same.map(|(i, _)| (place, i)));
        }
    }
    match fits[..] {
        [one] => Ok(one),
        [] => Err(Failure::input(format!(
            "--witness {wanted}: no message has this ID; write it as in the table, or BUS:ID"
        ))),
        [(one, _), ..] => Err(Failure::input(format!(
            "--witness {wanted}: several buses have this ID: write {}:{number}",
            all.get(one).map_or("BUS", |found| found.spec.name.as_str())
        ))),
    }
}
