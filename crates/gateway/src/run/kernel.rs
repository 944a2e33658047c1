//! Routes that run in the kernel: installing, monitoring, counting and removing them.

use super::error::KernelError;
use super::interfaces::PortInterfaces;
use super::kernel_plan::KernelPlan;
use crate::notice::{Notice, NoticeSender};
use crate::stats::{KernelPart, KernelRow};
use offload::{
    DataPath, GatewayInstance, KERNEL_PATHS, KernelPath, PathRun, RouteCounts, with_causes,
};
use route::{Route, Routes};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// A data path, and the routes that run there.
struct PathSlot {
    path: &'static dyn KernelPath,
    running: Option<Box<dyn PathRun>>,
    /// Its last reported description, in words.
    words: Option<String>,
    /// The number of its rules or programs that were put back after another process had removed
    /// them.
    restored: u64,
    /// The reason why they could not be put back, as it was reported.
    failing: Option<String>,
}

/// A data path that cannot do with its routes what a change of interfaces requires.
pub(crate) struct PathRefusal {
    data_path: DataPath,
    why: String,
}

impl PathRefusal {
    fn new(path: &dyn KernelPath, error: &offload::Error) -> Self {
        Self {
            data_path: path.data_path(),
            why: with_causes(error),
        }
    }

    /// Returns the notice that nothing was changed.
    pub(super) fn into_notice(self) -> Notice {
        Notice::OffloadFailed {
            data_path: self.data_path.to_string(),
            why: format!(
                "{}; its routes run as before, and `cangate reload` chooses again",
                self.why
            ),
        }
    }

    /// Returns the notice that these routes run in another data path now.
    pub(super) fn into_notice_of_move(self, routes: Vec<String>, remarks: Vec<String>) -> Notice {
        Notice::RoutesMoved {
            data_path: self.data_path.to_string(),
            why: self.why,
            routes,
            remarks,
        }
    }
}

/// The interval at which the gateway checks whether another process has removed routes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The checks take at most one part in this number of a processor's time, however many rules there
/// are.
const SHARE: u32 = 100;

/// The routes in the kernel. Dropping this removes them, unless they should stay.
pub(crate) struct InKernel {
    instance: GatewayInstance,
    plan: KernelPlan,
    /// The data paths, in the order of [`KERNEL_PATHS`].
    slots: Vec<PathSlot>,
    /// The time of the next check.
    next_check: Instant,
    /// The interfaces that were reported missing.
    missing: BTreeSet<String>,
    /// The interfaces of all ports, as the kernel reports them.
    pub(super) interfaces: PortInterfaces,
}

impl InKernel {
    /// Installs the routes. What an earlier run left behind is taken over, or removed if it has no
    /// routes any more.
    ///
    /// # Errors
    /// Features that the kernel lacks, refuses or cannot express; then nothing new was installed.
    pub(super) fn start(
        plan: KernelPlan,
        interfaces: PortInterfaces,
        notices: &NoticeSender<'_>,
    ) -> Result<Self, KernelError> {
        let slot = |path| PathSlot {
            path,
            running: None,
            words: None,
            restored: 0,
            failing: None,
        };
        let mut kernel = Self {
            instance: GatewayInstance::new(&plan.instance),
            plan: KernelPlan {
                instance: plan.instance.clone(),
                ..KernelPlan::default()
            },
            slots: KERNEL_PATHS.into_iter().map(slot).collect(),
            next_check: Instant::now() + CHECK_INTERVAL,
            missing: BTreeSet::new(),
            interfaces,
        };
        // First: leftover rules of can-gw would also forward frames that BPF leaves to other
        // programs.
        kernel.remove_leftovers(&plan, notices)?;
        for notice in kernel.reload(plan)? {
            notices.send(notice);
        }
        Ok(kernel)
    }

    /// Removes what an earlier run of this instance left in data paths that have no routes any
    /// more: it would forward frames that are routed elsewhere now.
    fn remove_leftovers(
        &self,
        plan: &KernelPlan,
        notices: &NoticeSender<'_>,
    ) -> Result<(), KernelError> {
        if plan.instance.is_empty() {
            return Ok(());
        }
        for PathSlot { path, .. } in &self.slots {
            if plan.assignment(path.data_path()).is_none()
                && let Some(words) = path.remove_leftovers(&self.instance)?
            {
                notices.send(Notice::OffloadGivenUp {
                    data_path: path.data_path().to_string(),
                    why: words,
                });
            }
        }
        Ok(())
    }

    /// Returns whether a reload must go in two steps, so that no frame meets a route in two data
    /// paths. `here`: routes of this process change, too.
    pub(crate) fn in_steps(&self, new: &KernelPlan, here: bool) -> bool {
        self.plan.differs(new) + usize::from(here) > 1
    }

