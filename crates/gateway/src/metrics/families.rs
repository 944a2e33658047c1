//! All metric families: every number of [`GatewayStats`].

mod ports;

use super::text::{MetricFamily, MetricKind, MetricSample};
use crate::stats::{GatewayStats, InterfaceRow, KernelRow, NOT_ASKED_FOR};
use engine::{LinkState, RouteCount, Verifications};

/// A name, the meaning, and a function that reads the number.
type Counter = (&'static str, &'static str, fn(&InterfaceRow) -> Option<u64>);

type Labels = Vec<(&'static str, String)>;

fn sample(labels: Labels, value: u64) -> MetricSample {
    // Exact up to 2^53: 28 years at a million frames a second.
    let value = value as f64;
    MetricSample { labels, value }
}

fn family(
    name: &'static str,
    kind: MetricKind,
    help: impl Into<String>,
    samples: Vec<MetricSample>,
) -> MetricFamily {
    let help = help.into();
    MetricFamily {
        name,
        kind,
        help,
        samples,
    }
}

/// Returns the sums of what reloads removed, with the value of their label, so that sums over all
/// labels still add up; `None` if nothing was counted.
fn retired<C: Default + PartialEq>(count: &C) -> Option<(&'static str, &C)> {
    (*count != C::default()).then_some(("(retired)", count))
}

/// Returns a sample for each part of each row, with two labels: `of` is the row's name, `by` the
/// part's key.
fn parts<'c, C, P: Iterator<Item = (&'static str, u64)>>(
    of: &'static str,
    rows: &[(&str, &'c C)],
    by: &'static str,
    parts: impl Fn(&'c C) -> P,
) -> Vec<MetricSample> {
    let mut samples = Vec::new();
    for &(name, count) in rows {
        for (key, number) in parts(count) {
            let labels = vec![(of, name.to_owned()), (by, key.to_owned())];
            samples.push(sample(labels, number));
        }
    }
    samples
}

/// Returns the counter of the metrics server itself.
pub(super) fn slow_clients(number: u64) -> MetricFamily {
    family(
        "cangate_metrics_slow_clients",
        MetricKind::Counter,
        "Clients of the metrics that were disconnected because they took too long.",
        vec![sample(vec![], number)],
    )
}

pub(super) fn families(stats: &GatewayStats, version: &str) -> Vec<MetricFamily> {
    let mut all = vec![
        family(
            "cangate_build_info",
            MetricKind::Gauge,
            "The program: always 1.",
            vec![sample(vec![("version", version.to_owned())], 1)],
        ),
        family(
            "cangate_uptime_seconds",
            MetricKind::Gauge,
            "Time since the gateway's start.",
            vec![MetricSample {
                labels: vec![],
                value: stats.uptime_ns as f64 / 1e9,
            }],
        ),
        family(
            "cangate_last_step_timestamp_seconds",
            MetricKind::Gauge,
            "When the worker took its last step, as Unix time by the wall clock of the gateway's start.",
            vec![MetricSample {
                labels: vec![],
                value: stats.process.at_ns as f64 / 1e9,
            }],
        ),
        family(
            "cangate_reloads",
            MetricKind::Counter,
            "Reloads since the gateway's start.",
            vec![sample(vec![], stats.process.reloads)],
        ),
    ];
    ports::of_ports(stats, &mut all);
    of_routes(stats, &mut all);
    of_kernel(stats, &mut all);
    of_interfaces(&stats.interfaces, &mut all);
    all
}

fn of_routes(stats: &GatewayStats, all: &mut Vec<MetricFamily>) {
    let routes = stats.process.routes.iter();
    let mut rows: Vec<(&str, &RouteCount)> =
        routes.map(|row| (row.name.as_str(), &row.count)).collect();
    rows.extend(retired(&stats.process.retired_routes));
    let each = |number: fn(&RouteCount) -> u64| -> Vec<MetricSample> {
        rows.iter()
            .map(|(route, count)| sample(vec![("route", (*route).to_owned())], number(count)))
            .collect()
    };
    all.push(family(
        "cangate_route_taken_frames",
        MetricKind::Counter,
        "Frames that the route took. taken = forwarded + stopped.",
        each(|count| count.taken),
    ));
    all.push(family(
        "cangate_route_forwarded_frames",
        MetricKind::Counter,
        "Frames of which the route made copies.",
        each(|count| count.forwarded),
    ));
    all.push(family(
        "cangate_route_stopped_frames",
        MetricKind::Counter,
        "Frames that the route took and did not send, by reason.",
        parts("route", &rows, "reason", |count| {
            count.stopped.iter().map(|(why, n)| (why.key(), n))
        }),
    ));
    let routes = stats.process.routes.iter();
    let mut checked: Vec<(&str, &Verifications)> = routes
        .filter(|row| !row.e2e.is_zero())
        .map(|row| (row.name.as_str(), &row.e2e))
        .collect();
    checked.extend(retired(&stats.process.retired_verifications));
    all.push(family(
        "cangate_route_e2e_frames",
        MetricKind::Counter,
        "Frames whose end-to-end protection the route checked, by the result.",
        parts("route", &checked, "result", |count| {
            count.iter().map(|(kind, n)| (kind.name(), n))
        }),
    ));
    all.push(family(
        "cangate_route_copies",
        MetricKind::Counter,
        "Copies of frames that the route offered to ports.",
        each(|count| count.copies.offered),
    ));
    all.push(family(
        "cangate_route_answers",
        MetricKind::Counter,
        "Copies that the route made, by the answer of the destination.",
        parts("route", &rows, "answer", |count| count.copies.answers()),
    ));
}

fn of_kernel(stats: &GatewayStats, all: &mut Vec<MetricFamily>) {
    let rows = || {
        let parts = stats.kernel.iter();
        parts.flat_map(|part| part.routes.iter().map(move |row| (&part.how, row)))
    };
    let labels =
        |how: &str, row: &KernelRow| vec![("route", row.name.clone()), ("path", how.to_owned())];
    let each = |number: fn(&KernelRow) -> Option<u64>| -> Vec<MetricSample> {
        rows()
            .filter_map(|(how, row)| Some(sample(labels(how, row), number(row)?)))
            .collect()
    };
    all.push(family(
        "cangate_kernel_route_taken_frames",
        MetricKind::Counter,
        "Frames that a route in the kernel took. can-gw does not count all of them, so its routes have no number.",
        each(|row| row.taken),
    ));
    all.push(family(
        "cangate_kernel_route_sent_frames",
        MetricKind::Counter,
        "Copies that a route in the kernel made and an outgoing interface took.",
        each(|row| Some(row.sent)),
    ));
    all.push(family(
        "cangate_kernel_route_failed_frames",
        MetricKind::Counter,
        "Copies that an outgoing interface did not take.",
        each(|row| Some(row.failed)),
    ));
    let restored = stats.kernel.iter();
    all.push(family(
        "cangate_kernel_restored",
        MetricKind::Counter,
        "Rules or programs that another process removed from the kernel and that the gateway put back. Frames that came in between were not routed.",
        restored
            .map(|part| sample(vec![("path", part.how.clone())], part.restored))
            .collect(),
    ));
    let mut stopped = Vec::new();
    for (how, row) in rows() {
        for (why, number) in row.stopped.iter() {
            let mut labels = labels(how, row);
            labels.push(("reason", why.key().to_owned()));
            stopped.push(sample(labels, number));
        }
    }
    all.push(family(
        "cangate_kernel_route_stopped_frames",
        MetricKind::Counter,
        "Frames that a route in the kernel took and did not send, by reason.",
        stopped,
    ));
}

/// The states of an interface on its bus, with the words for the labels.
const LINK_STATES: [(LinkState, &str); 6] = [
    (LinkState::Up, "up"),
    (LinkState::ErrorWarning, "error_warning"),
    (LinkState::ErrorPassive, "error_passive"),
    (LinkState::BusOff, "bus_off"),
    (LinkState::Down, "down"),
    (LinkState::Gone, "gone"),
];

fn link_states(rows: &[InterfaceRow]) -> MetricFamily {
    let of = |row: &InterfaceRow| {
        let (port, interface) = (row.port.clone(), row.interface.clone());
        // There is no state where the kernel could not be asked.
        row.state.map(|now| {
            LINK_STATES.map(|(state, word)| {
                let labels = vec![
                    ("port", port.clone()),
                    ("interface", interface.clone()),
                    ("state", word.to_owned()),
                ];
                sample(labels, (state == now).into())
            })
        })
    };
    family(
        "cangate_interface_state",
        MetricKind::Gauge,
        "1 for the current state of the interface and its controller: up (error-active), \
         error_warning, error_passive, bus_off, down, gone.",
        rows.iter().filter_map(of).flatten().collect(),
    )
}

fn of_interfaces(rows: &[InterfaceRow], all: &mut Vec<MetricFamily>) {
    all.push(link_states(rows));
    let each = |number: fn(&InterfaceRow) -> Option<u64>| -> Vec<MetricSample> {
        let labels = |row: &InterfaceRow| {
            vec![
                ("port", row.port.clone()),
                ("interface", row.interface.clone()),
            ]
        };
        rows.iter()
            .filter_map(|row| Some(sample(labels(row), number(row)?)))
            .collect()
    };
    let counters: [Counter; 14] = [
        (
            "cangate_interface_received_frames",
            "Frames that the port's Linux interface received, of all programs, since the port was opened.",
            |row| row.received,
        ),
        (
            "cangate_interface_sent_frames",
            "Frames that the interface sent, of all programs.",
            |row| row.sent,
        ),
        (
            "cangate_interface_receive_dropped_frames",
            "Frames received for which the kernel had no room.",
            |row| row.receive_dropped,
        ),
        (
            "cangate_interface_send_dropped_frames",
            "Frames that the interface did not take.",
            |row| row.send_dropped,
        ),
        (
            "cangate_interface_not_asked_for_frames",
            NOT_ASKED_FOR.explanation,
            |row| row.not_asked_for,
        ),
        (
            "cangate_interface_received_bytes",
            "Payload of the frames that the interface received, of all programs.",
            |row| row.received_bytes,
        ),
        (
            "cangate_interface_sent_bytes",
            "Payload of the frames that the interface sent, of all programs.",
            |row| row.sent_bytes,
        ),
        (
            "cangate_interface_receive_errors",
            "Errors that the driver counted on receiving.",
            |row| row.receive_errors,
        ),
        (
            "cangate_interface_send_errors",
            "Errors that the driver counted on sending.",
            |row| row.send_errors,
        ),
        (
            "cangate_controller_bus_errors",
            "Errors on the bus, where the controller's driver reports each (`berr-reporting on`).",
            |row| Some(row.controller?.bus_errors),
        ),
        (
            "cangate_controller_error_passive",
            "Times that the controller became error-passive.",
            |row| Some(row.controller?.error_passive),
        ),
        (
            "cangate_controller_bus_off",
            "Times that the controller went bus-off.",
            |row| Some(row.controller?.bus_off),
        ),
        (
            "cangate_controller_arbitration_lost",
            "Arbitrations lost, where the controller's driver reports each.",
            |row| Some(row.controller?.arbitration_lost),
        ),
        (
            "cangate_controller_restarts",
            "Times that the controller was restarted after bus-off.",
            |row| Some(row.controller?.restarts),
        ),
    ];
    for (name, help, number) in counters {
        all.push(family(name, MetricKind::Counter, help, each(number)));
    }
    let gauges: [Counter; 4] = [
        (
            "cangate_interface_bitrate",
            "Nominal bit rate of the interface's controller, bit/s.",
            |row| row.bitrate.map(u64::from),
        ),
        (
            "cangate_interface_data_bitrate",
            "Bit rate of the controller's data phase, bit/s, if it is set up for FD frames.",
            |row| row.data_bitrate.map(u64::from),
        ),
        (
            "cangate_controller_transmit_error_counter",
            "Current transmit error counter (TEC) of the controller: from 96 on error-warning, \
             from 128 on error-passive.",
            |row| Some(row.controller?.transmit_errors),
        ),
        (
            "cangate_controller_receive_error_counter",
            "Current receive error counter (REC) of the controller.",
            |row| Some(row.controller?.receive_errors),
        ),
    ];
    for (name, help, number) in gauges {
        all.push(family(name, MetricKind::Gauge, help, each(number)));
    }
}
