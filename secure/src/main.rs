//! The command line of `cangate-secure`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

use cangate_secure::counters::LinkReport;
use cangate_secure::run::{LinkSecrets, RunningLinks};
use cangate_secure::settings::{ClientCertificates, SecureSettings, TcpEnds, load};
use clap::{Parser, Subcommand};
use config::Diagnostics;
use console::{Failure, input::read_source, say};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Carries the traffic between gateways over networks that are not trusted. See docs/secure.md.
#[derive(Parser)]
#[command(version, name = "cangate-secure")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Carries the links of a file, until SIGINT or SIGTERM. SIGUSR1 prints the counters.
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
    /// Checks a file of settings with its keys and certificates, and shows its links.
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

/// Reads a file of settings, and those that it names.
fn read(file: &Path) -> Result<(SecureSettings, LinkSecrets), Failure> {
    let source = read_source(file)?;
    let mut found = Diagnostics::new();
    let settings = load(&source, &mut found);
    let list = found.into_sorted();
    let Some(settings) = settings else {
        return Err(Failure::Mistakes(config::render(&source, &list, false)));
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let secrets = LinkSecrets::read(&settings, folder).map_err(Failure::Input)?;
    Ok((settings, secrets))
}

fn check(file: &Path) -> Result<(), Failure> {
    let (settings, _) = read(file)?;
    let mut out = std::io::stdout().lock();
    for link in &settings.udp {
        let name = &link.keys.name;
        match (&link.keys.listen, &link.keys.connect) {
            (Some(listen), _) => writeln!(out, "{name}: DTLS 1.2 at {listen}")?,
            (_, Some(connect)) => writeln!(out, "{name}: DTLS 1.2 to {connect}")?,
            _ => {}
        }
        for peer in &link.peers {
            let (identity, plain, gateway) = (&peer.identity, peer.plain, peer.gateway);
            writeln!(out, "  {identity}: gateway {gateway}, here {plain}")?;
        }
    }
    for link in &settings.tcp {
        let name = &link.keys.name;
        match &link.ends {
            TcpEnds::Listen { listen, gateway } => {
                writeln!(out, "{name}: TLS 1.3 at {listen}, to the gateway {gateway}")?;
            }
            TcpEnds::Connect { plain, connect } => {
                writeln!(out, "{name}: here {plain}, by TLS 1.3 to {connect}")?;
            }
        }
        if link.keys.client_certificates == ClientCertificates::None
            && matches!(link.ends, TcpEnds::Listen { .. })
        {
            say(&format!(
                "warning: {name} has client_certificates = \"none\": every program that reaches its \
                 port drives the bus"
            ));
        }
    }
    let udp = settings.udp.iter();
    let udp = udp.map(|link| (&link.keys.name, link.keys.exposed));
    let tcp = settings.tcp.iter();
    let tcp = tcp.map(|link| (&link.keys.name, link.keys.exposed));
    for (name, _) in udp.chain(tcp).filter(|(_, is_exposed)| *is_exposed) {
        say(&format!(
            "warning: {name} has exposed = true: what passes between it and the gateway can be read \
             and forged on their network"
        ));
    }
    Ok(())
}

fn run(file: &Path, json: bool, every: Option<u32>) -> Result<(), Failure> {
    let (settings, secrets) = read(file)?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])
        .map_err(|error| Failure::Run(format!("cannot listen to signals: {error}")))?;
    let mut links = RunningLinks::start(&settings, secrets).map_err(Failure::Run)?;
    say("running");
    let every = every.map(|seconds| Duration::from_secs(seconds.into()));
    let mut next = every.map(|every| Instant::now() + every);
    loop {
        std::thread::sleep(Duration::from_millis(50));
        for signal in signals.pending() {
            if signal != SIGUSR1 {
                return print(&links.end(), json);
            }
            print(&links.reports(), json)?;
        }
        if let (Some(due), Some(every)) = (next, every)
            && due <= Instant::now()
        {
            next = Some(due + every);
            print(&links.reports(), json)?;
        }
    }
}

fn print(reports: &[LinkReport], json: bool) -> Result<(), Failure> {
    let text = if json {
        let json =
            serde_json::to_string(reports).map_err(|error| Failure::Run(error.to_string()))?;
        json + "\n"
    } else {
        reports.iter().map(LinkReport::text).collect()
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