    /// Does the first step: only the routes that the new plan has in common with the old one stay.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn give_up(&mut self, new: &KernelPlan) -> Result<(), KernelError> {
        let mut rest = self.plan.clone();
        for (path, kept) in &mut rest.routes {
            let (old, new_routes) = (self.plan.routes(*path), new.routes(*path));
            let same = self.plan.ports == new.ports
                && (old.mode, old.max_hops) == (new_routes.mode, new_routes.max_hops);
            let wanted: HashMap<&str, &Route> = new_routes
                .routes
                .iter()
                .map(|route| (route.name.as_str(), route))
                .collect();
            kept.routes
                .retain(|route| same && wanted.get(route.name.as_str()) == Some(&route));
        }
        self.reload(rest).map(drop)
    }

    /// Exchanges the routes; returns the notices about it.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn reload(&mut self, mut plan: KernelPlan) -> Result<Vec<Notice>, KernelError> {
        // The name under which everything runs, even if the file now has another one.
        plan.instance.clone_from(&self.plan.instance);
        let (mut output, mut missing) = (Vec::new(), BTreeSet::new());
        let mut refused = None;
        let mut done = 0;
        for slot in &mut self.slots {
            match slot.exchange(&self.instance, &plan, &mut missing) {
                Ok(notice) => output.extend(notice),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
            done += 1;
        }
        if let Some(first) = refused {
            // Together, the data paths have either the new routes or the old ones.
            for slot in self.slots.iter_mut().take(done) {
                if let Err(source) = slot.exchange(&self.instance, &self.plan, &mut missing) {
                    return Err(KernelError::NotSetBack {
                        first: Box::new(first),
                        path: slot.path.data_path(),
                        source: Box::new(source),
                    });
                }
            }
            return Err(first.into());
        }
        output.extend(self.record_missing(missing));
        self.plan = plan;
        Ok(output)
    }

    /// Returns the number of routes that run there.
    pub(crate) fn count(&self) -> usize {
        let all = self.plan.routes.values();
        all.map(|routes| routes.routes.len()).sum()
    }

    /// Returns the number of routes of a new plan, by name, that continue their counters: those
    /// that stay in their data path.
    pub(crate) fn continued(&self, new: &KernelPlan) -> usize {
        let in_both = |slot: &PathSlot| {
            let path = slot.path.data_path();
            let routes = &self.plan.routes(path).routes;
            let names: HashSet<&str> = routes.iter().map(|route| route.name.as_str()).collect();
            let new = new.routes(path).routes.iter();
            new.filter(|route| names.contains(route.name.as_str()))
                .count()
        };
        self.slots.iter().map(in_both).sum()
    }

    /// Returns descriptors, each of which is readable when [`InKernel::handle_link_changes`] has
    /// something to do.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let running = self.slots.iter().filter_map(|slot| slot.running.as_ref());
        running.map(|running| running.as_fd())
    }

    /// Handles interfaces that have appeared, disappeared, or changed. Returns the refusal of a
    /// data path that cannot express its routes between the interfaces that exist now; its routes
    /// run as before.
    pub(crate) fn handle_link_changes(
        &mut self,
        notices: &NoticeSender<'_>,
    ) -> Option<PathRefusal> {
        let mut refused = None;
        let mut missing = BTreeSet::new();
        let mut news = false;
        // The slowest data path first.
        for slot in self.slots.iter_mut().rev() {
            let Some(running) = &mut slot.running else {
                continue;
            };
            match running.links_changed() {
                Ok(None) => {}
                Ok(Some(report)) => {
                    news = true;
                    if let Some(words) = report.words
                        && slot.words.as_ref() != Some(&words)
                    {
                        slot.words = Some(words.clone());
                        let path = slot.path.data_path();
                        notices.send(Notice::OffloadChanged {
                            data_path: path.to_string(),
                            routes: self.plan.routes(path).routes.len(),
                            words,
                        });
                    }
                    missing.extend(report.missing);
                }
                Err(error) => {
                    let refusal = PathRefusal::new(slot.path, &error);
                    if error.is_inexpressible() {
                        refused = Some(refusal);
                    } else {
                        notices.send(refusal.into_notice());
                    }
                }
            }
        }
        if news && let Some(notice) = self.record_missing(missing) {
            notices.send(notice);
        }
        for notice in self.interfaces.check_links() {
            notices.send(notice);
        }
        refused
    }

    /// Returns the time at which [`InKernel::restore_removed`] has something to do; `None` if no
    /// route runs there.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        let runs = self.slots.iter().any(|slot| slot.running.is_some());
        runs.then_some(self.next_check)
    }

    /// Puts back what another process has removed, and reports it. Returns a refusal as
    /// [`InKernel::handle_link_changes`] does.
    pub(crate) fn restore_removed(&mut self, notices: &NoticeSender<'_>) -> Option<PathRefusal> {
        let begun = Instant::now();
        if self.next_check().is_none_or(|at| at > begun) {
            return None;
        }
        let mut refused = None;
        for slot in &mut self.slots {
            let Some(running) = &mut slot.running else {
                continue;
            };
            let data_path = slot.path.data_path().to_string();
            match running.maintain() {
                Ok(report) => {
                    slot.failing = None;
                    let restored = report.map_or(0, |report| report.restored);
                    slot.restored += restored as u64;
                    if restored > 0 {
                        notices.send(Notice::OffloadRestored {
                            data_path,
                            restored,
                            within_ms: u64::try_from(CHECK_INTERVAL.as_millis())
                                .unwrap_or(u64::MAX),
                        });
                    }
                }
                Err(error) if error.is_inexpressible() => {
                    refused = Some(PathRefusal::new(slot.path, &error));
                }
                Err(error) => {
                    let why = with_causes(&error);
                    // The same reason each second is not reported again.
                    if slot.failing.as_ref() != Some(&why) {
                        slot.failing = Some(why.clone());
                        notices.send(Notice::OffloadFailed { data_path, why });
                    }
                }
            }
        }
        let took = begun.elapsed();
        self.next_check = begun + CHECK_INTERVAL.max(took * SHARE);
        refused
    }

    /// Records the missing interfaces. Returns a notice if there are new ones.
    fn record_missing(&mut self, missing: BTreeSet<String>) -> Option<Notice> {
        let news = !missing.is_subset(&self.missing);
        self.missing = missing;
        news.then(|| Notice::InterfacesMissing {
            interfaces: self.missing.iter().cloned().collect(),
        })
    }

    /// Returns the counters since the start.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn counts(&mut self) -> Result<Vec<KernelPart>, KernelError> {
        let mut parts = Vec::new();
        for slot in &mut self.slots {
            if let Some(running) = &mut slot.running {
                let path = slot.path.data_path();
                let counts = running.counts()?;
                parts.push(KernelPart {
                    restored: slot.restored,
                    ..part(path, self.plan.routes(path), counts)
                });
            }
        }
        Ok(parts)
    }

    /// Removes all routes at the end, or leaves them if they should stay.
    ///
    /// # Errors
    /// The error for routes that could not be left in place or removed.
    pub(crate) fn end(mut self) -> Result<(), KernelError> {
        if !self.plan.persist {
            return Ok(());
        }
        // The slowest first: BPF can refuse, and then nothing is left to do.
        for slot in self.slots.iter_mut().rev() {
            if let Some(running) = slot.running.take() {
                running.persist()?;
            }
        }
        Ok(())
    }
}

