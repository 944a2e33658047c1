//! Routes that run in the kernel: put there, looked after, counted, taken away.

use crate::stats::{KernelPart, KernelRow};
use offload::{
    Assignment, DataPath, Instance, KERNEL_PATHS, KernelPath, RouteCounts, Running, bpf,
    with_causes,
};
use route::{Mode, Route, Routes};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};

/// What goes wrong between a gateway's routes and the kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A data path cannot do it.
    #[error(transparent)]
    Path(#[from] offload::Error),
    /// One data path could not take the new routes, and another could not take the former ones back.
    #[error("{}; and {path} could not be set back: {}", with_causes(.first), with_causes(.source))]
    NotSetBack {
        /// Why the new routes could not be taken.
        first: Box<offload::Error>,
        /// What could not be set back.
        path: DataPath,
        /// Why not.
        source: Box<offload::Error>,
    },
}

/// What is to run in the kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelPlan {
    /// The name by which the gateway knows what is its own again after a crash: that of its
    /// control socket, of which there is one.
    pub instance: String,
    /// The ports' Linux interfaces, in the order in which these routes count them.
    pub interfaces: Vec<Option<String>>,
    /// The routes of each data path; none where one is not named.
    pub routes: BTreeMap<DataPath, Routes>,
    /// How BPF is to work.
    pub options: bpf::Options,
    /// At the end all stays in place, for the next start.
    pub persist: bool,
}

static NO_ROUTES: Routes = Routes {
    mode: Mode::All,
    max_hops: 1,
    routes: Vec::new(),
};

impl KernelPlan {
    /// The routes of a data path.
    #[must_use]
    pub fn routes(&self, data_path: DataPath) -> &Routes {
        self.routes.get(&data_path).unwrap_or(&NO_ROUTES)
    }

    /// What of it is for a data path; nothing if that has no routes.
    fn assignment(&self, data_path: DataPath) -> Option<Assignment<'_>> {
        let routes = self.routes(data_path);
        (!routes.routes.is_empty()).then_some(Assignment {
            routes,
            interfaces: &self.interfaces,
            options: &self.options,
            persist: self.persist,
        })
    }

    /// In how many data paths something differs.
    fn differs(&self, other: &Self) -> usize {
        let moved = self.interfaces != other.interfaces;
        let differs = |path: &&&dyn KernelPath| {
            let path = path.data_path();
            let (a, b) = (self.routes(path), other.routes(path));
            a != b || (moved && !b.routes.is_empty())
        };
        KERNEL_PATHS.iter().filter(differs).count()
    }
}

/// A data path, and what runs there.
struct Slot {
    path: &'static dyn KernelPath,
    running: Option<Box<dyn Running>>,
}

/// Routes in the kernel. They go when this is dropped, unless they are to stay.
pub(crate) struct InKernel {
    instance: Instance,
    plan: KernelPlan,
    /// In the order of [`KERNEL_PATHS`].
    slots: Vec<Slot>,
}

impl InKernel {
    /// Puts them there. What an earlier run left behind is taken over, or, where no route goes
    /// any more, taken away.
    ///
    /// # Errors
    /// What the kernel lacks, refuses or cannot express; then nothing new was put there.
    pub(crate) fn start(plan: KernelPlan) -> Result<Self, KernelError> {
        let slot = |path| Slot {
            path,
            running: None,
        };
        let mut kernel = Self {
            instance: Instance::new(&plan.instance),
            plan: KernelPlan {
                instance: plan.instance.clone(),
                ..KernelPlan::default()
            },
            slots: KERNEL_PATHS.into_iter().map(slot).collect(),
        };
        // First: what is left of can-gw would forward frames that BPF leaves to others as well.
        kernel.remove_leftovers(&plan)?;
        for words in kernel.reload(plan)? {
            tracing::info!("{words}");
        }
        Ok(kernel)
    }

    /// What an earlier run of this instance left where it has nothing to do any more would forward
    /// frames that are routed elsewhere now.
    fn remove_leftovers(&self, plan: &KernelPlan) -> Result<(), KernelError> {
        if plan.instance.is_empty() {
            return Ok(());
        }
        for Slot { path, .. } in &self.slots {
            if plan.assignment(path.data_path()).is_none()
                && let Some(words) = path.remove_leftovers(&self.instance)?
            {
                tracing::info!("{words}");
            }
        }
        Ok(())
    }

    /// Must a reload go in two steps, so that no frame meets a route in two data paths? `here`:
    /// routes of this process change, too.
    pub(crate) fn in_steps(&self, new: &KernelPlan, here: bool) -> bool {
        self.plan.differs(new) + usize::from(here) > 1
    }

