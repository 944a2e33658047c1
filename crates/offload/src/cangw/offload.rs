//! A gateway's routes in can-gw, kept in place.

use super::desired::DesiredRules;
use super::error::Error;
use super::kernel::{CanGwKernel, JobRequest};
use super::mark::{RuleNumbers, hold};
use super::plan::{JobChange, plan};
use super::show::{ListedRule, show};
use super::tally::{LiveRule, Total, add_up, counts};
use super::wire::{GatewayJob, ListedJob};
use crate::RouteCounts;
use crate::instance::{GatewayInstance, InstanceHold};
use linux::link::{LinkEvents, NetLink, NetLinks};
use route::{KernelPort, Routes};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

/// The changes of the kernel's list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CanGwOutcome {
    /// Number of rules that existed and were not touched.
    pub unchanged: usize,
    /// Number of rules that got new modifications without a gap.
    pub updated: usize,
    /// Number of new rules.
    pub added: usize,
    /// Number of rules that were removed.
    pub removed: usize,
    /// Number of unchanged or updated rules that an earlier process had left.
    pub adopted: usize,
    /// Interfaces that do not exist or are not CAN interfaces; the rules with them wait.
    pub missing: BTreeSet<String>,
}

/// The routes of one gateway as rules of can-gw. The rules are removed when it is dropped. After a
/// crash they stay, and the next start of the same [`GatewayInstance`] takes over those that it
/// needs and removes the others.
///
/// # Cost of changes
/// A rule that stays is not touched: it continues to forward and to count. If a rule has
/// modifications or checksums before and after, and only these differ, the kernel exchanges them
/// between two frames (kernels from 5.10.238, 5.15.183, 6.1.139, 6.6.91, 6.12.29, 6.14.7, 6.15 on;
/// with others, which carry out modifications while they overwrite them, the rule is replaced). A
/// rule that is replaced is removed before the new one is added, so no frame is sent twice; frames
/// that come in between are not forwarded by it. Both requests go to the kernel in one call, which
/// holds up to 64 requests; the gap is the time that the kernel takes for the group of rules that a
/// frame could match together. For one rule the whole call took 0.13 ms among 100 rules and 0.14 ms
/// among 1000, and never more than 0.3 ms (Linux 5.10 to 7.3, virtual time of the lab). Kernels
/// before 5.18, without the backport that 5.10.238 and 5.15.183 have, wait for an RCU grace period
/// at each removal if there is more than one processor: the gap is then several milliseconds, and
/// all frames in that time are not forwarded.
///
/// # Counters
/// can-gw counts in 32 bits for each rule; here the counts are added up in 64 bits for each route,
/// provided that [`counts`](Self::counts) is called before a rule has counted 2^31 frames: at the
/// highest frame rate of CAN, once a day is more than enough. When the kernel removes a rule, it
/// does not report the rule's counters. They are therefore read right before, in the same call:
/// frames in between, if any, are missing. (If there are more rules than fit into one part of the
/// kernel's list, some hundred, those that are tried last are read a little earlier.) The counts of
/// a rule since the last reading are lost when its interface disappears.
///
/// # Interfaces
/// Rules refer to interfaces by name. An interface that is renamed is a different one: its rules
/// are removed, and those of an interface that gets a wanted name are added. The caller must poll
/// [`fd`](AsFd::as_fd) and call [`links_changed`](Self::links_changed).
pub struct CanGwOffload {
    kernel: CanGwKernel,
    events: LinkEvents,
    instance: GatewayInstance,
    numbers: RuleNumbers,
    desired: DesiredRules,
    live: BTreeMap<u32, LiveRule>,
    totals: BTreeMap<String, Total>,
    stays: bool,
    // The last field, so that it is released after the rules are gone.
    _hold: InstanceHold,
}

impl CanGwOffload {
    /// Puts the rules of the routes into the kernel. `ports` are by
    /// [`route::PortId`]. A missing interface is not an error: its rules are added when
    /// it appears.
    ///
    /// # Errors
    /// If another process runs this instance, can-gw is missing, permission is missing, or the
    /// routes cannot be expressed: then nothing was changed. [`Error::Refused`] if the kernel
    /// refuses a rule: then the rules are removed again.
    pub fn start(
        instance: &GatewayInstance,
        routes: &Routes,
        ports: &[Option<KernelPort>],
    ) -> Result<(Self, CanGwOutcome), Error> {
        let mut kernel = CanGwKernel::open()?;
        kernel.ready()?;
        let desired = desired(&mut kernel, routes, ports)?;
        let mut offload = Self {
            // Opened before the first look at the interfaces, so that no change is missed.
            events: LinkEvents::open()?,
            _hold: hold(instance)?,
            instance: instance.clone(),
            numbers: RuleNumbers::default(),
            desired,
            live: BTreeMap::new(),
            totals: BTreeMap::new(),
            stays: false,
            kernel,
        };
        let outcome = offload.reconcile()?;
        Ok((offload, outcome))
    }

