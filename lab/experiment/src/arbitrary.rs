//! For tests: any experiment.

use crate::choices::{
    Cpu, ExperimentTask, FilterChoice, GatewayChoice, Incident, LogSide, LogTraffic, MOST_BUDGET,
    MOST_EFF, MOST_MACHINES, MachineLoad, MachineOrder, Machines, Nesting, OtherTraffic, Priority,
    WayPair,
};
use crate::experiment::Experiment;
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::{LOADS, PERIODS, TrafficPattern};
use proptest::prelude::*;

/// Returns a log of one frame; no log without a time.
fn log(at: Option<u64>) -> LogTraffic {
    let frame = frame::Frame::classic(frame::CanId::from_raw(1), &[0; 2]).unwrap();
    at.map_or(LogTraffic::NONE, |at| {
        LogTraffic::new("x.log", [(LogSide::Incoming, at, frame)]).unwrap()
    })
}

/// Generates any experiment with valid words, whether its settings are compatible or not.
pub(crate) fn any_experiment() -> impl Strategy<Value = Experiment> {
    let filters = prop_oneof![
        Just(FilterChoice::None),
        (1..=2048u32).prop_map(FilterChoice::Sff),
        (1..=2048u32).prop_map(FilterChoice::List),
        (1..=2048u32).prop_map(FilterChoice::Eff),
        (1..=MOST_EFF).prop_map(FilterChoice::Eff),
    ];
    let traffic = prop_oneof![
        Just(TrafficPattern::OneAtATime),
        Just(TrafficPattern::Flood),
        LOADS.prop_map(TrafficPattern::Load),
        PERIODS.prop_map(TrafficPattern::Period),
    ];
    let gateway = prop_oneof![
        Just(GatewayChoice::Cangw),
        Just(GatewayChoice::None),
        Just(GatewayChoice::Ideal),
        prop::sample::select(WayPair::all().collect::<Vec<_>>()).prop_map(GatewayChoice::User),
        Just(GatewayChoice::OwnRules),
        Just(GatewayChoice::Bpf),
        prop::bool::ANY.prop_map(|irq| GatewayChoice::Direct { irq }),
        Just(GatewayChoice::Chardev),
        prop::bool::ANY.prop_map(|irq| GatewayChoice::Baremetal { irq }),
        Just(GatewayChoice::BaremetalIdeal),
        prop::sample::select(Nesting::ALL.to_vec()).prop_map(GatewayChoice::Vm),
    ];
    let cpu = prop_oneof![
        Just(Cpu::Pc),
        Just(Cpu::Board),
        (0..=10u8).prop_map(Cpu::Shift),
        (3..=10u8).prop_map(Cpu::BoardAt)
    ];
    let choices = (
        prop::sample::select(Kernel::all().collect::<Vec<_>>()),
        prop::sample::select(vec![
            BenchKind::Kvaser,
            BenchKind::Ctucan,
            BenchKind::Timed,
            BenchKind::Vm,
            BenchKind::Vcan,
        ]),
        prop::sample::select(vec![
            MachineLoad::None,
            MachineLoad::Cpu,
            MachineLoad::EthRx,
            MachineLoad::EthTx,
        ]),
        prop::sample::select(vec!["none", "copy", "id", "and", "crc8"]),
        prop::sample::select(vec!["0", "1", "5", "2:2", "4:2", "1:vxcan", "2:2:vxcan"]),
        prop::sample::select(vec!["none", "nohz=off", "nohz=off+threadirqs"]),
        prop::sample::select(vec![
            Priority::Gateway,
            Priority::Ordinary,
            Priority::Softirq,
        ]),
        prop::sample::select(vec![
            ExperimentTask::Gateway,
            ExperimentTask::RoundTrip,
            ExperimentTask::Loop,
            ExperimentTask::Receive,
        ]),
        prop::sample::select(vec![
            "none",
            "irq-thread:95",
            "irq-thread:1+threaded-napi+netdev-budget:1",
            "softirq-thread:91",
        ]),
    );
    let others = prop_oneof![
        Just(OtherTraffic::Flood),
        (1..=100u8).prop_map(OtherTraffic::Load),
        Just(OtherTraffic::Babble),
    ];
    let orders = prop::sample::select(vec![MachineOrder::Priority, MachineOrder::Fifo]);
    let incidents = prop::sample::select(vec![
        Incident::None,
        Incident::Kill,
        Incident::Pause,
        Incident::Reset,
        Incident::BusOff,
    ]);
    let machines = (
        1..=MOST_MACHINES,
        others,
        orders,
        0..=MOST_BUDGET,
        incidents,
    );
    let machines = machines.prop_map(|(count, others, order, budget, incident)| Machines {
        count,
        others,
        order,
        budget,
        incident,
    });
    let numbers = (
        2..=64u8,
        1..=65_536u32,
        any::<u64>(),
        any::<bool>(),
        1..=65_536u32,
        0..=100_000u32,
        prop::option::of(0..3u64),
    );
    (filters, traffic, gateway, cpu, choices, numbers, machines).prop_map(
        |(
            filters,
            traffic,
            gateway,
            cpu,
            (kernel, bench, load, modify, hops, boot, priority, task, tuning),
            n,
            machines,
        )| {
            Experiment {
                kernel: kernel.to_string(),
                bench,
                task,
                gateway,
                traffic,
                log: log(n.6),
                load,
                payload: n.0,
                frames: n.1,
                filters,
                modify: modify.parse().unwrap(),
                hops: hops.parse().unwrap(),
                cpu,
                boot: boot.parse().unwrap(),
                priority,
                tuning: tuning.parse().unwrap(),
                seed: n.2,
                real_time: n.3,
                stamp_every: n.4,
                exit_cost: n.5,
                machines,
            }
        },
    )
}
