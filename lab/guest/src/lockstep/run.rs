//! The run of several machines: each saved machine is restored in a process of its own, and all go
//! on together.

use super::arguments::arguments;
use super::network;
use super::outcome::{LockstepOutcome, MachineOutcome};
use super::plan::{LockstepPlan, PlanError};
use super::record::{self, LinkRecord, RecordsError};
use super::report::{self, MachineReport, ReportError};
use super::so_far::{self, MissingRecords};
use crate::agent::{HostDelivery, PauseOrder};
use crate::error::Error;
use crate::lab::Lab;
use crate::machine::GuestSpec;
use crate::outcome::GuestFailure;
use crate::progress::{OutputSink, ProgressReport};
use crate::qemu::{self, Plugin, ProcessEnd, QemuProcess};
use crate::run::{GuestParts, deliver, follow, judge};
use rustix::fs::{MemfdFlags, memfd_create};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;

/// The reason why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    /// The plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A guest cannot be set up.
    #[error(transparent)]
    Lab(#[from] Error),
    /// A guest does not boot, so that it cannot be saved.
    #[error("machine {0} does not boot: try the same guest with `cangate lab exec`")]
    NotSaved(String),
    /// The machines cannot share memory.
    #[error("the host gives no shared memory")]
    Memory(#[source] std::io::Error),
    /// A machine failed, and all were ended.
    #[error("machine {name}: {failure}{}", console_of(console))]
    Machine {
        /// The machine.
        name: String,
        /// Its failure.
        failure: GuestFailure,
        /// The end of its console.
        console: String,
    },
    /// A machine did not end within the limit.
    #[error(
        "machine {name} has not ended after {} s of virtual time; give it more with `limit`, or end it with the \
         others (`background = true`)",
        limit.as_secs_f64()
    )]
    Limit {
        /// The machine.
        name: String,
        /// The limit.
        limit: Duration,
    },
    /// A plugin has no complete report.
    #[error("machine {name}: {source}")]
    Report {
        /// The machine.
        name: String,
        /// The reason.
        source: ReportError,
    },
    /// The plugins' records cannot be used.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

fn console_of(console: &str) -> String {
    match console.trim() {
        "" => String::new(),
        text => format!("\n--- the end of its console:\n{text}"),
    }
}

/// A run without results, and what is known of it.
#[derive(Debug)]
pub struct LockstepFailure {
    /// The reason.
    pub error: Box<LockstepError>,
    /// What happened on each link until then, in the plan's order; nothing if no machine ran. The
    /// last records of a machine that was ended from outside may be missing.
    pub links: Vec<Vec<LinkRecord>>,
    /// The reasons why records are missing in `links`: files that cannot be read, or are broken.
    pub missing: Vec<LockstepError>,
}

