//! The figures of the papers' claims: the quantity on each axis, and the points that the papers
//! state.
//!
//! A paper's point is a number stated in its text, never one read off a picture.

use super::round_trips::overhead;
use super::v1_virtual_machines;
use super::v6_own_frames::own;
use super::ways::word;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{
    AxisPlace, FigureAxis, FigureForm, FigureKind, FigurePlan, FigureValue, LATENCY, StatedValue,
    latency, micros,
};
use crate::setups::kernels;
use crate::stats::median;
use experiment::rate::RateLimitedBy;
use experiment::{
    Boot, Cpu, Experiment, FilterChoice, GatewayChoice, HopChoice, MachineLoad, Nesting,
    PAPER_NAMES, ReceiveChoice, TransmitChoice,
};
use probe::traffic::TrafficPattern;

const G1_SOURCE: &str = "gateway-2011 §3.1";
const G2_SOURCE: &str = "gateway-2011 §3.2";
const G3_SOURCE: &str = "gateway-2011 §3.3";
const G4_SOURCE: &str = "gateway-2010-draft §IV-C1";
const G7_SOURCE: &str = "gateway-2011 §3.6";
const G10_SOURCE: &str = "gateway-2010-draft §IV-E";
const G12_SOURCE: &str = "gateway-2010-draft §IV-A";
const D1_SOURCE: &str = "drivers-2009 §3.2";
const S2_SOURCE: &str = "syscalls-2014 §4.2";
const V2_SOURCE: &str = "virtualization-2015 §5.1";
const V3_SOURCE: &str = "virtualization-2015 §5.3";
const V6_SOURCE: &str = "virtualization-2015 §5.2";

const fn axis(title: &'static str, unit: &'static str) -> FigureAxis {
    FigureAxis { title, unit }
}

/// Returns one value without a worst case.
fn one(
    setting: impl Into<String>,
    x: AxisPlace,
    median: f64,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    Ok(vec![FigureValue {
        setting: setting.into(),
        x,
        median,
        worst: None,
    }])
}

fn number(n: impl Into<f64>) -> AxisPlace {
    AxisPlace::Number(n.into())
}

fn name(text: impl Into<String>) -> AxisPlace {
    AxisPlace::Name(text.into())
}

/// Plans a figure of latency profiles, whose series are given by `of`.
const fn profile(
    title: &'static str,
    of: fn(&ClaimEvidence, &Experiment) -> Result<Vec<FigureValue>, MissingEvidence>,
    paper: Vec<StatedValue>,
) -> FigurePlan {
    FigurePlan {
        title,
        form: FigureForm::Profile,
        x: LATENCY,
        y: axis("frames with this latency or more", "frames"),
        of,
        paper,
        note: "",
    }
}

pub(super) fn g1() -> FigurePlan {
    profile(
        "One frame at a time: latency profile",
        |evidence, e| {
            let boot = match e.boot == Boot::default() {
                true => "as it is".to_owned(),
                false => e.boot.to_string(),
            };
            latency(evidence, e, boot, number(0))
        },
        vec![
            StatedValue::mark("best", 35.0, FigureKind::Best, G1_SOURCE),
            StatedValue::mark("gap", 50.0, FigureKind::Value, G1_SOURCE),
            StatedValue::mark("worst", 140.0, FigureKind::Worst, G1_SOURCE),
        ],
    )
}

pub(super) fn g2() -> FigurePlan {
    profile(
        "One frame at a time and a flood: latency profiles",
        |evidence, e| latency(evidence, e, e.traffic.to_string(), number(0)),
        vec![
            StatedValue::mark("best of a flood", 0.0, FigureKind::Best, G2_SOURCE),
            StatedValue::mark("best, one at a time", 35.0, FigureKind::Best, G2_SOURCE),
            StatedValue::mark("worst of both", 140.0, FigureKind::Worst, G2_SOURCE),
        ],
    )
}

pub(super) fn g3() -> FigurePlan {
    let load = |load: MachineLoad| name(load_words(load));
    let stated = |of: MachineLoad, y| StatedValue {
        name: "",
        x: load(of),
        y: Some(y),
        of: FigureKind::Worst,
        source: G3_SOURCE,
    };
    FigurePlan {
        title: "Latency beside loads",
        form: FigureForm::Bars,
        x: axis("load of the gateway", ""),
        y: LATENCY,
        of: |evidence, e| latency(evidence, e, "", name(load_words(e.load))),
        paper: vec![
            stated(MachineLoad::None, 140.0),
            stated(MachineLoad::Cpu, 250.0),
            stated(MachineLoad::EthRx, 3_000.0),
        ],
        note: "",
    }
}

