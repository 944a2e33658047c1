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
        Key::new("rate", Shape::Rate, "Frames in a time: \"100/s\".").needed(),
        Key::new(
            "burst",
            Shape::Integer(1..=1_000_000),
            "Frames that can come at once after a pause. Default 1.",
        ),
        Key::new(
            "per_id",
            Shape::Any(vec![Shape::Flag, Shape::Integer(1..=65_536)]),
            "Each ID has its own limit; a number says for how many IDs.",
        ),
    ];
    let mut keys = vec![
        Key::new("name", Shape::Text, NAME),
        Key::new("from", ports(), "The port or ports where frames come from.").needed(),
        Key::new("to", ports(), "The port or ports where frames go."),
        Key::new(
            "drop",
            Shape::Flag,
            "The frames go nowhere, and no later route sees them.",
        ),
        Key::new(
            "limit",
            Shape::Any(vec![Shape::Rate, Shape::Table(limit)]),
            "The maximum rate; frames above it are dropped and counted.",
        ),
        Key::new(
            "hop_limit",
            Shape::Integer(1..=6),
            "From here, the frame can pass at most this many gateways in the kernel.",
        ),
        Key::new(
            "allow_same_port",
            Shape::Flag,
            "A frame can go back to the port from which it came.",
        ),
        Key::new(
            "echo",
            Shape::Flag,
            "Local programs on the outgoing interface see the frame, too.",
        ),
        Key::new(
            "keep_stamp",
            Shape::Flag,
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
