//! `[tunnels.NAME]`: networks between two gateways.

use crate::tunnel::{DelayOrigin, LinkSpec, StatedDelay, TokenBucket};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use config::read::{self, by};
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape};
use core::ops::Range;
use frame::Nanos;

/// Maximum number of switches on the way.
const MAX_SWITCHES: u32 = 64;

/// Maximum number of bytes of a burst, or ahead of an urgent datagram.
const MAX_BYTES: u64 = 1_000_000_000;

config::settings! {
    /// The keys of a tunnel.
    struct TunnelKeys {
        /// The two ports of each association, as `"NEAR=FAR"`: one of each gateway file.
        ports: Vec<PortPair> = Vec::new() => by(shape_of_ports, ports),
            value "list of `\"PORT=PORT\"`", default "required",
            needed "add `ports = [\"to_far=to_near\"]`: a port of each gateway file",
            not "port" "ends" "between";
        /// The bit rate of its links, in each direction.
        rate: Option<u32> = None => read::bitrate(), value "bit rate",
            default "none: `measured` or `stated`", not "bitrate" "speed" "bandwidth" "link";
        /// The number of switches on the way.
        switches: u32 = 0 => read::integer(0..=MAX_SWITCHES), not "hops" "switch" "bridges";
        /// The longest time of a switch itself.
        switch_latency: Nanos = 0 => read::duration(), value "duration", default "0",
            not "latency" "forwarding_delay";
        /// The rate and the burst of other traffic on each link.
        others: Option<TokenBucket> = None => by(shape_of_bucket, bucket),
            value "`{ rate, burst }`", default "none", not "cross_traffic" "background" "other";
        /// The rate and the burst of a shaper of the tunnel.
        bucket: Option<TokenBucket> = None => by(shape_of_bucket, bucket),
            value "`{ rate, burst }`", default "none", not "token_bucket" "shaper" "tbf";
        /// If all queues serve urgent datagrams first: the most bytes of others ahead of one.
        urgent_behind: Option<u64> = None => read::integer(0..=MAX_BYTES),
            value "bytes", default "none: in order of arrival", not "priority" "behind";
        /// Bytes that the network adds to each datagram, such as those of a VPN.
        overhead: u64 = 0 => read::integer(0..=9_000_u64), value "bytes", default "0",
            not "vpn" "extra";
        /// The longest time that was measured in the rest of the network.
        measured: Option<Nanos> = None => read::duration(), value "duration", default "none",
            not "network" "delay" "observed";
        /// The longest time of the rest of the network by a promise.
        stated: Option<Nanos> = None => read::duration(), value "duration", default "none",
            not "promised" "assumed" "sla";
        /// The shortest time of the same.
        least: Nanos = 0 => read::duration(), value "duration", default "0",
            not "minimum" "shortest" "min";
        /// For ports with `delay`: the most by which the clocks are wrong.
        clock_error: Option<Nanos> = None => read::duration(), value "duration", default "none",
            not "clock" "drift" "sync";
    }
}

/// The ports of an association, by their names.
pub type PortPair = (String, String);

/// A network between two gateways, as the set describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewayTunnel {
    /// Its name.
    pub name: String,
    /// The ports, one of each gateway.
    pub ports: Vec<PortPair>,
    /// The part of the network that is proved.
    pub link: Option<LinkSpec>,
    /// Bytes that the network adds to each datagram.
    pub overhead: u64,
    /// The part that is not proved.
    pub stated: Option<StatedDelay>,
    /// The most by which the clocks of a play-out are wrong, ns.
    pub clock_error: Option<Nanos>,
}

fn shape_of_ports() -> ValueShape {
    ValueShape::List(alloc::boxed::Box::new(ValueShape::Text))
}

fn ports(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<PortPair>> {
    let mut pairs = Vec::new();
    for one in value.one_or_list() {
        let text = one.string(found)?;
        let pair = text.value.split_once('=');
        let pair = pair.map(|(near, far)| (near.trim(), far.trim()));
        match pair.filter(|(near, far)| !near.is_empty() && !far.is_empty() && near != far) {
            Some((near, far)) => pairs.push((near.to_owned(), far.to_owned())),
            None => {
                let hint = "write \"to_far=to_near\": a port of one gateway file, and the port of the other \
                            one that receives its datagrams";
                one.wrong(format!("`{}` names no two ports", text.value), hint, found);
            }
        }
    }
    Some(pairs)
}

fn shape_of_bucket() -> ValueShape {
    ValueShape::Any(Vec::new())
}

fn bucket(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<TokenBucket> {
    let mut table = value.table("{ rate, burst }", found)?;
    let rate = table
        .need("rate", found)
        .and_then(|rate| rate.bitrate(found));
    let burst = table.need("burst", found);
    let burst = burst.and_then(|burst| burst.size(found));
    table.finish(found);
    Some(TokenBucket {
        rate: u64::from(rate?.value),
        burst: burst?.value.min(MAX_BYTES),
    })
}

/// Reads a tunnel.
pub(super) fn parse(
    name: &str,
    mut table: TomlTable<'_>,
    place: Range<usize>,
    found: &mut Diagnostics,
) -> Option<GatewayTunnel> {
    let keys = TunnelKeys::read(&mut table, found);
    if keys.rate == Some(0) {
        let hint = "write \"100M\", or leave `rate` out and add `measured` or `stated`";
        table.wrong("rate", "a link without any rate", hint, found);
    }
    for key in [
        "switches",
        "switch_latency",
        "others",
        "bucket",
        "urgent_behind",
    ] {
        if table.has(key) && !table.has("rate") && !table.is_misnamed("rate") {
            let hint = "add `rate = \"100M\"`, the bit rate of its links";
            table.wrong(key, format!("`{key}` without `rate`"), hint, found);
        }
    }
    if table.has("measured") && table.has("stated") {
        let hint = "keep the larger one: the bound is conditional on it";
        table.wrong("stated", "both `measured` and `stated`", hint, found);
    }
    let stated = match (keys.measured, keys.stated) {
        (Some(most), _) => Some((most, DelayOrigin::Measured)),
        (None, most) => most.map(|most| (most, DelayOrigin::Stated)),
    };
    if table.has("least") && stated.is_none_or(|(most, _)| keys.least > most) {
        let hint = "it is the shortest time of `measured` or `stated`, and at most as long";
        table.wrong("least", "`least` is of no longer time", hint, found);
    }
    let is_known = ["rate", "measured", "stated"]
        .iter()
        .any(|key| table.has(key));
    if !is_known && !table.is_misnamed("rate") && !table.is_misnamed("measured") {
        let message = format!("nothing is known of the network of [tunnels.{name}]");
        let hint = "add `rate = \"100M\"`, from which a bound is proved, or `measured = \"5ms\"`, on which the \
                    bound is conditional";
        found.push(Diagnostic::error(place, message).hint(hint));
    }
    table.finish(found);
    Some(GatewayTunnel {
        name: name.to_owned(),
        ports: keys.ports,
        link: keys.rate.map(|rate| LinkSpec {
            rate: u64::from(rate),
            switches: keys.switches,
            switch_latency: keys.switch_latency,
            others: keys.others,
            bucket: keys.bucket,
            urgent_behind: keys.urgent_behind,
        }),
        overhead: keys.overhead,
        stated: stated.map(|(most, origin)| StatedDelay {
            least: keys.least,
            most,
            origin,
        }),
        clock_error: keys.clock_error,
    })
}
