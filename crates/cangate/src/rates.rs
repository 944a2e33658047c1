//! The rates of a gateway's counters: the difference between two readings.

use crate::counters;
use engine::{CounterDefinition, CounterRole, PortCount, RouteCount};
use gateway::{GatewayStats, InterfaceRow, KernelRow};
use serde_json::{Value, json};
use std::time::Duration;

/// Frames per second; `None` if it is not known: there was no port or route of this name before, or
/// its counter started anew.
pub(crate) type Rate = Option<f64>;

/// The rates of a port.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PortRate {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    /// Frames that came in.
    pub(crate) received: Rate,
    /// Frames that left.
    pub(crate) sent: Rate,
    /// Error frames and bad input.
    pub(crate) errors: Rate,
    /// Frames and copies that were lost here, without bad input, which is among the errors.
    pub(crate) lost: Rate,
    /// Frames that wait; `None` if only the kernel serves the port.
    pub(crate) held: Option<u64>,
    /// The least load of its bus, 0 to 1: the share of time for which frames occupied it, without
    /// stuff bits. `None` if the bit rate or the frames are not known.
    pub(crate) load: Option<f64>,
}

/// The rates of a route.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RouteRate {
    pub(crate) name: String,
    /// The data path in which it runs: `process`, or the name of one in the kernel.
    pub(crate) by: String,
    /// Its first messages, by the databases of the gateway file; empty if it has none.
    pub(crate) messages: String,
    /// Frames that it took.
    pub(crate) taken: Rate,
    /// Copies that ports accepted.
    pub(crate) sent: Rate,
    /// Frames that it stopped: by rule, rate, hop limit, length, ID.
    pub(crate) stopped: Rate,
    /// Copies that were refused or undeliverable.
    pub(crate) lost: Rate,
}

/// All of a gateway's rates.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct GatewayRates {
    /// The time over which they were measured.
    pub(crate) over: Duration,
    pub(crate) ports: Vec<PortRate>,
    pub(crate) routes: Vec<RouteRate>,
}

impl GatewayRates {
    /// Returns the rates between two readings, which are `over` apart.
    pub(crate) fn between(before: &GatewayStats, now: &GatewayStats, over: Duration) -> Self {
        // A restarted gateway has counted for a shorter time.
        let anew = now.process.at_ns < before.process.at_ns;
        let before = if anew {
            &GatewayStats::default()
        } else {
            before
        };
        let over_all = if anew { Duration::ZERO } else { over };
        let ports = now.process.ports.iter().map(|row| {
            let then = before.process.port(&row.name);
            let rate = |part: &dyn Fn(&PortCount) -> u64| {
                rate(then.map(part), Some(part(&row.count)), over_all)
            };
            PortRate {
                name: row.name.clone(),
                state: counters::state(row, &now.interfaces),
                received: rate(&|c| c.received),
                sent: rate(&|c| c.tx.sent),
                errors: rate(&sum(|counter| counter.is_error)),
                lost: rate(&sum(|counter| {
                    counter.role == CounterRole::Lost && !counter.is_error
                })),
                held: Some(row.count.tx.held),
                load: load(before, now, &row.name, over_all),
            }
        });
        let in_kernel = now.interfaces.iter().filter(|row| row.in_kernel);
        let in_kernel = in_kernel.map(|row| {
            let then = before.interfaces.iter().find(|old| old.port == row.port);
            let rate = |part: fn(&InterfaceRow) -> Option<u64>| {
                rate(then.and_then(part), part(row), over_all)
            };
            PortRate {
                name: row.port.clone(),
                state: row.state.map_or("unknown", |state| state.words()),
                received: rate(|row| row.received),
                sent: rate(|row| row.sent),
                errors: None,
                lost: rate(|row| Some(row.receive_dropped? + row.send_dropped?)),
                held: None,
                load: load(before, now, &row.port, over_all),
            }
        });
        let messages = |route: &str| {
            let found = now.messages.iter().find(|one| one.route == route);
            found.map_or_else(String::new, |one| one.messages.clone())
        };
        let routes = now.process.routes.iter().map(|row| {
            let rate = |part: fn(&RouteCount) -> u64| {
                let then = before.process.route(&row.name).map(part);
                rate(then, Some(part(&row.count)), over_all)
            };
            RouteRate {
                name: row.name.clone(),
                by: "process".to_owned(),
                messages: messages(&row.name),
                taken: rate(|c| c.taken),
                sent: rate(|c| c.copies.accepted),
                stopped: rate(|c| number(c.stopped.total())),
                lost: rate(|c| c.copies.refused + number(c.copies.undeliverable())),
            }
        });
        let kernel = now.kernel.iter().flat_map(|part| {
            let old = before.kernel.iter().find(|old| old.how == part.how);
            part.routes.iter().map(move |row| {
                let then = old.and_then(|old| old.routes.iter().find(|old| old.name == row.name));
                let rate = |part: fn(&KernelRow) -> Option<u64>| {
                    rate(then.and_then(part), part(row), over_all)
                };
                RouteRate {
                    name: row.name.clone(),
                    by: part.how.clone(),
                    messages: messages(&row.name),
                    taken: rate(|row| row.taken),
                    sent: rate(|row| Some(row.sent)),
                    stopped: rate(|row| Some(number(row.stopped.total()))),
                    lost: rate(|row| Some(row.failed)),
                }
            })
        });
        Self {
            over,
            ports: ports.chain(in_kernel).collect(),
            routes: routes.chain(kernel).collect(),
        }
    }

