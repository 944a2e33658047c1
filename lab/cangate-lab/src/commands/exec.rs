//! `cangate lab exec`.

use super::measure::from_options;
use super::setup::{SetupStages, lab_failure, open};
use crate::cli::lab::{Exec, GuestOptions};
use console::Failure;
use experiment::spec::{BITRATE, DATA_BITRATE, VM_MEMORY};
use experiment::{BenchKind, Cpu, Kernel};
use guest::machine::{GuestFile, GuestJob, GuestSpec, TimeMode};
use guest::{GuestOutcome, OutputSink, with_causes};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(args: &Exec) -> Result<(), Failure> {
    let settings = from_options(&args.settings)?;
    let spec = GuestSpec {
        kernel: settings.kernel,
        controller: settings.cpu.controller(),
        time: if args.fast {
            TimeMode::Fast { cpus: args.cpus }
        } else {
            TimeMode::Virtual {
                shift: settings.cpu.shift(),
            }
        },
        boot: settings.boot.0,
        job: GuestJob::Exec {
            command: args.command.clone(),
        },
        timeout: Duration::from_secs(args.timeout),
        ..guest(&args.guest)?
    };
    let lab = open(&args.locations)?;
    let stages = SetupStages::new();
    let mut sink = JobPrinter {
        stages: &stages,
        status: Ok(()),
    };
    let outcome = lab.run(&spec, &stages, &mut sink).map_err(lab_failure)?;
    let written = sink.status;
    stages.finish();
    written?;
    end(&outcome)
}

/// Returns a guest with these options, in real time and without a job.
pub(super) fn guest(options: &GuestOptions) -> Result<GuestSpec, Failure> {
    let bench = options.bench.parse();
    let bench = bench.map_err(|wrong| Failure::Input(format!("--bench: {wrong}")))?;
    let files = options.file.iter().map(|text| guest_file(text));
    let usual = match bench {
        BenchKind::Vm => VM_MEMORY,
        _ => 512,
    };
    Ok(GuestSpec {
        kernel: Kernel::USUAL,
        bench,
        controller: Cpu::Pc.controller(),
        bitrate: BITRATE,
        data_bitrate: (bench == BenchKind::Ctucan).then_some(DATA_BITRATE),
        ethernet: options.ethernet,
        time: TimeMode::Real,
        boot: Vec::new(),
        memory: options.memory.unwrap_or(usual),
        virtio: options.virtio.clone(),
        shm: options.shm.clone(),
        files: files.collect::<Result<_, _>>()?,
        job: GuestJob::Exec { command: vec![] },
        prepare: None,
        timeout: Duration::MAX,
        trace_registers: false,
        linked: None,
    })
}

/// Ends like a guest that ran the user's command: with its exit status.
pub(super) fn end(outcome: &GuestOutcome) -> Result<(), Failure> {
    if let Some(failure) = &outcome.failure {
        return Err(Failure::Run(format!(
            "{}\n--- the end of the guest's console:\n{}",
            with_causes(failure),
            outcome.console.trim()
        )));
    }
    match outcome.status {
        Some(0) => Ok(()),
        Some(status) => Err(Failure::Status(u8::try_from(status).unwrap_or(255))),
        None => Err(Failure::Run("the guest reported no exit status".to_owned())),
    }
}

/// Prints the guest's output, in place of the progress.
pub(super) struct JobPrinter<'a> {
    pub(super) stages: &'a SetupStages,
    pub(super) status: Result<(), Failure>,
}

impl JobPrinter<'_> {
    fn write(&mut self, mut to: impl Write, bytes: &[u8]) {
        if self.status.is_ok() {
            self.stages.finish();
            self.status = to
                .write_all(bytes)
                .and_then(|()| to.flush())
                .map_err(Failure::from);
        }
    }
}

impl OutputSink for JobPrinter<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.write(std::io::stdout().lock(), bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.write(std::io::stderr().lock(), bytes);
    }
}

/// Parses PATH or PATH=NAME. A file whose own name contains a `=` is used as it is.
fn guest_file(text: &Path) -> Result<GuestFile, Failure> {
    let wrong = |words: &str| Failure::Input(format!("--file {}: {words}", text.display()));
    let given = text
        .to_str()
        .ok_or_else(|| wrong("its name is not valid UTF-8"))?;
    let (path, name) = match given.rsplit_once('=') {
        Some((path, name)) if !text.exists() => (PathBuf::from(path), name.to_owned()),
        _ => {
            let name = text.file_name().and_then(|name| name.to_str());
            (
                text.to_path_buf(),
                name.ok_or_else(|| wrong("it has no name"))?.to_owned(),
            )
        }
    };
    if name.is_empty() || name.contains('/') || name == "." || name == ".." {
        return Err(wrong(
            "the name after = must be a file name without a folder",
        ));
    }
    if let Err(error) = std::fs::metadata(&path) {
        return Err(Failure::file("read", &path, &error));
    }
    Ok(GuestFile { path, name })
}
