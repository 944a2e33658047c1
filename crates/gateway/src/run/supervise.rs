//! Starting a gateway from a plan, running it, and shutting it down.

use super::control::ControlThread;
use super::error::{OpenErrors, RunError};
use super::interfaces::{PortInterfaces, interests};
use super::kernel::InKernel;
use super::link::WorkerLink;
use super::options::{DRAIN_TIMEOUT, EndReason, RunSettings, RunSummary};
use super::realtime;
use super::running::RunningGateway;
use super::signals::CaughtSignals;
use super::site::{PlanSource, RunPlan};
use crate::control::{ClaimedSocket, ControlServer, SocketError};
use crate::metrics::MetricsServer;
use crate::notice::{Listener, Notice, NoticeOutbox, NoticeSender};
use crate::service::ServiceManager;
use crate::stats::GatewayStats;
use engine::interest;
use offload::with_causes;
use route::RoutingTable;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use worker::{Engine, Port, WallClock, Worker, WorkerEnd, WorkerMailbox, WorkerMessage};

/// Runs a gateway until a signal or a client ends it, or until no frame can come in any more. The
/// calling thread becomes the control thread. The listener receives the notices meanwhile.
///
/// # Errors
/// [`RunError`], before the first frame except for [`RunError::WorkerDied`].
pub fn supervise<S: PlanSource>(
    site: &mut S,
    plan: RunPlan<S::Spec>,
    options: &RunSettings,
    listener: &Listener<'_>,
) -> Result<RunSummary, RunError> {
    supervise_by(WallClock::new(), site, plan, options, listener)
}

