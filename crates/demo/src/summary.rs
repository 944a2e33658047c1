//! The figures of a run: what the table and the JSON show.

use crate::error::Error;
use crate::observer::{Observation, Observers};
use crate::play::Played;
use crate::scene::Scene;
use crate::traffic::{LogAccount, Source};
use engine::{Fate, Snapshot, TxCounters};
use frame::Nanos;
use gateway::config::Config;
use probe::{LatencyProfile, Record, Status};
use serde::Serialize;

/// Everything that is printed.
#[derive(Serialize)]
pub struct Summary {
    /// cangate's version.
    pub cangate: &'static str,
    /// What the times are, unless something else stands beside them.
    pub time: &'static str,
    /// Bus time at the end, ns.
    pub duration_ns: Nanos,
    /// What happened, in one sentence.
    pub sentence: String,
    /// The testers' frames.
    pub frames: Frames,
    /// What was read of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogAccount>,
    /// In the order of the gateway file.
    pub routes: Vec<RouteLine>,
    /// In the order of the gateway file.
    pub buses: Vec<BusLine>,
    /// Latency of all routes, bus time.
    pub latency_ns: Option<Quantiles>,
    /// The same, every value.
    #[serde(skip)]
    pub profile: LatencyProfile,
    /// What the gateway took for a frame: real time, of this machine.
    pub processing_ns: Option<Processing>,
    /// What a tester finds that sees only the buses.
    pub tester: Observation,
    /// The gateway's own counters.
    pub gateway: Snapshot,
    /// The buses never came to rest: routes lead in a circle.
    pub cut_off: bool,
    /// What happened to the gateway's ports that a user should know, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Everything adds up.
    pub accounted: bool,
    /// What does not; empty in a sound cangate.
    pub imbalances: Vec<String>,
}

