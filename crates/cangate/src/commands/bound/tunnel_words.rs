//! Words about tunnels, and about bounds that are conditional on them.

use super::words::micros;
use analysis::tunnel::{DelayOrigin, LinkSpec};
use analysis::{Network, StatedTunnels};
use port::PlayOutTimes;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Returns the name of an origin.
pub(super) const fn origin(of: DelayOrigin) -> &'static str {
    match of {
        DelayOrigin::Measured => "measured",
        DelayOrigin::Stated => "stated",
    }
}

/// Marks a figure that depends on a time that was measured or stated.
pub(super) fn marked(figure: String, conditions: &[String]) -> String {
    match conditions.is_empty() {
        true => figure,
        false => format!("{figure}*"),
    }
}

/// Returns the sentence that explains the mark; `None` if nothing is marked.
pub(super) fn sentence<'c>(
    conditions: impl Iterator<Item = &'c String>,
    what: &str,
) -> Option<String> {
    let all: BTreeSet<&str> = conditions.map(String::as_str).collect();
    let all: Vec<&str> = all.into_iter().collect();
    (!all.is_empty()).then(|| {
        format!(
            "* {what} with a star is no proof: it holds for frames that need no longer than the {}.",
            all.join(", and the ")
        )
    })
}

/// Returns the times of these tunnels that were measured or stated, in words.
pub(super) fn conditions(network: &Network, tunnels: &StatedTunnels) -> Vec<String> {
    let words = tunnels.iter().filter_map(|number| {
        let tunnel = network.tunnels.get(*number)?;
        let stated = tunnel.stated?;
        Some(format!(
            "{} {} µs of tunnel {}",
            origin(stated.origin),
            micros(stated.most),
            tunnel.name
        ))
    });
    let words: BTreeSet<String> = words.collect();
    words.into_iter().collect()
}

/// Returns a rate as the set has it.
fn rate(bits: u64) -> String {
    match bits {
        bits if bits > 0 && bits.is_multiple_of(1_000_000) => format!("{}M", bits / 1_000_000),
        bits if bits > 0 && bits.is_multiple_of(1_000) => format!("{}k", bits / 1_000),
        bits => bits.to_string(),
    }
}

/// Describes a link.
pub(super) fn link_words(link: &LinkSpec) -> String {
    let mut words = format!("Link: {}", rate(link.rate));
    if link.switches > 0 {
        let switches = if link.switches == 1 {
            "switch"
        } else {
            "switches"
        };
        let _ = write!(words, ", {} {switches}", link.switches);
    }
    if let Some(others) = link.others {
        let _ = write!(
            words,
            ", {} and {} bytes at once of others",
            rate(others.rate),
            others.burst
        );
    }
    if let Some(bucket) = link.bucket {
        let _ = write!(
            words,
            ", a bucket of {} and {} bytes",
            rate(bucket.rate),
            bucket.burst
        );
    }
    words
        + match link.urgent_behind {
            Some(_) => ", urgent datagrams first",
            None => ", in order of arrival",
        }
}

/// Describes the play-out of a port, in which `playing` frames wait at most.
pub(super) fn play_out_words(port: &str, times: &PlayOutTimes, playing: u64) -> String {
    let clock = match times.common_clock {
        true => "a common clock",
        false => "the sender's own clock: the network's jitter is not taken away in a proof",
    };
    format!(
        "port {port}: play-out {} µs after the stamp, at most {playing} frames wait, room for {}; by {clock}",
        micros(times.delay.unwrap_or(0)),
        times.queue
    )
}
