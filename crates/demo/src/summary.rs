//! The figures of a run, for the table and the JSON.

use crate::account::LogAccount;
use crate::error::Error;
use crate::names::message_names;
use crate::observer::{Observation, PortObservers};
use crate::play::PlayedRun;
use crate::scene::DemoScene;
use crate::stopped::StoppedCopies;
use crate::traffic::TesterSource;
use engine::{CounterSnapshot, Fate, TxCounters};
use frame::Nanos;
use gateway::config::GatewayConfig;
use probe::{FrameRecord, LatencyProfile, Status};
use serde::Serialize;

/// All data that is printed.
#[derive(Serialize)]
pub struct DemoSummary {
    /// cangate's version.
    pub cangate: &'static str,
    /// The kind of all times for which no other kind is stated.
    pub time: &'static str,
    /// Bus time at the end, ns.
    pub duration_ns: Nanos,
    /// A description of the run, in one sentence.
    pub sentence: String,
    /// The testers' frames.
    pub frames: FrameSums,
    /// The account of the log that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogAccount>,
    /// The routes, in the order of the gateway file.
    pub routes: Vec<RouteLine>,
    /// The buses, in the order of the gateway file.
    pub buses: Vec<BusLine>,
    /// Latency of all routes, bus time.
    pub latency_ns: Option<Quantiles>,
    /// The same latencies, every value.
    #[serde(skip)]
    pub profile: LatencyProfile,
    /// The gateway's time for a frame: real time of this machine.
    pub processing_ns: Option<ProcessingTime>,
    /// The measurement of a tester that sees only the buses.
    pub tester: Observation,
    /// The gateway's own counters.
    pub gateway: CounterSnapshot,
    /// Whether the buses never became idle: routes form a loop.
    pub cut_off: bool,
    /// Events of the gateway's ports that a user should know, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether everything adds up.
    pub accounted: bool,
    /// The sums that do not add up; empty in a sound cangate.
    pub imbalances: Vec<String>,
}

/// The testers' frames, and their fates.
#[derive(Serialize)]
pub struct FrameSums {
    /// Handed to testers.
    pub released: u64,
    /// Sent by testers.
    pub on_the_bus: u64,
    /// Not sent by testers: queue full, or given up.
    pub not_sent: u64,
    /// Waiting in testers at the end.
    pub waiting: u64,
    /// Handed over by the gateway's ports.
    pub received: u64,
    /// Sent by the gateway.
    pub forwarded: u64,
}

impl FrameSums {
    /// Returns a sentence for people on the frames that never came to a bus; `None` if all did.
    pub fn unsent(&self) -> Option<String> {
        let lost = self.not_sent + self.waiting;
        (lost > 0).then(|| {
            format!(
                "{lost} of {} frames never came to a bus: their sender's queue was full, or they \
                 still waited at the end.",
                self.released
            )
        })
    }
}

/// A route's line.
#[derive(Serialize)]
pub struct RouteLine {
    /// Its name.
    pub name: String,
    /// Names of the ports from which it takes frames.
    pub from: Vec<String>,
    /// Names of the ports to which it sends them.
    pub to: Vec<String>,
    /// Frames that it took.
    #[serde(rename = "in")]
    pub taken: u64,
    /// Copies that were sent on their bus.
    pub out: u64,
    /// Frames and copies that were not sent: the sum of the numbers below.
    pub dropped: u64,
    /// The numbers by reason.
    #[serde(flatten)]
    pub stopped: StoppedCopies,
    /// End of frame to end of frame, less the outgoing frame's duration; bus time.
    pub latency_ns: Option<Quantiles>,
}

/// A bus's line.
#[derive(Serialize)]
pub struct BusLine {
    /// Its name.
    pub name: String,
    /// Bit rate of the arbitration phase, bit/s.
    pub bitrate: u32,
    /// Bit rate of the data phase of FD frames, bit/s, where it carries them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_bitrate: Option<u32>,
    /// Frames that were sent on it.
    pub frames: u64,
    /// Error frames on it.
    pub errors: u64,
    /// Busy share of the time, intermissions included, 0 to 1.
    pub load: f64,
    /// Load of the busiest whole window of [`BusLine::peak_window_ns`].
    pub peak_load: f64,
    /// The length of such a window, ns: 100 ms, more in very long runs.
    pub peak_window_ns: Nanos,
}