impl std::fmt::Display for LockstepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for LockstepFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<E: Into<LockstepError>> From<E> for LockstepFailure {
    fn from(error: E) -> Self {
        Self {
            error: Box::new(error.into()),
            links: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// A receiver of the machines' outputs, which come from several threads.
pub trait LockstepOutput: Sync {
    /// Takes bytes of the standard output of the machine with this number.
    fn stdout(&self, machine: usize, bytes: &[u8]);
    /// Takes bytes of its standard error, and its agent's messages.
    fn stderr(&self, machine: usize, bytes: &[u8]);
}

/// A machine that is ready to be restored.
struct ReadyMachine {
    spec: GuestSpec,
    parts: GuestParts,
    state: PathBuf,
    plugin: String,
}

/// What all threads know.
struct CommonRun<'a> {
    plan: &'a LockstepPlan,
    stopped: &'a AtomicBool,
    failed: AtomicBool,
    /// The first failure, and the number of its machine.
    failure: Mutex<Option<(usize, GuestFailure, String)>>,
    loaded: Barrier,
    output: &'a dyn LockstepOutput,
}

impl Lab {
    /// Runs machines in one virtual time, until all that are not in the background have ended.
    ///
    /// # Errors
    ///
    /// The plan cannot be run; a machine cannot be set up, failed, or did not end within the limit;
    /// or the run's own checks found a mistake in it. What happened on the links until then is
    /// with the error.
    pub fn run_lockstep(
        &self,
        plan: &LockstepPlan,
        progress: &dyn ProgressReport,
        output: &dyn LockstepOutput,
    ) -> Result<LockstepOutcome, LockstepFailure> {
        plan.check()?;
        let shared = memfd_create("cangate-lockstep", MemfdFlags::CLOEXEC)
            .map_err(|error| LockstepError::Memory(error.into()))?;
        let machines = (0..plan.machines.len())
            .map(|number| self.ready(plan, number, &shared, progress))
            .collect::<Result<Vec<_>, _>>()?;
        progress.job(&format!("{} machines in one virtual time", machines.len()));
        let common = CommonRun {
            plan,
            stopped: &self.stopped,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            loaded: Barrier::new(machines.len()),
            output,
        };
        // A thread for each machine: QEMU ends together with the thread that started it.
        let outcomes = std::thread::scope(|scope| {
            let threads: Vec<_> = machines
                .iter()
                .enumerate()
                .map(|(number, machine)| {
                    let common = &common;
                    scope.spawn(move || self.run_machine(common, number, machine))
                })
                .collect();
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Vec<_>>()
        });
        let failure = common
            .failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let done = all_ended(plan, failure, outcomes).and_then(|outcomes| {
            Ok(LockstepOutcome {
                machines: outcomes,
                links: links(plan, &machines)?,
            })
        });
        done.map_err(|error| {
            let (links, missing) = links_so_far(plan, &machines);
            LockstepFailure {
                error: Box::new(error),
                links,
                missing,
            }
        })
    }

    /// Makes the saved machine, and leaves the job for it.
    fn ready(
        &self,
        plan: &LockstepPlan,
        number: usize,
        shared: &OwnedFd,
        progress: &dyn ProgressReport,
    ) -> Result<ReadyMachine, LockstepError> {
        let Some(machine) = plan.machines.get(number) else {
            return Err(PlanError::Machines(number).into());
        };
        let linked = network::linked(plan, number);
        let spec = GuestSpec {
            linked: Some(linked.clone()),
            ..machine.guest.clone()
        };
        let parts = self.parts(&spec, progress)?;
        let plugin = self.plugin(Plugin::Lockstep, spec.kernel, progress)?;
        let state = self.saved(
            &parts,
            &parts.options(&spec, Some(PauseOrder::Exact)),
            &spec,
            progress,
        )?;
        let state = state.ok_or_else(|| LockstepError::NotSaved(machine.name.clone()))?;
        deliver(&parts.job, &HostDelivery::Linked(linked, spec.job.clone()))?;
        // The file has no name of its own; this one leads to it as long as this process runs.
        let shared = format!("/proc/{}/fd/{}", std::process::id(), shared.as_raw_fd());
        let plugin = arguments(
            plan,
            number,
            &plugin,
            shared.as_ref(),
            &parts.folder.path(""),
        );
        Ok(ReadyMachine {
            spec,
            parts,
            state,
            plugin,
        })
    }

    /// Runs a machine to its end. `None`: it failed, or was ended because another one did.
    fn run_machine(
        &self,
        common: &CommonRun<'_>,
        number: usize,
        machine: &ReadyMachine,
    ) -> Result<Option<MachineOutcome>, LockstepError> {
        let done = self.try_machine(common, number, machine);
        if done.is_err() {
            common.failed.store(true, Ordering::SeqCst);
        }
        done
    }

    fn try_machine(
        &self,
        common: &CommonRun<'_>,
        number: usize,
        machine: &ReadyMachine,
    ) -> Result<Option<MachineOutcome>, LockstepError> {
        let ReadyMachine {
            spec,
            parts,
            state,
            plugin,
        } = machine;
        let mut options = parts.options(spec, Some(PauseOrder::Exact));
        options.lockstep = Some(plugin);
        options.restore = Some(state);
        let started = QemuProcess::start(&parts.qemu, &options, &parts.folder.path("qemu"));
        let started = started.map(|mut process| {
            let restored = process.restore(state);
            (process, restored)
        });
        if !matches!(started, Ok((_, Ok(())))) {
            common.failed.store(true, Ordering::SeqCst);
        }
        // No machine goes on before all are there, and none if one is not.
        common.loaded.wait();
        let (mut process, restored) = started?;
        let resumed = match restored {
            Ok(()) if common.failed.load(Ordering::SeqCst) => return Ok(None),
            Ok(()) => process.go_on(),
            error => error,
        };
        if let Err(source) = resumed {
            let message = process.complaints();
            common.fail(number, GuestFailure::NotResumed { source, message }, "");
            return Ok(None);
        }
        let mut outcome = parts.outcome(self.programs()?)?;
        let mut sink = MachineOutput {
            number,
            output: common.output,
            hashes: [Sha256::new(), Sha256::new()],
        };
        let end = follow(
            &mut process,
            spec,
            &[common.stopped, &common.failed],
            &mut sink,
            &mut outcome,
            &mut Vec::new(),
            &mut || {},
        )?;
        outcome.console = qemu::end_of(&parts.console);
        let is_off = matches!(&end, ProcessEnd::Off(status) if status.success());
        let report = report(parts, number);
        let is_ended = is_off && report.as_ref().is_ok_and(|report| report.is_ended);
        judge(&mut outcome, end, spec, process.complaints());
        // A machine that the run has ended did not report its job's status.
        if is_ended && matches!(outcome.failure, Some(GuestFailure::SwitchedOff)) {
            outcome.failure = None;
        }
        if let Some(failure) = outcome.failure {
            common.fail(number, failure, &outcome.console);
            return Ok(None);
        }
        let name = name(common.plan, number);
        let report = report.map_err(|source| LockstepError::Report { name, source })?;
        Ok(Some(MachineOutcome {
            guest: outcome,
            report,
            outputs: sink.hashes.map(|hash| hash.finalize().into()),
        }))
    }
}

impl CommonRun<'_> {
    /// Notes the failure of a machine, if it is the first one, and ends all others.
    fn fail(&self, number: usize, failure: GuestFailure, console: &str) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        // A machine that was ended for another one's failure is not a reason.
        let is_consequence =
            matches!(failure, GuestFailure::Stopped) && self.failed.load(Ordering::SeqCst);
        if first.is_none() && !is_consequence {
            *first = Some((number, failure, console.to_owned()));
        }
        self.failed.store(true, Ordering::SeqCst);
    }
}

