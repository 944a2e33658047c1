//! An experiment without an operating system: on the host, from its settings to an image and its
//! task, and from the image's output to a guest's outcome.

use crate::measure::{self, MeasureError};
use crate::measurement::{ImageKind, Measurement};
use crate::plan::bit_rate;
use crate::settings::Experiment;
use crate::spec::{BITRATE, DATA_BITRATE};
use crate::trial::RESULTS;
use crate::under_test::{self, interfaces};
use baremetal::bench::{BenchStamp, BenchTask, SendPattern as TaskPattern, StampKind, TaskFrame};
use baremetal::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use guest::{BareOutcome, GuestFailure, GuestOutcome};
use probe::traffic::TrafficPattern;
use tester::{BusEvent, BusStamp, TimedBench};

/// The input of an image.
#[derive(Clone, Debug)]
pub struct ImageInput {
    /// The plan of its gateway.
    pub plan: ImagePlan,
    /// The task of the tester inside: the file next to the image.
    pub task: Vec<u8>,
}

/// Returns the input for the image of an experiment.
///
/// # Errors
/// [`MeasureError`]: the tester's plan is not valid.
pub fn given(experiment: &Experiment) -> Result<ImageInput, MeasureError> {
    let setup = measure::setup(experiment)?;
    let Measurement::Image(image) = experiment.measurement()? else {
        let why = format!("{} is not an image", experiment.gateway);
        return Err(MeasureError::Run(why));
    };
    let drive = match image {
        ImageKind::Interrupt => DriveMode::Interrupt,
        ImageKind::Polling | ImageKind::Ideal => DriveMode::Poll,
    };
    let ports = (0..)
        .zip(interfaces(experiment))
        .map(|(bus, name)| PortPlan {
            data_bitrate: experiment.is_fd().then_some(DATA_BITRATE),
            drive,
            ..PortPlan::new(name, ControllerPlace::Bench { bus }, BITRATE)
        });
    let frames = setup.plan.frames(bit_rate(experiment)?);
    let frames = frames.map_err(tester::Error::Plan)?;
    let task = BenchTask {
        ideal: image == ImageKind::Ideal,
        pattern: match experiment.traffic {
            TrafficPattern::OneAtATime => TaskPattern::OneAtATime,
            TrafficPattern::Flood | TrafficPattern::Load(_) | TrafficPattern::Period(_) => {
                TaskPattern::Schedule
            }
        },
        timeout: setup.timeout,
        on_cards: None,
        stamps: None,
        disturbed: None,
        // Virtual time counts nanoseconds.
        ticks: Some(1_000_000_000),
        frames: frames
            .iter()
            .map(|planned| TaskFrame::new(planned.at, &planned.frame))
            .collect(),
    };
    Ok(ImageInput {
        plan: ImagePlan {
            ports: ports.collect(),
            routes: under_test::routes(experiment),
        },
        // The task consists of numbers and text: serializing it cannot fail.
        task: serde_json::to_vec(&task).unwrap_or_default(),
    })
}

/// Converts the output of the image to a guest's outcome. `versions`: the versions that it was
/// built from.
#[must_use]
pub fn outcome(
    experiment: &Experiment,
    message: &BareOutcome,
    versions: Vec<(String, String)>,
) -> GuestOutcome {
    let mut outcome = GuestOutcome {
        versions,
        console: message.text.lines().take(20).collect::<Vec<_>>().join("\n"),
        ..GuestOutcome::default()
    };
    match results(experiment, message) {
        Ok(bytes) => {
            outcome.status = Some(0);
            outcome.outputs.push((RESULTS.to_owned(), bytes));
        }
        Err(why) => outcome.failure = Some(GuestFailure::Guest { message: why }),
    }
    outcome
}

fn results(experiment: &Experiment, message: &BareOutcome) -> Result<Vec<u8>, String> {
    let read = ImageOutput::parse(message)?;
    let words = |error: &dyn std::error::Error| guest::with_causes(error);
    let setup = measure::setup(experiment).map_err(|e| words(&e))?;
    let bench = TimedBench {
        send_bus: 0,
        receive_bus: 1,
        stamp_every: experiment.stamp_every,
        rate: bit_rate(experiment).map_err(|e| words(&e))?,
    };
    let started = read.stamps.first().map_or(0, |stamp| stamp.end);
    let outcome = tester::from_stamps(&setup, &bench, read.stamps, started, read.lost)
        .map_err(|e| words(&e))?;
    measure::accounted(experiment, outcome, read.counters.as_deref()).map_err(|e| words(&e))
}

/// The content of an image's lines.
struct ImageOutput {
    /// In the format of `cangate stats --json`.
    counters: Option<String>,
    stamps: Vec<BusStamp>,
    lost: u64,
}

