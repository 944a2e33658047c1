//! A running gateway, as the control thread sees it: its counters and its reloads.

use super::changes::RouteChanges;
use super::error::{KernelError, OpenErrors, ReloadError};
use super::interfaces::{PortInterfaces, interests};
use super::kernel::{InKernel, PathRefusal};
use super::lines::RouteLine;
use super::link::WorkerLink;
use super::options::DRAIN_TIMEOUT;
use super::port_watches::PortWatches;
use super::readiness::PortReadiness;
use super::site::{PlanSource, RunPlan};
use crate::notice::{Notice, NoticeSender, ReadyPort};
use crate::service::ServiceManager;
use crate::stats::GatewayStats;
use engine::{CounterNames, CounterSnapshot, EngineCounts, PortState, interest};
use linux::PollSet;
use offload::with_causes;
use port::PollTransmit;
use route::{Routes, RoutingTable};
use serde::{Deserialize, Serialize};

use std::cell::Cell;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use worker::{LayoutChange, LeavingPort, PortChange, WorkerMessage, poll_watch};

/// The result of a reload.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReloadSummary {
    /// Routes now in force.
    pub routes: usize,
    /// The number of these routes that had their names before, in the same data path, and so
    /// continue their counters.
    pub continued: usize,
    /// The changes to the routes.
    #[serde(default)]
    pub changes: RouteChanges,
    /// Ports that stayed open.
    pub kept: Vec<String>,
    /// Ports that were opened.
    pub opened: Vec<String>,
    /// Ports that were closed.
    pub closed: Vec<String>,
    /// Remarks on steps that did not go quite as intended.
    pub remarks: Vec<String>,
}

/// The reason why there are no counters.
#[derive(thiserror::Error, Debug)]
pub(crate) enum StatsError {
    /// The worker has ended.
    #[error("the gateway is about to end")]
    Ending,
    /// The kernel does not return its counters.
    #[error("{}", with_causes(.0))]
    Kernel(#[source] KernelError),
}

/// Returns the number of routes that kept their names. For very many routes, too: each name is
/// looked up once.
fn count_in_both(before: &[String], routes: &Routes) -> usize {
    let before: HashSet<&str> = before.iter().map(String::as_str).collect();
    let now = routes.routes.iter();
    now.filter(|route| before.contains(route.name.as_str()))
        .count()
}

pub(crate) struct RunningGateway<'a, S: PlanSource> {
    site: &'a mut S,
    plan: RunPlan<S::Spec>,
    layout: Arc<CounterNames>,
    pub(super) worker: WorkerLink<'a>,
    /// Reused, so that the worker need not allocate.
    counts: Option<Box<EngineCounts>>,
    kernel: &'a mut InKernel,
    notices: &'a NoticeSender<'a>,
    /// The service manager that started this process; see [`RunningGateway::send_heartbeat`].
    pub(super) manager: ServiceManager,
    /// The last report on ports that are not up.
    pub(super) readiness: PortReadiness,
    /// The clients that watch ports.
    pub(super) watches: PortWatches,
}

impl<'a, S: PlanSource> RunningGateway<'a, S> {
    pub(crate) fn new(
        site: &'a mut S,
        plan: RunPlan<S::Spec>,
        layout: Arc<CounterNames>,
        worker: WorkerLink<'a>,
        kernel: &'a mut InKernel,
        notices: &'a NoticeSender<'a>,
    ) -> Self {
        Self {
            site,
            plan,
            layout,
            worker,
            counts: None,
            kernel,
            notices,
            manager: ServiceManager::default(),
            readiness: PortReadiness::default(),
            watches: PortWatches::default(),
        }
    }

