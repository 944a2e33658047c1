//! The lab as the machine that runs experiments.

use super::setup::{SetupStages, open};
use crate::cli::lab::Locations;
use console::Failure;
use experiment::spec::spec;
use experiment::trial::GuestRunner;
use experiment::{Experiment, STDOUT, apart, bare};
use guest::lockstep::{
    LockstepError, LockstepFailure, LockstepOutcome, LockstepOutput, LockstepPlan,
};
use guest::machine::GuestSpec;
use guest::{
    BareMachine, GuestFailure, GuestOutcome, Kernel, Lab, OutputSink, ProgressReport,
    SilentProgress,
};
use std::io::IsTerminal;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Guests of the lab.
pub(super) struct LabGuests {
    lab: Lab,
    /// Whether there is one guest only: its stages are shown, and the output of its agent.
    one: bool,
}

impl LabGuests {
    /// Opens the lab in these folders.
    pub(super) fn open(locations: &Locations, one: bool) -> Result<Self, Failure> {
        let lab = open(locations)?;
        Ok(Self { lab, one })
    }

    /// Checks the requirements of these experiments apart from guests, before the first of them
    /// starts.
    pub(super) fn check<'e>(
        &self,
        experiments: impl IntoIterator<Item = &'e Experiment>,
    ) -> Result<(), Failure> {
        let mut experiments = experiments.into_iter();
        if experiments.any(|experiment| experiment.gateway.is_bare()) {
            image::check(image::ImageTarget::Pc, &self.images()).map_err(Failure::run)?;
        }
        Ok(())
    }

    /// Returns whether the stages of guests are shown: where the bar of all experiments is not.
    fn shows_stages(&self) -> bool {
        self.one || !std::io::stderr().is_terminal()
    }

    /// Runs machines in one virtual time.
    fn in_step(
        &self,
        plan: &LockstepPlan,
        progress: &dyn ProgressReport,
    ) -> Result<LockstepOutcome, LockstepFailure> {
        let messages = MachineMessages { aloud: self.one };
        self.lab.run_lockstep(plan, progress, &messages)
    }

    /// Returns the folder for images without an operating system.
    fn images(&self) -> PathBuf {
        images(&self.lab)
    }
}

/// Returns the folder in which a lab stores images without an operating system.
pub(super) fn images(lab: &Lab) -> PathBuf {
    lab.folder().join("image")
}

/// The output of a guest: its standard output is stored; its agent's messages go to standard error,
/// where it is the only guest.
struct GuestOutput {
    stdout: Vec<u8>,
    aloud: bool,
}

impl OutputSink for GuestOutput {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.extend_from_slice(bytes);
    }
    fn stderr(&mut self, bytes: &[u8]) {
        if self.aloud {
            eprint!("{}", String::from_utf8_lossy(bytes));
        }
    }
}

/// The outputs of machines in step, which are those of their agents.
struct MachineMessages {
    aloud: bool,
}

impl LockstepOutput for MachineMessages {
    fn stdout(&self, _machine: usize, _bytes: &[u8]) {}
    fn stderr(&self, _machine: usize, bytes: &[u8]) {
        if self.aloud {
            eprint!("{}", String::from_utf8_lossy(bytes));
        }
    }
}

/// Returns the outcome of an experiment whose machines have failed.
///
/// # Errors
/// They cannot be run, nor can those of another experiment.
fn failed(failure: LockstepFailure) -> Result<GuestOutcome, guest::Error> {
    let (message, console) = match *failure.error {
        LockstepError::Lab(error) => return Err(error),
        LockstepError::Machine {
            name,
            failure,
            console,
        } => {
            let why = guest::with_causes(&failure);
            (format!("machine {name}: {why}"), console)
        }
        error => (guest::with_causes(&error), String::new()),
    };
    Ok(GuestOutcome {
        failure: Some(GuestFailure::Guest { message }),
        console,
        ..GuestOutcome::default()
    })
}