    /// The first step: only what the new plan has in common with the old one stays.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn give_up(&mut self, new: &KernelPlan) -> Result<(), KernelError> {
        let mut rest = self.plan.clone();
        for (path, kept) in &mut rest.routes {
            let (old, new_routes) = (self.plan.routes(*path), new.routes(*path));
            let same = self.plan.interfaces == new.interfaces
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

    /// Exchanges the routes; gives what is to be said about it.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn reload(&mut self, mut plan: KernelPlan) -> Result<Vec<String>, KernelError> {
        // The name under which everything runs, whatever the file says now.
        plan.instance.clone_from(&self.plan.instance);
        let (mut said, mut missing) = (Vec::new(), BTreeSet::new());
        let mut refused = None;
        let mut done = 0;
        for slot in &mut self.slots {
            match slot.exchange(&self.instance, &plan, &mut missing) {
                Ok(words) => said.extend(words),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
            done += 1;
        }
        if let Some(first) = refused {
            // Together they are the one or the other.
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
        warn_of(&missing);
        self.plan = plan;
        Ok(said)
    }

    /// How many routes run there.
    pub(crate) fn count(&self) -> usize {
        let all = self.plan.routes.values();
        all.map(|routes| routes.routes.len()).sum()
    }

    /// How many routes of a new plan, by name, go on counting: those that stay where they are.
    pub(crate) fn continued(&self, new: &KernelPlan) -> usize {
        let in_both = |slot: &Slot| {
            let path = slot.path.data_path();
            let routes = &self.plan.routes(path).routes;
            let names: HashSet<&str> = routes.iter().map(|route| route.name.as_str()).collect();
            let new = new.routes(path).routes.iter();
            new.filter(|route| names.contains(route.name.as_str()))
                .count()
        };
        self.slots.iter().map(in_both).sum()
    }

    /// Each readable when [`InKernel::look`] has something to do.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let running = self.slots.iter().filter_map(|slot| slot.running.as_ref());
        running.map(|running| running.as_fd())
    }

    /// Interfaces have come, gone, or changed.
    pub(crate) fn look(&mut self) {
        let mut missing = BTreeSet::new();
        // The slowest first.
        for slot in self.slots.iter_mut().rev() {
            let Some(running) = &mut slot.running else {
                continue;
            };
            match running.links_changed() {
                Ok(None) => {}
                Ok(Some(report)) => {
                    if let Some(words) = report.words {
                        tracing::info!("{words}");
                    }
                    missing.extend(report.missing);
                }
                Err(error) => tracing::error!("{}", with_causes(&error)),
            }
        }
        warn_of(&missing);
    }

    /// What was counted since the start.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn counts(&mut self) -> Result<Vec<KernelPart>, KernelError> {
        let mut parts = Vec::new();
        for slot in &mut self.slots {
            if let Some(running) = &mut slot.running {
                let path = slot.path.data_path();
                let counts = running.counts()?;
                parts.push(part(path, self.plan.routes(path), counts));
            }
        }
        Ok(parts)
    }

    /// The end: all goes, or stays if it is to.
    ///
    /// # Errors
    /// What could not be left in place or taken away.
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

impl Slot {
    /// Makes what runs here what the plan says; gives what is to be said about it.
    fn exchange(
        &mut self,
        instance: &Instance,
        plan: &KernelPlan,
        missing: &mut BTreeSet<String>,
    ) -> Result<Option<String>, offload::Error> {
        let path = self.path.data_path();
        let Some(assignment) = plan.assignment(path) else {
            let gone = self.running.take();
            return Ok(gone.map(|_| format!("{path}: taken away")));
        };
        let report = match &mut self.running {
            Some(running) => running.reload(assignment)?,
            none => {
                let (running, report) = self.path.start(instance, assignment)?;
                *none = Some(running);
                report
            }
        };
        missing.extend(report.missing);
        Ok(report.words)
    }
}

fn part(data_path: DataPath, routes: &Routes, counts: Vec<RouteCounts>) -> KernelPart {
    let names = routes.routes.iter().map(|route| route.name.clone());
    KernelPart {
        how: data_path.to_string(),
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

fn warn_of(names: &BTreeSet<String>) {
    if !names.is_empty() {
        let all: Vec<_> = names.iter().map(String::as_str).collect();
        tracing::warn!(
            "no such CAN interface: {}; the routes with it come when it does",
            all.join(", ")
        );
    }
}
