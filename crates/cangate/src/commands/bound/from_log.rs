//! `cangate bound --from-log`: a message set from the frames of a log.

use super::words::micros;
use analysis::estimate::{DensestStamps, FEWEST, ReleaseEstimate, densest, estimate};
use console::Failure;
use frame::wire::BitRate;
use frame::{CanId, FrameBuf, Header, Kind, Nanos};
use port::log::{LogError, LogReader};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::num::NonZeroU8;
use std::path::Path;

/// The jitter, as a part of the period, up to which a period counts as a good fit.
const GOOD: f64 = 0.1;

/// The frames of an ID on an interface.
#[derive(Default)]
struct SeenId {
    stamps: Vec<Nanos>,
    /// The longest payload.
    len: usize,
    fd: bool,
    brs: bool,
}

/// The contents of a log: the frames by interface and ID, the number of frames that a set cannot
/// have, and the number of lines that are not frames.
#[derive(Default)]
struct LogContents {
    seen: BTreeMap<(String, u32), SeenId>,
    left_out: u64,
    bad: u64,
    /// The number of frames that are missing according to the log itself.
    missing: u64,
}

/// Returns the message set of a log, as text.
pub(super) fn set_of(path: &Path, rate: BitRate) -> Result<String, Failure> {
    let log = if path == Path::new("-") {
        read(LogReader::new(std::io::stdin(), "standard input"))?
    } else {
        read(LogReader::open(path).map_err(Failure::input)?)?
    };
    if log.seen.is_empty() {
        return Err(Failure::input(format!(
            "{}: no frame that a message set can have",
            path.display()
        )));
    }
    Ok(set(&log, rate))
}

/// Returns `[nodes.PORT]` for each port of a gateway whose bus and mailboxes are given; `set` is
/// the set to which they are added.
pub(super) fn nodes(
    mailboxes: &[(String, String, NonZeroU8)],
    set: &str,
) -> Result<String, Failure> {
    let mut text = String::new();
    for (port, bus, n) in mailboxes {
        let plain = |name: &str| !name.contains(['"', '\\', '\n']);
        if !plain(port) || !plain(bus) {
            return Err(Failure::input(format!(
                "--mailboxes {port}:{bus}={n}: names have no quotation marks"
            )));
        }
        if !set.contains(&format!("\n[buses.{bus}]\n")) {
            return Err(Failure::input(format!(
                "--mailboxes {port}:{bus}={n}: the log has no interface {bus}"
            )));
        }
        let _ = writeln!(
            text,
            "[nodes.\"{port}\"]\nbus = \"{bus}\"\nmailboxes = {n}\n"
        );
    }
    Ok(text)
}

fn read<R: Read>(mut reader: LogReader<R>) -> Result<LogContents, Failure> {
    reader.recognise().map_err(Failure::input)?;
    let mut log = LogContents::default();
    let mut frame = FrameBuf::new();
    loop {
        let logged = match reader.read(&mut frame) {
            Ok(None) => break,
            Ok(Some(logged)) => logged,
            Err(LogError::Bad { .. }) => continue,
            Err(error) => return Err(Failure::input(error)),
        };
        let view = frame.view();
        let header = view.header();
        if header.kind() == Kind::Xl || header.is_rtr() || header.id().is_err() {
            log.left_out += 1;
            continue;
        }
        let key = (logged.interface.as_str().to_owned(), header.id().raw());
        log.seen.entry(key).or_default().add(header, logged.ns);
    }
    log.bad = reader.bad().count();
    log.missing = reader.all_missing();
    Ok(log)
}

impl SeenId {
    fn add(&mut self, header: &Header, at: Nanos) {
        // Time stamps that go back are replaced by the previous one, as `cangate demo` does.
        let at = self.stamps.last().map_or(at, |last| at.max(*last));
        self.stamps.push(at);
        self.len = self.len.max(header.len());
        self.fd |= header.kind() == Kind::Fd;
        self.brs |= header.is_brs();
    }
}

