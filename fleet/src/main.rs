//! The command line of `cangate-fleet`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

use cangate_fleet::class::FrameClass;
use cangate_fleet::counters::BusCounters;
use cangate_fleet::key::ROOT;
use cangate_fleet::run::RunningFleet;
use cangate_fleet::session;
use cangate_fleet::settings::{FleetSettings, load};
use clap::{Parser, Subcommand};
use config::Diagnostics;
use console::{Failure, input::read_source, say};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use zenoh::{Config, Wait as _};

/// Joins gateways of many vehicles by Zenoh. See docs/fleet.md.
#[derive(Parser)]
#[command(version, name = "cangate-fleet")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Joins the gateways that a file names, until SIGINT or SIGTERM. SIGUSR1 prints the counters.
    Run {
        /// The file of settings.
        file: PathBuf,
        /// Prints counters as JSON, one line each time.
        #[arg(long)]
        json: bool,
        /// Prints the counters again and again, after this many seconds.
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
        every: Option<u32>,
    },
    /// Checks a file of settings, and shows its keys.
    Check {
        /// The file of settings.
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run { file, json, every } => run(&file, json, every),
        Command::Check { file } => check(&file),
    };
    console::exit_code(done)
}

/// Reads a file of settings, and Zenoh's own.
fn read(file: &Path) -> Result<(FleetSettings, Config), Failure> {
    let source = read_source(file)?;
    let mut found = Diagnostics::new();
    let settings = load(&source, &mut found);
    let list = found.into_sorted();
    let Some(settings) = settings else {
        return Err(Failure::Mistakes(config::render(&source, &list, false)));
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let config = session::config(&settings.zenoh, folder).map_err(Failure::Input)?;
    Ok((settings, config))
}

fn check(file: &Path) -> Result<(), Failure> {
    let (settings, config) = read(file)?;
    let mut out = std::io::stdout().lock();
    for bus in &settings.buses {
        let (side, direction) = (bus.keys.side, bus.keys.direction);
        writeln!(
            out,
            "{}/{}: gateway {}, here {}",
            bus.vehicle, bus.keys.name, bus.gateway, bus.listen
        )?;
        for class in FrameClass::ALL
            .into_iter()
            .filter(|_| direction.publishes())
        {
            let key = bus.key.to_publish(side, class);
            writeln!(
                out,
                "  publishes {key}, priority {}",
                class.priority() as u8
            )?;
        }
        if direction.receives() {
            writeln!(out, "  receives  {}", bus.key.to_receive(side))?;
        }
    }
    for endpoint in open_endpoints(&config) {
        say(&format!(
            "warning: {endpoint} has no encryption: all on its way can read and change {ROOT}/…; \
             use \"tls/HOST:PORT\""
        ));
    }
    Ok(())
}

/// Returns the endpoints that leave this machine without encryption.
fn open_endpoints(config: &Config) -> Vec<String> {
    let local = ["tcp/127.", "tcp/[::1]:", "tcp/localhost:"];
    let keys = ["connect/endpoints", "listen/endpoints"];
    let mut open = Vec::new();
    for json in keys.iter().filter_map(|key| config.get_json(key).ok()) {
        // A list, or a list for each mode; each endpoint is a string in it.
        let texts = json.split('"').filter(|text| text.starts_with("tcp/"));
        let others = texts.filter(|text| !local.iter().any(|start| text.starts_with(start)));
        open.extend(others.map(str::to_owned));
    }
    open
}

fn run(file: &Path, json: bool, every: Option<u32>) -> Result<(), Failure> {
    let (settings, config) = read(file)?;
    log_zenoh();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])
        .map_err(|error| Failure::Run(format!("cannot listen to signals: {error}")))?;
    let mut fleet = RunningFleet::start(settings).map_err(Failure::Run)?;
    // Opening waits until a router is there, for ever if need be; the signals do not.
    let (send, opened) = mpsc::channel();
    std::thread::spawn(move || send.send(zenoh::open(config).wait()));
    let mut is_joined = false;
    let every = every.map(|seconds| Duration::from_secs(seconds.into()));
    let mut next = every.map(|every| Instant::now() + every);
    loop {
        let wait = Duration::from_millis(50);
        if is_joined {
            std::thread::sleep(wait);
        } else if let Ok(session) = opened.recv_timeout(wait) {
            let session = session.map_err(|error| Failure::Run(format!("Zenoh: {error}")))?;
            fleet.join(session).map_err(Failure::Run)?;
            is_joined = true;
            say("joined");
        }
        if fleet.is_closed() {
            print(&fleet.end(), json)?;
            return Err(Failure::Run("Zenoh has closed its session".to_owned()));
        }
        for signal in signals.pending() {
            if signal != SIGUSR1 {
                return print(&fleet.end(), json);
            }
            print(&fleet.counters(), json)?;
        }
        if let (Some(due), Some(every)) = (next, every)
            && due <= Instant::now()
        {
            next = Some(due + every);
            print(&fleet.counters(), json)?;
        }
    }
}

/// Sends Zenoh's warnings to standard error; RUST_LOG chooses others.
fn log_zenoh() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    let _ = log.with_writer(std::io::stderr).try_init();
}

fn print(counters: &[BusCounters], json: bool) -> Result<(), Failure> {
    let text = if json {
        let json =
            serde_json::to_string(counters).map_err(|error| Failure::Run(error.to_string()))?;
        json + "\n"
    } else {
        counters.iter().map(BusCounters::text).collect()
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_without_encryption_are_found() {
        let mut config = Config::default();
        let connect = "['tcp/127.0.0.1:1', 'tls/a:1', 'tcp/a:1']";
        config.insert_json5("connect/endpoints", connect).unwrap();
        let listen = "{ router: ['tcp/0.0.0.0:1'] }";
        config.insert_json5("listen/endpoints", listen).unwrap();
        let open = open_endpoints(&config);
        assert_eq!(open, ["tcp/a:1", "tcp/0.0.0.0:1"]);
    }
}
