//! `cangate watch`.

#[cfg(feature = "top")]
mod app;
mod lines;
#[cfg(feature = "top")]
mod screen;
#[cfg(feature = "top")]
mod view;

use super::choice::{ANSWER_TIMEOUT, GatewayChoice};
use crate::cli::Control;
use crate::cli::watch::Watch;
use crate::opening;
use crate::watching::{
    FrameFilter, GatewaySource, NamedDatabases, PortSource, WatchLosses, WatchNews, start,
};
use console::Failure;
use gateway::control::ControlConnection;
#[cfg(feature = "top")]
use std::io::IsTerminal as _;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// The exit status if frames were lost.
const LOSS: u8 = 3;

/// The source of frames, and its words.
struct OpenSource {
    news: Receiver<WatchNews>,
    /// The ports, for the head of the table.
    ports: Vec<String>,
    /// Whether they are ports of a running gateway, which also send.
    is_gateway: bool,
}

/// When to end, apart from signals and keys.
#[derive(Clone, Copy)]
struct WatchEnd {
    /// Number of frames that are still to be shown.
    left: u64,
    at: Option<Instant>,
}

impl WatchEnd {
    /// Returns whether the end has come.
    fn has_come(&self) -> bool {
        self.left == 0 || self.at.is_some_and(|at| at <= Instant::now())
    }

    /// Returns how long to wait for news, at most `longest`.
    fn wait(&self, longest: Duration) -> Duration {
        let left = self
            .at
            .map(|at| at.saturating_duration_since(Instant::now()));
        left.map_or(longest, |left| left.min(longest))
    }
}

/// Shows frames until the end.
pub(crate) fn run(args: &Watch, color: bool) -> Result<(), Failure> {
    let filter = FrameFilter::parse(&args.frames.filter)
        .map_err(|error| Failure::Input(format!("--filter {error}")))?;
    let databases = NamedDatabases::read(&args.frames.databases)?;
    let source = open(args, filter, color)?;
    let end = WatchEnd {
        left: args.output.count.unwrap_or(u64::MAX),
        at: args.output.duration.map(|time| Instant::now() + time),
    };
    let losses = show(args, &source, &databases, end, color)?;
    match losses.lost {
        0 => Ok(()),
        lost => Err(Failure::Ended {
            status: LOSS,
            text: format!(
                "{lost} frames were lost: this program or the reader of its output was too slow (a --filter leaves less \
                 to show), or they did not come whole (bad lines of a log, datagrams that were lost)"
            ),
        }),
    }
}

/// Shows the frames, as a table if the output is a terminal; returns the losses.
#[cfg(feature = "top")]
fn show(
    args: &Watch,
    source: &OpenSource,
    databases: &NamedDatabases,
    end: WatchEnd,
    color: bool,
) -> Result<WatchLosses, Failure> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_terminal && !args.output.lines {
        return screen::show(source, databases, end, color);
    }
    lines::show(source, databases, end)
}

/// Prints the frames: this build has no display for terminals. Returns the losses.
#[cfg(not(feature = "top"))]
fn show(
    _: &Watch,
    source: &OpenSource,
    databases: &NamedDatabases,
    end: WatchEnd,
    _: bool,
) -> Result<WatchLosses, Failure> {
    lines::show(source, databases, end)
}

/// Opens the source of frames.
fn open(args: &Watch, filter: FrameFilter, color: bool) -> Result<OpenSource, Failure> {
    let place = &args.place;
    let is_gateway = !place.from.is_empty() || place.gateway.is_some() || place.socket.is_some();
    if is_gateway {
        let which = Control {
            file: place.gateway.clone(),
            socket: place.socket.clone(),
        };
        let gateway = GatewayChoice::which(&which, color)?;
        gateway.warn();
        let connection = ControlConnection::open(&gateway.socket, ANSWER_TIMEOUT);
        let connection = connection.map_err(|error| gateway.failure(error))?;
        let (source, ports) = GatewaySource::new(connection, place.from.clone())?;
        return Ok(OpenSource {
            news: start(source, filter),
            ports,
            is_gateway,
        });
    }
    if args.ports.is_empty() {
        return Err(Failure::input(
            "no port is given: name an interface, as in `cangate watch can0`, or a port of a running gateway by \
             --from; `cangate list` lists interfaces",
        ));
    }
    let specs = match &place.config {
        Some(file) => opening::ports_of_file(file, &args.ports, color)?,
        None => args
            .ports
            .iter()
            .map(|name| opening::port_on(name))
            .collect(),
    };
    Ok(OpenSource {
        news: start(PortSource::open(&specs)?, filter),
        ports: args.ports.clone(),
        is_gateway,
    })
}