fn name(plan: &LockstepPlan, number: usize) -> String {
    let machine = plan.machines.get(number);
    machine.map(|it| it.name.clone()).unwrap_or_default()
}

/// Returns what the machines did, if none failed and all have ended that had to.
fn all_ended(
    plan: &LockstepPlan,
    failure: Option<(usize, GuestFailure, String)>,
    outcomes: Vec<Result<Option<MachineOutcome>, LockstepError>>,
) -> Result<Vec<MachineOutcome>, LockstepError> {
    if let Some((number, failure, console)) = failure {
        let name = name(plan, number);
        return Err(LockstepError::Machine {
            name,
            failure,
            console,
        });
    }
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    // All are there: a machine without an outcome has failed.
    let outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
    for (number, outcome) in outcomes.iter().enumerate() {
        let is_background = plan.machines.get(number).is_some_and(|it| it.background);
        if outcome.report.is_ended && !is_background {
            let (name, limit) = (name(plan, number), plan.limit);
            return Err(LockstepError::Limit { name, limit });
        }
    }
    Ok(outcomes)
}

/// Reads the report of a machine's plugin.
fn report(parts: &GuestParts, number: usize) -> Result<MachineReport, ReportError> {
    let path = parts.folder.path(&format!("report-{number}"));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(ReportError::Unreadable { path, source }),
    };
    report::parse(&text).ok_or(ReportError::Incomplete { path })
}

/// Reads the records of all links, and compares those of all machines.
fn links(
    plan: &LockstepPlan,
    machines: &[ReadyMachine],
) -> Result<Vec<Vec<LinkRecord>>, LockstepError> {
    let mut all = Vec::new();
    for (number, link) in plan.links.iter().enumerate() {
        let path = |machine: &ReadyMachine| machine.parts.folder.path(&format!("link-{number}"));
        let mut copies = Vec::new();
        for machine in machines {
            let path = path(machine);
            copies.push(fs::read(&path).map_err(Error::file("read", &path))?);
        }
        let (longest, bytes) =
            record::longest(&copies).map_err(|(first, second, at)| RecordsError::Different {
                link: link.name.clone(),
                first: name(plan, first),
                second: name(plan, second),
                at,
            })?;
        let (records, broken) = record::parse(bytes);
        if let Some(at) = broken {
            let path = machines.get(longest).map(path).unwrap_or_default();
            return Err(RecordsError::Broken { path, at }.into());
        }
        all.push(records);
    }
    Ok(all)
}

/// Reads what the machines of a failed run have left, and the reasons why something is missing.
fn links_so_far(
    plan: &LockstepPlan,
    machines: &[ReadyMachine],
) -> (Vec<Vec<LinkRecord>>, Vec<LockstepError>) {
    let mut missing = Vec::new();
    let of_link = |number: usize| {
        let name = format!("link-{number}");
        let paths = machines
            .iter()
            .map(|machine| machine.parts.folder.path(&name));
        let (records, reasons) = so_far::read(paths);
        missing.extend(reasons.into_iter().map(|reason| match reason {
            MissingRecords::File(error) => LockstepError::from(error),
            MissingRecords::Records(error) => error.into(),
        }));
        records
    };
    let links = (0..plan.links.len()).map(of_link).collect();
    (links, missing)
}

/// Passes a machine's output on, and hashes it.
struct MachineOutput<'a> {
    number: usize,
    output: &'a dyn LockstepOutput,
    hashes: [Sha256; 2],
}

impl OutputSink for MachineOutput<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        let [hash, _] = &mut self.hashes;
        hash.update(bytes);
        self.output.stdout(self.number, bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        let [_, hash] = &mut self.hashes;
        hash.update(bytes);
        self.output.stderr(self.number, bytes);
    }
}
