//! The result of a run: records, counts, latencies, and the warnings that belong to them.

use crate::play::PlayedCounts;
use crate::recorder::{FateCounts, FateRecorder, LatencyMeasure};
use crate::setup::TestSetup;
use probe::{LatencyProfile, LatencySummary, RunDescription, RunResults};
use serde::Serialize;

/// A run, complete or up to the point where it ended early.
#[derive(Clone, Debug)]
pub struct TesterOutcome {
    /// Every frame's stamps, and how they were made.
    pub results: RunResults,
    /// Number of frames by fate.
    pub counts: FateCounts,
    /// Summary of the latencies; `None` where no frame has one.
    pub latency: Option<LatencySummary>,
    /// Self-check with a reference: receiver's stamp − reference's stamp.
    pub difference: Option<LatencySummary>,
    /// Reason why the run ended early, if it did.
    pub failure: Option<String>,
    /// Warnings that the reader of the figures must know, in sentences.
    pub warnings: Vec<String>,
    /// Error frames on the sending, the reference and the receiving interface (a bus of
    /// `bitcan`: on the incoming bus, 0, on the outgoing bus).
    pub error_frames: [u64; 3],
    /// Frames that the gateway's controllers lost in their receive FIFOs, where the bench can see
    /// them.
    pub overruns: Option<u64>,
    /// Number of times that a frame had to wait for room at the sending interface.
    pub stalled: u64,
    /// From the first frame to the end of the waiting, ns.
    pub elapsed: u64,
    /// Whether the times are of a virtual clock.
    pub virtual_time: bool,
}

/// The figures that `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct TesterFigures {
    /// `null` where no frame has a latency.
    pub latency_ns: Option<Quantiles>,
    /// Self-check with a reference only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_ns: Option<Quantiles>,
    /// Frames that went into the gateway.
    pub sent: u64,
    /// Frames that came out in time.
    pub received: u64,
    /// Frames that did not come out in time.
    pub lost: u64,
    /// Of the lost ones, how many came out too late.
    pub late: u64,
    /// Received frames that a later one overtook.
    pub reordered: u64,
    /// Frames that came out a second time.
    pub duplicated: u64,
    /// Frames that came out but had not been sent by the tester.
    pub unexpected: u64,
    /// Frames that were never seen on the gateway's incoming bus.
    pub never_in: u64,
    /// Received frames with another identifier, length or payload than they were sent with.
    pub changed: ChangedFrames,
    /// Error frames on the tester's interfaces.
    pub error_frames: [u64; 3],
    /// Frames lost in the gateway's controllers, where the bench can see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overruns: Option<u64>,
    /// Number of times that a frame had to wait for room at the sending interface.
    pub stalled: u64,
    /// From the first frame to the end of the waiting, ns.
    pub elapsed_ns: u64,
    /// `virtual` or `real`.
    pub time: &'static str,
    /// The event that the timestamps mark.
    pub stamp: String,
    /// Effects that the method cannot see.
    pub blind_spots: String,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// Reason why the run ended early; `null` where it did not.
    pub failure: Option<String>,
}

/// Least, median, 99th percentile, greatest; ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// Least.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
    /// Greatest.
    pub max: i64,
}

/// Numbers of frames that the gateway changed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChangedFrames {
    /// Frames with another identifier.
    pub ids: u64,
    /// Frames with another length, kind or bit rate switch.
    pub lengths: u64,
    /// Frames with other payload after the number.
    pub data: u64,
}

impl From<LatencySummary> for Quantiles {
    fn from(s: LatencySummary) -> Self {
        let LatencySummary {
            min, p50, p99, max, ..
        } = s;
        Self { min, p50, p99, max }
    }
}

impl TesterOutcome {
    /// Returns the figures, for JSON.
    #[must_use]
    pub fn figures(&self) -> TesterFigures {
        let c = &self.counts;
        TesterFigures {
            latency_ns: self.latency.map(Quantiles::from),
            difference_ns: self.difference.map(Quantiles::from),
            sent: c.sent,
            received: c.received,
            lost: c.lost,
            late: c.late,
            reordered: c.reordered,
            duplicated: c.duplicated,
            unexpected: c.unexpected,
            never_in: c.never_in,
            changed: ChangedFrames {
                ids: c.other_id,
                lengths: c.other_length,
                data: c.other_data,
            },
            error_frames: self.error_frames,
            overruns: self.overruns,
            stalled: self.stalled,
            elapsed_ns: self.elapsed,
            time: clock(self.virtual_time),
            stamp: self.results.description.stamp.clone(),
            blind_spots: self.results.description.blind_spots.clone(),
            warnings: self.warnings.clone(),
            failure: self.failure.clone(),
        }
    }
}

/// Returns the word for the clock.
pub(crate) const fn clock(virtual_time: bool) -> &'static str {
    if virtual_time { "virtual" } else { "real" }
}

