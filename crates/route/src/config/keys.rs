//! The keys of `[[routes]]`, for a schema: those that the other modules of this folder read.

use super::{LONGEST_NAME, matching};
use crate::Action;
use ::config::{KeySpec, ValueShape};
use alloc::{boxed::Box, vec, vec::Vec};

/// Returns the keys of a route.
#[must_use]
pub fn keys() -> Vec<KeySpec> {
    let ports = || ValueShape::OneOrList(Box::new(ValueShape::Text));
    let limit = vec![
        KeySpec::new("rate", ValueShape::Rate, "Frames in a time: \"100/s\".").needed(),
        KeySpec::new(
            "burst",
            ValueShape::Integer(1..=1_000_000),
            "Frames that can come at once after a pause. Default 1.",
        ),
        KeySpec::new(
            "per_id",
            ValueShape::Any(vec![ValueShape::Flag, ValueShape::Integer(1..=65_536)]),
            "Each ID has its own limit; a number says for how many IDs.",
        ),
    ];
    let mut keys = vec![
        KeySpec::new("name", ValueShape::Text, NAME),
        KeySpec::new("from", ports(), "The port or ports where frames come from.").needed(),
        KeySpec::new("to", ports(), "The port or ports where frames go."),
        KeySpec::new(
            "drop",
            ValueShape::Flag,
            "The frames go nowhere, and no later route sees them.",
        ),
        KeySpec::new(
            "limit",
            ValueShape::Any(vec![ValueShape::Rate, ValueShape::Table(limit)]),
            "The maximum rate; frames above it are dropped and counted.",
        ),
        KeySpec::new(
            "hop_limit",
            ValueShape::Integer(1..=6),
            "From here, the frame can pass at most this many gateways in the kernel.",
        ),
        KeySpec::new(
            "allow_same_port",
            ValueShape::Flag,
            "A frame can go back to the port from which it came.",
        ),
        KeySpec::new(
            "echo",
            ValueShape::Flag,
            "Local programs on the outgoing interface see the frame, too.",
        ),
        KeySpec::new(
            "keep_stamp",
            ValueShape::Flag,
            "The outgoing frame keeps its receive time stamp.",
        ),
    ];
    keys.extend(matching::keys());
    let actions = ValueShape::List(Box::new(ValueShape::OneKey(Action::keys())));
    keys.push(KeySpec::new(
        "do",
        actions,
        "What happens to the frame, in this order.",
    ));
    keys
}

const NAME: &str = "The name in counters and messages, at most 64 bytes.";
// The sentence above contains this number.
const _: () = assert!(LONGEST_NAME == 64);
