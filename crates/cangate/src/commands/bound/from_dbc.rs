//! `cangate bound --from-dbc`: a message set from a DBC.

use super::from_log::time;
use super::timeouts;
use super::{DEFAULT_BITRATE, bitrate};
use crate::database;
use console::Failure;
use frame::wire::BitRate;
use frame::{Nanos, dlc};
use route::config::toml_string;
use signals::{MessageDatabase, MessageDefinition};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The entry of a message in the set.
#[derive(Default)]
struct SetEntry {
    /// The period, ns; `None` if the file has none.
    period: Option<Nanos>,
    /// The longest time between two events, ns; `None` for a message that is sent on events alone.
    longest: Option<Nanos>,
    /// The reason why it is left out; empty if it is not.
    missing: String,
    /// Remarks on it, one comment each.
    notes: Vec<String>,
}

/// Returns the message set of a DBC, as text. Messages that it leaves out are reported on standard
/// error, too.
pub(super) fn set_of(path: &Path, rate: Option<BitRate>) -> Result<String, Failure> {
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let fail = |error: &dyn std::fmt::Display| Failure::input(format!("{name}: {error}"));
    let database = database::read(path)?;
    let entries = entries(&database);
    let fits = database.messages.iter().zip(&entries);
    let fd = fits.filter(|(m, entry)| m.fd.is_some() && entry.missing.is_empty());
    let rate = match rate {
        Some(rate) => rate,
        None => read_rate(&database)?,
    };
    if let Some((message, _)) = fd.into_iter().next()
        && rate.data().is_none()
    {
        return Err(fail(&format!(
            "{} is an FD message, and the data bit rate is missing: add --bitrate {rate}/2M",
            message.name
        )));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let bus = [database.name.as_str(), stem.as_deref().unwrap_or("")]
        .into_iter()
        .map(bare)
        .find(|name| !name.is_empty());
    let bus = bus.unwrap_or_else(|| "can0".to_owned());
    Ok(set(&name, &bus, rate, &database, &entries))
}

/// Returns the bit rate in the file.
fn read_rate(database: &MessageDatabase) -> Result<BitRate, Failure> {
    let nominal = database
        .bitrate
        .map_or_else(|| DEFAULT_BITRATE.to_owned(), |rate| rate.to_string());
    match database.data_bitrate {
        Some(data) => bitrate(&format!("{nominal}/{data}")),
        None => bitrate(&nominal),
    }
}

/// Removes the characters that a TOML key without quotation marks cannot have.
fn bare(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    name.chars().filter(fits).collect()
}

fn entries(database: &MessageDatabase) -> Vec<SetEntry> {
    let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
    let each = database.messages.iter().map(|message| {
        let mut entry = when(message);
        // Warnings about signals have other lines, and do not affect a bound.
        let doubtful = database.warnings.iter().filter(|warning| warning.line == message.line);
        entry.notes.extend(doubtful.map(|warning| format!("CHECK: {}.", warning.problem)));
        if message.len > dlc::CLASSIC_MAX && message.fd.is_none() || message.len > dlc::FD_MAX {
            entry.missing = match message.j1939 {
                true => format!(
                    "its {} bytes are sent in several frames (J1939 transport protocol), and a DBC does not state when",
                    message.len
                ),
                false => format!("no frame has {} bytes", message.len),
            };
        }
        match lines.get(&message.id.raw()) {
            Some(line) => entry.missing = format!("line {line} has this ID already"),
            None => {
                lines.insert(message.id.raw(), message.line);
            }
        }
        if let Some(fd) = message.fd {
            if !fd.is_stated {
                entry.notes.push("FD by its length; VFrameFormat does not state it.".to_owned());
            }
            if fd.brs.is_none() {
                let words = "No CANFD_BRS: assumed without bit rate switch, which takes longest.";
                entry.notes.push(words.to_owned());
            }
        }
        if message.sender.is_none() {
            entry.notes.push("No sender: it gets a node of its own.".to_owned());
        }
        if !message.more_senders.is_empty() {
            entry.notes.push(format!(
                "CHECK: also sent by {}. This is one sender's.",
                message.more_senders.join(", ")
            ));
        }
        entry
    });
    each.collect()
}

/// Determines the period of a message.
fn when(message: &MessageDefinition) -> SetEntry {
    let mut entry = SetEntry::default();
    let all = [message.cycle, message.fast, message.signal_cycle];
    let cycle = all.into_iter().flatten().min();
    if let (Some(cycle), Some(fast)) = (message.cycle, message.fast)
        && fast < cycle
    {
        entry.notes.push(format!(
            "Its cycle time is {}; GenMsgCycleTimeFast is shorter.",
            time(cycle)
        ));
    }
    if let (Some(own), Some(signal)) = (message.cycle, message.signal_cycle)
        && signal < own
    {
        entry.notes.push(format!(
            "Its cycle time is {}; that of a signal (GenSigCycleTime) is shorter.",
            time(own)
        ));
    }
    let event = message.event();
    let words = event.as_deref().or(message.send_type.as_deref());
    let words = words.unwrap_or("");
    entry.period = match (cycle, message.delay) {
        (Some(cycle), None) => {
            if message.is_on_event() {
                entry.notes.push(format!(
                    "CHECK: also sent on events ({words}), and no GenMsgDelayTime states how often. The period is its cycle time."
                ));
            }
            Some(cycle)
        }
        (Some(cycle), Some(_)) if !message.is_on_event() => Some(cycle),
        (cycle, Some(delay)) => {
            let sent = match words {
                "" => String::new(),
                words => format!(" ({words})"),
            };
            entry.notes.push(format!(
                "Sent on events{sent}: the period is the least time between two frames, GenMsgDelayTime."
            ));
            Some(cycle.map_or(delay, |cycle| cycle.min(delay)))
        }
        (None, None) => None,
    };
    let cycle = message.cycle.or(message.signal_cycle);
    entry.longest = cycle.filter(|_| message.keeps_cycle());
    if entry.period.is_none() {
        let words =
            "it has no cycle time (GenMsgCycleTime) and no least distance (GenMsgDelayTime)";
        words.clone_into(&mut entry.missing);
    }
    entry
}

fn set(
    name: &str,
    bus: &str,
    rate: BitRate,
    database: &MessageDatabase,
    entries: &[SetEntry],
) -> String {
    let shown: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mut text = format!(
        "# From {shown} by `cangate bound --from-dbc`: read it before you rely on it.\n\
         # Periods are cycle times and deadlines are periods; a payload can be anything. A DBC has no jitter, and does not state\n\
         # in which order a node sends: `mailboxes = N` in [nodes.NAME] does.\n\n[buses.{bus}]\nbitrate = {}\n",
        rate.nominal()
    );
    if let Some(data) = rate.data() {
        let _ = writeln!(text, "data_bitrate = {data}");
    }
    let (mut left_out, mut checks) = (0, 0);
    for (message, entry) in database.messages.iter().zip(entries) {
        let id = message.id.to_string();
        text.push('\n');
        if !entry.missing.is_empty() {
            left_out += 1;
            let _ = writeln!(
                text,
                "# LEFT OUT: {id} {}, line {}: {}.",
                message.name, message.line, entry.missing
            );
        }
        let comment = if entry.missing.is_empty() { "" } else { "# " };
        for note in &entry.notes {
            checks += usize::from(note.starts_with("CHECK") && comment.is_empty());
            let _ = writeln!(text, "# {note}");
        }
        for line in lines(message, entry, &id) {
            let _ = writeln!(text, "{comment}{line}");
        }
    }
    for impossible in &database.impossible {
        left_out += 1;
        let _ = writeln!(
            text,
            "\n# LEFT OUT: {}, line {}: {}.",
            impossible.name, impossible.error.line, impossible.error.problem
        );
    }
    let all = database.messages.len() + database.impossible.len();
    let _ = writeln!(
        text,
        "\n# {all} messages, {left_out} of them left out, {checks} to check."
    );
    if database.has_independent_signals {
        let _ = writeln!(text, "# VECTOR__INDEPENDENT_SIG_MSG is not a message.");
    }
    if left_out + checks > 0 {
        eprintln!(
            "note: {all} messages, {left_out} of them left out, {checks} to check: see the comments in the set"
        );
    }
    text
}

/// Returns the lines of a message in the set.
fn lines(message: &MessageDefinition, entry: &SetEntry, id: &str) -> Vec<String> {
    let mut all = vec![
        "[[messages]]".to_owned(),
        format!("id = \"{id}\""),
        format!("name = {}", toml_string(&message.name)),
    ];
    if let Some(sender) = &message.sender {
        all.push(format!("node = {}", toml_string(sender)));
    }
    all.push(match entry.period {
        Some(period) => format!("period = \"{}\"", time(period)),
        None => "period = \"?\"".to_owned(),
    });
    match entry.longest {
        _ if entry.longest == entry.period => {}
        Some(longest) => all.push(format!("longest_period = \"{}\"", time(longest))),
        None => all.push("longest_period = \"none\"".to_owned()),
    }
    let timeouts = timeouts::of_message(message);
    let timeouts: Vec<String> = timeouts
        .iter()
        .map(|(node, (after, ..))| {
            format!(
                "{{ node = {}, time = \"{}\" }}",
                toml_string(node),
                time(*after)
            )
        })
        .collect();
    if !timeouts.is_empty() {
        all.push(format!("timeouts = [{}]", timeouts.join(", ")));
    }
    if let Some(fd) = message.fd {
        all.push("kind = \"fd\"".to_owned());
        all.push(format!("brs = {}", fd.brs.unwrap_or(false)));
    }
    all.push(format!("len = {}", message.len));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of an attribute can have any characters.
    #[test]
    fn names_are_strings_of_toml() {
        let node = "T\u{fc}r's \u{1}";
        let text = format!(
            "BU_: A\nBO_ 256 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" A\n\n\
             BA_DEF_ SG_ \"GenSigTimeoutTime_{node}\" INT 0 9999;\n\
             BA_ \"GenSigTimeoutTime_{node}\" SG_ 256 S 500;\n"
        );
        let database = signals::dbc::read(text.as_bytes()).unwrap();
        let lines = lines(&database.messages[0], &SetEntry::default(), "100");
        let timeouts = lines.iter().find(|line| line.starts_with("timeouts"));
        let expected = "timeouts = [{ node = \"T\u{fc}r's \\u0001\", time = \"500ms\" }]";
        assert_eq!(timeouts.map(String::as_str), Some(expected), "{lines:?}");
    }
}
