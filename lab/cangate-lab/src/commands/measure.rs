//! `cangate lab measure`.

use super::guests::LabGuests;
use super::units::micros;
use crate::cli::experiment::Measure;
use crate::cli::settings::SettingOptions;
use console::Failure;
use console::output;
use experiment::figures::{ExperimentFigures, LatencyFigures, latencies};
use experiment::receiving::receiving;
use experiment::trial::{self, TrialError};
use experiment::{ClockChoice, Experiment, ExperimentTask, MachinePlacement, nested, round_trip};
use probe::RunResults;
use std::io::Write;

/// Runs one experiment.
pub(crate) fn run(args: &Measure) -> Result<(), Failure> {
    let experiment = experiment(args)?;
    if let Some(path) = &args.out {
        output::file(path)?;
    }
    let guests = LabGuests::open(&args.locations, true)?;
    guests.check([&experiment])?;
    let floor = experiment.floor().filter(|_| !args.no_floor);
    eprintln!(
        "{}: {}, {} frames …",
        if floor.is_some() {
            "2 experiments, the second one with an ideal gateway"
        } else {
            "1 experiment"
        },
        experiment.name(),
        experiment.frames
    );
    let results = trial::make(&guests, &experiment).map_err(failure)?;
    if let Some(path) = &args.out {
        probe::results::write(path, &results).map_err(Failure::run)?;
    }
    let figures = ExperimentFigures::from_results(&experiment, &results);
    let floor = match floor {
        Some(floor) => {
            let results = trial::make(&guests, &floor).map_err(failure)?;
            ExperimentFigures::from_results(&floor, &results).latency_ns
        }
        None => None,
    };
    let text = if args.json {
        json(&experiment, &results, &figures, floor)?
    } else {
        words(&experiment, &results, &figures, floor)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn failure(error: TrialError) -> Failure {
    match error {
        TrialError::Machine(error) => Failure::run(error),
        TrialError::Failed(failed) => {
            let mut text = failed.to_string();
            if !failed.console.trim().is_empty() {
                text.push_str("\n--- the end of the guest's console:\n");
                text.push_str(failed.console.trim());
            }
            Failure::Run(text)
        }
    }
}

/// Returns the gateway's own part of the median, ns: the part above an ideal gateway's median.
fn own_share(figures: &ExperimentFigures, floor: Option<LatencyFigures>) -> Option<i64> {
    Some(figures.latency_ns?.p50 - floor?.p50)
}

/// Returns the requested experiment.
fn experiment(args: &Measure) -> Result<Experiment, Failure> {
    let mut made = from_options(&args.settings)?;
    if args.real_time {
        made.clock = ClockChoice::Real;
    }
    if args.apart {
        made.apart = MachinePlacement::Apart;
    }
    if let Some(path) = &args.log {
        made = made.playing(super::played::read(path, args.log_out.as_deref())?);
    }
    checked(made)
}

/// Returns an experiment of the settings that were given; their compatibility is not checked.
pub(super) fn from_options<S>(options: &SettingOptions<S>) -> Result<Experiment, Failure> {
    let words = options.words.iter().map(|(s, word)| (*s, word.as_str()));
    Experiment::from_words(words).map_err(Failure::input)
}

/// Returns the experiment if its settings are compatible.
pub(super) fn checked(experiment: Experiment) -> Result<Experiment, Failure> {
    experiment.check().map_err(|conflicts| {
        let lines: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
        Failure::Input(lines.join("\n"))
    })?;
    Ok(experiment)
}

fn json(
    experiment: &Experiment,
    results: &RunResults,
    figures: &ExperimentFigures,
    floor: Option<LatencyFigures>,
) -> Result<String, Failure> {
    let mut json = serde_json::to_value(figures).map_err(Failure::run)?;
    let description = &results.description;
    if let Some(object) = json.as_object_mut() {
        object.insert("name".to_owned(), experiment.name().into());
        if let Some(own) = own_share(figures, floor) {
            let floor = serde_json::to_value(floor).map_err(Failure::run)?;
            object.insert("floor_ns".to_owned(), floor);
            object.insert("own_p50_ns".to_owned(), own.into());
        }
        object.insert("stamp".to_owned(), description.stamp.clone().into());
        object.insert("time_base".to_owned(), description.time_base.clone().into());
        object.insert(
            "blind_spots".to_owned(),
            description.blind_spots.clone().into(),
        );
        let more = description.more.iter();
        let more = more.map(|(name, value)| (name.clone(), value.clone().into()));
        object.insert(
            "settings".to_owned(),
            serde_json::Value::Object(more.collect()),
        );
    }
    let text = serde_json::to_string_pretty(&json).map_err(Failure::run)?;
    Ok(format!("{text}\n"))
}

/// Formats own frames, each without its time on the bus.
fn own_frames(results: &RunResults, row: &str) -> String {
    let all: Vec<i64> = latencies(results).collect();
    let sum: i128 = all.iter().map(|ns| i128::from(*ns)).sum();
    let mean = sum as f64 / all.len().max(1) as f64 / 1e3;
    let bus = round_trip::own_frame(results).map_or_else(String::new, |ns| {
        format!(
            "  the first frame on the bus, which is subtracted: {}\n",
            micros(ns)
        )
    });
    format!("own frame, µs    {row}   mean {mean:>9.2}\n{bus}")
}

/// Formats the numbers of frames that a program received.
fn received(results: &RunResults) -> String {
    let Some(message) = receiving(results) else {
        return "the results do not contain the received frames\n".to_owned();
    };
    let exits: Vec<String> = message
        .exits
        .iter()
        .map(|(kind, count)| format!("{kind} {count:.2}"))
        .collect();
    let exits = if exits.is_empty() {
        String::new()
    } else {
        format!("KVM's counts a frame: {}\n", exits.join(", "))
    };
    format!(
        "{} frames on the bus, which was busy for {:.1} % of the time; the processor was idle for {:.1} %\n\
         of these, the controller's driver had {}, the machine's interface {}, the program {}\n{exits}",
        message.bus, message.load, message.idle, message.owner, message.machine, message.program
    )
}

fn words(
    experiment: &Experiment,
    results: &RunResults,
    figures: &ExperimentFigures,
    floor: Option<LatencyFigures>,
) -> String {
    let row = |l: &LatencyFigures| {
        let all = [l.min, l.p50, l.p99, l.max].map(micros);
        format!(
            "min {:>9}   p50 {:>9}   p99 {:>9}   max {:>9}",
            all[0], all[1], all[2], all[3]
        )
    };
    let mut text = format!("{}\n\n", results.description.title);
    match &figures.latency_ns {
        Some(latency) if experiment.task == ExperimentTask::RoundTrip => {
            text.push_str(&format!("round trip, µs   {}\n", row(latency)));
        }
        Some(latency) if experiment.task == ExperimentTask::Loop => {
            text.push_str(&own_frames(results, &row(latency)));
        }
        Some(latency) => text.push_str(&format!("latency, µs      {}\n", row(latency))),
        None if experiment.task == ExperimentTask::Receive => text.push_str(&received(results)),
        None => text.push_str("no frame came back\n"),
    }
    if let (Some(latency), Some(bus)) = (&figures.latency_ns, round_trip::bus_time(results)) {
        let own = LatencyFigures {
            min: latency.min - bus,
            p50: latency.p50 - bus,
            p99: latency.p99 - bus,
            max: latency.max - bus,
        };
        text.push_str(&format!(
            "  both frames on the bus: {}\n  less these     {}\n",
            micros(bus),
            row(&own)
        ));
    }
    if let (Some(floor), Some(own)) = (floor, own_share(figures, floor)) {
        text.push_str(&format!(
            "  ideal gateway  {}\n  p50 less the ideal gateway's, the gateway's own share: {}\n",
            row(&floor),
            micros(own)
        ));
    }
    if let Some(registers) = &figures.register_accesses {
        for cost in registers.at_cost.iter().filter(|c| c.access_ns > 0) {
            let with = format!("  at {} ns", cost.access_ns);
            text.push_str(&format!("{with:<16} {}\n", row(&cost.latency_ns)));
        }
        text.push_str(&format!(
            "register accesses a frame: {} (least {}, most {}); virtual time charges each one instruction\n",
            registers.p50, registers.min, registers.max
        ));
    }
    text.push_str(&format!(
        "frames: {} sent, {} received, {} lost, {} reordered, {} duplicated\n",
        figures.sent, figures.received, figures.lost, figures.reordered, figures.duplicated
    ));
    let exits: Vec<String> = nested::exits(results)
        .map(|(kind, count)| format!("{kind} {count:.2}"))
        .collect();
    if !exits.is_empty() {
        text.push_str(&format!(
            "KVM's counts {}: {}\n",
            if experiment.task == ExperimentTask::Loop {
                "a frame (sent and received back)"
            } else {
                "a round trip (two frames)"
            },
            exits.join(", ")
        ));
    }
    for (name, value) in &results.description.more {
        if name.starts_with("lost ") {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    if experiment.is_real_time() {
        text.push_str("REAL TIME: these figures do not repeat\n");
    }
    text.push_str(&format!(
        "\ntime: {}\nstamp: {}\nnot seen: {}\n",
        results.description.time_base, results.description.stamp, results.description.blind_spots
    ));
    text
}