    pub(crate) const fn notices(&self) -> &NoticeSender<'a> {
        self.notices
    }

    /// Returns a descriptor that is readable when [`RunningGateway::relay`] has something to do.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.worker.outbox.bell()
    }

    /// Returns the routes in the kernel.
    pub(super) const fn kernel(&self) -> &InKernel {
        self.kernel
    }

    /// Passes on the worker's notices.
    pub(crate) fn relay(&mut self) {
        let interfaces = &self.kernel.interfaces;
        let links = Cell::new(false);
        self.notices.relay(self.worker.outbox, |notice| {
            links.set(links.get() || matches!(notice, Notice::Link { .. }));
            interfaces.complete(notice)
        });
        if links.get() {
            self.look_at_ports();
        }
    }

    /// Reports that all is in place.
    pub(crate) fn report_ready(&mut self, control: Option<&Path>, metrics: Option<SocketAddr>) {
        let here = |(name, spec): &(String, S::Spec)| ReadyPort {
            name: name.clone(),
            words: self.site.describe(spec),
            interface: self.site.interface(spec).map(str::to_owned),
            in_kernel: false,
        };
        let mut ports: Vec<ReadyPort> = self.plan.ports.iter().map(here).collect();
        ports.extend(self.kernel.interfaces.in_kernel());
        let links = self.kernel.interfaces.check_links();
        let now = self.snapshot();
        let not_up = now.map_or_else(Vec::new, |now| self.not_up(&now));
        self.notices.send(Notice::Ready {
            pid: std::process::id(),
            control: control.map(|path| path.display().to_string()),
            metrics: metrics.map(|address| format!("http://{address}/metrics")),
            ports,
            not_up,
            routes: self.plan.lines.clone(),
        });
        self.report_links(links);
        self.notify_ready("");
    }

    /// Reports changes of the interfaces of the kernel's routes.
    fn report_links(&self, changes: Vec<Notice>) {
        for notice in changes {
            self.notices.send(notice);
        }
    }

    /// Returns descriptors, each of which is readable when [`RunningGateway::handle_link_changes`]
    /// has something to do.
    pub(crate) fn kernel_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.kernel.fds()
    }

    /// Handles interfaces that have appeared, disappeared, or changed.
    pub(crate) fn handle_link_changes(&mut self) {
        if let Some(refusal) = self.kernel.handle_link_changes(self.notices) {
            self.move_routes(refusal);
        }
        self.look_at_ports();
    }

    /// Puts routes that their data path cannot run any more into another one, such as this process.
    /// If that fails, they run as before.
    fn move_routes(&mut self, refusal: PathRefusal) {
        let next = self.site.choose_again();
        let paths = |lines: &[RouteLine]| -> Vec<String> {
            lines.iter().map(|line| line.data_path.clone()).collect()
        };
        let next = next.filter(|next| paths(&next.lines) != paths(&self.plan.lines));
        let applied = next.map(|next| self.run_with_heartbeats(|running| running.apply(next)));
        match applied {
            Some(Ok(done)) => {
                let notice = refusal.into_notice_of_move(done.changes.moved, done.remarks);
                self.notices.send(notice);
            }
            Some(Err(why)) => {
                self.site.give_up();
                self.notices.send(refusal.into_notice());
                self.notices.send(Notice::NotReloaded {
                    why: with_causes(&why),
                    as_before: !matches!(why, ReloadError::KernelLate(_)),
                });
            }
            None => self.notices.send(refusal.into_notice()),
        }
    }

    /// Returns the time at which [`RunningGateway::restore_kernel_routes`] has something to do.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.kernel.next_check()
    }

    /// Checks whether another process has removed routes from the kernel.
    pub(crate) fn restore_kernel_routes(&mut self) {
        if let Some(refusal) = self.kernel.restore_removed(self.notices) {
            self.move_routes(refusal);
        }
    }

    /// Returns the routes in force, for people.
    pub(crate) fn lines(&self) -> &[RouteLine] {
        &self.plan.lines
    }

    /// Returns the source of the configuration.
    pub(super) const fn site(&self) -> &S {
        self.site
    }

    /// Returns the names of the ports that this process has open.
    pub(super) fn port_names(&self) -> impl Iterator<Item = &str> {
        self.plan.ports.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the specification of a port that this process has open.
    pub(super) fn port_spec(&self, name: &str) -> Option<&S::Spec> {
        let mut ports = self.plan.ports.iter();
        ports.find(|(port, _)| port == name).map(|(_, spec)| spec)
    }

    /// Returns the number of ports, including those that only routes in the kernel use.
    pub(super) fn ports(&self) -> usize {
        self.plan.ports.len() + self.kernel.interfaces.in_kernel().count()
    }

    /// Returns all counters.
    pub(crate) fn stats(&mut self) -> Result<GatewayStats, StatsError> {
        // The interfaces first: a frame that comes between the two readings is not yet counted as
        // one that was not asked for.
        let links = self.kernel.interfaces.read();
        let process = self.snapshot().ok_or(StatsError::Ending)?;
        Ok(GatewayStats {
            interfaces: self.kernel.interfaces.rows(&links, &process),
            process,
            uptime_ns: u64::try_from(self.worker.clock.running().as_nanos()).unwrap_or(u64::MAX),
            kernel: self.kernel.counts().map_err(StatsError::Kernel)?,
            messages: self
                .lines()
                .iter()
                .filter_map(RouteLine::messages_in_short)
                .collect(),
        })
    }

    /// Returns the worker's counters, or `None` if it has ended. The vectors are allocated here,
    /// large enough, so that the worker only copies.
    pub(super) fn snapshot(&mut self) -> Option<CounterSnapshot> {
        self.snapshot_until(None)
    }

    /// Does the same as [`RunningGateway::snapshot`]; returns `None` if the worker has not answered
    /// by `until`.
    pub(super) fn snapshot_until(&mut self, until: Option<Instant>) -> Option<CounterSnapshot> {
        let mut counts = self.counts.take().unwrap_or_default();
        counts.ports.reserve(self.layout.ports.len());
        counts.failures.reserve(self.layout.ports.len());
        counts.routes.reserve(self.layout.routes.len());
        let counts = self
            .worker
            .ask_until(until, |reply| WorkerMessage::Count(counts, reply))?;
        let snapshot = CounterSnapshot::new(&self.layout, &counts);
        self.counts = Some(counts);
        Some(snapshot)
    }

    /// Reads the configuration again and applies it; reports the result.
    ///
    /// # Errors
    /// [`ReloadError`].
    pub(crate) fn reload_and_report(&mut self) -> Result<ReloadSummary, ReloadError> {
        let reported = self.manager.reloading();
        self.handle_status(reported);
        let result = self.run_with_heartbeats(Self::reload);
        if result.is_err() {
            self.site.give_up();
        }
        self.notify_ready(match &result {
            Ok(_) => "",
            Err(_) => "; the last reload was refused",
        });
        self.notices.send(match &result {
            Ok(done) => Notice::Reloaded {
                routes: done.routes,
                continued: done.continued,
                kept: done.kept.clone(),
                opened: done.opened.clone(),
                closed: done.closed.clone(),
                changes: done.changes.clone(),
                remarks: done.remarks.clone(),
            },
            Err(why) => Notice::NotReloaded {
                why: with_causes(why),
                as_before: !matches!(why, ReloadError::KernelLate(_)),
            },
        });
        result
    }

    /// Reloads, from the configuration's text to the worker.
    fn reload(&mut self) -> Result<ReloadSummary, ReloadError> {
        let plan = self.site.load()?;
        self.apply(plan)
    }

    /// Exchanges the plan. Until the worker applies the change, everything can be given up, and
    /// then nothing has changed.
    fn apply(&mut self, mut plan: RunPlan<S::Spec>) -> Result<ReloadSummary, ReloadError> {
        let in_kernel = plan.kernel.take().unwrap_or_default();
        let table = plan.compile()?;
        let mut done = ReloadSummary {
            routes: plan.routes.routes.len(),
            remarks: plan.remarks.clone(),
            changes: RouteChanges::between(&self.plan.lines, &plan.lines),
            ..ReloadSummary::default()
        };
        let ports = self.next_ports(&plan, &table, &mut done)?;
        let old = &self.layout;
        done.continued = count_in_both(&old.routes, &plan.routes);
        let interests = interests(&table, plan.ports.len());
        let change = LayoutChange::new(old, ports, Arc::new(table), &plan.routes)?;
        done.continued += self.kernel.continued(&in_kernel);
        // A route that moves to another data path must be removed from the old one before it is put
        // into the new one: no frame is sent twice.
        let in_steps = self
            .kernel
            .in_steps(&in_kernel, self.plan.routes != plan.routes);
        if in_steps {
            self.kernel
                .give_up(&in_kernel)
                .map_err(ReloadError::Kernel)?;
        } else {
            let notice = self.kernel.reload(in_kernel.clone());
            self.report_kernel(notice.map_err(ReloadError::Kernel)?, &mut done);
        }
        let layout = Arc::clone(change.layout());
        self.site.start()?;
        let change = Box::new(change);
        let removed = self
            .worker
            .ask(|reply| WorkerMessage::Apply(change, reply))
            .ok_or(ReloadError::Ending)?
            .map_err(|(error, _)| error)?;
        self.layout = layout;
        self.plan = plan;
        self.site.put_in_force();
        self.watch_opened(&done.opened);
        let watched = PortInterfaces::new(self.site, &self.plan, &in_kernel, &interests);
        let counted = self.snapshot();
        self.kernel.interfaces.replace(watched, counted.as_ref());
        let links = self.kernel.interfaces.check_links();
        self.report_links(links);
        let late = if in_steps {
            self.kernel.reload(in_kernel)
        } else {
            Ok(Vec::new())
        };
        // Whatever the kernel reports, these ports are gone from the engine.
        let mut removed = removed;
        // One time limit for all of them: a client that waits for the answer, or a signal, waits no
        // longer.
        let end = Instant::now() + DRAIN_TIMEOUT;
        for port in removed.leaving.drain(..) {
            done.closed.push(port.name().to_owned());
            self.drain_and_close(port, end);
        }
        self.report_kernel(late.map_err(ReloadError::KernelLate)?, &mut done);
        done.routes += self.kernel.count();
        Ok(done)
    }

    /// Reports the effects of a reload in the kernel, to the client that requested it, too.
    fn report_kernel(&self, notices: Vec<Notice>, done: &mut ReloadSummary) {
        for notice in notices {
            done.remarks.push(notice.to_string());
            self.notices.send(notice);
        }
    }

    /// Returns the ports of the next layout: those that stay, and new ones, which are opened here.
    fn next_ports(
        &mut self,
        plan: &RunPlan<S::Spec>,
        table: &RoutingTable,
        done: &mut ReloadSummary,
    ) -> Result<Vec<PortChange>, ReloadError> {
        let before = self.snapshot().ok_or(ReloadError::Ending)?;
        let mut ports = Vec::with_capacity(plan.ports.len());
        let mut errors = Vec::new();
        for (i, (name, spec)) in plan.ports.iter().enumerate() {
            let same = self.plan.ports.iter().any(|(n, s)| n == name && s == spec);
            let failed = before
                .port(name)
                .is_some_and(|p| p.state == PortState::Failed);
            if same && !failed && self.site.is_in_force(spec) {
                done.kept.push(name.clone());
                ports.push(PortChange::Keep(name.clone()));
                continue;
            }
            // A port that failed, or whose interface another process has reconfigured, is tried
            // again. That it still fails is no reason to refuse the new routes.
            match self.site.open(name, spec, &interest(table, i)) {
                Ok(port) => {
                    done.opened.push(name.clone());
                    ports.push(PortChange::New(port));
                }
                Err(error) if same => {
                    done.kept.push(name.clone());
                    done.remarks.push(if failed {
                        format!("still out of service: {error}")
                    } else {
                        error.to_string()
                    });
                    ports.push(PortChange::Keep(name.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(ports)
        } else {
            Err(OpenErrors(errors).into())
        }
    }

    /// Lets a removed port send the frames that it holds until `end` at the latest, and closes it.
    fn drain_and_close(&self, mut port: LeavingPort, end: Instant) {
        let mut poll = PollSet::default();
        loop {
            match port.flush(self.worker.clock.now()) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    self.notices.send(Notice::FramesLost {
                        port: port.name().to_owned(),
                        frames: None,
                        why: with_causes(&error),
                    });
                    break;
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            poll.clear();
            poll.add(poll_watch(port.transmitter().wait()));
            let nap = Duration::from_millis(1);
            if poll.wait(Some(left.min(nap * 10))).is_err() {
                std::thread::sleep(nap);
            }
        }
        let name = port.name().to_owned();
        let settled = port.close();
        if settled.lost > 0 {
            self.notices.send(Notice::FramesLost {
                port: name.clone(),
                frames: Some(settled.lost),
                why: "they still waited when the port was closed".to_owned(),
            });
        }
        self.worker
            .mailbox
            .send(WorkerMessage::Settle(name, settled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use route::{PortId, Route};

    /// With this many, comparing each with each would take hours.
    #[test]
    fn very_many_routes_are_looked_up_and_not_searched() {
        const MANY: usize = 300_000;
        let name = |n: usize| format!("a route with a long name in common, number {n}");
        let before: Vec<String> = (0..MANY).map(name).collect();
        let to = || vec![PortId(0)];
        let routes = Routes {
            routes: (MANY / 2..MANY + MANY / 2)
                .map(|n| Route::new(name(n), to(), to()))
                .collect(),
            ..Routes::default()
        };
        assert_eq!(count_in_both(&before, &routes), MANY / 2);
    }
}