impl ImageOutput {
    fn parse(message: &BareOutcome) -> Result<Self, String> {
        let mut read = Self {
            counters: None,
            stamps: Vec::new(),
            lost: 0,
        };
        let mut whole = false;
        let mut words = Vec::new();
        for line in message.text.lines() {
            let line = line.trim_end();
            if line.starts_with("{\"end\":") {
                let stamp: BenchStamp = serde_json::from_str(line)
                    .map_err(|e| format!("a stamp of the image cannot be read: {e}: {line}"))?;
                read.stamps.push(of_bus(&stamp)?);
            } else if line.starts_with('{') {
                read.counters = Some(line.to_owned());
            } else if let Some(lost) = line
                .strip_prefix("cangate: end of stamps, ")
                .and_then(|rest| rest.strip_suffix(" lost"))
            {
                read.lost = lost.parse().unwrap_or(u64::MAX);
                whole = true;
            } else if !line.is_empty() {
                words.push(line.to_owned());
            }
        }
        if whole && message.ended {
            return Ok(read);
        }
        words.reverse();
        words.truncate(3);
        words.reverse();
        Err(format!(
            "the image {}; its last output: {}",
            if message.ended {
                "ended before the end of its measurement"
            } else {
                "did not end"
            },
            words.join("; ")
        ))
    }
}

/// Converts a stamp to the form in which the tester of a kernel takes it.
fn of_bus(stamp: &BenchStamp) -> Result<BusStamp, String> {
    Ok(BusStamp {
        end: stamp.end,
        duration: u32::try_from(stamp.duration).unwrap_or(u32::MAX),
        bus: stamp.bus,
        node: u16::from(stamp.node),
        event: match stamp.kind {
            StampKind::Frame => {
                let frame = stamp.frame.frame();
                let frame = frame.ok_or_else(|| format!("{:?} is not a frame", stamp.frame))?;
                BusEvent::Frame(frame)
            }
            StampKind::Error => BusEvent::ErrorFrame,
            StampKind::Overrun => BusEvent::Overrun,
            StampKind::BusOff => BusEvent::BusOff,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::GatewayChoice;

    fn experiment() -> Experiment {
        Experiment {
            bench: guest::machine::BenchKind::Timed,
            gateway: GatewayChoice::Baremetal { irq: false },
            frames: 2,
            ..Experiment::default()
        }
    }

    /// Returns the output of the image of [`experiment`].
    fn text(counters: &str, stamps: usize, end: &str) -> BareOutcome {
        let given = given(&experiment()).unwrap();
        let task: BenchTask = serde_json::from_slice(&given.task).unwrap();
        let frame = |n: u8| serde_json::to_string(&task.frames[usize::from(n)]).unwrap();
        let stamp = |n: usize| {
            let (end, bus) = (
                1_000_000 * (n as u64 / 2 + 1) + 70_000 * (n as u64 % 2),
                n % 2,
            );
            format!(
                "{{\"end\":{end},\"duration\":60000,\"bus\":{bus},\"node\":{},\"kind\":\"Frame\",\
                 \"frame\":{}}}\r\n",
                2 * bus,
                frame(n as u8 / 2)
            )
        };
        let stamps: String = (0..stamps).map(stamp).collect();
        BareOutcome {
            text: format!("SeaBIOS\r\ncangate: ready\r\n{counters}\r\n{stamps}{end}"),
            ended: true,
        }
    }

    const END: &str = "cangate: end of stamps, 0 lost\r\n";

    fn counters(received: u64) -> String {
        let port = |name: &str, received: u64, sent: u64| {
            format!(
                "{{\"name\":\"{name}\",\"received\":{received},\"rx\":{{\"overrun\":0}},\
                 \"tx\":{{\"sent\":{sent}}},\"fates\":{{\"refused\":0}}}}"
            )
        };
        format!(
            "{{\"at_ns\":1,\"ports\":[{},{}]}}",
            port("gw0", received, 0),
            port("gw1", 0, 2)
        )
    }

    #[test]
    fn what_an_image_states_becomes_results() {
        let e = experiment();
        let outcome = outcome(&e, &text(&counters(2), 4, END), vec![]);
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        let bytes = outcome.outputs[0].1.clone();
        let results = probe::results::read_bytes(std::path::Path::new("r"), bytes).unwrap();
        assert_eq!(results.records.len(), 2);
        let latencies: Vec<_> = results
            .records
            .iter()
            .filter_map(probe::FrameRecord::latency)
            .collect();
        assert_eq!(latencies, [10_000, 10_000]);
    }

    #[test]
    fn what_is_missing_is_reported() {
        let e = experiment();
        let why = |message: &BareOutcome| outcome(&e, message, vec![]).failure.unwrap().to_string();
        let early = why(&text("cangate: port gw0: no", 0, ""));
        assert!(
            early.contains("ended before") && early.contains("gw0: no"),
            "{early}"
        );
        let mut hangs = text(&counters(2), 4, "");
        hangs.ended = false;
        assert!(why(&hangs).contains("did not end"));
        assert!(why(&text(&counters(1), 4, END)).contains("not every frame is accounted for"));
        assert!(why(&text("{\"ports\":[]}", 4, END)).contains("accounted"));
    }

    #[test]
    fn the_image_gets_the_experiments_routes_and_frames() {
        let given = given(&Experiment {
            gateway: GatewayChoice::Baremetal { irq: true },
            ..experiment()
        })
        .unwrap();
        assert_eq!(given.plan.routes, under_test::routes(&experiment()));
        assert!(
            given
                .plan
                .ports
                .iter()
                .all(|p| p.drive == DriveMode::Interrupt)
        );
        let task: BenchTask = serde_json::from_slice(&given.task).unwrap();
        assert_eq!(task.frames.len(), 2);
        assert_eq!(task.frames[1].3.get(..4), Some("0001"));
    }
}
