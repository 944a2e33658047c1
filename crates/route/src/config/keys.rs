//! The keys of `[[routes]]` and of the tables in it.

use super::values::{kinds, limit, limit_shape, name, one_or_list, tri};
use crate::{Action, KindSet, RateLimit, TriState};
use ::config::read::{self, by, later};
use ::config::{Diagnostics, KeySpec, SpannedValue, TomlValue, ValueShape};
use alloc::{borrow::ToOwned, boxed::Box, string::String, vec, vec::Vec};

/// The longest payload, bytes.
const LONGEST: i64 = frame::dlc::XL_MAX as i64;

::config::settings! {
    /// The keys of a route. Those whose meaning depends on others are read afterwards.
    pub(super) struct RouteKeys<'t> {
        /// The name in counters and messages. Two routes cannot have the same name.
        pub(super) name: Option<String> = None => by(|| ValueShape::Text, name),
            value "up to 64 bytes", default "`route N`",
            not "title" "label" "description" "comment";
        /// Where frames come from.
        pub(super) from: Option<TomlValue<'t>> = None => later(|| one_or_list(ValueShape::Text)),
            value "port or list", default "required", needed "add `from = \"PORT\"`",
            not "src" "in" "input" "iif" "ingress" "from_port" "input_port" "src_if" "rx";
        /// Where frames go.
        pub(super) to: Option<TomlValue<'t>> = None => later(|| one_or_list(ValueShape::Text)),
            value "port or list", default "required, unless `drop`",
            not "destination" "dest" "dst" "out" "output" "oif" "egress" "to_port" "output_port"
                "dst_if" "tx" "target";
        /// The frames go nowhere, and no later route sees them.
        pub(super) drop: bool = false => read::boolean(),
            not "deny" "block" "reject" "discard" "ignore" => "Write `drop = true`";
        /// The maximum rate. Frames above it are dropped and counted. The gateway's clock measures
        /// the rate, not a log's time stamps: a log that is read faster than it was written reaches
        /// the limit earlier.
        pub(super) limit: Option<RateLimit> = None => by(limit_shape, limit),
            value "see below", default "none",
            not "rate" "rate_limit" "ratelimit" "max_rate" "limits" "throttle" "hz"
                => "For example `limit = \"100/s\"`";
        /// The number of gateways that the frame can pass from here, this one included (can-gw's
        /// `-l`).
        pub(super) hop_limit: Option<u8> = None => read::integer(1..=6u8), value "1–`max_hops`",
            not "hops" "max_hops" "ttl" "limit_hops";
        /// A frame can go back to the port from which it came (can-gw's `-i`).
        pub(super) allow_same_port: bool = false => read::boolean(),
            not "same_port" "iif_tx_ok" "loop";
        /// Local programs on the outgoing interface also see the frame (can-gw's `-e`). On a vcan
        /// they always do, because no other program would receive the frame. In this process, they
        /// also always do on an interface whose driver has no echo.
        pub(super) echo: bool = false => read::boolean(), not "loopback" "local";
        /// The outgoing frame keeps its receive time stamp (can-gw's `-t`).
        pub(super) keep_stamp: bool = false => read::boolean(),
            not "timestamp" "keep_timestamp" "src_tstamp";
        /// IDs in hex: `"123"` (SFF), `"00000123"` (EFF), `"200-2FF"`, `"100:700"` (mask),
        /// `"!7DF"`.
        pub(super) id: Option<TomlValue<'t>> = None => later(|| one_or_list(ValueShape::Text)),
            default "",
            not "can_id" "canid" "arbitration_id" "identifier" "ids" "can_ids" "match"
                => "For example `id = \"123\"`",
            not "mask" "can_mask" "id_mask" "range" "id_range" =>
                "A mask follows the ID, `id = \"123:7FF\"`, and a range is `id = \"100-1FF\"`",
            not "extended" "is_extended_id" "eff" "ext" "sff"
                => "Eight digits make an EFF ID: `id = \"00000123\"`";
        /// A message of the database of the ports in `from`, or a list of messages: their IDs. A
        /// message of J1939 has any source address and any priority.
        pub(super) message: Option<TomlValue<'t>> = None => later(|| one_or_list(ValueShape::Text)),
            default "", not "messages" "frame" "frame_name" "message_name" "pdu";
        /// A condition on signals of the message: `"Speed > 5 km/h && Gear == 'Drive'"`.
        pub(super) when: Option<TomlValue<'t>> = None => later(|| ValueShape::Text),
            default "", not "condition" "if" "where" "signals" "predicate";
        /// Raw filters as in can-gw: `"123:C00007FF"`, `"123~7FF"`.
        pub(super) filter: Option<TomlValue<'t>> = None => later(|| one_or_list(ValueShape::Text)),
            default "", not "filters" "can_filter" "can_filters";
        /// IDs and ranges that the route does not take: all others, or those of `id` without these.
        pub(super) except: Option<TomlValue<'t>> = None
            => later(|| one_or_list(ValueShape::Text)),
            value "as `id`", default "none", not "exclude" "without" "all_but" "not";
        /// Parameter groups of J1939, of any priority: `65265`, or `"FEF1"` in hex. A group that is
        /// sent to one address is taken for all addresses. Instead of `id`.
        pub(super) pgn: Option<TomlValue<'t>> = None
            => later(|| one_or_list(ValueShape::Any(vec![
                ValueShape::Integer(0..=0x3_FFFF), ValueShape::Text,
            ]))),
            value "number, or hex in quotes, or a list", default "any",
            not "parameter_group" "group" "pgns";
        /// The senders' addresses in J1939: `42`, or `"2A"` in hex. Alone, or with `pgn`.
        pub(super) source: Option<TomlValue<'t>> = None
            => later(|| one_or_list(ValueShape::Any(vec![
                ValueShape::Integer(0..=0xFF), ValueShape::Text,
            ]))),
            value "number, or hex in quotes, or a list", default "any",
            not "source_address" "sa" "src_addr";
        /// The kinds of frame.
        pub(super) kind: Option<KindSet> = None => kinds(),
            value "`\"classic\"`, `\"fd\"`, `\"xl\"`, or a list", default "all",
            not "type" "format" "frame_type" => "It is \"classic\", \"fd\" or \"xl\"",
            not "fd" "classic" "xl" "is_fd" "canfd" => "For example `kind = \"fd\"`";
        /// `true`: only remote frames. `false`: no remote frames. `"either"`: both.
        pub(super) rtr: TriState = TriState::Either => tri(), default "`\"either\"`",
            not "remote" "is_remote_frame" "remote_frame";
        /// `true`: only error frames of the controller. `false`: none of them. `"either"`: both.
        pub(super) error: TriState = TriState::No => tri(), default "`false`",
            not "err" "error_frame" "is_error_frame" "errors";
        /// Number of payload bytes, or a range.
        pub(super) length: Option<TomlValue<'t>> = None
            => later(|| ValueShape::Any(vec![ValueShape::Integer(0..=LONGEST), ValueShape::Text])),
            value "`8`, `\"2-8\"`", default "any", not "dlc" "len" "size" "can_dlc";
        /// Payload bytes that must match; see below.
        pub(super) payload: Option<TomlValue<'t>> = None
            => later(|| one_or_list(ValueShape::Table(PatternKeys::key_specs()))),
            value "table or list", default "none", not "data" "bytes";
        /// The end-to-end protection that the frames must have: the NAME of a table
        /// [`[e2e.NAME]`](#e2ename-end-to-end-protection). Frames with a wrong one are dropped, or
        /// counted and sent, by its `on_wrong`.
        pub(super) verify: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, spanned),
            value "name", default "none", not "e2e" "check" "e2e_check";
        /// The end-to-end protection that the frames get after all actions: the NAME of a table
        /// `[e2e.NAME]`.
        pub(super) protect: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, spanned),
            value "name", default "none", not "e2e_protect" "reprotect";
        /// What happens to the frame, in this order.
        pub(super) r#do: Option<TomlValue<'t>> = None => later(actions), default "",
            not "action" "actions" "modify" "modification" "change" "rewrite" "mod"
                => "For example `do = [{ set = { id = \"123\" } }]`";
    }
}

::config::settings! {
    /// The keys of `payload`.
    pub(super) struct PatternKeys<'t> {
        /// The position of the first byte, from 0.
        pub(super) at: Option<TomlValue<'t>> = None
            => later(|| ValueShape::Integer(0..=LONGEST - 1)), default "0";
        /// The bytes.
        pub(super) value: Option<Vec<u8>> = None => read::hex(), default "required", needed "";
        /// The bits to compare.
        pub(super) mask: Option<Vec<u8>> = None => read::hex(), default "all";
    }
}

/// Returns the keys of a route.
#[must_use]
pub fn keys() -> Vec<KeySpec> {
    RouteKeys::key_specs()
}

fn spanned(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<String>> {
    Some(value.string(found)?.map(ToOwned::to_owned))
}

fn actions() -> ValueShape {
    ValueShape::List(Box::new(ValueShape::OneKey(Action::keys())))
}