/// Does the same as [`supervise`], with a clock that was made before.
pub(super) fn supervise_by<S: PlanSource>(
    clock: WallClock,
    site: &mut S,
    plan: RunPlan<S::Spec>,
    options: &RunSettings,
    listener: &Listener<'_>,
) -> Result<RunSummary, RunError> {
    let notices = NoticeSender::new(listener);
    let manager = ServiceManager::new(options.service.as_ref()).unwrap_or_else(|why| {
        notices.send(Notice::NotNotified {
            why: why.to_string(),
        });
        ServiceManager::default()
    });
    let os = |doing| move |source| RunError::Os { doing, source };
    // The socket first: a second gateway must not touch the ports of the first one.
    let socket = match options.control.as_deref().map(ClaimedSocket::claim) {
        Some(Err(error @ SocketError::Os { .. })) if options.process.control.is_none() => {
            notices.send(Notice::NoControl {
                why: error.to_string(),
            });
            None
        }
        claimed => claimed.transpose()?,
    };
    // Listens from here on, so that a used address is an error of the start; clients wait until the
    // control thread serves.
    let metrics = options.process.metrics.map(|address| {
        let control = options.control.clone().unwrap_or_default();
        MetricsServer::start(address, control, env!("CARGO_PKG_VERSION"))
    });
    let metrics = metrics.transpose()?;
    // Before the ports open: a signal during the start waits for the control loop, which then ends
    // the gateway in order.
    let signals = options.signals.then(CaughtSignals::catch).transpose();
    let signals = signals.map_err(os("catching signals"))?;
    let table = plan.compile()?;
    let ports = open_all(site, &plan, &table)?;
    let in_kernel = plan.kernel.clone().unwrap_or_default();
    let interests = interests(&table, plan.ports.len());
    let mut interfaces = PortInterfaces::new(site, &plan, &in_kernel, &interests);
    // After the ports are open, which may set interfaces up, and before the first frame is routed.
    interfaces.start_counting();
    let mut kernel = InKernel::start(in_kernel, interfaces, &notices).map_err(RunError::Kernel)?;
    let engine = Engine::new(ports, Arc::new(table), &plan.routes)?;
    let layout = Arc::clone(engine.layout());
    if options.process.lock_memory
        && let Some(notice) = realtime::lock_memory()
    {
        notices.send(notice);
    }
    let outbox = NoticeOutbox::new().map_err(os("making an eventfd"))?;
    let mailbox = WorkerMailbox::new().map_err(os("making an eventfd"))?;
    // The worker drops its end when it ends, also by a panic: the control thread polls the other
    // one.
    let (alive, hangs_up) = UnixStream::pair().map_err(os("making a socket pair"))?;
    let remarks = engine.remarks();
    if !remarks.is_empty() {
        notices.send(Notice::PortRemarks { remarks });
    }
    // The last step that can fail: what it does, such as emptying a log, cannot be undone.
    site.start()?;
    let (engine, ended, asked_by, reading) = std::thread::scope(|scope| {
        let worker = Worker {
            engine,
            mailbox: &mailbox,
            listener: &outbox,
            clock,
            until_end: options.until_end.clone(),
            alive,
        };
        let priority = options.process.realtime;
        let notices_of_worker = &outbox;
        let thread = std::thread::Builder::new()
            .name("cangate worker".into())
            .spawn_scoped(scope, move || {
                if let Some(priority) = priority {
                    notices_of_worker.push(realtime::schedule(priority));
                }
                linux::schedule::use_stack();
                worker.work()
            })
            .map_err(os("starting the worker"))?;
        // Stops the worker even if this thread panics, so that the scope's join cannot hang.
        let _stop = StopAtEnd(&mailbox);
        let mut server = socket.map(ControlServer::new);
        let has_ended = || thread.is_finished();
        let mut running = RunningGateway::new(
            site,
            plan,
            layout,
            WorkerLink {
                mailbox: &mailbox,
                outbox: &outbox,
                clock,
                has_ended: &has_ended,
            },
            &mut kernel,
            &notices,
        );
        running.manager = manager;
        running.report_ready(
            server.as_ref().map(ControlServer::path),
            metrics.as_ref().map(MetricsServer::address),
        );
        let mut control = ControlThread::new(running);
        let asked_by = control.serve(signals, &mut server, &hangs_up);
        control.notify_stopping();
        if let Some(reason) = asked_by {
            notices.send(Notice::Ending { reason });
        }
        // Read the interfaces first: frames that arrive after the worker has stopped reach no port,
        // and would count as not asked for.
        let reading = kernel.interfaces.read();
        mailbox.send(WorkerMessage::Stop(DRAIN_TIMEOUT));
        let joined = thread.join();
        if let Some(server) = server {
            server.finish(DRAIN_TIMEOUT);
        }
        notices.relay(&outbox, |notice| kernel.interfaces.complete(notice));
        let (engine, ended) = joined.map_err(|_| RunError::WorkerDied)?;
        Ok::<_, RunError>((engine, ended, asked_by, reading))
    })?;
    let process = engine.snapshot();
    let mut stats = GatewayStats {
        interfaces: kernel.interfaces.rows(&reading, &process),
        process,
        uptime_ns: u64::try_from(clock.running().as_nanos()).unwrap_or(u64::MAX),
        kernel: Vec::new(),
        messages: Vec::new(),
    };
    let mut remarks = engine.remarks();
    match kernel.counts() {
        Ok(parts) => stats.kernel = parts,
        Err(why) => remarks.push(format!(
            "the kernel's counters are unknown: {}",
            with_causes(&why)
        )),
    }
    if let Err(why) = kernel.end() {
        remarks.push(with_causes(&why));
    }
    let reason = match (ended, asked_by) {
        (WorkerEnd::Failed, _) => EndReason::Failed,
        (WorkerEnd::Finished, _) => EndReason::Finished,
        (WorkerEnd::Stopped, reason) => reason.unwrap_or(EndReason::Request),
    };
    if asked_by.is_none() {
        notices.send(Notice::Ending { reason });
    }
    Ok(RunSummary {
        remarks,
        stats,
        reason,
        ran: clock.running(),
    })
}

/// Stops the worker when the control thread leaves, also by a panic.
struct StopAtEnd<'m>(&'m WorkerMailbox);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.send(WorkerMessage::Stop(DRAIN_TIMEOUT));
    }
}

fn open_all<S: PlanSource>(
    site: &mut S,
    plan: &RunPlan<S::Spec>,
    table: &RoutingTable,
) -> Result<Vec<Port>, OpenErrors> {
    let mut ports = Vec::with_capacity(plan.ports.len());
    let mut errors = Vec::new();
    for (i, (name, spec)) in plan.ports.iter().enumerate() {
        match site.open(name, spec, &interest(table, i)) {
            Ok(port) => ports.push(port),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(ports)
    } else {
        Err(OpenErrors(errors))
    }
}
