//! Finds the smallest set of changes from the existing jobs to the wanted ones.
//!
//! A job that exists and stays is not touched. can-gw puts a new job in front of the others, so a
//! job that must be tried before a new one must be new as well. That matters only where the order
//! has a visible effect: two jobs of one source for the same kind of frames, to the same
//! destination, in the same list of filters (`net/can/af_can.c`), that both take a frame.
//!
//! can-gw cannot exchange jobs. So that no frame is sent both by an old job and by the new one that
//! replaces it, old jobs are removed before new ones are added, and a frame that arrives in between
//! is not sent. To keep that time short, changes that affect the same frames form a group, and the
//! groups are carried out one after the other.

use super::wire::{FD, GatewayJob};
use frame::CanId;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// One change. Numbers are indexes into the lists of wanted and of existing jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JobChange {
    /// Removes an existing job.
    Delete {
        /// The existing job.
        there: usize,
    },
    /// Gives an existing job other modifications.
    Update {
        /// The wanted job.
        wanted: usize,
        /// The existing job.
        there: usize,
    },
    /// Adds a wanted job in front of the others.
    Add {
        /// The wanted job.
        wanted: usize,
    },
}

/// The changes that are needed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct JobPlan {
    /// For each wanted job the existing one, if it stays as it is.
    pub(super) stays: Vec<Option<usize>>,
    /// The changes, in this order.
    pub(super) changes: Vec<JobChange>,
}

/// Plans the changes. `wanted` and `there` are in the order in which they are tried; only the
/// existing jobs have marks.
pub(super) fn plan(wanted: &[GatewayJob], there: &[GatewayJob], update: bool) -> JobPlan {
    let unmarked = |job: &GatewayJob| job.clone().unmarked();
    let mut stays = pair(wanted, there, unmarked, &mut HashSet::new());
    // A job whose `CGW_MOD_UID` is known to the kernel can get other modifications without a gap.
    let known = there.iter().enumerate().filter(|(_, job)| job.uid != 0);
    let known: HashSet<usize> = known.map(|(i, _)| i).collect();
    let mut used: HashSet<usize> = stays.iter().flatten().copied().collect();
    used.extend((0..there.len()).filter(|i| !known.contains(i)));
    let mut updates = vec![None; wanted.len()];
    if update {
        let frame = |job: &GatewayJob| GatewayJob {
            uid: 0,
            changes: Vec::new(),
            ..job.clone()
        };
        let open: Vec<usize> = (0..wanted.len())
            .filter(|i| stays.get(*i).is_some_and(Option::is_none))
            // Without a modification it could not keep that mark.
            .filter(|i| wanted.get(*i).is_some_and(GatewayJob::modifies))
            .collect();
        let jobs: Vec<GatewayJob> = open
            .iter()
            .filter_map(|i| wanted.get(*i).cloned())
            .collect();
        for (i, place) in open.into_iter().zip(pair(&jobs, there, frame, &mut used)) {
            if let Some(slot) = updates.get_mut(i) {
                *slot = place;
            }
        }
    }
    keep_order(wanted, &mut stays, &mut updates);

    let kept: HashSet<usize> = stays.iter().chain(&updates).flatten().copied().collect();
    let mut changes = Vec::new();
    for i in 0..there.len() {
        if !kept.contains(&i) {
            changes.push(JobChange::Delete { there: i });
        }
    }
    for (wanted, place) in updates.iter().enumerate() {
        if let Some(there) = *place {
            changes.push(JobChange::Update { wanted, there });
        }
    }
    // The job that is tried last is added first.
    for (i, (stay, update)) in stays.iter().zip(&updates).enumerate().rev() {
        if stay.is_none() && update.is_none() {
            changes.push(JobChange::Add { wanted: i });
        }
    }
    JobPlan {
        stays,
        changes: grouped(changes, wanted, there),
    }
}

/// Pairs each wanted job with an existing one that has the same key. Each existing job is used at
/// most once.
fn pair(
    wanted: &[GatewayJob],
    there: &[GatewayJob],
    key: impl Fn(&GatewayJob) -> GatewayJob,
    used: &mut HashSet<usize>,
) -> Vec<Option<usize>> {
    let mut places: HashMap<GatewayJob, VecDeque<usize>> = HashMap::new();
    for (i, job) in there.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        places.entry(key(job)).or_default().push_back(i);
    }
    wanted
        .iter()
        .map(|job| {
            let place = places.get_mut(&key(job))?.pop_front()?;
            used.insert(place);
            Some(place)
        })
        .collect()
}