impl PathSlot {
    /// Exchanges the running routes for those of the plan; returns a notice about it.
    fn exchange(
        &mut self,
        instance: &GatewayInstance,
        plan: &KernelPlan,
        missing: &mut BTreeSet<String>,
    ) -> Result<Option<Notice>, offload::Error> {
        let path = self.path.data_path();
        let data_path = path.to_string();
        let Some(assignment) = plan.assignment(path) else {
            let gone = self.running.take();
            return Ok(gone.map(|_| Notice::OffloadGivenUp {
                data_path,
                why: "the configuration puts no route there".to_owned(),
            }));
        };
        let (report, new) = match &mut self.running {
            Some(running) => (running.reload(assignment)?, false),
            none => {
                let (running, report) = self.path.start(instance, assignment)?;
                *none = Some(running);
                (report, true)
            }
        };
        missing.extend(report.missing);
        self.words.clone_from(&report.words);
        let routes = plan.routes(path).routes.len();
        Ok(report.words.map(|words| {
            if new {
                Notice::OffloadTaken {
                    data_path,
                    routes,
                    words,
                }
            } else {
                Notice::OffloadChanged {
                    data_path,
                    routes,
                    words,
                }
            }
        }))
    }
}

fn part(data_path: DataPath, routes: &Routes, counts: Vec<RouteCounts>) -> KernelPart {
    let names = routes.routes.iter().map(|route| route.name.clone());
    KernelPart {
        how: data_path.to_string(),
        restored: 0,
        routes: names.zip(counts).map(|(n, c)| row(n, c)).collect(),
    }
}

fn row(name: String, counts: RouteCounts) -> KernelRow {
    let RouteCounts {
        taken,
        sent,
        stopped,
        failed,
    } = counts;
    KernelRow {
        name,
        taken,
        sent,
        stopped: stopped.into(),
        failed,
    }
}