/// A distribution, ns.
#[derive(Clone, Copy, Serialize)]
pub struct Quantiles {
    /// Minimum.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
    /// Maximum.
    pub max: i64,
}

/// The real time that the gateway takes for a frame.
#[derive(Clone, Copy, Serialize)]
pub struct ProcessingTime {
    /// The kind of the time.
    pub time: &'static str,
    /// The figures, ns.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// Returns min, p50, p99 and max; `None` if there are no values.
pub(crate) fn quantiles(values: impl Iterator<Item = i64>) -> Option<Quantiles> {
    let summary = values.collect::<LatencyProfile>().summary()?;
    let probe::LatencySummary {
        min, p50, p99, max, ..
    } = summary;
    Some(Quantiles { min, p50, p99, max })
}

impl DemoSummary {
    pub(crate) fn new(
        scene: &DemoScene,
        config: &GatewayConfig,
        source: &TesterSource,
        played: &mut PlayedRun,
    ) -> Self {
        let observers = std::mem::replace(&mut played.recorder.observers, PortObservers::new(0));
        let snapshot = scene.engine.snapshot();
        let records = &played.recorder.records;
        let names = config.port_names();
        let routes = config.routes.routes.iter();
        let route_names: Vec<String> = routes.map(|r| r.name.clone()).collect();
        let name = |p: &route::PortId| names.get(usize::from(p.0)).cloned().unwrap_or_default();
        let routes = config.routes.routes.iter().enumerate().map(|(i, route)| {
            let of_route = || records.iter().filter(move |r| r.route == Some(i as u16));
            let all = of_route().count() as u64;
            let out = of_route().filter(|r| r.status == Status::Delivered);
            let out = out.count() as u64;
            RouteLine {
                name: route.name.clone(),
                from: route.from.iter().map(name).collect(),
                to: route.to.iter().map(name).collect(),
                taken: snapshot.routes.get(i).map_or(0, |r| r.count.taken),
                out,
                dropped: all - out,
                stopped: StoppedCopies::count(of_route()),
                latency_ns: quantiles(of_route().filter_map(FrameRecord::latency)),
            }
        });
        let routes: Vec<RouteLine> = routes.collect();
        let buses = scene
            .buses
            .iter()
            .zip(&played.loads)
            .map(|(bus, (load, stats))| {
                let points = load.points(played.end);
                let window = points.first().map_or(0, |p| p.length);
                let whole = points.iter().filter(|p| p.length == window);
                BusLine {
                    name: bus.name.clone(),
                    bitrate: bus.rate.nominal(),
                    data_bitrate: bus.rate.data(),
                    frames: stats.frames,
                    errors: stats.errors,
                    load: stats.load(),
                    peak_load: whole.map(probe::LoadPoint::share).fold(0.0, f64::max),
                    peak_window_ns: window,
                }
            });
        let processing = played
            .processing
            .iter()
            .map(|&ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let names_of_ids = message_names(config, records);
        let mut summary = Self {
            cangate: env!("CARGO_PKG_VERSION"),
            time: "bus time (simulated)",
            duration_ns: played.end,
            sentence: report::run::sentence(
                report::run::RunFrames {
                    records,
                    ports: &names,
                    routes: &route_names,
                    names: &names_of_ids,
                },
                true,
            ),
            frames: FrameSums {
                released: played.released,
                on_the_bus: played.on_the_bus,
                not_sent: played.not_sent,
                waiting: played.waiting,
                received: u64::try_from(snapshot.received()).unwrap_or(u64::MAX),
                forwarded: routes.iter().map(|r| r.out).sum(),
            },
            log: source.log_account(),
            routes,
            buses: buses.collect(),
            latency_ns: quantiles(records.iter().filter_map(FrameRecord::latency)),
            profile: records.iter().filter_map(FrameRecord::latency).collect(),
            processing_ns: quantiles(processing).map(|quantiles| ProcessingTime {
                time: "real time, of this machine",
                quantiles,
            }),
            tester: observers.finish(),
            gateway: snapshot,
            cut_off: played.cut_off,
            warnings: std::mem::take(&mut played.warnings),
            accounted: false,
            imbalances: Vec::new(),
        };
        let ports = summary.gateway.ports.iter().zip(&scene.ports);
        let from_buses = ports.filter(|(_, port)| port.place.is_some());
        let from_buses = from_buses.map(|(row, _)| row.count.received).sum();
        summary.imbalances = summary.imbalances(played, from_buses);
        summary.accounted = summary.imbalances.is_empty();
        summary
    }

    /// Returns all sums that should add up and do not. The demo's records, the gateway's counters
    /// and the buses' statistics are counted independently of one another. `from_buses`: frames
    /// that the gateway's ports on buses handed over.
    fn imbalances(&self, played: &PlayedRun, from_buses: u64) -> Vec<String> {
        let mut found = Vec::new();
        if let Err(imbalance) = self.gateway.check() {
            found.push(format!("the gateway's counters: {imbalance}"));
        }
        let mut same = |what: &str, left: u64, right: u64| {
            if left != right {
                found.push(format!("{what}: {left} against {right}"));
            }
        };
        let f = &self.frames;
        same(
            "frames released = sent by testers + not sent + waiting",
            f.released,
            f.on_the_bus + f.not_sent + f.waiting,
        );
        if let Some(log) = &self.log {
            let left_out: u64 = log.left_out.values().sum();
            same(
                "frames of the log = released + not replayed",
                log.frames,
                f.released + left_out,
            );
        }
        let overrun: u64 = self.gateway.ports.iter().map(|p| p.count.rx.overrun).sum();
        same(
            "frames that the buses brought to the gateway = received + overrun",
            played.heard,
            from_buses + overrun,
        );
        let sent: u64 = self.gateway.ports.iter().map(|p| p.count.tx.sent).sum();
        same(
            "frames sent by the gateway's ports = records of frames out",
            sent,
            f.forwarded,
        );
        // Compare each port's own counters of accepted copies with the records of copies.
        let copies = |status: Status| {
            let records = played.recorder.records.iter();
            records.filter(|r| r.status == status).count() as u64
        };
        let ports = |of: fn(&TxCounters) -> u64| -> u64 {
            self.gateway.ports.iter().map(|p| of(&p.count.tx)).sum()
        };
        for reason in StoppedCopies::REASONS {
            if let (Some(counter), Some(status)) = (reason.counter, reason.status) {
                let what = format!("copies counted as {status} = records of them");
                same(&what, ports(counter), copies(status));
            }
        }
        let unmatched = played
            .recorder
            .records
            .iter()
            .filter(|r| r.route.is_none())
            .count() as u64;
        let no_route: u64 = self
            .gateway
            .ports
            .iter()
            .map(|p| p.count.fates.get(Fate::NoRoute))
            .sum();
        same(
            "frames without a route = records without a route",
            no_route,
            unmatched,
        );
        same(
            "disagreements of engine and second opinion",
            played.recorder.disagreements,
            0,
        );
        same("wrong pairs of the matcher", self.tester.mistaken, 0);
        found
    }

    /// Checks whether all frames are accounted for.
    ///
    /// # Errors
    /// [`Error::Circle`], [`Error::EmptyLog`], [`Error::Unaccounted`].
    pub fn verdict(&self) -> Result<(), Error> {
        if self.cut_off {
            return Err(Error::Circle);
        }
        if self.log.as_ref().is_some_and(|log| log.frames == 0) {
            return Err(Error::EmptyLog);
        }
        if self.accounted {
            return Ok(());
        }
        Err(Error::Unaccounted(self.imbalances.join("\n")))
    }
}
