//! `cangate demo`: traffic on two simulated buses, the real gateway between them, every frame
//! timed and accounted for.

mod ledger;
mod paper;
mod play;
mod profile;
mod scene;
mod summary;
mod table;
mod tap;
mod tester;
mod traffic;

use crate::cli::Demo;
use crate::failure::Failure;
use crate::input::{load_config, read_source};
use frame::Nanos;
use indicatif::{ProgressBar, ProgressStyle};
use paper::Told;
use scene::Scene;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use summary::Summary;
use traffic::Source;

/// The gateway file of the SAE demo.
const SAE_FILE: (&str, &str) = (
    "examples/demo.toml",
    include_str!("../../../../examples/demo.toml"),
);
/// The gateway file for logs.
const LOG_FILE: (&str, &str) = (
    "examples/replay.toml",
    include_str!("../../../../examples/replay.toml"),
);

/// More routes than a results file can number.
const MOST_ROUTES: usize = u16::MAX as usize;

pub(crate) fn run(args: &Demo, color: bool) -> Result<(), Failure> {
    let source = match &args.config {
        Some(path) => read_source(path)?,
        None => {
            let (name, text) = if args.log.is_some() {
                LOG_FILE
            } else {
                SAE_FILE
            };
            config::Source::new(name, text)
        }
    };
    let (config, _) = load_config(&source, color)?;
    if config.routes.routes.len() > MOST_ROUTES {
        return Err(Failure::input(format!(
            "{}: the demo numbers at most {MOST_ROUTES} routes",
            source.name
        )));
    }
    let mut scene = Scene::new(&config, args.seed)?;
    let out = args.out.as_deref().map(Outputs::create).transpose()?;
    let bar = progress(args);
    let end = (args.seconds * 1e9) as Nanos;
    let mut traffic = match &args.log {
        Some(path) => {
            let fd = scene
                .buses
                .iter()
                .map(|b| b.rate.data().is_some())
                .collect();
            Source::log(path, fd, args.strict, &bar)?
        }
        None => {
            bar.set_length(end);
            Source::sae(args.seed, end, scene.buses.len())?
        }
    };
    let replaying = args.log.is_some();
    let mut log = out.as_ref().map(Outputs::log).transpose()?;
    let writer = log.as_mut().map(|w| w as &mut dyn Write);
    let played = play::play(&mut scene, &mut traffic, writer, &bar, |bar, now| {
        if !replaying {
            bar.set_position(now.min(end));
        }
    });
    bar.finish_and_clear();
    let mut played = played?;
    if let (Some(mut log), Some(out)) = (log, &out) {
        log.flush()
            .map_err(|e| Failure::file("write", &out.path("outgoing.log"), &e))?;
    }
    let summary = Summary::new(&scene, &config, &traffic, &mut played);
    if let Some(out) = &out {
        let told = Told {
            title: match &args.log {
                Some(path) => format!("replay of {}", file_name(path)),
                None => "SAE class C messages".to_owned(),
            },
            command: command_line(args),
            seed: args.seed,
            config: &source,
            traffic: traffic.words(args.log.as_deref()),
        };
        out.write_report(&paper::data(&told, &config, &scene, played, &summary))?;
    }
    let stdout = std::io::stdout();
    let mut stdout = stdout.lock();
    if args.json {
        serde_json::to_writer_pretty(&mut stdout, &summary).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        write!(stdout, "{}", table::render(&summary))?;
        if let Some(out) = &out {
            writeln!(stdout, "\nWritten: {}", out.path("report.html").display())?;
        } else {
            writeln!(stdout, "\nWith --out DIR it also draws a report.")?;
        }
    }
    summary.verdict()
}

/// A file without its folders.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The command that makes this run again. File names without their folders: a report is shown to
/// others.
fn command_line(args: &Demo) -> String {
    let mut text = String::from("cangate demo");
    if let Some(path) = &args.log {
        text.push_str(&format!(" --log {}", file_name(path)));
    } else {
        text.push_str(&format!(" --seconds {}", args.seconds));
    }
    if let Some(path) = &args.config {
        text.push_str(&format!(" --config {}", file_name(path)));
    }
    text.push_str(&format!(" --seed {}", args.seed));
    if args.strict {
        text.push_str(" --strict");
    }
    text.push_str(" --out DIR");
    text
}

/// Progress on the terminal; nothing where nobody looks.
fn progress(args: &Demo) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let template = if args.log.is_some() {
        "{msg} {bar:40} {percent:>3} %  {bytes} of {total_bytes}  {eta} left"
    } else {
        "{msg} {bar:40} {percent:>3} %  {eta} left"
    };
    // The template is ours; where it does not parse, the default style does as well.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(if args.log.is_some() {
        "replaying"
    } else {
        "routing"
    });
    bar
}

/// The folder of `--out`.
struct Outputs {
    dir: PathBuf,
}

impl Outputs {
    fn create(dir: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(dir).map_err(|e| Failure::file("make", dir, &e))?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn log(&self) -> Result<BufWriter<File>, Failure> {
        let path = self.path("outgoing.log");
        let file = File::create(&path).map_err(|e| Failure::file("write", &path, &e))?;
        Ok(BufWriter::new(file))
    }

    fn write_report(&self, data: &report::Data) -> Result<(), Failure> {
        report::write(&self.dir, data)
            .map(drop)
            .map_err(Failure::run)
    }
}
