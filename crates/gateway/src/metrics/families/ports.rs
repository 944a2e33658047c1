//! The metrics of ports.

use super::{Labels, family, parts, retired, sample};
use crate::metrics::text::{MetricFamily, MetricKind, MetricSample};
use crate::stats::GatewayStats;
use engine::{CounterDefinition, CounterRole, Fate, PortCount, PortRow, PortState, TxCounters};

/// Returns the keys of the fates, each with its explanation.
fn fates_in_words() -> String {
    let each = Fate::ALL.map(|fate| format!("{}: {}", fate.key(), fate.explanation()));
    each.join(" ")
}

/// Returns the family of a counter that has a metric of its own.
fn of_counter(counter: &CounterDefinition, rows: &[(&str, &PortCount)]) -> Option<MetricFamily> {
    let name = counter.metric?;
    let kind = match counter.role {
        CounterRole::Held | CounterRole::Measured => MetricKind::Gauge,
        _ => MetricKind::Counter,
    };
    let help = match counter.role {
        CounterRole::Taken => format!("{} {}.", counter.help(), TxCounters::equation()),
        _ => counter.help().to_owned(),
    };
    let samples = rows.iter().filter_map(|(port, count)| {
        let value = counter.get(count);
        match counter.role {
            CounterRole::Measured if value == 0 => None,
            CounterRole::Measured => Some(MetricSample {
                labels: label(port),
                value: value as f64 / 1e9,
            }),
            _ => Some(sample(label(port), value)),
        }
    });
    Some(family(name, kind, help, samples.collect()))
}

fn label(port: &str) -> Labels {
    vec![("port", port.to_owned())]
}

fn state(ports: &[PortRow]) -> MetricFamily {
    let states = [
        (PortState::Up, "up"),
        (PortState::Down, "down"),
        (PortState::Closed, "closed"),
        (PortState::Finished, "finished"),
        (PortState::Failed, "failed"),
    ];
    let samples = ports.iter().flat_map(|row| {
        states.map(|(state, word)| {
            let mut labels = label(&row.name);
            labels.push(("state", word.to_owned()));
            sample(labels, (row.count.state == state).into())
        })
    });
    family(
        "cangate_port_state",
        MetricKind::Gauge,
        "1 for the current state of the port. up: in service. down: it cannot receive at the \
         moment. closed: at the gateway's end. finished: its input has ended. failed: out of \
         service.",
        samples.collect(),
    )
}

pub(super) fn of_ports(stats: &GatewayStats, all: &mut Vec<MetricFamily>) {
    let process = &stats.process;
    let mut rows: Vec<(&str, &PortCount)> = process
        .ports
        .iter()
        .map(|row| (row.name.as_str(), &row.count))
        .collect();
    rows.extend(retired(&process.retired_ports));
    all.push(state(&process.ports));
    all.extend(PortCount::definitions().filter_map(|counter| of_counter(counter, &rows)));
    all.push(family(
        "cangate_port_fate_frames",
        MetricKind::Counter,
        format!(
            "Frames that the port handed over, by the one fate of each. {}",
            fates_in_words()
        ),
        parts("port", &rows, "fate", |c| {
            c.fates.iter().map(|(fate, n)| (fate.key(), n))
        }),
    ));
    all.push(family(
        "cangate_port_answers",
        MetricKind::Counter,
        "Copies offered to the port, by its answer. refused: its queue was full. down: it was down, gone or bus-off. \
         unsupported: it cannot carry such a frame.",
        parts("port", &rows, "answer", |c| c.copies.answers()),
    ));
    let mut faults = Vec::new();
    for (port, count) in &rows {
        let halves = [
            ("receive", &count.rx.faults),
            ("transmit", &count.tx.faults),
        ];
        for (half, counted) in halves.iter().filter(|(_, counted)| !counted.is_none()) {
            for (word, number) in counted.iter() {
                let mut labels = label(port);
                labels.extend([("half", (*half).to_owned()), ("fault", word.to_owned())]);
                faults.push(sample(labels, number));
            }
        }
    }
    all.push(family(
        "cangate_port_fault_frames",
        MetricKind::Counter,
        "Faults that were injected on purpose ([ports.NAME.faults]), one frame each.",
        faults,
    ));
}
