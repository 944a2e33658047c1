//! Metrics as text.

use super::families::families;
use crate::stats::GatewayStats;
use std::fmt::Write as _;

/// The format of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextForm {
    /// Prometheus's text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0: with units and an end marker.
    OpenMetrics,
}

impl TextForm {
    /// Returns the media type of an answer in this form.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The kind of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetricKind {
    /// A number that only grows, from the gateway's start on.
    Counter,
    /// A number that shows the present state.
    Gauge,
}

/// A number with its labels.
pub(super) struct MetricSample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

/// Numbers of one name.
pub(super) struct MetricFamily {
    /// The name, without `_total`. It ends with the unit, if it has one.
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    pub(super) help: String,
    pub(super) samples: Vec<MetricSample>,
}

/// Renders all counters as text. `version` is the version of the program.
#[must_use]
pub fn render(stats: &GatewayStats, version: &str, form: TextForm) -> String {
    render_with(stats, version, None, form)
}

/// Renders all counters, with the counter of the metrics server: clients that it disconnected
/// because they were slow.
pub(super) fn render_with(
    stats: &GatewayStats,
    version: &str,
    slow_clients: Option<u64>,
    form: TextForm,
) -> String {
    let mut text = String::new();
    let mut all = families(stats, version);
    all.extend(slow_clients.map(super::families::slow_clients));
    for family in all {
        if !family.samples.is_empty() {
            write(&mut text, &family, form);
        }
    }
    if form == TextForm::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

impl MetricFamily {
    /// Returns the unit of what is counted; empty if it has none.
    fn unit(&self) -> &'static str {
        let units = ["frames", "bytes", "bits", "seconds"];
        let last = self.name.rsplit('_').next();
        units
            .into_iter()
            .find(|unit| last == Some(unit))
            .unwrap_or_default()
    }
}

fn write(text: &mut String, family: &MetricFamily, form: TextForm) {
    let (name, unit) = (family.name, family.unit());
    let (kind, ending) = match family.kind {
        MetricKind::Counter => ("counter", "_total"),
        MetricKind::Gauge => ("gauge", ""),
    };
    // In the older format the ending is a part of the name.
    let of_name = match form {
        TextForm::Prometheus => ending,
        TextForm::OpenMetrics => "",
    };
    let help = escaped(&family.help, form == TextForm::OpenMetrics);
    // Writing to a string does not fail.
    let _ = writeln!(text, "# HELP {name}{of_name} {help}");
    let _ = writeln!(text, "# TYPE {name}{of_name} {kind}");
    if form == TextForm::OpenMetrics && !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    for sample in &family.samples {
        let _ = write!(text, "{name}{ending}");
        for (i, (label, value)) in sample.labels.iter().enumerate() {
            let before = if i == 0 { '{' } else { ',' };
            let _ = write!(text, "{before}{label}=\"{}\"", escaped(value, true));
        }
        let end = if sample.labels.is_empty() { "" } else { "}" };
        let _ = writeln!(text, "{end} {}", sample.value);
    }
}