fn load_words(load: MachineLoad) -> String {
    match load {
        MachineLoad::None => "no load".to_owned(),
        MachineLoad::Cpu => "CPU (hackbench)".to_owned(),
        MachineLoad::EthRx => "Ethernet receive".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn g4() -> FigurePlan {
    FigurePlan {
        title: "Latency over the number of filters",
        form: FigureForm::Line,
        x: axis("filters, of which the last one matches", ""),
        y: LATENCY,
        of: |evidence, e| match e.filters {
            FilterChoice::List(n) => latency(evidence, e, "list", number(n)),
            FilterChoice::Sff(n) => latency(evidence, e, "single-ID SFF", number(n)),
            FilterChoice::None | FilterChoice::Eff(_) => Ok(vec![]),
        },
        paper: vec![
            StatedValue::at("list", 2048.0, 400.0, FigureKind::Best, G4_SOURCE),
            StatedValue::at("single-ID SFF", 2048.0, 100.0, FigureKind::Best, G4_SOURCE),
        ],
        note: "",
    }
}

pub(super) fn g7() -> FigurePlan {
    let stated = |kernel: &str, y| StatedValue::beside(kernel, y, FigureKind::Value, G7_SOURCE);
    FigurePlan {
        title: "Latency of kernels, more than the oldest plain one's",
        form: FigureForm::Bars,
        x: axis("kernel", ""),
        y: axis(
            "median latency, more than 5.10's (the paper: than 2.6.33's)",
            "µs",
        ),
        of: |evidence, e| {
            let Some(first) = kernels(false).into_iter().next() else {
                return Ok(vec![]);
            };
            let oldest = Experiment {
                kernel: first,
                ..e.clone()
            };
            let more = evidence.summary(e)?.p50 - evidence.summary(&oldest)?.p50;
            one("", name(e.kernel.to_string()), micros(more))
        },
        paper: vec![
            stated("2.6.33", 0.0),
            stated("2.6.36", 10.0),
            stated("3.0", 12.0),
            stated("2.6.33-rt", 100.0),
            stated("3.0-rt", 32.0),
        ],
        note: "the paper says differences only: +10 from 2.6.33 to 2.6.36, +2 to 3.0, rt +100 and +20",
    }
}

pub(super) fn g10() -> FigurePlan {
    FigurePlan {
        title: "What hops through virtual interfaces add",
        form: FigureForm::Line,
        x: axis("hops", ""),
        y: axis("median latency, more than with the fewest hops", "µs"),
        of: |evidence, e| {
            if e.traffic != TrafficPattern::OneAtATime {
                return Ok(vec![]);
            }
            let (words, fewest) = match e.hops.interfaces {
                1 => ("one interface", 1),
                _ => ("two in a chain", 2),
            };
            let first = Experiment {
                hops: HopChoice {
                    count: fewest,
                    ..e.hops
                },
                ..e.clone()
            };
            let more = evidence.summary(e)?.p50 - evidence.summary(&first)?.p50;
            one(words, number(e.hops.count), micros(more))
        },
        paper: vec![
            StatedValue::at("one interface", 2.0, 11.0, FigureKind::Value, G10_SOURCE),
            StatedValue::at("one interface", 5.0, 44.0, FigureKind::Value, G10_SOURCE),
            StatedValue::at("two in a chain", 4.0, 28.0, FigureKind::Value, G10_SOURCE),
        ],
        note: "the paper says 11 and 14 a hop",
    }
}

pub(super) fn g12() -> FigurePlan {
    FigurePlan {
        title: "Total latency under flood over the payload",
        form: FigureForm::Line,
        x: axis("payload", "bytes"),
        y: axis("latency and the frame's duration", "µs"),
        of: |evidence, e| {
            if e.load != MachineLoad::None {
                return Ok(vec![]);
            }
            let records = &evidence.results(e)?.records;
            let both = records.iter().filter_map(|r| {
                let duration = i64::try_from(r.outgoing?.duration).ok()?;
                Some((r.latency()? + duration, duration))
            });
            let (total, duration): (Vec<i64>, Vec<i64>) = both.unzip();
            let worst = total.iter().max().copied();
            let (Some(total), Some(duration)) = (median(&total), median(&duration)) else {
                return Ok(vec![]);
            };
            let x = number(e.payload);
            Ok(vec![
                FigureValue {
                    setting: "in total".to_owned(),
                    x: x.clone(),
                    median: micros(total),
                    worst: worst.map(micros),
                },
                FigureValue {
                    setting: "of it on the bus".to_owned(),
                    x,
                    median: micros(duration),
                    worst: None,
                },
            ])
        },
        paper: vec![
            StatedValue::at("in total", 2.0, 60.0, FigureKind::Value, G12_SOURCE),
            StatedValue::at("in total", 8.0, 110.0, FigureKind::Value, G12_SOURCE),
        ],
        note: "",
    }
}

/// Returns the overheads of round trips, by kind of driver.
fn drivers(
    evidence: &ClaimEvidence,
    e: &Experiment,
    setting: String,
    x: AxisPlace,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    let found = overhead(evidence, e)?;
    Ok(vec![FigureValue {
        setting,
        x,
        median: micros(found.p50),
        worst: Some(micros(found.max)),
    }])
}

const OVERHEAD: FigureAxis = axis("round trip less both frames' time on the bus", "µs");

pub(super) fn d1() -> FigurePlan {
    FigurePlan {
        title: "Overhead of a round trip, idle machine",
        form: FigureForm::Bars,
        x: axis("kernel", ""),
        y: OVERHEAD,
        of: |evidence, e| drivers(evidence, e, String::new(), name(e.kernel.to_string())),
        paper: vec![
            StatedValue {
                name: "character devices",
                ..StatedValue::beside("2.6 (the paper's)", 209.0, FigureKind::Worst, D1_SOURCE)
            },
            StatedValue {
                name: "sockets",
                ..StatedValue::beside("2.6 (the paper's)", 284.0, FigureKind::Worst, D1_SOURCE)
            },
        ],
        note: "",
    }
}

pub(super) fn d2() -> FigurePlan {
    let fast = "2 ns an instruction (paper: 2.4 GHz)";
    FigurePlan {
        title: "Overhead of a round trip on a slower processor",
        form: FigureForm::Bars,
        x: axis("processor", ""),
        y: OVERHEAD,
        of: |evidence, e| {
            let processor = match e.cpu {
                Cpu::Pc => "2 ns an instruction (paper: 2.4 GHz)",
                _ => "16 ns an instruction (paper: 300 MHz)",
            };
            drivers(evidence, e, String::new(), name(processor))
        },
        paper: vec![
            StatedValue {
                name: "character devices",
                ..StatedValue::beside(fast, 209.0, FigureKind::Worst, D1_SOURCE)
            },
            StatedValue {
                name: "sockets",
                ..StatedValue::beside(fast, 284.0, FigureKind::Worst, D1_SOURCE)
            },
        ],
        note: "of the slower processor the paper has a picture and no number",
    }
}

/// Returns a gateway's name in a column.
fn way(gateway: &GatewayChoice) -> String {
    match gateway {
        GatewayChoice::Baremetal { .. } => "no OS".to_owned(),
        GatewayChoice::OwnRules | GatewayChoice::Cangw => "kernel (can-gw)".to_owned(),
        other => word(other),
    }
}

pub(super) fn s2() -> FigurePlan {
    let mut paper = vec![
        StatedValue::beside("no OS", 15.0, FigureKind::Median, S2_SOURCE),
        StatedValue::beside("kernel (can-gw)", 49.0, FigureKind::Median, S2_SOURCE),
    ];
    for (_, ways) in PAPER_NAMES {
        if ways.receive == ReceiveChoice::BusypollNoIrq {
            continue;
        }
        let y = if ways.receive.is_busy() { 100.0 } else { 180.0 };
        let column = way(&GatewayChoice::User(ways));
        paper.push(StatedValue::beside(
            &column,
            y,
            FigureKind::Median,
            S2_SOURCE,
        ));
    }
    FigurePlan {
        title: "Latency of ways to receive and to send",
        form: FigureForm::Bars,
        x: axis("gateway", ""),
        y: LATENCY,
        of: |evidence, e| latency(evidence, e, "", name(way(&e.gateway))),
        paper,
        note: "the paper says ≈180 of all ways that block and ≈100 of all that wait busily",
    }
}

pub(super) fn s4() -> FigurePlan {
    let stated = |receive, transmit, y| {
        let column = word(&super::ways::user(receive, transmit));
        StatedValue::beside(&column, y, FigureKind::Value, S2_SOURCE)
    };
    FigurePlan {
        title: "Shortest period of frames without loss",
        form: FigureForm::Bars,
        x: axis("gateway", ""),
        y: axis("period of frames", "µs"),
        of: |evidence, e| {
            let rate = evidence.rate(e)?;
            match rate.bound {
                RateLimitedBy::None => Ok(vec![]),
                RateLimitedBy::Gateway | RateLimitedBy::Bus => {
                    one("", name(word(&e.gateway)), 1e6 / rate.frames_per_s)
                }
            }
        },
        paper: vec![
            stated(ReceiveChoice::Read, TransmitChoice::Write, 155.0),
            stated(ReceiveChoice::ReadNonblock, TransmitChoice::Write, 155.0),
            stated(ReceiveChoice::Ring, TransmitChoice::Write, 127.0),
            stated(ReceiveChoice::RingBusy, TransmitChoice::Write, 127.0),
            stated(ReceiveChoice::Ring, TransmitChoice::Ring, 120.0),
            stated(ReceiveChoice::Recvmmsg, TransmitChoice::Sendmmsg, 120.0),
        ],
        note: "the paper says 150 to 155 of read*-write, and of rings and mmsg that they lose nothing at its shortest period, 120",
    }
}

/// Returns the time that a way through a hypervisor adds to the native round trip, over the
/// payload.
fn added(evidence: &ClaimEvidence, e: &Experiment) -> Result<Vec<FigureValue>, MissingEvidence> {
    if e.gateway == GatewayChoice::Vm(Nesting::Native) {
        return Ok(vec![]);
    }
    let native = Experiment {
        gateway: GatewayChoice::Vm(Nesting::Native),
        ..e.clone()
    };
    let more = overhead(evidence, e)?.p50 - overhead(evidence, &native)?.p50;
    one(e.kernel.to_string(), number(e.payload), micros(more))
}

fn over_payload(paper: Vec<StatedValue>) -> FigurePlan {
    FigurePlan {
        title: "What sharing a controller adds, over the payload",
        form: FigureForm::Line,
        x: axis("payload", "bytes"),
        y: axis("median round trip, more than the native one", "µs"),
        of: added,
        paper,
        note: "the paper measures on two boards: a driver VM on one, virtual functions on the other",
    }
}

pub(super) fn v2() -> FigurePlan {
    over_payload(vec![
        StatedValue::at("driver VM", 0.0, 35.0, FigureKind::Value, V2_SOURCE),
        StatedValue::at("driver VM", 8.0, 35.0, FigureKind::Value, V2_SOURCE),
    ])
}

pub(super) fn v3() -> FigurePlan {
    over_payload(vec![
        StatedValue::at("driver VM", 8.0, 35.0, FigureKind::Value, V3_SOURCE),
        StatedValue::at("virtual function", 8.0, 7.0, FigureKind::Value, V3_SOURCE),
    ])
}

/// Returns the least and the mean latency of own frames and, for the native way, the frame's time
/// on the bus in addition, on one kernel.
fn own_frames(
    evidence: &ClaimEvidence,
    e: &Experiment,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    if e.kernel != v1_virtual_machines::PLAIN {
        return Ok(vec![]);
    }
    let own = own(evidence, e)?;
    let value = |setting: &str, ns| FigureValue {
        setting: setting.to_owned(),
        x: number(e.payload),
        median: micros(ns),
        worst: None,
    };
    let mut all = vec![value("least", own.least), value("mean", own.mean)];
    if e.gateway == GatewayChoice::Vm(Nesting::Native) {
        all.push(value("frame on the bus (can-tx)", own.frame));
    }
    Ok(all)
}

pub(super) fn v6() -> FigurePlan {
    let stated = |name, x, y| StatedValue::at(name, x, y, FigureKind::Value, V6_SOURCE);
    FigurePlan {
        title: "Own frames on one controller, over the payload: what is left without the frame's time on the bus",
        form: FigureForm::Named,
        x: axis("payload", "bytes"),
        y: axis(
            "from the call that sends to the call that brings it, less the bus",
            "µs",
        ),
        of: own_frames,
        // Placed apart from one another, so that their labels can be read.
        paper: vec![
            stated("native, least", 8.0, 13.0),
            stated("VM, least, from", 0.0, 20.0),
            stated("VM, least, to; native, mean", 8.0, 24.0),
            stated("VM, mean, from", 0.0, 45.0),
            stated("VM, mean, to", 8.0, 49.0),
        ],
        note: "the paper states them of all payloads, the means as 11 and 25 more than the least; its bus has 500 kbit/s, this one \
               1 Mbit/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::Extent;
    use crate::figure::{ClaimFigure, tests::figure};
    use crate::list::round_trips::{DEVICE, PLAIN, RT, SOCKETS};
    use experiment::Kernel;

    /// The value of a series at a place.
    fn at(figure: &ClaimFigure, series: (&str, &str), x: &AxisPlace) -> f64 {
        let of =
            |s: &&crate::figure::FigureSeries| (s.gateway.as_str(), s.setting.as_str()) == series;
        let series = figure.series.iter().find(of).unwrap();
        series.points.iter().find(|p| p.x == *x).unwrap().median
    }

    #[test]
    fn differences_are_to_what_the_axis_says() {
        let kernels = figure("G7", Extent::Full, |e| match e.kernel {
            Kernel::V5_10 => 35_000,
            Kernel::V6_1 => 45_000,
            kernel if kernel.rt() => 60_000,
            _ => 48_000,
        });
        assert_eq!(at(&kernels, ("cangw", ""), &name("5.10")), 0.0);
        assert_eq!(at(&kernels, ("cangw", ""), &name("6.1")), 10.0);
        assert_eq!(at(&kernels, ("cangw", ""), &name("6.1-rt")), 25.0);
        let hops = figure("G10", Extent::Full, |e| {
            30_000
                + u64::from(e.hops.count)
                    * if e.hops.interfaces == 2 {
                        14_000
                    } else {
                        11_000
                    }
        });
        assert_eq!(at(&hops, ("cangw", "one interface"), &number(1)), 0.0);
        // The paper's points lie on what is its own slope.
        for stated in &hops.paper {
            assert_eq!(Some(at(&hops, ("cangw", stated.name), &stated.x)), stated.y);
        }
        let shared = figure("V2", Extent::Full, |e| match e.gateway {
            GatewayChoice::Vm(Nesting::Native) => 120_000,
            _ => 155_000,
        });
        assert_eq!(at(&shared, ("vm:driver", "6.1"), &number(8)), 35.0);
    }

    #[test]
    fn totals_have_the_frames_duration_in_them_and_loads_are_left_out() {
        let totals = figure("G12", Extent::Full, |_| 5_000);
        let total = at(&totals, ("cangw", "in total"), &number(8));
        let on_the_bus = at(&totals, ("cangw", "of it on the bus"), &number(8));
        assert_eq!(total, on_the_bus + 5.0);
        let points: usize = totals.series.iter().map(|s| s.points.len()).sum();
        assert_eq!(points, 2 * 7, "2 to 8 bytes");
    }

    #[test]
    fn overheads_are_without_the_bus() {
        let round_trips = figure("D1", Extent::Full, |e| {
            if e.gateway == DEVICE {
                309_000
            } else {
                384_000
            }
        });
        for kernel in [PLAIN, RT] {
            assert_eq!(
                at(&round_trips, ("chardev", ""), &name(kernel.to_string())),
                209.0
            );
            let sockets = SOCKETS.to_string();
            assert_eq!(
                at(&round_trips, (&sockets, ""), &name(kernel.to_string())),
                284.0
            );
        }
    }

    #[test]
    fn every_way_of_the_paper_has_its_column() {
        let ways = figure("S2", Extent::Full, |_| 50_000);
        let columns: Vec<&AxisPlace> = ways
            .series
            .iter()
            .flat_map(|s| &s.points)
            .map(|p| &p.x)
            .collect();
        for stated in &ways.paper {
            assert!(columns.contains(&&stated.x), "{:?}", stated.x);
        }
        assert_eq!(columns.len(), ways.paper.len());
    }

    #[test]
    fn periods_are_those_of_the_rates_that_were_found() {
        let all = crate::list::all();
        let claim = all.iter().find(|c| c.id == "S4").unwrap();
        let mut evidence = ClaimEvidence::default();
        for e in claim.rates(Extent::Full) {
            let rate = experiment::rate::SearchedRate {
                frames_per_s: 8_000.0,
                bound: RateLimitedBy::Gateway,
                passed: None,
                failed: None,
                tries: 1,
            };
            evidence.add_rate(e, Ok(rate));
        }
        let periods = claim.picture(&evidence, Extent::Full).unwrap();
        let points: Vec<_> = periods.series.iter().flat_map(|s| &s.points).collect();
        assert!(points.iter().all(|p| p.median == 125.0), "{points:?}");
        for stated in &periods.paper {
            assert!(points.iter().any(|p| p.x == stated.x), "{:?}", stated.x);
        }
    }
}
