//! `cangate send`.

use super::choice::{ANSWER_TIMEOUT, GatewayChoice};
use crate::cli::Control;
use crate::cli::send::Send;
use crate::database;
use crate::opening;
use crate::sending::{
    self, FrameMaker, FrameRounds, FrameSender, FrameSource, FrameTarget, GatewayTarget,
    LineFrames, LineReport, MadeMessage, PortTarget, SentSummary,
};
use crate::stop_signal::{SecondSignal, StopSignal};
use console::Failure;
use frame::text::parse_frame;
use frame::{FrameBuf, Nanos};
use gateway::control::ControlConnection;
use port::{PortOpener, PortSpec};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// The exit status if a frame was not sent.
const LOSS: u8 = 3;

/// Time after which a frame that is sent once is given up.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The shortest such time of frames that are sent in a period: a machine that is busy for a moment
/// sends them late, and not never.
const LEAST_TIMEOUT: Duration = Duration::from_millis(50);

/// The destination by its name, for messages.
struct NamedTarget {
    name: String,
    target: Box<dyn FrameTarget>,
    /// Keeps what the ports of a file share, as long as the port is open.
    _opener: Option<PortOpener>,
}

/// Sends frames until all have their fate, or until a signal.
pub(crate) fn run(args: &Send, color: bool) -> Result<(), Failure> {
    let (port, frames) = words(args)?;
    let mut makers = makers(args, frames)?;
    check_frames(args, makers.is_empty())?;
    let stop = StopSignal::listen(SecondSignal::Kills)?;
    let start = Instant::now();
    let mut clock = || Nanos::try_from(start.elapsed().as_nanos()).unwrap_or(Nanos::MAX);
    let NamedTarget {
        name,
        mut target,
        _opener,
    } = open(args, port, color)?;
    for maker in &makers {
        if let FrameMaker::Made(message) = maker {
            for remark in message.remarks() {
                console::say(&format!("note: {remark}"));
            }
        }
    }
    let timeout = timeout(args);
    let mut sender = FrameSender::new(nanos(timeout));
    let mut lines = match &args.frames.read {
        Some(path) => Some(LineFrames::open(path, args.frames.keep_timing)?),
        None => None,
    };
    let is_timed = args.timing.every.is_some() || args.frames.keep_timing;
    let period = args.timing.every.map_or(0, nanos);
    let rounds = args.timing.count.or((period == 0).then_some(1));
    let mut cycle = FrameRounds::new(std::mem::take(&mut makers), period, rounds);
    let source: &mut dyn FrameSource = match &mut lines {
        Some(lines) => lines,
        None => &mut cycle,
    };
    let settling = nanos(timeout.max(TIMEOUT));
    let summary = sending::run(
        &mut sender,
        source,
        &mut *target,
        &stop,
        &mut clock,
        settling,
    )?;
    let report = lines.as_ref().map(LineFrames::report);
    report_result(args, &name, &summary, report, is_timed)
}

/// Splits the words into the port, where a word names it, and the frames.
fn words(args: &Send) -> Result<(Option<&str>, &[String]), Failure> {
    if args.place.port.is_some() || args.place.to.is_some() {
        return Ok((None, &args.words));
    }
    let Some((port, frames)) = args.words.split_first() else {
        return Err(Failure::input(
            "no port is given: name an interface, as in `cangate send can0 123#1122`, or use --config with \
             --port, or --to",
        ));
    };
    if port.contains('#') {
        return Err(Failure::Input(format!(
            "no port is given before the frame {port}: name an interface, as in `cangate send can0 {port}`"
        )));
    }
    Ok((Some(port), frames))
}

/// Returns the frames of the command line.
fn makers(args: &Send, frames: &[String]) -> Result<Vec<FrameMaker>, Failure> {
    let mut makers = Vec::new();
    for text in frames {
        let mut frame = Box::<FrameBuf>::default();
        parse_frame(text.as_bytes(), &mut frame)
            .map_err(|error| Failure::Input(format!("`{text}` is not a frame: {error}")))?;
        makers.push(FrameMaker::Fixed(frame));
    }
    if let (Some(message), Some(path)) = (&args.frames.message, &args.frames.database) {
        let database = database::read(path)?;
        let made = MadeMessage::new(&database, message, &args.frames.signals)?;
        makers.push(FrameMaker::Made(Box::new(made)));
    }
    Ok(makers)
}

/// Checks that there are frames, and from one place.
fn check_frames(args: &Send, is_empty: bool) -> Result<(), Failure> {
    match (&args.frames.read, is_empty) {
        (None, true) => Err(Failure::input(
            "no frame is given: add one, such as 123#1122, or --read FILE, or --message NAME --database FILE",
        )),
        (Some(_), false) => Err(Failure::input(
            "frames are given, and --read: put all of them into the file",
        )),
        _ => Ok(()),
    }
}

fn timeout(args: &Send) -> Duration {
    let by_period = args.timing.every.map(|every| every.max(LEAST_TIMEOUT));
    args.timing.timeout.or(by_period).unwrap_or(TIMEOUT)
}

