use super::*;

#[test]
fn what_went_wrong_on_purpose_is_reported_and_nothing_else() {
    let mut port = PortRow {
        name: "body".to_owned(),
        ..PortRow::default()
    };
    assert_eq!(injected(&port), "");
    port.count.rx.faults.dropped = 12;
    port.count.rx.faults.corrupted = 3;
    port.count.tx.faults.refused = 1;
    let output = "Faults injected on port body: of frames received, 12 dropped, 3 corrupted; of \
                frames sent, 1 refused.\n";
    assert_eq!(injected(&port), output);
    let stats = GatewayStats {
        process: CounterSnapshot {
            ports: vec![port],
            ..CounterSnapshot::default()
        },
        ..GatewayStats::default()
    };
    assert!(render(&stats).contains(output));
}

#[test]
fn ports_in_the_kernel_are_there_and_one_that_is_down_is_shown_as_down() {
    let row = |port: &str, in_kernel, state| InterfaceRow {
        port: port.to_owned(),
        interface: format!("can-{port}"),
        in_kernel,
        state: Some(state),
        received: Some(77),
        ..InterfaceRow::default()
    };
    let mut body = row("body", false, LinkState::BusOff);
    body.not_asked_for = Some(344);
    let mut other = row("other", false, LinkState::Up);
    other.not_asked_for_unknown = Some("nobody knows".to_owned());
    let port = |name: &str| PortRow {
        name: name.to_owned(),
        ..PortRow::default()
    };
    let stats = GatewayStats {
        process: CounterSnapshot {
            ports: vec![port("body"), port("other")],
            ..CounterSnapshot::default()
        },
        interfaces: vec![row("engine", true, LinkState::Down), body, other],
        ..GatewayStats::default()
    };
    let text = render(&stats);
    let line = |name: &str| -> Vec<&str> {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!(" {name} ")));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
            .split_whitespace()
            .collect()
    };
    assert_eq!(line("engine")[..4], ["engine", "can-engine", "down", "77"]);
    assert_eq!(line("body")[1], "bus-off");
    assert_eq!(line("other")[1], "up");
    let output = "Port body: 344 frames not asked for (filtered by the kernel).\n";
    assert!(text.contains(output), "{text}");
    assert!(text.contains("not counted, because nobody knows"), "{text}");
}

#[test]
fn what_the_kernel_does_not_count_has_no_column() {
    let row = |name: &str, taken| KernelRow {
        name: name.to_owned(),
        taken,
        sent: 7,
        ..KernelRow::default()
    };
    let part = |how: &str, taken| KernelPart {
        how: how.to_owned(),
        restored: 0,
        routes: vec![row("engine", taken)],
    };
    let snapshot = GatewayStats {
        kernel: vec![part("can-gw", None)],
        ..GatewayStats::default()
    };
    let text = render(&snapshot);
    assert!(text.contains("can-gw") && text.contains("sent"), "{text}");
    assert!(
        !text.contains("taken") && !text.contains("0 frames"),
        "{text}"
    );
    let snapshot = GatewayStats {
        kernel: vec![part("bpf", Some(9))],
        ..GatewayStats::default()
    };
    let text = render(&snapshot);
    assert!(text.contains("taken") && text.contains('9'), "{text}");
}
