//! `cangate lab exec`.

use super::setup::{SetupStages, lab_failure, open};
use crate::cli::lab::Exec;
use console::Failure;
use experiment::spec::{BITRATE, DATA_BITRATE, VM_MEMORY};
use experiment::{BenchKind, Boot, Cpu};
use guest::machine::{GuestFile, GuestJob, GuestSpec, TimeMode};
use guest::{GuestOutcome, OutputSink, with_causes};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(args: &Exec) -> Result<(), Failure> {
    let cpu: Cpu = args
        .cpu
        .parse()
        .map_err(|wrong| Failure::Input(format!("--cpu: {wrong}")))?;
    let boot: Boot = args
        .boot
        .parse()
        .map_err(|wrong| Failure::Input(format!("--boot: {wrong}")))?;
    let bench = args
        .bench
        .parse()
        .map_err(|wrong| Failure::Input(format!("--bench: {wrong}")))?;
    let spec = GuestSpec {
        kernel: args.kernel.clone(),
        bench,
        controller: cpu.controller(),
        bitrate: BITRATE,
        data_bitrate: (bench == BenchKind::Ctucan).then_some(DATA_BITRATE),
        ethernet: args.ethernet,
        time: if args.fast {
            TimeMode::Fast { cpus: args.cpus }
        } else {
            TimeMode::Virtual { shift: cpu.shift() }
        },
        boot: boot.0,
        memory: args.memory.unwrap_or_else(|| memory(bench)),
        virtio: args.virtio.clone(),
        shm: args.shm.clone(),
        files: args
            .file
            .iter()
            .map(|text| guest_file(text))
            .collect::<Result<_, _>>()?,
        job: GuestJob::Exec {
            command: args.command.clone(),
        },
        prepare: None,
        timeout: Duration::from_secs(args.timeout),
        trace_registers: false,
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

/// Returns a guest's memory where none is given, MiB.
pub(super) const fn memory(bench: BenchKind) -> u32 {
    match bench {
        BenchKind::Vm => VM_MEMORY,
        _ => 512,
    }
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
        None => Err(Failure::Run("the guest gave no exit status".to_owned())),
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
pub(super) fn guest_file(text: &Path) -> Result<GuestFile, Failure> {
    let wrong = |words: &str| Failure::Input(format!("--file {}: {words}", text.display()));
    let given = text.to_str().ok_or_else(|| wrong("its name is no text"))?;
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
            "the name after = is that of a file, without a folder",
        ));
    }
    if let Err(error) = std::fs::metadata(&path) {
        return Err(Failure::file("read", &path, &error));
    }
    Ok(GuestFile { path, name })
}
