//! Routes that run in the kernel: put there, looked after, counted, taken away.

use crate::stats::{KernelPart, KernelRow};
use offload::place::Place;
use offload::{Instance, RouteCounts, bpf, cangw, with_causes};
use route::{Route, Routes};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};

/// What is to run in the kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelPlan {
    /// The name by which the gateway knows what is its own again after a crash: that of its
    /// control socket, of which there is one.
    pub instance: String,
    /// The ports' Linux interfaces, in the order in which these routes count them.
    pub interfaces: Vec<Option<String>>,
    /// The routes for BPF.
    pub bpf: Routes,
    /// The routes for can-gw.
    pub can_gw: Routes,
    /// How BPF is to work.
    pub options: bpf::Options,
    /// At the end all stays in place, for the next start.
    pub persist: bool,
}

impl KernelPlan {
    fn routes(&self, place: Place) -> &Routes {
        match place {
            Place::Bpf => &self.bpf,
            Place::CanGw | Place::Process => &self.can_gw,
        }
    }

    /// Where something differs.
    fn differs(&self, other: &Self) -> usize {
        let moved = self.interfaces != other.interfaces;
        let differs = |place| {
            let (a, b) = (self.routes(place), other.routes(place));
            a != b || (moved && !b.routes.is_empty())
        };
        [Place::Bpf, Place::CanGw]
            .into_iter()
            .filter(|place| differs(*place))
            .count()
    }
}

/// Routes in the kernel. They go when this is dropped, unless they are to stay.
pub(crate) struct InKernel {
    instance: Instance,
    plan: KernelPlan,
    bpf: Option<bpf::Offload>,
    can_gw: Option<cangw::Offload>,
}

impl InKernel {
    /// Puts them there. What an earlier run left behind is taken over, or, where no route goes
    /// any more, taken away.
    ///
    /// # Errors
    /// What the kernel lacks, refuses or cannot express, in words; then nothing new was put there.
    pub(crate) fn start(plan: KernelPlan) -> Result<Self, String> {
        let mut kernel = Self {
            instance: Instance::new(&plan.instance),
            plan: KernelPlan {
                instance: plan.instance.clone(),
                ..KernelPlan::default()
            },
            bpf: None,
            can_gw: None,
        };
        // First: what is left of can-gw would forward frames that BPF leaves to others as well.
        kernel.take_away_leftovers(&plan)?;
        for said in kernel.reload(plan)? {
            tracing::info!("{said}");
        }
        Ok(kernel)
    }

    /// What an earlier run of this instance left where it has nothing to do any more would forward
    /// frames that are routed elsewhere now.
    fn take_away_leftovers(&self, plan: &KernelPlan) -> Result<(), String> {
        if plan.instance.is_empty() {
            return Ok(());
        }
        if plan.bpf.routes.is_empty() {
            match bpf::remove(&self.instance) {
                Ok(0) | Err(bpf::Error::Socket { .. } | bpf::Error::Kernel(_)) => {}
                Ok(some) => {
                    tracing::info!("bpf: an earlier run's table taken away at {some} interfaces");
                }
                Err(error) => {
                    return Err(format!(
                        "an earlier run left its BPF program, and it cannot be taken away: {}",
                        with_causes(&error)
                    ));
                }
            }
        }
        if !plan.can_gw.routes.is_empty() {
            return Ok(());
        }
        let Ok(mut kernel) = cangw::Kernel::open() else {
            return Ok(()); // no netlink, no rules
        };
        match kernel.delete_ours(&self.instance) {
            Ok(0) | Err(cangw::Error::NoModule | cangw::Error::Socket { .. }) => Ok(()),
            Ok(some) => {
                tracing::info!("can-gw: {some} rules of an earlier run taken away");
                Ok(())
            }
            Err(error) => Err(format!(
                "an earlier run left rules of can-gw, and they cannot be taken away: {}",
                with_causes(&error)
            )),
        }
    }