/// Escapes backslashes, line ends and, if `quotes` is set, quotes.
fn escaped(value: &str, quotes: bool) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{ControllerRow, InterfaceRow, KernelPart, KernelRow};
    use engine::{CounterSnapshot, PortRow, PortState, RouteRow};
    use proptest::prelude::*;
    use serde_json::Value;

    /// Returns counters with one row of each kind.
    fn one_of_each() -> GatewayStats {
        let mut port = PortRow::default();
        port.count.state = PortState::Finished;
        // Fields that JSON leaves out while they are zero.
        port.count.rx.local = 1;
        port.count.rx.faults.dropped = 1;
        port.count.tx.faults.dropped = 1;
        let mut retired_ports = port.count;
        retired_ports.received = 1;
        let some = Some(0);
        GatewayStats {
            process: CounterSnapshot {
                ports: vec![port],
                routes: vec![RouteRow::default()],
                retired_ports,
                ..CounterSnapshot::default()
            },
            kernel: vec![KernelPart {
                how: "bpf".into(),
                restored: 1,
                routes: vec![KernelRow {
                    taken: some,
                    ..KernelRow::default()
                }],
            }],
            uptime_ns: 1,
            interfaces: vec![InterfaceRow {
                state: Some(engine::LinkState::ErrorPassive),
                received: some,
                sent: some,
                receive_dropped: some,
                send_dropped: some,
                not_asked_for: some,
                received_bytes: some,
                sent_bytes: some,
                receive_errors: some,
                send_errors: some,
                bitrate: Some(0),
                data_bitrate: Some(0),
                controller: Some(ControllerRow::default()),
                ..InterfaceRow::default()
            }],
            messages: Vec::new(),
        }
    }

    /// Gives each number a different value. `reported` is a number of its own only if there is a
    /// mistake in cangate.
    fn number(value: &mut Value, next: &mut u64, all: &mut Vec<u64>) {
        match value {
            Value::Number(n) => {
                *next += 1;
                *n = (*next).into();
                all.push(*next);
            }
            Value::Array(list) => list.iter_mut().for_each(|v| number(v, next, all)),
            Value::Object(map) => {
                for (key, value) in map {
                    if key == "at_ns" {
                        *value = 1_700_000_000_500_000_000_u64.into();
                    } else if key == "uptime_ns" {
                        *value = 2_500_000_000_u64.into();
                    } else if key != "reported" {
                        number(value, next, all);
                    }
                }
            }
            _ => {}
        }
    }

    #[test]
    fn each_number_of_the_json_is_a_metric() {
        let mut value = serde_json::to_value(one_of_each()).unwrap();
        let (mut next, mut all) = (10_000, Vec::new());
        number(&mut value, &mut next, &mut all);
        assert!(all.len() > 90, "{}", all.len());
        let stats: GatewayStats = serde_json::from_value(value).unwrap();
        for form in [TextForm::Prometheus, TextForm::OpenMetrics] {
            let text = render(&stats, "1", form);
            for n in &all {
                let found = text.lines().any(|line| line.ends_with(&format!(" {n}")));
                assert!(found, "{n} is missing: {stats:#?}\n{text}");
            }
            assert!(text.contains("cangate_uptime_seconds 2.5\n"), "{text}");
            let step = "cangate_last_step_timestamp_seconds 1700000000.5\n";
            assert!(text.contains(step), "{text}");
        }
    }

    #[test]
    fn both_forms() {
        let mut stats = GatewayStats::default();
        stats.process.reloads = 3;
        stats.process.ports = vec![PortRow {
            name: "a\"\\".into(),
            ..PortRow::default()
        }];
        let text = render(&stats, "0.1", TextForm::Prometheus);
        assert!(text.starts_with("# HELP cangate_build_info The program: always 1.\n# TYPE cangate_build_info gauge\ncangate_build_info{version=\"0.1\"} 1\n"), "{text}");
        assert!(
            text.contains("# TYPE cangate_reloads_total counter\ncangate_reloads_total 3\n"),
            "{text}"
        );
        assert!(
            text.contains("cangate_port_state{port=\"a\\\"\\\\\",state=\"up\"} 1\n"),
            "{text}"
        );
        assert!(!text.contains("EOF"), "{text}");
        let text = render(&stats, "0.1", TextForm::OpenMetrics);
        assert!(text.contains("# TYPE cangate_port_sent_frames counter\n# UNIT cangate_port_sent_frames frames\ncangate_port_sent_frames_total{"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    /// The dashboard uses only metrics that exist.
    #[test]
    fn the_dashboard_knows_these_names() {
        let dashboard = include_str!("../../../../examples/grafana-dashboard.json");
        let text = render(&one_of_each(), "1", TextForm::Prometheus);
        let there: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = dashboard.split(|c| !is_name(c));
        let asked: Vec<&str> = words.filter(|word| word.starts_with("cangate_")).collect();
        assert!(asked.len() > 10, "{asked:?}");
        for name in asked {
            assert!(there.contains(&name), "{name}");
        }
    }

    /// Each alert uses only metrics and states that exist.
    #[test]
    fn the_alerts_know_these_names() {
        let rules = include_str!("../../../../packaging/alerts.yml");
        let stats = one_of_each();
        let text = render(&stats, "1", TextForm::Prometheus);
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let uncommented = rules
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        let mut asked = 0;
        for line in uncommented {
            for name in line
                .split(|c| !is_name(c))
                .filter(|word| word.starts_with("cangate_"))
            {
                assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
                asked += 1;
            }
            for (label, words) in [
                ("state=", "state"),
                ("state=~", "state"),
                ("fate=~", "fate"),
            ] {
                let Some((_, rest)) = line.split_once(&format!("{label}\"")) else {
                    continue;
                };
                for word in rest.split('"').next().unwrap_or_default().split('|') {
                    assert!(
                        text.contains(&format!("{words}=\"{word}\"")),
                        "{words} {word}"
                    );
                }
            }
        }
        assert!(asked > 8, "{asked}");
    }

    proptest! {
        /// Whatever the names are, each line is a comment, or a name, labels and a number.
        #[test]
        fn names_break_no_line(name in any::<String>()) {
            let mut stats = one_of_each();
            stats.process.ports[0].name = name.clone();
            stats.process.routes[0].name = name.clone();
            stats.interfaces[0].interface = name;
            let text = render(&stats, "1", TextForm::OpenMetrics);
            for line in text.lines().filter(|line| !line.starts_with("# ")) {
                let number = line.rsplit_once(' ').map(|(_, number)| number.parse::<f64>());
                prop_assert!(line.starts_with("cangate_") && matches!(number, Some(Ok(_))), "{}", line);
            }
        }
    }
}