/// Marks jobs as new that would be tried too late: those that precede a new job, or are now behind
/// a job that they must precede.
fn keep_order(wanted: &[GatewayJob], stays: &mut [Option<usize>], updates: &mut [Option<usize>]) {
    let mut lanes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, job) in wanted.iter().enumerate() {
        let lane = (
            job.source,
            job.destination,
            job.flags & FD,
            list_of(job.filter),
        );
        lanes.entry(lane).or_default().push(i);
    }
    for lane in lanes.values() {
        let place = |i: usize, stays: &[Option<usize>], updates: &[Option<usize>]| {
            let stay = stays.get(i).copied().flatten();
            stay.or(updates.get(i).copied().flatten())
        };
        let places: Vec<_> = lane.iter().map(|i| place(*i, stays, updates)).collect();
        let behind = places.windows(2).any(|pair| match pair {
            [Some(a), Some(b)] => a > b,
            [Some(_), None] => true,
            _ => false,
        });
        if !behind {
            continue;
        }
        let mut later: Vec<(usize, Option<usize>)> = Vec::new();
        for (&i, mut here) in lane.iter().zip(places).rev() {
            let Some(job) = wanted.get(i) else { continue };
            let too_late = here.is_some_and(|here| {
                later.iter().any(|(j, place)| {
                    place.is_none_or(|place| place < here)
                        && wanted
                            .get(*j)
                            .is_some_and(|other| meet(job.filter, other.filter))
                })
            });
            if too_late {
                for places in [&mut *stays, &mut *updates] {
                    if let Some(place) = places.get_mut(i) {
                        *place = None;
                    }
                }
                here = None;
            }
            later.push((i, here));
        }
    }
}

/// The list of `struct can_dev_rcv_lists` in which a filter is kept (`can_rcv_list_find`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ReceiverList {
    Errors,
    All,
    Masks,
    Inverted,
    /// A table or a hash: filters for one ID.
    One(u32),
}

const FLAGS: u32 = CanId::EFF_FLAG | CanId::RTR_FLAG;

/// Returns ID and mask as the kernel uses them, and whether the filter is inverted.
fn filter((id, mask): (u32, u32)) -> (u32, u32, bool) {
    let mut mask = mask;
    if mask & CanId::EFF_FLAG != 0 && id & CanId::EFF_FLAG == 0 {
        mask &= CanId::SFF_MASK | FLAGS;
    }
    (id & mask, mask, id & CanId::ERR_FLAG != 0)
}

fn list_of(raw: (u32, u32)) -> ReceiverList {
    if raw.1 & CanId::ERR_FLAG != 0 {
        return ReceiverList::Errors;
    }
    let (id, mask, inverted) = filter(raw);
    let exact = if id & CanId::EFF_FLAG == 0 {
        CanId::SFF_MASK | FLAGS
    } else {
        CanId::EFF_MASK | FLAGS
    };
    match mask {
        _ if inverted => ReceiverList::Inverted,
        0 => ReceiverList::All,
        // Remote frames have no table of their own.
        mask if mask == exact && id & CanId::RTR_FLAG == 0 => ReceiverList::One(id),
        _ => ReceiverList::Masks,
    }
}

/// Returns whether a frame can pass both filters; true if in doubt.
fn meet(a: (u32, u32), b: (u32, u32)) -> bool {
    let errors = |raw: (u32, u32)| raw.1 & CanId::ERR_FLAG != 0;
    if errors(a) || errors(b) {
        return errors(a) && errors(b);
    }
    let ((a, a_mask, a_inverted), (b, b_mask, b_inverted)) = (filter(a), filter(b));
    a_inverted || b_inverted || (a ^ b) & a_mask & b_mask == 0
}

/// Puts changes that can affect the same frame next to each other, and keeps their order.
fn grouped(changes: Vec<JobChange>, wanted: &[GatewayJob], there: &[GatewayJob]) -> Vec<JobChange> {
    /// Above this number of changes, all changes of one source are one group: finding groups would
    /// take longer than it saves.
    const MOST: usize = 4096;
    let adds = |change: &JobChange| matches!(change, JobChange::Add { .. });
    if changes.iter().all(adds) || !changes.iter().any(adds) {
        return changes;
    }
    let job = |change: &JobChange| match *change {
        JobChange::Delete { there: i } => there.get(i),
        JobChange::Update { wanted: i, .. } | JobChange::Add { wanted: i } => wanted.get(i),
    };
    let fine = changes.len() <= MOST;
    let mut groups = NumberGroups::new(changes.len());
    let mut lanes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, change) in changes.iter().enumerate() {
        if let Some(job) = job(change) {
            lanes
                .entry((job.source, job.flags & FD))
                .or_default()
                .push(i);
        }
    }
    for lane in lanes.values() {
        for (n, &i) in lane.iter().enumerate() {
            for &j in lane.iter().take(n).rev() {
                let filter = |i: usize| changes.get(i).and_then(job).map(|job| job.filter);
                let (Some(a), Some(b)) = (filter(i), filter(j)) else {
                    continue;
                };
                if !fine || meet(a, b) {
                    groups.join(i, j);
                }
                if !fine {
                    break;
                }
            }
        }
    }
    let mut sorted: Vec<(usize, JobChange)> = Vec::with_capacity(changes.len());
    for (i, change) in changes.into_iter().enumerate() {
        sorted.push((groups.find(i), change));
    }
    // A stable sort: within a group, removals stay before additions.
    sorted.sort_by_key(|(group, _)| *group);
    sorted.into_iter().map(|(_, change)| change).collect()
}

/// Disjoint sets of numbers: each number refers to a smaller one of its set, or is the smallest.
struct NumberGroups(Vec<usize>);

impl NumberGroups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn find(&mut self, i: usize) -> usize {
        let mut root = i;
        while let Some(&next) = self.0.get(root).filter(|next| **next != root) {
            root = next;
        }
        // Shortens the path for the next search.
        if let Some(place) = self.0.get_mut(i) {
            *place = root;
        }
        root
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(place) = self.0.get_mut(a.max(b)) {
            *place = a.min(b);
        }
    }
}
