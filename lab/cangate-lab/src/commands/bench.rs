//! `cangate bench`.

use crate::cli::bench::{Bench, BenchCommand};
use console::Failure;
use console::output;
use console::table::{row, table};
use frame::wire::BitRate;
use frame::{Frame, FrameBuf, Nanos, flags};
use port::log::{LogError, LogReader};
use probe::traffic::MOST_FRAMES;
use probe::{LatencySummary, RunDescription};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use tester::{
    BusTimes, LatencyMeasure, PlanSource, TestPlan, TestSetup, TesterInterfaces, TesterOutcome,
};

/// Times a gateway between real interfaces, or runs the subcommand.
pub(crate) fn run(args: &Bench) -> Result<(), Failure> {
    if let Some(BenchCommand::Syscalls(args)) = &args.command {
        return super::syscalls::run(args);
    }
    let setup = setup(args)?;
    if let Some(path) = &args.output.out {
        output::file(path)?;
    }
    let outcome = if args.interfaces.bitcan {
        let bench = tester::TimedBench {
            send_bus: args.interfaces.send_bus,
            receive_bus: args.interfaces.receive_bus,
            stamp_every: args.interfaces.stamp_every,
            rate: given_rate(args)?,
        };
        tester::over_bitcan(&setup, &bench)
    } else {
        let names = names(args)?;
        let buses = buses(args, &names)?;
        tester::over_sockets(&setup, names, buses)
    };
    let outcome = outcome.map_err(failure)?;
    if let Some(path) = &args.output.out {
        probe::results::write(path, &outcome.results).map_err(Failure::run)?;
    }
    let text = if args.output.json {
        let figures = serde_json::to_string_pretty(&outcome.figures()).map_err(Failure::run)?;
        figures + "\n"
    } else {
        render(&setup, &outcome)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    match outcome.failure {
        Some(why) => Err(Failure::Run(format!("the run ended early: {why}"))),
        None => Ok(()),
    }
}

fn failure(error: tester::Error) -> Failure {
    use tester::SetUpError::{Device, NoFd, NoFdDevice, NoHardware, Stopped, Twice, TwoClocks};
    match error {
        tester::Error::Plan(_)
        | tester::Error::Bench(_)
        | tester::Error::SetUp(
            Twice(..) | TwoClocks(..) | NoFd(_) | NoFdDevice(_) | NoHardware(_) | Stopped(_)
            | Device(_),
        ) => Failure::input(error),
        _ => Failure::run(error),
    }
}

fn setup(args: &Bench) -> Result<TestSetup, Failure> {
    let traffic = &args.traffic;
    let (kind, all) = match &traffic.log {
        None => (PlanSource::Made(traffic.traffic), 1_000),
        Some(path) => {
            let frames = log(path)?;
            let all = u32::try_from(frames.len()).unwrap_or(MOST_FRAMES);
            (PlanSource::Log(frames), all.clamp(1, MOST_FRAMES))
        }
    };
    let plan = TestPlan {
        traffic: kind,
        frames: traffic.frames.unwrap_or(all),
        ids: traffic.id,
        lens: traffic.payload.clone(),
        fd: traffic
            .fd
            .then_some(if traffic.brs { flags::BRS } else { 0 }),
        seed: traffic.seed,
        beside: Vec::new(),
    };
    let command: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Ok(TestSetup {
        plan,
        timeout: args.timing.timeout * 1_000_000,
        pause: args.timing.pause * 1_000,
        warm_up: args.timing.warm_up,
        priority: (args.timing.priority > 0).then_some(args.timing.priority),
        virtual_time: args.timing.virtual_time,
        measure: if args.other.self_check {
            LatencyMeasure::Sending
        } else {
            LatencyMeasure::Gateway
        },
        description: RunDescription {
            title: if args.other.self_check {
                "cangate bench: the tester's own precision".to_owned()
            } else {
                String::new()
            },
            command: command.join(" "),
            more: args.output.set.clone(),
            ..RunDescription::default()
        },
    })
}

/// Reads a log's frames. Reports what it leaves out: XL frames, which no interface of the tester
/// carries, bad lines, and frames that the log's writer lost.
fn log(path: &Path) -> Result<Vec<(Nanos, Frame)>, Failure> {
    let mut reader = LogReader::open(path).map_err(Failure::input)?;
    let mut frames = Vec::new();
    let (mut buf, mut xl) = (FrameBuf::new(), 0_u64);
    loop {
        match reader.read(&mut buf) {
            Ok(None) => break,
            Ok(Some(logged)) => match Frame::from_view(buf.view()) {
                Some(frame) => frames.push((logged.ns, frame)),
                None => xl += 1,
            },
            Err(LogError::Bad { .. }) => {}
            Err(error) => return Err(Failure::input(error)),
        }
    }
    let short = frames
        .iter()
        .filter(|(_, frame)| !tester::can_be_numbered(frame))
        .count();
    for remark in reader.remarks() {
        eprintln!("warning: {remark}");
    }
    for (n, what) in [
        (xl, "XL frames"),
        (short as u64, "frames that cannot hold a number"),
    ] {
        if n > 0 {
            eprintln!("warning: {}: {n} {what} are skipped", path.display());
        }
    }
    Ok(frames)
}

fn names(args: &Bench) -> Result<TesterInterfaces, Failure> {
    let given = &args.interfaces;
    let (Some(send), Some(receive)) = (&given.send, &given.receive) else {
        return Err(Failure::input("give --send and --receive"));
    };
    Ok(TesterInterfaces {
        send: send.clone(),
        reference: given.reference.clone(),
        receive: receive.clone(),
        fd: args.traffic.fd,
        hardware_stamps: given.hardware_stamps,
        rate: given_rate(args)?,
    })
}

fn given_rate(args: &Bench) -> Result<Option<BitRate>, Failure> {
    let (Some(nominal), data) = (args.timing.bitrate, args.timing.data_bitrate) else {
        return Ok(None);
    };
    BitRate::new(nominal, data)
        .map(Some)
        .map_err(Failure::input)
}

fn buses(args: &Bench, names: &TesterInterfaces) -> Result<BusTimes, Failure> {
    if args.timing.no_bus_time {
        return Ok(BusTimes::TIMELESS);
    }
    if let Some(rate) = given_rate(args)? {
        return Ok(BusTimes {
            incoming: Some(rate),
            outgoing: Some(rate),
        });
    }
    let of = |name: &str| tester::bit_rate(name, args.traffic.brs).map_err(Failure::input);
    let buses = BusTimes {
        incoming: of(&names.send)?,
        outgoing: of(&names.receive)?,
    };
    if let Some(reference) = &names.reference {
        let rate = of(reference)?;
        if rate != buses.incoming {
            let word = |rate: Option<BitRate>| rate.map_or("none".to_owned(), |r| r.to_string());
            return Err(Failure::input(format!(
                "{} has bit rate {}, {reference} {}: the reference must be on the bus that is \
                 sent to, with its bit rate",
                names.send,
                word(buses.incoming),
                word(rate)
            )));
        }
    }
    Ok(buses)
}

fn render(setup: &TestSetup, outcome: &TesterOutcome) -> String {
    let figures = outcome.figures();
    let mut text = String::new();
    let of = &outcome.results.description;
    let _ = writeln!(
        text,
        "{}\nstamps: {}; {}\n",
        of.traffic, of.time_base, of.stamp
    );
    let what = match setup.measure {
        LatencyMeasure::Gateway => "gateway latency",
        LatencyMeasure::Sending => "sending and receiving",
        LatencyMeasure::Difference => "stamps' difference",
    };
    let mut latencies = table(&["µs", "frames", "min", "p50", "p99", "max"]);
    latencies.add_row(row(cells(what, outcome.latency)));
    if let Some(difference) = outcome.difference {
        latencies.add_row(row(cells("receiver - reference", Some(difference))));
    }
    let _ = writeln!(text, "{latencies}\n");
    let fates = [
        ("sent", figures.sent),
        ("received", figures.received),
        ("lost", figures.lost),
        ("of these late", figures.late),
        ("reordered", figures.reordered),
        ("duplicated", figures.duplicated),
        ("not the tester's", figures.unexpected),
        ("never on the bus", figures.never_in),
        ("with another ID", figures.changed.ids),
        ("with another length", figures.changed.lengths),
        ("with other data", figures.changed.data),
        ("lost in controllers", figures.overruns.unwrap_or(0)),
        ("error frames", figures.error_frames.iter().sum()),
    ];
    for (index, (name, n)) in fates.into_iter().enumerate() {
        // The first three lines always; of the others, those that are not 0.
        if index < 3 || n > 0 {
            let _ = writeln!(text, "{n:>9}  {name}");
        }
    }
    let seconds = figures.elapsed_ns as f64 / 1e9;
    let _ = writeln!(text, "\nin {seconds:.3} s of {} time", figures.time);
    let _ = writeln!(text, "not seen by this method: {}", figures.blind_spots);
    for warning in &figures.warnings {
        let _ = writeln!(text, "note: {warning}");
    }
    text
}

fn cells(name: &str, summary: Option<LatencySummary>) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    match summary {
        Some(s) => {
            cells.push(s.count.to_string());
            cells.extend([s.min, s.p50, s.p99, s.max].map(|ns| format!("{:.2}", ns as f64 / 1e3)));
        }
        None => cells.extend(["0", "-", "-", "-", "-"].map(str::to_owned)),
    }
    cells
}