/// The testers' frames, and what became of them.
#[derive(Serialize)]
pub struct Frames {
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

impl Frames {
    /// What never came to a bus, for people; `None` where all did.
    pub fn unsent(&self) -> Option<String> {
        let lost = self.not_sent + self.waiting;
        (lost > 0).then(|| {
            format!(
                "{lost} of {} frames never came to a bus: their sender's queue ran over, or they \
                 waited to the end.",
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
    /// Frames and copies that were not: the sum of those below.
    pub dropped: u64,
    /// By a rule that says drop.
    pub dropped_by_rule: u64,
    /// By the route's rate limit.
    pub dropped_by_rate: u64,
    /// By a destination's full queue.
    pub refused: u64,
    /// Taken by a destination's queue and displaced by newer ones.
    pub displaced: u64,
    /// Taken by a destination's queue, where they waited as long as is allowed.
    pub expired: u64,
    /// Taken by a destination, and not yet sent when the run ended.
    pub waiting: u64,
    /// Hop limit, length, ID out of range, undeliverable, lost on the bus.
    pub other: u64,
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
    /// The busiest whole window of [`BusLine::peak_window_ns`].
    pub peak_load: f64,
    /// The length of such a window, ns: 100 ms, more in very long runs.
    pub peak_window_ns: Nanos,
}

/// A distribution, ns.
#[derive(Clone, Copy, Serialize)]
pub struct Quantiles {
    /// Least.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// 99 % are not above it.
    pub p99: i64,
    /// Greatest.
    pub max: i64,
}

/// Real time.
#[derive(Clone, Copy, Serialize)]
pub struct Processing {
    /// What time it is.
    pub time: &'static str,
    /// The figures, ns.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// Min, p50, p99, max; nothing of nothing.
pub(crate) fn quantiles(values: impl Iterator<Item = i64>) -> Option<Quantiles> {
    let summary = values.collect::<LatencyProfile>().summary()?;
    let probe::Summary {
        min, p50, p99, max, ..
    } = summary;
    Some(Quantiles { min, p50, p99, max })
}

impl Summary {
    pub(crate) fn new(
        scene: &Scene,
        config: &Config,
        source: &Source,
        played: &mut Played,
    ) -> Self {
        let observers = std::mem::replace(&mut played.recorder.observers, Observers::new(0));
        let snapshot = scene.engine.snapshot();
        let records = &played.recorder.records;
        let names = config.port_names();
        let routes = config.routes.routes.iter();
        let route_names: Vec<String> = routes.map(|r| r.name.clone()).collect();
        let name = |p: &route::PortId| names.get(usize::from(p.0)).cloned().unwrap_or_default();
        let count = |i: usize, statuses: &[Status]| {
            let of = |r: &&Record| r.route == Some(i as u16) && statuses.contains(&r.status);
            records.iter().filter(of).count() as u64
        };
        let routes = config.routes.routes.iter().enumerate().map(|(i, route)| {
            let of_route = || records.iter().filter(move |r| r.route == Some(i as u16));
            let dropped_by_rule = count(i, &[Status::DroppedByRule]);
            let dropped_by_rate = count(i, &[Status::DroppedByRate]);
            let refused = count(i, &[Status::Refused]);
            let out = count(i, &[Status::Delivered]);
            let all = of_route().count() as u64;
            let displaced = count(i, &[Status::Displaced]);
            let expired = count(i, &[Status::Expired]);
            let waiting = count(i, &[Status::Waiting]);
            let named = [
                out,
                dropped_by_rule,
                dropped_by_rate,
                refused,
                displaced,
                expired,
                waiting,
            ];
            let other = all - named.iter().sum::<u64>();
            RouteLine {
                name: route.name.clone(),
                from: route.from.iter().map(name).collect(),
                to: route.to.iter().map(name).collect(),
                taken: snapshot.routes.get(i).map_or(0, |r| r.count.taken),
                out,
                dropped: all - out,
                dropped_by_rule,
                dropped_by_rate,
                refused,
                displaced,
                expired,
                waiting,
                other,
                latency_ns: quantiles(of_route().filter_map(Record::latency)),
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
        let mut summary = Self {
            cangate: env!("CARGO_PKG_VERSION"),
            time: "bus time (simulated)",
            duration_ns: played.end,
            sentence: report::run::sentence(
                report::run::Frames {
                    records,
                    ports: &names,
                    routes: &route_names,
                },
                true,
            ),
            frames: Frames {
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
            latency_ns: quantiles(records.iter().filter_map(Record::latency)),
            profile: records.iter().filter_map(Record::latency).collect(),
            processing_ns: quantiles(processing).map(|quantiles| Processing {
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
        summary.imbalances = summary.imbalances(played);
        summary.accounted = summary.imbalances.is_empty();
        summary
    }

    /// Everything that must add up and does not. The demo's records, the gateway's counters and
    /// the buses' statistics are counted independently of one another.
    fn imbalances(&self, played: &Played) -> Vec<String> {
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
            f.received + overrun,
        );
        let sent: u64 = self.gateway.ports.iter().map(|p| p.count.tx.sent).sum();
        same(
            "frames sent by the gateway's ports = records of frames out",
            sent,
            f.forwarded,
        );
        // Each port's own counters of what it took, against the records of copies.
        let copies = |status: Status| {
            let records = played.recorder.records.iter();
            records.filter(|r| r.status == status).count() as u64
        };
        let ports = |of: fn(&TxCounters) -> u64| -> u64 {
            self.gateway.ports.iter().map(|p| of(&p.count.tx)).sum()
        };
        let (displaced, expired) = (copies(Status::Displaced), copies(Status::Expired));
        let what = "frames displaced at the gateway's ports = records of them";
        same(what, ports(|tx| tx.displaced), displaced);
        let what = "frames expired at the gateway's ports = records of them";
        same(what, ports(|tx| tx.expired), expired);
        let what = "frames held by the gateway's ports = records of frames that wait";
        same(what, ports(|tx| tx.held), copies(Status::Waiting));
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
            .map(|p| p.count.fates.of(Fate::NoRoute))
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
        same(
            "pairs that the matcher is mistaken about",
            self.tester.mistaken,
            0,
        );
        found
    }

    /// Whether all is accounted for.
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