    /// Returns whether the load of a bus is known.
    pub(crate) fn has_loads(&self) -> bool {
        self.ports.iter().any(|port| port.load.is_some())
    }

    /// Returns the rates for programs: frames per second, and loads from 0 to 1; `null` if not
    /// known.
    pub(crate) fn json(&self) -> Value {
        let ports = self.ports.iter().map(|row| {
            json!({
                "name": row.name, "state": row.state, "received": row.received,
                "sent": row.sent, "errors": row.errors, "lost": row.lost, "held": row.held,
                "load": row.load,
            })
        });
        let routes = self.routes.iter().map(|row| {
            json!({
                "name": row.name, "by": row.by, "messages": row.messages, "taken": row.taken,
                "sent": row.sent, "stopped": row.stopped, "lost": row.lost,
            })
        });
        json!({
            "over_ns": u64::try_from(self.over.as_nanos()).unwrap_or(u64::MAX),
            "ports": ports.collect::<Vec<_>>(),
            "routes": routes.collect::<Vec<_>>(),
        })
    }
}

/// Returns a function for the sum of a port's counters that `which` selects.
fn sum(which: fn(&CounterDefinition) -> bool) -> impl Fn(&PortCount) -> u64 {
    move |count| {
        let counters = PortCount::definitions().filter(|counter| which(counter));
        number(counters.map(|counter| u128::from(counter.get(count))).sum())
    }
}

fn number(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

fn rate(before: Option<u64>, now: Option<u64>, over: Duration) -> Rate {
    let more = now?.checked_sub(before?)?;
    (!over.is_zero()).then(|| more as f64 / over.as_secs_f64())
}

/// Bits of the shortest frame, without data and stuff bits: SFF, intermission included.
const SHORTEST_FRAME: f64 = 47.0;

/// Returns [`PortRate::load`]. Two bounds are known; the higher one holds:
///
/// * the bits of the frames that the gateway received and sent, which are not all frames of the bus
///   if the kernel filters them;
/// * on a bus without a data phase, those of all frames that its interface counted, as if they were
///   SFF frames.
fn load(before: &GatewayStats, now: &GatewayStats, port: &str, over: Duration) -> Option<f64> {
    let find = |stats: &GatewayStats| {
        let mut rows = stats.interfaces.iter();
        rows.find(|row| row.port == port).cloned()
    };
    let (then, row) = (find(before)?, find(now)?);
    let nominal = f64::from(row.bitrate?);
    let data = row.data_bitrate.map_or(nominal, f64::from);
    let bits = |part: fn(&PortCount) -> u64| {
        let count = |stats: &GatewayStats| stats.process.port(port).map(part);
        rate(count(before), count(now), over)
    };
    let own = bits(|port| port.rx.bits + port.tx.bits)
        .zip(bits(|port| port.rx.data_bits + port.tx.data_bits))
        .map(|(slow, fast)| slow / nominal + fast / data);
    let of_interface = |part: fn(&InterfaceRow) -> Option<u64>| rate(part(&then), part(&row), over);
    let frames = of_interface(|row| Some(row.received? + row.sent?));
    let bytes = of_interface(|row| Some(row.received_bytes? + row.sent_bytes?));
    let all = frames.zip(bytes);
    let all = all.map(|(frames, bytes)| (SHORTEST_FRAME * frames + 8.0 * bytes) / nominal);
    let all = all.filter(|_| row.data_bitrate.is_none());
    [own, all].into_iter().flatten().reduce(f64::max)
}

/// Formats a load for a column, in percent.
pub(crate) fn percent(load: Option<f64>) -> String {
    load.map_or_else(|| "?".to_owned(), |load| words(Some(load * 100.0)))
}

/// Formats a rate for a column: a dot for zero, `?` if it is not known, tenths only for small
/// rates.
pub(crate) fn words(rate: Rate) -> String {
    match rate {
        None => "?".to_owned(),
        Some(0.0) => "·".to_owned(),
        Some(few) if few < 9.95 => format!("{few:.1}"),
        Some(many) => format!("{many:.0}"),
    }
}

#[cfg(test)]
mod tests;
