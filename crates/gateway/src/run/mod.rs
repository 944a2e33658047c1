//! The engine in real time: one worker thread for frames, this thread for everything else.
//!
//! The worker receives, decides and transmits, and waits in ppoll(2) when there is nothing to do.
//! The control thread waits for signals and for clients of the control socket; reading and
//! compiling a new configuration, opening and closing ports, writing JSON happen here. What the
//! worker must do for it (copy counters, take over a table) it does between two batches. See
//! docs/decisions/0003-one-worker.md.

mod clock;
mod control;
mod files;
mod kernel;
mod lines;
mod mailbox;
mod offloaded;
mod realtime;
mod signals;
mod site;
mod worker;

pub use control::Reloaded;
pub use files::{RunOptions, control_path, run};
pub use kernel::{KernelError, KernelPlan};
pub use lines::RouteLine;
pub use offloaded::{data_paths, objections};
pub use site::{Plan, Site};

use crate::control::{Place, PlaceError, Server};
use crate::engine::{Engine, EngineError};
use crate::interest;
use crate::lane::NamedPort;
use crate::snapshot::Snapshot;
use clock::Clock;
use control::{Control, Worked};
use kernel::InKernel;
use mailbox::{Mailbox, Message};
use port::PortError;
use route::{Routes, Table};
use signals::Signals;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use worker::{Ended, Worker};

/// How to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The control socket; none where nobody is to ask.
    pub control: Option<PathBuf>,
    /// Go on without the control socket, with a warning, where the operating system does not
    /// allow it: nobody asked for that place.
    pub control_optional: bool,
    /// SCHED_FIFO priority of the worker, 1 to 99; `None` for ordinary scheduling.
    pub realtime: Option<u8>,
    /// Lock the process's memory.
    pub lock_memory: bool,
    /// Act on SIGHUP (reload), SIGTERM and SIGINT (orderly end). They belong to the whole
    /// process, so only one run in a process may have them.
    pub signals: bool,
    /// How long an orderly end may take to send what ports hold, and how long a removed port
    /// may take for that.
    pub drain: Duration,
    /// End when all of these ports have no more input (logs at their end) and nothing is held.
    /// With none, a gateway runs until it is told to end.
    pub until_end: Vec<String>,
}

impl Default for Options {
    /// Neither socket nor signals nor privileges; one second to send what is held.
    fn default() -> Self {
        Self {
            control: None,
            control_optional: false,
            realtime: None,
            lock_memory: false,
            signals: false,
            drain: Duration::from_secs(1),
            until_end: Vec::new(),
        }
    }
}

