//! The metrics of ports.

use super::{answers, family, sample};
use crate::metrics::text::{MetricFamily, MetricKind, MetricSample};
use engine::{Fate, FaultCounters, PortCount, PortRow, PortState};

/// A name, the meaning, and a function that reads the number.
type Counter = (&'static str, &'static str, fn(&PortCount) -> u64);

const fn faults(faults: &FaultCounters) -> [(&'static str, u64); 4] {
    [
        ("dropped", faults.dropped),
        ("duplicated", faults.duplicated),
        ("corrupted", faults.corrupted),
        ("refused", faults.refused),
    ]
}

/// Returns the keys of the fates, each with its explanation.
fn fates_in_words() -> String {
    let each = Fate::ALL.map(|fate| format!("{}: {}", fate.key(), fate.explanation()));
    each.join(" ")
}

pub(super) fn of_ports(rows: &[PortRow], all: &mut Vec<MetricFamily>) {
    let port = |row: &PortRow| ("port", row.name.clone());
    let each = |number: fn(&PortCount) -> u64| -> Vec<MetricSample> {
        rows.iter()
            .map(|row| sample(vec![port(row)], number(&row.count)))
            .collect()
    };
    let states = [
        (PortState::Up, "up"),
        (PortState::Down, "down"),
        (PortState::Closed, "closed"),
        (PortState::Finished, "finished"),
        (PortState::Failed, "failed"),
    ];
    let in_service = rows.iter().filter(|row| row.name != "(retired)");
    all.push(family(
        "cangate_port_state",
        MetricKind::Gauge,
        "",
        "1 for the state that the port is in. up: in service. down: nothing can come in at the moment. closed: at the \
         gateway's end. finished: its input has ended. failed: out of service.",
        in_service
            .flat_map(|row| {
                states.map(|(state, word)| {
                    let labels = vec![port(row), ("state", word.to_owned())];
                    sample(labels, (row.count.state == state).into())
                })
            })
            .collect(),
    ));
    let counters: [Counter; 13] = [
        (
            "cangate_port_received_frames",
            "Frames that the port handed over.",
            |c| c.received,
        ),
        (
            "cangate_port_taken_frames",
            "Frames that the port took to send. taken = sent + lost + expired + displaced + held.",
            |c| c.tx.taken,
        ),
        ("cangate_port_sent_frames", "Frames that have left.", |c| {
            c.tx.sent
        }),
        (
            "cangate_port_lost_frames",
            "Frames that were taken and then lost: the interface is gone or down, bus-off, one-shot.",
            |c| c.tx.lost,
        ),
        (
            "cangate_port_expired_frames",
            "Frames that were taken and dropped, because they had waited as long as `max_age` allows.",
            |c| c.tx.expired,
        ),
        (
            "cangate_port_displaced_frames",
            "Frames that were taken and dropped, because the queue was full and a newer one got the place.",
            |c| c.tx.displaced,
        ),
        (
            "cangate_port_stalls",
            "Times that the other side had no room, and the frame was kept.",
            |c| c.tx.stalled,
        ),
        (
            "cangate_port_overrun_frames",
            "Frames lost before the gateway saw them, because a receive queue was full; an overflow of the controller counts once.",
            |c| c.rx.overrun,
        ),
        (
            "cangate_port_malformed_inputs",
            "Input that was no frame.",
            |c| c.rx.malformed,
        ),
        (
            "cangate_port_error_frames",
            "Error frames of the controller that were seen and not handed on.",
            |c| c.rx.error_frames,
        ),
        (
            "cangate_port_reopenings",
            "How often the port was lost and taken up again.",
            |c| c.rx.reopened,
        ),
        (
            "cangate_port_local_frames",
            "Received frames that programs on this machine sent, where the port can tell.",
            |c| c.rx.local,
        ),
        (
            "cangate_port_copies",
            "Copies of frames that routes offered to the port.",
            |c| c.copies.offered,
        ),
    ];
    for (name, help, number) in counters {
        let unit = if name.ends_with("_frames") {
            "frames"
        } else {
            ""
        };
        all.push(family(name, MetricKind::Counter, unit, help, each(number)));
    }
    all.push(family(
        "cangate_port_held_frames",
        MetricKind::Gauge,
        "frames",
        "Frames that the port has taken and that wait.",
        each(|c| c.tx.held),
    ));
    let by = |of: &dyn Fn(&PortCount) -> Vec<(&'static str, u64)>, label: &'static str| {
        let mut samples = Vec::new();
        for row in rows {
            for (word, number) in of(&row.count) {
                samples.push(sample(vec![port(row), (label, word.to_owned())], number));
            }
        }
        samples
    };
    all.push(family(
        "cangate_port_fate_frames",
        MetricKind::Counter,
        "frames",
        format!(
            "Frames that the port handed over, by the one end that each came to. {}",
            fates_in_words()
        ),
        by(
            &|c| c.fates.iter().map(|(fate, n)| (fate.key(), n)).collect(),
            "fate",
        ),
    ));
    all.push(family(
        "cangate_port_answers",
        MetricKind::Counter,
        "",
        "Copies offered to the port, by its answer. refused: its queue was full. down: it was down, gone or bus-off. \
         unsupported: it cannot carry such a frame.",
        by(&|c| answers(&c.copies).to_vec(), "answer"),
    ));
    let mut purposes = Vec::new();
    for row in rows {
        let halves = [
            ("receive", &row.count.rx.faults),
            ("transmit", &row.count.tx.faults),
        ];
        for (half, counted) in halves.iter().filter(|(_, counted)| !counted.is_none()) {
            for (word, number) in faults(counted) {
                let labels = vec![
                    port(row),
                    ("half", (*half).to_owned()),
                    ("fault", word.to_owned()),
                ];
                purposes.push(sample(labels, number));
            }
        }
    }
    all.push(family(
        "cangate_port_fault_frames",
        MetricKind::Counter,
        "frames",
        "Frames with which something was made to go wrong on purpose ([ports.NAME.faults]).",
        purposes,
    ));
}