impl GuestRunner for LabGuests {
    fn versions(&self, kernel: Kernel) -> Result<Vec<(String, String)>, guest::Error> {
        // This may fetch files: its stages are always shown.
        let stages = SetupStages::new();
        let versions = self.lab.versions(kernel, &stages);
        stages.finish();
        versions
    }

    fn run(&self, spec: &GuestSpec) -> Result<GuestOutcome, guest::Error> {
        let mut heard = GuestOutput {
            stdout: Vec::new(),
            aloud: self.one,
        };
        let outcome = if self.shows_stages() {
            let stages = SetupStages::new();
            let outcome = self.lab.run(spec, &stages, &mut heard);
            stages.finish();
            outcome
        } else {
            self.lab.run(spec, &SilentProgress, &mut heard)
        };
        let mut outcome = outcome?;
        if !heard.stdout.is_empty() {
            outcome.outputs.push((STDOUT.to_owned(), heard.stdout));
        }
        Ok(outcome)
    }

    fn run_bare(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error> {
        let image = |error: &dyn std::error::Error| guest::Error::Image(guest::with_causes(error));
        let given = bare::given(experiment).map_err(|e| image(&e))?;
        let begin =
            || eprintln!("building the image with cargo, once for this version of cangate …");
        let template = image::template(image::ImageTarget::Pc, &self.images(), &begin)
            .map_err(|e| image(&e))?;
        let mut bytes = std::fs::read(&template.path).map_err(|e| image(&e))?;
        image::embed(&mut bytes, &given.plan).map_err(|e| image(&e))?;
        let machine = BareMachine {
            image: bytes,
            module: given.task,
            ..BareMachine::new(experiment.cpu.shift(), spec(experiment).timeout)
        };
        let outcome = self.lab.run_bare(&machine, &SilentProgress)?;
        let kernel = experiment.kernel;
        let mut versions = self.lab.versions(kernel, &SilentProgress)?;
        versions.push(("image".to_owned(), template.hash));
        Ok(bare::outcome(experiment, &outcome, versions))
    }

    fn run_apart(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error> {
        let plan = apart::plan(experiment);
        let outcome = if self.shows_stages() {
            let stages = SetupStages::new();
            let outcome = self.in_step(&plan, &stages);
            stages.finish();
            outcome
        } else {
            self.in_step(&plan, &SilentProgress)
        };
        match outcome {
            Ok(outcome) => Ok(apart::outcome(experiment, &plan, outcome)),
            Err(failure) => failed(failure),
        }
    }

    fn stop(&self) {
        stop();
    }

    fn give_up(&self) {
        self.lab.stop();
    }
}

/// Ends the process: results are complete or do not exist, and QEMU ends with this process, so
/// there is nothing to wait for.
fn stop() -> ! {
    eprintln!("error: interrupted; finished results are kept, run the same command to resume");
    std::process::exit(130);
}

/// Time, after a signal, within which the work is expected to check the flag.
const GRACE: Duration = Duration::from_secs(1);

/// Returns a flag that is set by Ctrl-C and SIGTERM. Where the work does not check it, because it
/// waits for a lock or for a package, the process ends as well, a moment later.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let cannot = |e: std::io::Error| Failure::Run(format!("cannot watch for Ctrl-C: {e}"));
    let flag = Arc::new(AtomicBool::new(false));
    let (mut heard, ringing) = UnixStream::pair().map_err(cannot)?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, flag.clone()).map_err(cannot)?;
        let ringing = ringing.try_clone().map_err(cannot)?;
        signal_hook::low_level::pipe::register(signal, ringing).map_err(cannot)?;
    }
    std::thread::spawn(move || {
        if heard.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(GRACE);
            stop();
        }
    });
    Ok(flag)
}

/// Returns the number of guests that run at a time.
pub(super) fn jobs(asked: Option<usize>) -> Result<usize, Failure> {
    match asked {
        Some(0) => Err(Failure::input("--jobs 0: at least one guest must run")),
        Some(jobs) => Ok(jobs),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}
