use super::*;
use crate::arbitrary::any_experiment;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn refused(words: &[(Setting, &str)]) -> String {
    let e = Experiment::from_words(words.iter().copied()).unwrap();
    let all = e.check().unwrap_err();
    all.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    use Setting as S;
    assert_eq!(Experiment::default().check(), Ok(()));
    assert_eq!(
        refused(&[(S::Traffic, "load:50")]),
        "--traffic load:50 --bench kvaser: a share of the bus needs a bus that takes time: \
         --bench timed, --apart, or period:MICROSECONDS"
    );
    assert!(refused(&[(S::Payload, "16")]).contains("--bench timed or ctucan"));
    assert!(refused(&[(S::Payload, "9"), (S::Bench, "timed")]).contains("12, 16, 20"));
    assert!(
        refused(&[(S::Gateway, "none"), (S::Filters, "sff:1")])
            .contains("only a gateway with routes")
    );
    for gateway in ["user:read-write", "can-gw", "bpf"] {
        let why = refused(&[(S::Gateway, gateway), (S::Hops, "2")]);
        assert!(why.contains("--hops N:vxcan"), "{why}");
        let e = Experiment::from_words([(S::Gateway, gateway), (S::Hops, "2:vxcan")]).unwrap();
        assert_eq!(e.check(), Ok(()));
    }
    for gateway in ["cangw", "can-gw"] {
        let why = refused(&[(S::Gateway, gateway), (S::Filters, "eff:100000")]);
        assert!(why.contains("at most 2048"), "{why}");
    }
    let polled = [
        (S::Gateway, "user:read-busypoll-write"),
        (S::Bench, "timed"),
    ];
    assert!(refused(&polled).contains("--cpu board"));
    let on_board = polled.into_iter().chain([(S::Cpu, "board:3")]);
    assert_eq!(Experiment::from_words(on_board).unwrap().check(), Ok(()));
    let old = [
        (S::Kernel, "5.10-rt"),
        (S::Bench, "timed"),
        (S::Cpu, "board"),
    ];
    for (gateway, since) in [
        ("user:read-noirq-write", "5.11"),
        ("user:io_uring-ring", "6.0"),
    ] {
        let words = old.into_iter().chain([(S::Gateway, gateway)]);
        let why = refused(&words.collect::<Vec<_>>());
        assert!(why.contains(since), "{why}");
    }
    // Their frames do not pass ksoftirqd: a priority of it would have no effect.
    for gateway in ["direct", "direct:irq", "chardev"] {
        let words = [(S::Gateway, gateway), (S::Bench, "timed")];
        let why = refused(&[words[0], words[1], (S::Priority, "softirq")]);
        assert!(why.contains("--priority gateway or ordinary"), "{why}");
        for priority in ["gateway", "ordinary"] {
            let words = words.into_iter().chain([(S::Priority, priority)]);
            assert_eq!(Experiment::from_words(words).unwrap().check(), Ok(()));
        }
    }
    assert!(refused(&[(S::Hops, "2"), (S::Modify, "id")]).contains("on hops"));
    assert!(refused(&[(S::Clock, "real"), (S::Bench, "timed")]).contains("virtual time"));
    assert!(refused(&[(S::Modify, "crc8"), (S::Payload, "2")]).contains("at least 3"));
    assert!(refused(&[(S::Bench, "vcan")]).contains("no tester"));
    let trips = |more: &[(Setting, &'static str)]| {
        let mut words = vec![(S::Task, "round-trip"), (S::Gateway, "user:read-write")];
        words.extend(more);
        Experiment::from_words(words).unwrap().check()
    };
    assert_eq!(trips(&[]), Ok(()));
    assert_eq!(trips(&[(S::Bench, "vcan")]), Ok(()));
    for (setting, word) in [
        (S::Gateway, "can-gw"),
        (S::Gateway, "direct"),
        (S::Gateway, "user:ring-busy-ring"),
        (S::Bench, "none"),
        (S::Traffic, "flood"),
        (S::Traffic, "period:0.5"),
        (S::Filters, "sff:2"),
        (S::Tuning, "irq-thread:95"),
        (S::Tuning, "threaded-napi"),
    ] {
        assert!(trips(&[(setting, word)]).is_err(), "{setting} {word}");
    }
    let rt = [(S::Kernel, "6.12-rt"), (S::Tuning, "irq-thread:95")];
    assert_eq!(trips(&rt), Ok(()));
    let image = [(S::Gateway, "baremetal:irq"), (S::Bench, "timed")];
    assert_eq!(Experiment::from_words(image).unwrap().check(), Ok(()));
    for (setting, word, why) in [
        (S::Bench, "kvaser", "--bench timed"),
        (S::Load, "cpu", "no operating system"),
        (S::Boot, "nohz=off", "no operating system"),
        (S::Task, "round-trip", "no operating system"),
        (S::Hops, "1", "between CAN interfaces"),
        (S::Filters, "eff:4096", "at most 2048"),
    ] {
        let words: Vec<_> = image.into_iter().chain([(setting, word)]).collect();
        let output = refused(&words);
        assert!(output.contains(why), "{setting} {word}: {output}");
    }
}

#[test]
fn what_cannot_be_on_several_machines_is_refused_with_the_reason() {
    use Setting as S;
    let with = |more: &[(Setting, &'static str)]| {
        let mut words = vec![(S::Apart, "yes")];
        words.extend(more);
        words
    };
    for more in [
        vec![],
        vec![
            (S::Gateway, "can-gw"),
            (S::Load, "cpu"),
            (S::Traffic, "load:50"),
        ],
        vec![
            (S::Gateway, "bpf"),
            (S::Load, "eth-rx"),
            (S::Traffic, "flood"),
        ],
        vec![(S::Gateway, "user:read-write"), (S::Hops, "2:vxcan")],
        vec![(S::Cpu, "board:4")],
        vec![
            (S::Bench, "timed"),
            (S::Load, "eth-rx"),
            (S::Gateway, "direct"),
        ],
        vec![
            (S::Bench, "timed"),
            (S::Load, "eth-tx"),
            (S::Task, "round-trip"),
            (S::Gateway, "chardev"),
        ],
    ] {
        let e = Experiment::from_words(with(&more)).unwrap();
        assert_eq!(e.check(), Ok(()), "{}", e.command());
    }
    for (more, why) in [
        (
            vec![(S::Bench, "ctucan")],
            "SJA1000 cards or the timed bench",
        ),
        (
            vec![(S::Bench, "timed")],
            "only an Ethernet load has another end",
        ),
        (
            vec![(S::Bench, "timed"), (S::Load, "cpu")],
            "only an Ethernet load has another end",
        ),
        (vec![(S::Gateway, "none")], "end at CAN interfaces"),
        (vec![(S::Gateway, "ideal")], "end at CAN interfaces"),
        (
            vec![(S::Gateway, "user:read-write"), (S::Task, "round-trip")],
            "one card on each bus",
        ),
        (vec![(S::Clock, "real")], "leave out --real-time"),
        (vec![(S::Cpu, "board:5")], "--cpu board:4 or faster"),
        (
            vec![(S::Bench, "timed"), (S::Gateway, "baremetal")],
            "only gateways and round trips in a guest",
        ),
        (
            vec![
                (S::Bench, "vm"),
                (S::Gateway, "vm:vf"),
                (S::Task, "round-trip"),
            ],
            "only gateways and round trips in a guest",
        ),
        (vec![(S::Payload, "16")], "FD frames need"),
    ] {
        let output = refused(&with(&more));
        assert!(output.contains(why), "{more:?}: {output}");
        assert!(
            output.contains("--apart") || why.starts_with("FD"),
            "{output}"
        );
    }
}

#[test]
fn machines_beside_are_where_a_controller_is_shared() {
    use Setting as S;
    let with = |gateway, more: &[(Setting, &'static str)]| {
        let mut words = vec![
            (S::Bench, "vm"),
            (S::Task, "round-trip"),
            (S::Gateway, gateway),
        ];
        words.extend(more);
        words
    };
    let two = (S::Machines, "2");
    for (gateway, more) in [
        ("vm:native", (S::Order, "fifo")),
        ("vm:host", (S::Budget, "500")),
        ("vm:driver", (S::Others, "load:50")),
        ("vm:vf", (S::Others, "babble")),
        ("vm:vf", (S::Incident, "kill")),
        ("vm:host", (S::Incident, "bus-off")),
        ("vm:host", (S::Incident, "pause")),
    ] {
        let words = with(gateway, &[two, more]);
        let e = Experiment::from_words(words).unwrap();
        assert_eq!(e.check(), Ok(()), "{}", e.name());
    }
    for (gateway, more, why) in [
        ("vm:trap", vec![two], "vm:native, vm:host"),
        ("vm:vf", vec![(S::Others, "babble")], "--machines 2 to 8"),
        ("vm:vf", vec![(S::Budget, "5")], "--machines 2 to 8"),
        ("vm:vf", vec![(S::Incident, "kill")], "--machines 2 to 8"),
        (
            "vm:native",
            vec![two, (S::Incident, "kill")],
            "knows its functions",
        ),
        ("vm:vf", vec![two, (S::Order, "fifo")], "orders by priority"),
        (
            "vm:driver",
            vec![two, (S::Budget, "5")],
            "knows its functions",
        ),
        (
            "vm:host",
            vec![two, (S::Order, "fifo"), (S::Budget, "5")],
            "knows its functions",
        ),
    ] {
        let output = refused(&with(gateway, &more));
        assert!(output.contains(why), "{gateway} {more:?}: {output}");
    }
}

proptest! {
    /// Of the settings that are not in scope, exactly those are named that are not the default.
    #[test]
    fn only_what_is_set_is_refused(mut e in any_experiment()) {
        let refused = |e: &Experiment, setting: Setting| {
            let is_named = |c: &Conflict| c.settings[0] == setting && c.why.starts_with("only ");
            e.check().is_err_and(|all| all.iter().any(is_named))
        };
        for &setting in Setting::ALL {
            if refused(&e, setting) {
                prop_assert!(setting.is_set(&e));
                let usual = setting.word(&Experiment::default());
                setting.apply(&mut e, &usual).unwrap();
                prop_assert!(!refused(&e, setting), "{}", e.command());
            }
        }
    }
}

/// The scopes that have each measurement, on the bench timed or vm.
#[test]
fn each_measurement_is_in_its_scopes() {
    use Setting as S;
    for row in [
        "gateway cangw 1: Replay Plain Routes Hops Guest Stamps Apart",
        "gateway can-gw 1: Replay Plain Routes Hops Guest Stamps Apart",
        "gateway bpf 1: Replay Plain Routes Hops Guest Stamps Apart",
        "gateway user:read-write 1: Replay Plain Routes Hops Process Guest Stamps Apart",
        "gateway direct 1: Replay Plain Routes Process Guest Stamps Apart",
        "gateway chardev 1: Replay Plain Routes Process Guest Stamps Apart",
        "gateway ideal 1: Plain Guest Stamps Apart",
        "gateway baremetal 1: Routes",
        "gateway baremetal:ideal 1: ",
        "round-trip user:read-write 1: Plain Process Guest Apart",
        "round-trip direct:irq 1: Plain Process Guest Apart",
        "round-trip vm:native 1: Guest Shared",
        "round-trip vm:native 2: Guest Shared Others Order",
        "round-trip vm:host 2: Guest Inner Shared Others Order Budget Incident",
        "round-trip vm:own 2: Guest Inner Shared Others Order Budget",
        "round-trip vm:driver 2: Guest Inner Shared Others Order",
        "round-trip vm:vf 2: Guest Inner Shared Others Budget Incident",
        "round-trip vm:card 1: Guest",
        "round-trip vm:trap 1: Guest Inner",
        "loop vm:vf 1: Guest Inner",
        "receive vm:native 1: Guest",
    ] {
        let (measured, names) = row.split_once(": ").unwrap();
        let [task, gateway, machines] = measured.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let bench = if gateway.starts_with("vm:") {
            "vm"
        } else {
            "timed"
        };
        let words = [
            (S::Bench, bench),
            (S::Task, task),
            (S::Gateway, gateway),
            (S::Machines, machines),
        ];
        let e = Experiment::from_words(words).unwrap();
        let measurement = e.measurement().unwrap();
        let mut all: Vec<_> = Setting::ALL
            .iter()
            .filter_map(|s| s.definition().scope)
            .filter(|scope| scopes::has(*scope, &measurement, &e).0)
            .map(|scope| format!("{scope:?}"))
            .collect();
        let mut seen = BTreeSet::new();
        all.retain(|scope| seen.insert(scope.clone()));
        assert_eq!(all.join(" "), names, "{measured}");
    }
}