    /// Replaces the routes. Routes are identified by their names; the counters of those that stay
    /// continue.
    ///
    /// # Errors
    /// As [`start`](Self::start). After [`Error::Refused`] the former routes are restored.
    pub fn reload(
        &mut self,
        routes: &Routes,
        ports: &[Option<KernelPort>],
    ) -> Result<CanGwOutcome, Error> {
        // The module may have been loaded again since then.
        self.kernel.ready()?;
        let desired = desired(&mut self.kernel, routes, ports)?;
        let former = std::mem::replace(&mut self.desired, desired);
        match self.reconcile() {
            Ok(outcome) => {
                let names: BTreeSet<&String> = self.desired.names.iter().collect();
                self.totals.retain(|name, _| names.contains(name));
                Ok(outcome)
            }
            Err(error) => {
                self.desired = former;
                // The first error is the relevant one.
                let _ = self.reconcile();
                Err(error)
            }
        }
    }

    /// Handles changes of interfaces. Call this when [`fd`](AsFd::as_fd) is readable: interfaces
    /// have appeared, disappeared, or changed. Returns `None` if nothing had changed.
    ///
    /// # Errors
    /// As [`reconcile`](Self::reconcile).
    pub fn links_changed(&mut self) -> Result<Option<CanGwOutcome>, Error> {
        if self.events.drain() {
            self.reconcile().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Restores the kernel's list, including rules that other programs removed (`cangw -F`). The
    /// kernel does not notify when that happens, so it should be called from time to time. If
    /// nothing is missing, it changes nothing.
    ///
    /// # Errors
    /// [`Error::Refused`] for the first rule that the kernel refuses; the other rules are in place.
    pub fn reconcile(&mut self) -> Result<CanGwOutcome, Error> {
        let links = self.kernel.links()?;
        let (jobs, missing) = self.desired.resolve(&links);
        let list = self.harvest()?;
        let taken: BTreeSet<u32> = list.iter().map(|listed| listed.job.mark()).collect();
        let ours: Vec<ListedJob> = list
            .into_iter()
            .filter(|listed| self.instance.owns(listed.job.mark()))
            .collect();
        let there: Vec<GatewayJob> = ours.iter().map(|listed| listed.job.clone()).collect();
        let wanted: Vec<GatewayJob> = jobs.iter().map(|(_, job)| job.clone()).collect();
        let limits = self.kernel.limits();
        let plan = plan(&wanted, &there, limits.updates_in_place());

        self.numbers.after(there.iter().map(GatewayJob::mark));
        let mut outcome = CanGwOutcome {
            missing,
            ..CanGwOutcome::default()
        };
        let mut live = BTreeMap::new();
        let mut entry = |wanted: usize, uid: u32, known: Option<&LiveRule>| {
            if let Some((place, job)) = jobs.get(wanted) {
                let new = LiveRule::new(self.desired.route(*place), job, known);
                live.insert(uid, new);
            }
        };
        for (i, place) in plan.stays.iter().enumerate() {
            if let Some(job) = place.and_then(|place| there.get(place)) {
                let known = self.live.get(&job.mark());
                outcome.unchanged += 1;
                outcome.adopted += usize::from(known.is_none());
                entry(i, job.mark(), known);
            }
        }
        let mut requests = Vec::with_capacity(plan.changes.len());
        for change in &plan.changes {
            let job = |place: usize| there.get(place).cloned().unwrap_or_default();
            let marked = |place: usize, uid| {
                let job = wanted.get(place).cloned().unwrap_or_default();
                JobRequest::Add(job.marked(uid, limits.hidden_marks))
            };
            requests.push(match *change {
                JobChange::Delete { there } => JobRequest::Delete(job(there)),
                JobChange::Update { wanted, there } => {
                    let uid = job(there).mark();
                    let known = self.live.get(&uid);
                    outcome.adopted += usize::from(known.is_none());
                    entry(wanted, uid, known);
                    marked(wanted, uid)
                }
                JobChange::Add { wanted } => {
                    let uid = self.numbers.next(&self.instance, &taken);
                    let uid = uid.ok_or(Error::TooMany(self.desired.rules.len()))?;
                    entry(wanted, uid, None);
                    marked(wanted, uid)
                }
            });
        }
        let former = std::mem::replace(&mut self.live, live);
        self.carry_out(&plan.changes, &requests, &jobs, &links, former, outcome)
    }

    /// Carries out the planned changes; the first refusal is returned.
    fn carry_out(
        &mut self,
        changes: &[JobChange],
        requests: &[JobRequest],
        jobs: &[(usize, GatewayJob)],
        links: &NetLinks,
        mut former: BTreeMap<u32, LiveRule>,
        mut outcome: CanGwOutcome,
    ) -> Result<CanGwOutcome, Error> {
        let goes = |change: &JobChange| matches!(change, JobChange::Delete { .. });
        let look = changes.iter().any(goes);
        let (answers, seen) = self.kernel.look_and_carry_out(requests, look)?;
        // Add the counts of the rules that were removed.
        former.retain(|uid, _| !self.live.contains_key(uid));
        add_up(&seen, &mut former, &mut self.totals);
        let mut refused = None;
        for ((change, request), answer) in changes.iter().zip(requests).zip(answers) {
            let (wanted, count) = match *change {
                JobChange::Delete { .. } => (None, &mut outcome.removed),
                JobChange::Update { wanted, .. } => (Some(wanted), &mut outcome.updated),
                JobChange::Add { wanted } => (Some(wanted), &mut outcome.added),
            };
            let Some(refusal) = answer else {
                *count += 1;
                continue;
            };
            let job = request.job();
            let place = wanted.and_then(|i| jobs.get(i)).map(|(place, _)| *place);
            let rule = place.and_then(|place| self.desired.rules.get(place));
            match (*change, refusal.errno) {
                // The rule was removed with its interface or by another program: it is gone in any
                // case.
                (JobChange::Delete { .. }, Errno::INVAL) => continue,
                // The rule is still there, and continues to count.
                (JobChange::Delete { .. }, _) => {
                    let known = former.remove(&job.mark());
                    self.live.extend(known.map(|known| (job.mark(), known)));
                }
                // An interface has just disappeared. There is an event for this, too.
                (_, Errno::NODEV) => {
                    self.live.remove(&job.mark());
                    for index in [job.source, job.destination] {
                        outcome.missing.insert(links.name(index));
                    }
                    continue;
                }
                (JobChange::Add { .. }, _) => drop(self.live.remove(&job.mark())),
                // The rule is unchanged.
                (JobChange::Update { .. }, _) => {}
            }
            let shown = || job.rule(links.name(job.source), links.name(job.destination));
            let rule = rule.map_or_else(shown, |(_, rule)| rule.clone());
            let route = place.map_or("", |place| self.desired.route(place));
            let error = self.kernel.explain(request, route, &rule, refusal);
            refused.get_or_insert(error);
        }
        refused.map_or(Ok(outcome), Err)
    }

    /// Reads the list, and adds the counts since the last reading to the routes' totals.
    fn harvest(&mut self) -> Result<Vec<ListedJob>, Error> {
        let list = self.kernel.list()?;
        add_up(&list, &mut self.live, &mut self.totals);
        Ok(list)
    }

    /// Returns the counts of each route, by [`route::RouteId`]. can-gw's "deleted" counts as
    /// [`TooLong`](route::StopReason::TooLong) for a rule that changes lengths, else as
    /// [`HopLimit`](route::StopReason::HopLimit).
    ///
    /// # Errors
    /// As [`CanGwKernel::list`].
    pub fn counts(&mut self) -> Result<Vec<RouteCounts>, Error> {
        self.harvest()?;
        let names = self.desired.names.iter();
        let total = |name| self.totals.get(name).copied().unwrap_or_default();
        Ok(names.map(|name| counts(total(name))).collect())
    }

    /// Returns the rules of other programs and instances, in the order in which they are tried.
    ///
    /// # Errors
    /// As [`CanGwKernel::list`].
    pub fn foreign(&mut self) -> Result<Vec<ListedRule>, Error> {
        let mut all = show(&mut self.kernel)?;
        all.retain(|shown| !shown.mark.is_some_and(|mark| self.instance.owns(mark)));
        Ok(all)
    }

    /// Leaves the rules in the kernel, for the next start to take over.
    pub fn persist(mut self) {
        self.stays = true;
    }

    /// Removes the rules, and returns their number. Dropping does the same, but ignores errors.
    ///
    /// # Errors
    /// As [`CanGwKernel::delete_ours`].
    pub fn remove(mut self) -> Result<usize, Error> {
        self.stays = true;
        self.kernel.delete_held(&self.instance)
    }
}

fn desired(
    kernel: &mut CanGwKernel,
    routes: &Routes,
    ports: &[Option<KernelPort>],
) -> Result<DesiredRules, Error> {
    let there: Vec<NetLink> = kernel.links()?.into_iter().collect();
    DesiredRules::new(routes, ports, &there, &kernel.limits())
}

impl AsFd for CanGwOffload {
    /// Returns the descriptor that is readable when interfaces have changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.fd()
    }
}

impl Drop for CanGwOffload {
    fn drop(&mut self) {
        if !self.stays {
            // There is no caller to report an error to.
            let _ = self.kernel.delete_held(&self.instance);
        }
    }
}