/// Why a gateway did not start, or did not end as it should.
#[derive(thiserror::Error, Debug)]
pub enum RunError {
    /// The configuration is wrong.
    #[error("{0}")]
    Configuration(String),
    /// Ports cannot be opened; all of them are named.
    #[error("{}", lines(.0))]
    Ports(Vec<PortError>),
    /// Ports, table and routes do not belong together.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Routes cannot be put into the kernel.
    #[error("{}", offload::with_causes(.0))]
    Kernel(#[source] KernelError),
    /// The control socket cannot be had.
    #[error(transparent)]
    Control(#[from] PlaceError),
    /// The operating system says no.
    #[error("{doing} failed ({source})")]
    Os {
        /// What was tried.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A mistake in cangate ended the worker.
    #[error("the worker died of a mistake in cangate; please report what it printed")]
    WorkerDied,
}

/// Errors one a line, each with its cause.
fn lines(errors: &[PortError]) -> String {
    let with_cause = |error: &PortError| match &error.source {
        Some(cause) => format!("{error} ({cause})"),
        None => error.to_string(),
    };
    errors.iter().map(with_cause).collect::<Vec<_>>().join("\n")
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// SIGTERM or SIGINT.
    Signal,
    /// A client of the control socket asked for it.
    Request,
    /// The inputs of [`Options::until_end`] have ended and everything that was held is sent.
    Finished,
    /// Nothing can come in any more, because ports failed.
    Failed,
}

/// What a run was.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The last counters; nothing is held any more.
    pub snapshot: Snapshot,
    /// What ports had to say besides, with their names.
    pub remarks: Vec<String>,
    /// Why it ended.
    pub reason: Reason,
    /// How long it ran.
    pub ran: Duration,
}

/// Runs a gateway until a signal or a client ends it, or until nothing can come in any more. The
/// calling thread becomes the control thread.
///
/// # Errors
/// [`RunError`], before the first frame except for [`RunError::WorkerDied`].
pub fn supervise<S: Site>(
    site: &mut S,
    plan: Plan<S::Spec>,
    options: &Options,
) -> Result<Summary, RunError> {
    supervise_by(Clock::new(), site, plan, options)
}

fn supervise_by<S: Site>(
    clock: Clock,
    site: &mut S,
    plan: Plan<S::Spec>,
    options: &Options,
) -> Result<Summary, RunError> {
    let os = |doing| move |source| RunError::Os { doing, source };
    // The socket first: a second gateway must not touch the first one's ports.
    let place = match options.control.as_deref().map(Place::claim) {
        Some(Err(error @ PlaceError::Os { .. })) if options.control_optional => {
            tracing::warn!(
                "{error}: nobody can ask this gateway for its counters or to reload; set \
                 XDG_RUNTIME_DIR to a folder of your own, or `control` in [gateway] to a path"
            );
            None
        }
        claimed => claimed.transpose()?,
    };
    let signals = options.signals.then(Signals::catch).transpose();
    let signals = signals.map_err(os("catching signals"))?;
    let table = compile(&plan.routes, plan.ports.len()).map_err(RunError::Configuration)?;
    let ports = open_all(site, &plan, &table)?;
    let kernel = plan.kernel.clone().unwrap_or_default();
    let mut kernel = InKernel::start(kernel).map_err(RunError::Kernel)?;
    let engine = Engine::new(ports, Arc::new(table), &plan.routes)?;
    let layout = Arc::clone(engine.layout());
    if options.lock_memory {
        realtime::lock_memory();
    }
    let mailbox = Mailbox::new().map_err(os("making an eventfd"))?;
    let (alive, hangs_up) = UnixStream::pair().map_err(os("making a socket pair"))?;
    let (engine, ended, asked_by) = std::thread::scope(|scope| {
        let worker = Worker {
            engine,
            mailbox: &mailbox,
            clock,
            until_end: options.until_end.clone(),
            alive,
        };
        let priority = options.realtime;
        let thread = std::thread::Builder::new()
            .name("cangate worker".into())
            .spawn_scoped(scope, move || {
                if let Some(priority) = priority {
                    realtime::schedule(priority);
                }
                worker.work()
            })
            .map_err(os("starting the worker"))?;
        // Whatever happens to this thread, the worker must not be waited for in vain.
        let _stop = StopAtEnd {
            mailbox: &mailbox,
            drain: options.drain,
        };
        let mut server = place.map(Server::new);
        if let Some(server) = &server {
            tracing::info!("control socket: {}", server.path().display());
        }
        let has_ended = || thread.is_finished();
        let mut control = Control::new(
            site,
            plan,
            layout,
            Worked {
                mailbox: &mailbox,
                clock,
                has_ended: &has_ended,
            },
            options.drain,
            &mut kernel,
        );
        let asked_by = control.serve(signals, &mut server, &hangs_up);
        mailbox.send(Message::Stop(options.drain));
        let joined = thread.join();
        if let Some(server) = server {
            server.finish(options.drain);
        }
        let (engine, ended) = joined.map_err(|_| RunError::WorkerDied)?;
        Ok::<_, RunError>((engine, ended, asked_by))
    })?;
    let mut snapshot = engine.snapshot();
    let mut remarks = engine.remarks();
    match kernel.counts() {
        Ok(parts) => snapshot.kernel = parts,
        Err(why) => remarks.push(format!(
            "what the kernel counted is not known: {}",
            offload::with_causes(&why)
        )),
    }
    if let Err(why) = kernel.end() {
        remarks.push(offload::with_causes(&why));
    }
    let reason = match (ended, asked_by) {
        (Ended::Failed, _) => Reason::Failed,
        (Ended::Finished, _) => Reason::Finished,
        (Ended::Stopped, reason) => reason.unwrap_or(Reason::Request),
    };
    Ok(Summary {
        remarks,
        snapshot,
        reason,
        ran: clock.running(),
    })
}

/// Tells the worker to stop when the control thread leaves, also by a panic.
struct StopAtEnd<'m> {
    mailbox: &'m Mailbox,
    drain: Duration,
}

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.mailbox.send(Message::Stop(self.drain));
    }
}

fn compile(routes: &Routes, ports: usize) -> Result<Table, String> {
    Table::compile(routes, ports).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        all.join("\n")
    })
}

fn open_all<S: Site>(
    site: &mut S,
    plan: &Plan<S::Spec>,
    table: &Table,
) -> Result<Vec<NamedPort>, RunError> {
    let mut ports = Vec::with_capacity(plan.ports.len());
    let mut errors = Vec::new();
    for (i, (name, spec)) in plan.ports.iter().enumerate() {
        match site.open(name, spec, &interest::of(table, i)) {
            Ok(port) => ports.push(port),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(ports)
    } else {
        Err(RunError::Ports(errors))
    }
}
