//! For tests: any value of a setting. Types of single words have this by `plain_words!`.

use crate::choices::{
    Boot, Cpu, FilterChoice, GatewayChoice, HopChoice, LogSide, LogTraffic, MAX_EFF, MOST_FILTERS,
    Nesting, OtherTraffic, Tuning, WayPair,
};
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::{LOADS, PERIODS, TrafficPattern};
use proptest::prelude::*;
use std::fmt::Debug;
use std::str::FromStr;

pub(crate) use crate::settings::any_experiment;

/// A type of which tests generate any value.
pub(crate) trait AnyValue: Sized + Clone + Debug + 'static {
    /// Generates any value.
    fn any() -> BoxedStrategy<Self>;
}

/// Generates the values of these words.
fn words<T: FromStr<Err: Debug> + Debug + Clone + 'static>(
    words: &'static [&'static str],
) -> BoxedStrategy<T> {
    let word = prop::sample::select(words);
    word.prop_map(|word| word.parse().unwrap()).boxed()
}

/// Generates numbers up to `most`, of each order of magnitude as many: the text of a gateway with
/// 100 000 routes takes a third of a second.
fn any_order(most: u32) -> impl Strategy<Value = u32> {
    (0..=most.ilog2()).prop_flat_map(move |order| (1 << order)..=most.min((2 << order) - 1))
}

impl AnyValue for Kernel {
    fn any() -> BoxedStrategy<Self> {
        prop::sample::select(Self::all().collect::<Vec<_>>()).boxed()
    }
}

impl AnyValue for BenchKind {
    fn any() -> BoxedStrategy<Self> {
        prop::sample::select(Self::ALL.to_vec()).boxed()
    }
}

impl AnyValue for GatewayChoice {
    fn any() -> BoxedStrategy<Self> {
        let ways = WayPair::all().collect::<Vec<_>>();
        prop_oneof![
            prop::sample::select(Self::PLAIN.to_vec()),
            prop::sample::select(ways).prop_map(Self::User),
            Nesting::any().prop_map(Self::Vm),
        ]
        .boxed()
    }
}

impl AnyValue for TrafficPattern {
    fn any() -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::OneAtATime),
            Just(Self::Flood),
            LOADS.prop_map(Self::Load),
            PERIODS.prop_map(Self::Period),
        ]
        .boxed()
    }
}

impl AnyValue for LogTraffic {
    /// Generates no log, or one of a frame.
    fn any() -> BoxedStrategy<Self> {
        let frame = frame::Frame::classic(frame::CanId::from_raw(1), &[0; 2]).unwrap();
        prop::option::of(0..3u64)
            .prop_map(move |at| {
                at.map_or(Self::NONE, |at| {
                    Self::new("x.log", [(LogSide::Incoming, at, frame)]).unwrap()
                })
            })
            .boxed()
    }
}

impl AnyValue for FilterChoice {
    fn any() -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::None),
            (1..=MOST_FILTERS).prop_map(Self::Sff),
            (1..=MOST_FILTERS).prop_map(Self::List),
            (1..=MOST_FILTERS).prop_map(Self::Eff),
            any_order(MAX_EFF).prop_map(Self::Eff),
        ]
        .boxed()
    }
}

impl AnyValue for HopChoice {
    fn any() -> BoxedStrategy<Self> {
        words(&["0", "1", "5", "2:2", "4:2", "1:vxcan", "2:2:vxcan"])
    }
}

impl AnyValue for Cpu {
    fn any() -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::Pc),
            Just(Self::Board),
            (0..=10u8).prop_map(Self::Shift),
            (3..=10u8).prop_map(Self::BoardAt)
        ]
        .boxed()
    }
}

impl AnyValue for Tuning {
    fn any() -> BoxedStrategy<Self> {
        words(&[
            "none",
            "irq-thread:95",
            "irq-thread:1+threaded-napi+netdev-budget:1",
            "softirq-thread:91",
        ])
    }
}

impl AnyValue for Boot {
    fn any() -> BoxedStrategy<Self> {
        words(&["none", "nohz=off", "nohz=off+threadirqs"])
    }
}

impl AnyValue for OtherTraffic {
    fn any() -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::Flood),
            (1..=100u8).prop_map(Self::Load),
            Just(Self::Babble),
        ]
        .boxed()
    }
}