    /// Must a reload go in two steps, so that no frame meets a route at two places? `here`: routes
    /// of this process change, too.
    pub(crate) fn in_steps(&self, new: &KernelPlan, here: bool) -> bool {
        self.plan.differs(new) + usize::from(here) > 1
    }

    /// The first step: only what the new plan has in common with the old one stays.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn give_up(&mut self, new: &KernelPlan) -> Result<(), String> {
        let mut rest = self.plan.clone();
        for place in [Place::Bpf, Place::CanGw] {
            let (old, new_routes) = (self.plan.routes(place), new.routes(place));
            let same = self.plan.interfaces == new.interfaces
                && (old.mode, old.max_hops) == (new_routes.mode, new_routes.max_hops);
            let wanted: HashMap<&str, &Route> = new_routes
                .routes
                .iter()
                .map(|route| (route.name.as_str(), route))
                .collect();
            let kept = match place {
                Place::Bpf => &mut rest.bpf,
                Place::CanGw | Place::Process => &mut rest.can_gw,
            };
            kept.routes
                .retain(|route| same && wanted.get(route.name.as_str()) == Some(&route));
        }
        self.reload(rest).map(drop)
    }

    /// Exchanges the routes; gives what is to be said about it.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn reload(&mut self, mut plan: KernelPlan) -> Result<Vec<String>, String> {
        // The name under which everything runs, whatever the file says now.
        plan.instance.clone_from(&self.plan.instance);
        let (mut said, mut missing) = (Vec::new(), BTreeSet::new());
        said.extend(self.exchange_bpf(&plan, &mut missing)?);
        let can_gw = self.exchange_can_gw(&plan, &mut missing);
        match can_gw {
            Ok(words) => said.extend(words),
            Err(why) => {
                // Together they are the one or the other.
                let former = self.plan.clone();
                if let Err(also) = self.exchange_bpf(&former, &mut missing) {
                    return Err(format!("{why}; and BPF could not be set back: {also}"));
                }
                return Err(why);
            }
        }
        warn_of(&missing);
        self.plan = plan;
        Ok(said)
    }

    fn exchange_bpf(
        &mut self,
        plan: &KernelPlan,
        missing: &mut BTreeSet<String>,
    ) -> Result<Option<String>, String> {
        if plan.bpf.routes.is_empty() {
            return Ok(self.bpf.take().map(|_| "bpf: taken away".to_owned()));
        }
        let outcome = match &mut self.bpf {
            Some(running) => {
                running.set_options(plan.options.clone());
                running.reload(&plan.bpf, &plan.interfaces)
            }
            none => {
                if plan.persist {
                    // So that nobody learns it at the end.
                    bpf::can_persist().map_err(|error| with_causes(&error))?;
                }
                let (routes, options) = (&plan.bpf, plan.options.clone());
                bpf::Offload::start(&self.instance, routes, &plan.interfaces, options).map(
                    |(running, outcome)| {
                        *none = Some(running);
                        outcome
                    },
                )
            }
        };
        let outcome = outcome.map_err(|error| with_causes(&error))?;
        missing.extend(outcome.missing);
        Ok(Some(format!(
            "bpf: {} routes at {} interfaces{}",
            plan.bpf.routes.len(),
            outcome.entrances,
            if outcome.adopted {
                ", taken over from an earlier run"
            } else {
                ""
            }
        )))
    }

    fn exchange_can_gw(
        &mut self,
        plan: &KernelPlan,
        missing: &mut BTreeSet<String>,
    ) -> Result<Option<String>, String> {
        if plan.can_gw.routes.is_empty() {
            return Ok(self.can_gw.take().map(|_| "can-gw: taken away".to_owned()));
        }
        let outcome = match &mut self.can_gw {
            Some(running) => running.reload(&plan.can_gw, &plan.interfaces),
            none => cangw::Offload::start(&self.instance, &plan.can_gw, &plan.interfaces).map(
                |(running, outcome)| {
                    *none = Some(running);
                    outcome
                },
            ),
        };
        let outcome = outcome.map_err(|error| with_causes(&error))?;
        missing.extend(outcome.missing);
        let mut text = format!(
            "can-gw: {} rules as before, {} changed in place, {} new, {} taken away",
            outcome.unchanged, outcome.updated, outcome.added, outcome.removed
        );
        if outcome.adopted > 0 {
            text.push_str(&format!(
                " ({} taken over from an earlier run)",
                outcome.adopted
            ));
        }
        Ok(Some(text))
    }

    /// How many routes run there.
    pub(crate) fn count(&self) -> usize {
        self.plan.bpf.routes.len() + self.plan.can_gw.routes.len()
    }

    /// How many routes of a new plan, by name, go on counting: those that stay where they are.
    pub(crate) fn continued(&self, new: &KernelPlan) -> usize {
        let in_both = |place: Place| {
            let routes = &self.plan.routes(place).routes;
            let names: HashSet<&str> = routes.iter().map(|route| route.name.as_str()).collect();
            let new = new.routes(place).routes.iter();
            new.filter(|route| names.contains(route.name.as_str()))
                .count()
        };
        in_both(Place::Bpf) + in_both(Place::CanGw)
    }

    /// Each readable when [`InKernel::look`] has something to do.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let bpf = self.bpf.as_ref().map(AsFd::as_fd);
        bpf.into_iter().chain(self.can_gw.as_ref().map(AsFd::as_fd))
    }

    /// Interfaces have come, gone, or changed.
    pub(crate) fn look(&mut self) {
        let mut missing = BTreeSet::new();
        if let Some(running) = &mut self.can_gw {
            match running.links_changed() {
                Ok(None) => {}
                Ok(Some(outcome)) => {
                    if outcome.added > 0 {
                        let added = outcome.added;
                        tracing::info!("an interface is back: {added} rules of can-gw with it");
                    }
                    missing.extend(outcome.missing);
                }
                Err(error) => tracing::error!("{}", with_causes(&error)),
            }
        }
        if let Some(running) = &mut self.bpf {
            match running.links_changed() {
                Ok(None) => {}
                Ok(Some(outcome)) => {
                    tracing::info!("bpf: at {} interfaces now", outcome.entrances);
                    missing.extend(outcome.missing);
                }
                Err(error) => tracing::error!("{}", with_causes(&error)),
            }
        }
        warn_of(&missing);
    }

    /// What was counted since the start.
    ///
    /// # Errors
    /// What the kernel says, in words.
    pub(crate) fn counts(&mut self) -> Result<Vec<KernelPart>, String> {
        let mut parts = Vec::new();
        if let Some(running) = &mut self.bpf {
            let counts = running.counts().map_err(|error| with_causes(&error))?;
            parts.push(part(Place::Bpf, &self.plan.bpf, counts.routes));
        }
        if let Some(running) = &mut self.can_gw {
            let counts = running.counts().map_err(|error| with_causes(&error))?;
            parts.push(part(Place::CanGw, &self.plan.can_gw, counts));
        }
        Ok(parts)
    }

    /// The end: all goes, or stays if it is to.
    ///
    /// # Errors
    /// What could not be left in place or taken away, in words.
    pub(crate) fn end(mut self) -> Result<(), String> {
        if !self.plan.persist {
            return Ok(());
        }
        if let Some(running) = self.can_gw.take() {
            running.persist();
        }
        match self.bpf.take() {
            Some(running) => running.persist().map_err(|error| with_causes(&error)),
            None => Ok(()),
        }
    }
}

fn part(place: Place, routes: &Routes, counts: Vec<RouteCounts>) -> KernelPart {
    let names = routes.routes.iter().map(|route| route.name.clone());
    KernelPart {
        how: place.to_string(),
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
