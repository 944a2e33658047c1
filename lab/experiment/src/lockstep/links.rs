//! The links of a plan file.

use super::values::{duration, part};
use crate::spec::BITRATE;
use config::{Diagnostic, Diagnostics, TomlTable};
use guest::linked::RESERVED;
use guest::lockstep::{CanLink, EthernetLink, LinkKind, LinkPlan};
use std::ops::Range;
use std::time::Duration;

/// The number of frames that may wait for a CAN bus: more than the queues of Linux's interfaces
/// hold, because QEMU's card takes each frame at once.
const CAN_QUEUE: i64 = 1000;
/// The usual Ethernet: 100 Mbit/s; store and forward with a little processing; the queue that small
/// switches have for a port.
pub(crate) const USUAL_ETHERNET: EthernetLink = EthernetLink {
    rate: 100_000_000,
    latency: Duration::from_micros(20),
    jitter: Duration::ZERO,
    loss: 0,
    seed: 1,
    queue: 512 << 10,
};
/// The longest name of an interface (Linux's IFNAMSIZ).
const LINK_NAME: usize = 15;

/// Returns the links, each with the place of its data bit rate.
pub(super) fn links(
    table: &TomlTable<'_>,
    machines: &[&str],
    found: &mut Diagnostics,
) -> Vec<(LinkPlan, Range<usize>)> {
    let mut all = Vec::new();
    for (name, value) in table.all() {
        let is_name = name
            .value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let mut reserved = RESERVED.iter();
        let is_reserved = ["lo", ".", ".."].contains(&name.value)
            || reserved.any(|prefix| name.value.starts_with(prefix));
        if !is_name || is_reserved || name.value.is_empty() || name.value.len() > LINK_NAME {
            let text = format!("`{}` cannot be the name of a link", name.value);
            let hint = format!(
                "use up to {LINK_NAME} letters, digits and `-_.`: the interfaces have this name"
            );
            found.push(Diagnostic::error(name.span.clone(), text).hint(hint));
        }
        let place = format!("link `{}`", name.value);
        if let Some(mut table) = value.table(place, found) {
            let link = link(name.value, &mut table, machines, found);
            all.extend(link.map(|link| (link, table.value_span("data_bitrate"))));
            table.finish(found);
        }
    }
    all
}

/// The kinds of links.
#[derive(Clone, Copy)]
enum KindWord {
    Can,
    Ethernet,
}

fn link(
    name: &str,
    table: &mut TomlTable<'_>,
    machines: &[&str],
    found: &mut Diagnostics,
) -> Option<LinkPlan> {
    let words = [("can", KindWord::Can), ("ethernet", KindWord::Ethernet)];
    let kind = match table.need("kind", found) {
        Some(value) => value.one_of(&words, found),
        None => None,
    };
    let members = members(table, machines, found);
    let kind = match kind?.value {
        KindWord::Can => LinkKind::Can(can(table, found)),
        KindWord::Ethernet => LinkKind::Ethernet(ethernet(table, found)),
    };
    Some(LinkPlan {
        name: name.to_owned(),
        kind,
        members,
    })
}

/// Returns the numbers of a link's machines; by default all are on it.
fn members(table: &mut TomlTable<'_>, machines: &[&str], found: &mut Diagnostics) -> Vec<usize> {
    let Some(value) = table.get("machines") else {
        return (0..machines.len()).collect();
    };
    let mut all = Vec::new();
    for value in value.one_or_list() {
        let Some(name) = value.string(found) else {
            continue;
        };
        match machines.iter().position(|machine| *machine == name.value) {
            Some(number) if all.contains(&number) => {
                value.wrong(
                    format!("`{}` is there twice", name.value),
                    "leave it out",
                    found,
                );
            }
            Some(number) => all.push(number),
            None => {
                let text = format!("there is no machine `{}`", name.value);
                let hint = config::did_you_mean(name.value, machines.iter().copied());
                value.wrong(text, hint, found);
            }
        }
    }
    all.sort_unstable();
    all
}

fn can(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> CanLink {
    let bitrate = table.bitrate("bitrate", found);
    let data_bitrate = table.bitrate("data_bitrate", found);
    let queue = table.integer("queue", 1..=1_000_000, found);
    CanLink {
        bitrate: bitrate.map_or(BITRATE, |rate| rate.value),
        data_bitrate: data_bitrate.map(|rate| rate.value),
        queue: u32::try_from(queue.map_or(CAN_QUEUE, |queue| queue.value)).unwrap_or(u32::MAX),
    }
}

fn ethernet(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> EthernetLink {
    let rate = table.get("rate").and_then(|value| value.line_rate(found));
    let latency = duration(table, "latency", found).unwrap_or(USUAL_ETHERNET.latency);
    let jitter = duration(table, "jitter", found).unwrap_or(USUAL_ETHERNET.jitter);
    let loss = table.get("loss").and_then(|value| part(&value, found));
    let seed = table.integer("seed", 0..=i64::MAX, found);
    let queue = table.get("queue").and_then(|value| {
        let size = value.size(found)?.value;
        let queue = u32::try_from(size).ok();
        if queue.is_none() {
            value.wrong("a queue of 4 GiB or more", "give fewer bytes", found);
        }
        queue
    });
    EthernetLink {
        rate: rate.map_or(USUAL_ETHERNET.rate, |rate| rate.value),
        latency,
        jitter,
        loss: loss.unwrap_or(USUAL_ETHERNET.loss),
        seed: seed.map_or(USUAL_ETHERNET.seed, |seed| seed.value.unsigned_abs()),
        queue: queue.unwrap_or(USUAL_ETHERNET.queue),
    }
}