/// A bench's own entries for the description of the results.
pub(crate) struct BenchWords {
    pub(crate) bench: &'static str,
    pub(crate) time_base: String,
    pub(crate) stamp: String,
    pub(crate) blind_spots: String,
    pub(crate) bit_rates: String,
    /// Names of the incoming and the outgoing port.
    pub(crate) ports: [String; 2],
}

/// Assembles the result of a run.
pub(crate) fn assemble(
    setup: &TestSetup,
    words: &BenchWords,
    recorder: &FateRecorder,
    played: &PlayedCounts,
    mut warnings: Vec<String>,
) -> TesterOutcome {
    let (records, counts) = recorder.finish(setup.measure);
    let results = RunResults {
        description: describe(setup, words),
        routes: Vec::new(),
        ports: words.ports.to_vec(),
        payloads: recorder.payloads(&records),
        records,
    };
    let latency = summary(&results);
    let difference = (setup.measure == LatencyMeasure::Sending)
        .then(|| {
            let (records, _) = recorder.finish(LatencyMeasure::Difference);
            summary(&RunResults {
                records,
                ..RunResults::default()
            })
        })
        .flatten();
    warn(&counts, played, &mut warnings);
    TesterOutcome {
        results,
        counts,
        latency,
        difference,
        failure: played.failure.as_ref().map(ToString::to_string),
        warnings,
        error_frames: played.error_frames,
        overruns: None,
        stalled: played.stalled,
        elapsed: played.elapsed,
        virtual_time: setup.virtual_time,
    }
}

fn summary(results: &RunResults) -> Option<LatencySummary> {
    results
        .latencies(None)
        .collect::<LatencyProfile>()
        .summary()
}

/// Adds sentences about the events that make figures doubtful.
fn warn(counts: &FateCounts, played: &PlayedCounts, warnings: &mut Vec<String>) {
    let mut warn = |n: u64, text: &str| {
        if n > 0 {
            warnings.push(format!("{n} {text}"));
        }
    };
    warn(
        counts.never_in,
        "frames were handed to the sending interface and never seen on the gateway's bus: they \
         are not counted as lost by the gateway",
    );
    warn(
        counts.unreferenced,
        "received frames were not seen by the reference and have no latency",
    );
    warn(
        played.unstamped,
        "frames had no stamp of the kernel and got the tester's own, which is later",
    );
    warn(
        counts.foreign,
        "frames on the gateway's incoming bus were not the tester's: other nodes are sending",
    );
    warn(
        counts.twice,
        "frames were seen on the incoming bus a second time: sent again after an error, or \
         brought back by the gateway",
    );
}

fn describe(setup: &TestSetup, words: &BenchWords) -> RunDescription {
    let (plan, of) = (&setup.plan, &setup.description);
    let or = |text: &str, other: &str| -> String {
        if text.is_empty() { other } else { text }.to_owned()
    };
    let mut more = of.more.clone();
    let mut add = |name: &str, value: String| {
        if !more.iter().any(|(known, _)| known == name) {
            more.push((name.to_owned(), value));
        }
    };
    let (low, high) = (plan.lens.start(), plan.lens.end());
    let lens = if low == high {
        low.to_string()
    } else {
        format!("{low}-{high}")
    };
    add("bench", words.bench.to_owned());
    add("traffic", plan.traffic.to_string());
    add("payload", lens.clone());
    add("frames", plan.frames.to_string());
    add("seed", plan.seed.to_string());
    add("clock", clock(setup.virtual_time).to_owned());
    add("timeout", format!("{} ms", setup.timeout / 1_000_000));
    add(
        "latency",
        match setup.measure {
            LatencyMeasure::Gateway => "end out - end in - duration out",
            LatencyMeasure::Difference => "receiver's stamp - reference's stamp",
            LatencyMeasure::Sending => "receiver's stamp - time before sending - duration",
        }
        .to_owned(),
    );
    let (first, last) = plan.ids;
    let ids = if first == last {
        format!("{:X}", first.number())
    } else {
        format!("{:X}-{:X} at random", first.number(), last.number())
    };
    let kind = if plan.fd.is_some() { "FD" } else { "classic" };
    let traffic = format!(
        "{}, {} {kind} frames of {lens} bytes, ID {ids}, number in the first two bytes",
        plan.traffic, plan.frames
    );
    RunDescription {
        title: or(&of.title, "cangate bench"),
        version: or(&of.version, env!("CARGO_PKG_VERSION")),
        command: of.command.clone(),
        seed: plan.seed,
        config: of.config.clone(),
        traffic,
        bit_rates: words.bit_rates.clone(),
        time_base: words.time_base.clone(),
        stamp: words.stamp.clone(),
        blind_spots: words.blind_spots.clone(),
        more,
    }
}