/// Opens the destination.
fn open(args: &Send, port: Option<&str>, color: bool) -> Result<NamedTarget, Failure> {
    if let Some(name) = &args.place.to {
        let which = Control {
            file: args.place.gateway.clone(),
            socket: args.place.socket.clone(),
        };
        let gateway = GatewayChoice::which(&which, color)?;
        gateway.warn();
        let connection = ControlConnection::open(&gateway.socket, ANSWER_TIMEOUT);
        let connection = connection.map_err(|error| gateway.failure(error))?;
        return Ok(NamedTarget {
            name: format!("port {name} of the gateway"),
            target: Box::new(GatewayTarget::new(connection, name)?),
            _opener: None,
        });
    }
    let spec: PortSpec = match (&args.place.config, &args.place.port, port) {
        (Some(file), Some(name), _) => {
            let mut ports = opening::ports_of_file(file, std::slice::from_ref(name), color)?;
            ports.remove(0)
        }
        (_, _, Some(name)) => opening::port_on(name),
        // clap has made sure of one of these.
        _ => return Err(Failure::input("no port is given")),
    };
    let mut opener = PortOpener::new(0, opening::unix_now());
    let halves = spec.open(&mut opener).map_err(Failure::run)?;
    opening::start(&mut opener)?;
    Ok(NamedTarget {
        name: spec.name,
        target: Box::new(PortTarget::new(halves)?),
        _opener: Some(opener),
    })
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

/// Prints the sums; the result is an error if a frame was not sent.
fn report_result(
    args: &Send,
    name: &str,
    summary: &SentSummary,
    lines: Option<&LineReport>,
    is_timed: bool,
) -> Result<(), Failure> {
    let bad = lines.map_or(0, |lines| lines.bad);
    let broken = lines.and_then(|lines| lines.broken.as_deref());
    let is_complete = summary.not_sent() == 0 && bad == 0 && broken.is_none();
    if args.json {
        let text = json_of(summary, bad, is_timed);
        writeln!(std::io::stdout(), "{text:#}")?;
    } else if !(args.quiet && is_complete) {
        console::say(&sums(summary, is_timed));
    }
    if let Some(why) = broken {
        return Err(Failure::Run(format!(
            "the frames could not be read to their end: {why}"
        )));
    }
    if is_complete {
        return Ok(());
    }
    Err(Failure::Ended {
        status: LOSS,
        text: reasons(name, summary, bad),
    })
}

/// Returns "100 frames = 98 sent + 2 not in time", and how late they were.
fn sums(summary: &SentSummary, is_timed: bool) -> String {
    let counts = &summary.counts;
    let totals = &summary.totals;
    let parts = [
        (totals.sent, "sent"),
        (counts.unsupported, "refused"),
        (summary.not_in_time(), "not sent in time"),
        (totals.lost, "lost"),
    ];
    let parts = parts.iter().filter(|(frames, _)| *frames > 0);
    let parts: Vec<String> = parts
        .map(|(frames, what)| format!("{frames} {what}"))
        .collect();
    let sum = match parts.is_empty() {
        true => "0".to_owned(),
        false => parts.join(" + "),
    };
    let frames = match counts.frames {
        1 => "1 frame".to_owned(),
        frames => format!("{frames} frames"),
    };
    let mut text = format!("{frames} = {sum}");
    if is_timed && counts.taken > 0 {
        let _ = write!(
            text,
            "; late by {} on average, at most {}",
            milliseconds(counts.late.mean(counts.taken)),
            milliseconds(counts.late.max)
        );
    }
    text
}

fn milliseconds(time: Nanos) -> String {
    format!("{:.3} ms", time as f64 / 1e6)
}

/// Returns why frames were not sent, with a cure for each reason.
fn reasons(name: &str, summary: &SentSummary, bad: u64) -> String {
    let counts = &summary.counts;
    let frames = |n: u64| match n {
        1 => "1 frame was".to_owned(),
        n => format!("{n} frames were"),
    };
    let mut text = Vec::new();
    if counts.unsupported > 0 {
        text.push(format!(
            "{} refused: {name} cannot carry this kind of frame (`cangate list` shows which kinds an interface \
             carries)",
            frames(counts.unsupported)
        ));
    }
    if counts.down > 0 {
        text.push(format!(
            "{} not sent in time: {name} was down (`cangate list` shows its state)",
            frames(counts.down)
        ));
    }
    let full = counts.full + summary.totals.held;
    if full > 0 {
        text.push(format!(
            "{} not sent in time: {name} had no room, because its bus is busy or has no other node; a longer \
             --timeout waits longer",
            frames(full)
        ));
    }
    if summary.totals.lost > 0 {
        text.push(format!(
            "{} lost: {name} took them and could not send them",
            frames(summary.totals.lost)
        ));
    }
    match bad {
        0 => {}
        1 => text.push("1 line was not a frame".to_owned()),
        bad => text.push(format!("{bad} lines were not frames")),
    }
    text.join("; ")
}

fn json_of(summary: &SentSummary, bad: u64, is_timed: bool) -> serde_json::Value {
    let counts = &summary.counts;
    let late = is_timed.then(|| {
        json!({
            "mean_ns": counts.late.mean(counts.taken),
            "max_ns": counts.late.max,
        })
    });
    json!({
        "frames": counts.frames,
        "sent": summary.totals.sent,
        "refused": counts.unsupported,
        "not_in_time": {
            "full": counts.full + summary.totals.held,
            "down": counts.down,
        },
        "lost": summary.totals.lost,
        "bad_lines": bad,
        "late": late,
        "interrupted": summary.is_interrupted,
    })
}
