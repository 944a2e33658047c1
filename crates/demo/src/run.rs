//! A complete run of a demo.

use crate::bus_logs::BusLogs;
use crate::error::Error;
use crate::page::{self, Provenance};
use crate::play::{self, PlayOutputs};
use crate::progress::DemoProgress;
use crate::replay::{LogInput, ReplayBus};
use crate::scene::DemoScene;
use crate::summary::DemoSummary;
use crate::traffic::TesterSource;
use frame::Nanos;
use gateway::config::GatewayConfig;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The gateway file of the SAE demo.
const SAE_FILE: (&str, &str) = (
    "examples/demo.toml",
    include_str!("../../../examples/demo.toml"),
);
/// The gateway file for logs.
const LOG_FILE: (&str, &str) = (
    "examples/replay.toml",
    include_str!("../../../examples/replay.toml"),
);

/// The maximum number of routes that a results file can number.
const MOST_ROUTES: usize = u16::MAX as usize;

/// The traffic that the testers send.
#[derive(Clone, Copy, Debug)]
pub enum TesterInput<'a> {
    /// The SAE class C messages, for a given bus time.
    Sae {
        /// The bus time at which they end, ns.
        end: Nanos,
    },
    /// A log.
    Log(&'a LogInput),
}

/// Returns the gateway file of a demo for which the user names none: for the SAE messages, or for a
/// log.
#[must_use]
pub fn gateway_file(for_log: bool) -> config::SourceText {
    let (name, text) = if for_log { LOG_FILE } else { SAE_FILE };
    config::SourceText::new(name, text)
}

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct DemoOptions<'a> {
    /// The traffic to send.
    pub input: TesterInput<'a>,
    /// The gateway file.
    pub source: &'a config::SourceText,
    /// The configuration that the file contains.
    pub config: &'a GatewayConfig,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The folder for `report.html`, `results.parquet` and `outgoing.log`; it is created if it is
    /// missing.
    pub out: Option<&'a Path>,
    /// The command that repeats this run, for the report.
    pub command: &'a str,
}

/// Runs the demo, and writes its files. `progress` is called repeatedly.
///
/// [`DemoSummary::verdict`] checks whether everything adds up.
///
/// # Errors
/// [`Error`].
pub fn run(
    options: &DemoOptions<'_>,
    progress: &dyn Fn(DemoProgress),
) -> Result<DemoSummary, Error> {
    let config = options.config;
    if config.routes.routes.len() > MOST_ROUTES {
        return Err(Error::TooManyRoutes {
            file: options.source.name.clone(),
            most: MOST_ROUTES,
        });
    }
    let mut scene = DemoScene::new(config, options.seed)?;
    let out = options.out.map(OutputFiles::create).transpose()?;
    let mut traffic = match options.input {
        TesterInput::Log(input) => TesterSource::log(input, ReplayBus::of(config))?,
        TesterInput::Sae { end } => TesterSource::sae(options.seed, end, scene.buses.len())?,
    };
    let mut log = out.as_ref().map(OutputFiles::log).transpose()?;
    let names: Vec<&str> = scene.buses.iter().map(|bus| bus.name.as_str()).collect();
    let buses = options.out.map(|out| BusLogs::create(out, &names));
    let mut outputs = PlayOutputs {
        outgoing: log.as_mut().map(|w| w as &mut dyn Write),
        buses: buses.transpose()?,
    };
    let played = play::play(&mut scene, &mut traffic, &mut outputs, progress);
    // The logs show how far a run came whose answer is missing.
    let buses = outputs.buses.take().map_or(Ok(()), BusLogs::finish);
    let flushed = log.as_mut().map_or(Ok(()), Write::flush);
    // The first reason comes first: a log that cannot be written is often a consequence of it.
    let mut played = played?;
    buses?;
    flushed.map_err(Error::OutgoingLog)?;
    let summary = DemoSummary::new(&scene, config, &traffic, &mut played);
    if let Some(out) = &out {
        let log = match options.input {
            TesterInput::Log(input) => Some(input.path.as_path()),
            TesterInput::Sae { .. } => None,
        };
        let made = Provenance {
            title: match log {
                Some(path) => format!("replay of {}", report::file_name(path)),
                None => "SAE class C messages".to_owned(),
            },
            command: options.command.to_owned(),
            seed: options.seed,
            config: options.source,
            traffic: traffic.words(),
        };
        let data = page::data(&made, config, &scene, played, &summary);
        report::run::write(&out.dir, &data)?;
    }
    Ok(summary)
}

/// The folder for the files.
struct OutputFiles {
    dir: PathBuf,
}

impl OutputFiles {
    fn create(dir: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(|source| Error::Write {
            path: dir.to_owned(),
            source,
        })?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    fn log(&self) -> Result<BufWriter<File>, Error> {
        let path = self.dir.join("outgoing.log");
        match File::create(&path) {
            Ok(file) => Ok(BufWriter::new(file)),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}
