//! Routes that run in the kernel: put there, looked after, counted, taken away.

use super::interfaces::Interfaces;
use super::kernel_plan::KernelPlan;
use crate::notice::{Notice, Voice};
use crate::stats::{KernelPart, KernelRow};
use offload::{DataPath, Instance, KERNEL_PATHS, KernelPath, RouteCounts, Running, with_causes};
use route::{Route, Routes};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// What goes wrong between a gateway's routes and the kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A data path cannot do it.
    #[error(transparent)]
    Path(#[from] offload::Error),
    /// One data path could not take the new routes, and another could not take the former ones
    /// back.
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

/// A data path, and what runs there.
struct Slot {
    path: &'static dyn KernelPath,
    running: Option<Box<dyn Running>>,
    /// What was said last of it, in words.
    words: Option<String>,
    /// Rules or programs of it that were put back, because somebody else had taken them away.
    restored: u64,
    /// Why they could not be, as it was said.
    failing: Option<String>,
}

/// How often it is looked whether somebody else has taken routes away.
const LOOK: Duration = Duration::from_secs(1);
/// Looks take at most one part in so many of a processor's time, however many rules there are.
const SHARE: u32 = 100;

/// Routes in the kernel. They go when this is dropped, unless they are to stay.
pub(crate) struct InKernel {
    instance: Instance,
    plan: KernelPlan,
    /// In the order of [`KERNEL_PATHS`].
    slots: Vec<Slot>,
    /// When that is done next.
    next_look: Instant,
    /// Interfaces that were said to be missing.
    missing: BTreeSet<String>,
    /// All ports' interfaces, as the kernel sees them.
    pub(super) interfaces: Interfaces,
}

impl InKernel {
    /// Puts them there. What an earlier run left behind is taken over, or, where no route goes
    /// any more, taken away.
    ///
    /// # Errors
    /// What the kernel lacks, refuses or cannot express; then nothing new was put there.
    pub(super) fn start(
        plan: KernelPlan,
        interfaces: Interfaces,
        voice: &Voice<'_>,
    ) -> Result<Self, KernelError> {
        let slot = |path| Slot {
            path,
            running: None,
            words: None,
            restored: 0,
            failing: None,
        };
        let mut kernel = Self {
            instance: Instance::new(&plan.instance),
            plan: KernelPlan {
                instance: plan.instance.clone(),
                ..KernelPlan::default()
            },
            slots: KERNEL_PATHS.into_iter().map(slot).collect(),
            next_look: Instant::now() + LOOK,
            missing: BTreeSet::new(),
            interfaces,
        };
        // First: what is left of can-gw would forward frames that BPF leaves to others as well.
        kernel.remove_leftovers(&plan, voice)?;
        for notice in kernel.reload(plan)? {
            voice.say(notice);
        }
        Ok(kernel)
    }

    /// What an earlier run of this instance left where it has nothing to do any more would forward
    /// frames that are routed elsewhere now.
    fn remove_leftovers(&self, plan: &KernelPlan, voice: &Voice<'_>) -> Result<(), KernelError> {
        if plan.instance.is_empty() {
            return Ok(());
        }
        for Slot { path, .. } in &self.slots {
            if plan.assignment(path.data_path()).is_none()
                && let Some(words) = path.remove_leftovers(&self.instance)?
            {
                voice.say(Notice::OffloadGivenUp {
                    data_path: path.data_path().to_string(),
                    why: words,
                });
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
    pub(crate) fn reload(&mut self, mut plan: KernelPlan) -> Result<Vec<Notice>, KernelError> {
        // The name under which everything runs, whatever the file says now.
        plan.instance.clone_from(&self.plan.instance);
        let (mut said, mut missing) = (Vec::new(), BTreeSet::new());
        let mut refused = None;
        let mut done = 0;
        for slot in &mut self.slots {
            match slot.exchange(&self.instance, &plan, &mut missing) {
                Ok(notice) => said.extend(notice),
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
        said.extend(self.now_missing(missing));
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
    pub(crate) fn look(&mut self, voice: &Voice<'_>) {
        let mut missing = BTreeSet::new();
        let mut news = false;
        // The slowest first.
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
                        voice.say(Notice::OffloadChanged {
                            data_path: path.to_string(),
                            routes: self.plan.routes(path).routes.len(),
                            words,
                        });
                    }
                    missing.extend(report.missing);
                }
                Err(error) => voice.say(Notice::OffloadFailed {
                    data_path: slot.path.data_path().to_string(),
                    why: format!(
                        "{}; what ran there goes on as before, and `cangate reload` chooses anew",
                        with_causes(&error)
                    ),
                }),
            }
        }
        if news && let Some(notice) = self.now_missing(missing) {
            voice.say(notice);
        }
        for notice in self.interfaces.look() {
            voice.say(notice);
        }
    }

    /// When [`InKernel::look_after`] has something to do; never where no route runs there.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        let runs = self.slots.iter().any(|slot| slot.running.is_some());
        runs.then_some(self.next_look)
    }

    /// Puts back what somebody else took away, and says so.
    pub(crate) fn look_after(&mut self, voice: &Voice<'_>) {
        let begun = Instant::now();
        if self.next_look().is_none_or(|at| at > begun) {
            return;
        }
        for slot in &mut self.slots {
            let Some(running) = &mut slot.running else {
                continue;
            };
            let data_path = slot.path.data_path().to_string();
            match running.look_after() {
                Ok(report) => {
                    slot.failing = None;
                    let restored = report.map_or(0, |report| report.restored);
                    slot.restored += restored as u64;
                    if restored > 0 {
                        voice.say(Notice::OffloadRestored {
                            data_path,
                            restored,
                            within_ms: u64::try_from(LOOK.as_millis()).unwrap_or(u64::MAX),
                        });
                    }
                }
                Err(error) => {
                    let why = with_causes(&error);
                    // Each second the same is no news.
                    if slot.failing.as_ref() != Some(&why) {
                        slot.failing = Some(why.clone());
                        voice.say(Notice::OffloadFailed { data_path, why });
                    }
                }
            }
        }
        let took = begun.elapsed();
        self.next_look = begun + LOOK.max(took * SHARE);
    }

    /// These interfaces are missing now. Says so if it is news.
    fn now_missing(&mut self, missing: BTreeSet<String>) -> Option<Notice> {
        let news = !missing.is_subset(&self.missing);
        self.missing = missing;
        news.then(|| Notice::InterfacesMissing {
            interfaces: self.missing.iter().cloned().collect(),
        })
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
                parts.push(KernelPart {
                    restored: slot.restored,
                    ..part(path, self.plan.routes(path), counts)
                });
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
