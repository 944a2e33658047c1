//! The names that users of can-gw, python-can and firewalls write instead of the keys of a route.

use ::config::KeyMisnomer;

/// Names of tables that are intended as `[[routes]]`.
pub(super) const FOR_ROUTES: [&str; 5] = ["route", "rule", "rules", "routing", "forward"];

/// Names for the keys of `[[routes]]`.
pub(super) const ROUTE: &[KeyMisnomer] = &[
    KeyMisnomer::of("name", &["title", "label", "description", "comment"]),
    KeyMisnomer::of(
        "from",
        &[
            "source",
            "src",
            "in",
            "input",
            "iif",
            "ingress",
            "from_port",
            "input_port",
            "src_if",
            "rx",
        ],
    ),
    KeyMisnomer::of(
        "to",
        &[
            "destination",
            "dest",
            "dst",
            "out",
            "output",
            "oif",
            "egress",
            "to_port",
            "output_port",
            "dst_if",
            "tx",
            "target",
        ],
    ),
    KeyMisnomer::of(
        "limit",
        &[
            "rate",
            "rate_limit",
            "ratelimit",
            "max_rate",
            "limits",
            "throttle",
            "hz",
        ],
    )
    .hint("For example `limit = \"100/s\"`"),
    KeyMisnomer::of(
        "id",
        &[
            "can_id",
            "canid",
            "arbitration_id",
            "identifier",
            "ids",
            "can_ids",
            "match",
        ],
    )
    .hint("For example `id = \"123\"`"),
    KeyMisnomer::of("id", &["mask", "can_mask", "id_mask", "range", "id_range"])
        .hint("A mask follows the ID, `id = \"123:7FF\"`, and a range is `id = \"100-1FF\"`"),
    KeyMisnomer::of("id", &["extended", "is_extended_id", "eff", "ext", "sff"])
        .hint("Eight digits make an EFF ID: `id = \"00000123\"`"),
    KeyMisnomer::of("filter", &["filters", "can_filter", "can_filters"]),
    KeyMisnomer::of("length", &["dlc", "len", "size", "can_dlc"]),
    KeyMisnomer::of("payload", &["data", "bytes"]),
    KeyMisnomer::of("rtr", &["remote", "is_remote_frame", "remote_frame"]),
    KeyMisnomer::of("error", &["err", "error_frame", "is_error_frame", "errors"]),
    KeyMisnomer::of("kind", &["type", "format", "frame_type"])
        .hint("It is \"classic\", \"fd\" or \"xl\""),
    KeyMisnomer::of("kind", &["fd", "classic", "xl", "is_fd", "canfd"])
        .hint("For example `kind = \"fd\"`"),
    KeyMisnomer::of("drop", &["deny", "block", "reject", "discard", "ignore"])
        .hint("Write `drop = true`"),
    KeyMisnomer::of("hop_limit", &["hops", "max_hops", "ttl", "limit_hops"]),
    KeyMisnomer::of("echo", &["loopback", "local"]),
    KeyMisnomer::of("keep_stamp", &["timestamp", "keep_timestamp", "src_tstamp"]),
    KeyMisnomer::of("allow_same_port", &["same_port", "iif_tx_ok", "loop"]),
    KeyMisnomer::of(
        "do",
        &[
            "action",
            "actions",
            "modify",
            "modification",
            "change",
            "rewrite",
            "mod",
        ],
    )
    .hint("For example `do = [{ set = { id = \"123\" } }]`"),
];

/// Names for the keys of `limit`.
pub(super) const LIMIT: &[KeyMisnomer] = &[
    KeyMisnomer::of(
        "rate",
        &["frames", "limit", "hz", "per_second", "max", "fps", "count"],
    )
    .hint("For example `rate = \"100/s\"`"),
    KeyMisnomer::of("burst", &["bucket", "bucket_size", "burst_size"]),
    KeyMisnomer::of("per_id", &["each_id", "by_id", "ids", "max_ids"]),
];