fn set(log: &LogContents, rate: BitRate) -> String {
    let mut text = String::from(
        "# Estimated from a log by `cangate bound --from-log`: read it before you rely on it.\n\
         # A log stamps ends of frame, so jitter and distances include the wait for the bus. Deadlines are\n\
         # periods, each message has a node of its own, and messages that were not seen are missing.\n",
    );
    for (count, what) in [
        (log.left_out, "remote, error or XL frames"),
        (log.bad, "lines that are not frames"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "# Left out: {count} {what}.");
        }
    }
    if log.missing > 0 {
        let _ = writeln!(
            text,
            "# Missing: {} frames, which the recorder lost, as the log states. Where they were, distances look longer.",
            log.missing
        );
    }
    let mut interfaces: Vec<&str> = log.seen.keys().map(|(name, _)| name.as_str()).collect();
    interfaces.dedup();
    for name in interfaces {
        let _ = writeln!(text, "\n[buses.{name}]\nbitrate = {}", rate.nominal());
        if let Some(data) = rate.data() {
            let _ = writeln!(text, "data_bitrate = {data}");
        }
    }
    for ((interface, raw), seen) in &log.seen {
        message(&mut text, interface, CanId::from_raw(*raw), seen);
    }
    text
}

fn message(text: &mut String, interface: &str, id: CanId, seen: &SeenId) {
    let Some(found) = estimate(&seen.stamps) else {
        let _ = writeln!(
            text,
            "\n# {id} on {interface}: {} frames, {FEWEST} with a time between them are needed. Give it a period, or \
             leave it out.",
            seen.stamps.len()
        );
        return;
    };
    let curve = match part(&found) > GOOD {
        true => densest(&seen.stamps),
        false => None,
    };
    let _ = writeln!(text, "\n[[messages]]\n{}", fit(&found));
    if let Some(curve) = &curve {
        let _ = writeln!(text, "{}", density(curve, &seen.stamps));
    }
    let _ = writeln!(text, "id = \"{id}\"\nbus = \"{interface}\"");
    match curve {
        Some(curve) => {
            let list: Vec<String> = curve
                .distances
                .iter()
                .map(|&ns| format!("\"{}\"", time(ns)))
                .collect();
            let _ = writeln!(text, "distances = [{}]", list.join(", "));
            let _ = writeln!(text, "deadline = \"{}\"", time(found.period));
        }
        None => {
            let _ = writeln!(text, "period = \"{}\"", time(found.period));
            if found.jitter > 0 {
                let _ = writeln!(text, "jitter = \"{}\"", time(found.jitter));
                let _ = writeln!(text, "distance = \"{}\"", time(found.distance));
            }
        }
    }
    if seen.fd {
        let _ = writeln!(text, "kind = \"fd\"\nbrs = {}", seen.brs);
    }
    let _ = writeln!(text, "len = {}", seen.len);
}

/// Formats a time in the longest unit in which it is a whole number.
pub(super) fn time(ns: Nanos) -> String {
    match ns {
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ if ns.is_multiple_of(1_000) => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}

/// Returns the jitter as a part of the period.
fn part(found: &ReleaseEstimate) -> f64 {
    found.jitter as f64 / found.period as f64
}

/// Describes the density of frames without a period, as a comment.
fn density(curve: &DensestStamps, stamps: &[Nanos]) -> String {
    let mut text = String::new();
    let all = || curve.distances.iter().zip(&curve.from).zip(2..);
    let ends = [all().next(), all().skip(1).last()];
    for ((span, from), frames) in ends.into_iter().flatten() {
        let _ = writeln!(
            text,
            "# The densest {frames} frames span {} µs, from the one with the stamp {}.{:09} on.",
            micros(*span),
            from / 1_000_000_000,
            from % 1_000_000_000
        );
    }
    let mean = |first: &Nanos, last: &Nanos| (last - first) / (stamps.len().max(2) as u64 - 1);
    let seen = stamps.first().zip(stamps.last());
    if let (Ok(arrival), Some((first, last))) = (curve.arrival(), seen) {
        let _ = write!(
            text,
            "# In the long run, the distances allow a frame every {} µs; the log has one every {} \
             µs.",
            micros(arrival.period()),
            micros(mean(first, last))
        );
    }
    text
}

/// Describes how well the estimate fits, as a comment.
fn fit(found: &ReleaseEstimate) -> String {
    let part = part(found);
    let mut text = format!(
        "# {} frames, {}: jitter {:.1} % of the period of {} µs",
        found.frames,
        if part <= GOOD {
            "periodic"
        } else {
            "NOT PERIODIC"
        },
        part * 100.0,
        micros(found.period)
    );
    if found.missing > 0 {
        let _ = write!(text, "; {} periods without a frame", found.missing);
    }
    if part > GOOD {
        let _ = write!(
            text,
            "; the frame farthest behind has the stamp {}.{:09}",
            found.latest / 1_000_000_000,
            found.latest % 1_000_000_000
        );
    }
    text
}
