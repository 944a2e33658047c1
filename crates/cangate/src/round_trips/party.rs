//! Masters and slaves with their ports, in threads that wait for frames.

use super::player::{PartyPlayer, PlayerRole};
use super::{
    LiveCounts, MasterCounts, NextCall, PingPlan, RoundTrip, RoundTrips, SlaveCounts, StopHandle,
};
use frame::Nanos;
use linux::poll::PollSet;
use linux::schedule::{lock_memory, schedule_fifo};
use port::{Halves, PortError, RxCounters, TxCounters};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The role of a party on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartyRole {
    /// The master, which sends frames and waits for answers.
    Master,
    /// The slave, which answers.
    Slave,
}

/// A master or a slave on a port of its own.
pub(crate) struct PingParty {
    /// The port's name.
    pub(crate) name: String,
    /// Its role.
    pub(crate) part: PartyRole,
    /// Its plan; for a slave, the plan of its master.
    pub(crate) plan: PingPlan,
    /// The port.
    pub(crate) halves: Halves,
}

/// The result of a party.
#[derive(Debug)]
pub(crate) struct PartyEnd {
    /// The port's name.
    pub(crate) name: String,
    /// Its role.
    pub(crate) part: PartyRole,
    /// Its plan.
    pub(crate) plan: PingPlan,
    /// The counters, for a master.
    pub(crate) counts: MasterCounts,
    /// The round trips, for a master.
    pub(crate) trips: RoundTrips,
    /// Each round trip, for a master, if [`PingSettings::keep`] is not 0.
    pub(crate) kept: Vec<RoundTrip>,
    /// The counters, for a slave.
    pub(crate) answered: SlaveCounts,
    /// The port's counters of its receiving side.
    pub(crate) received: RxCounters,
    /// The port's counters of its transmitting side.
    pub(crate) transmitted: TxCounters,
    /// The error because of which its port could not go on.
    pub(crate) error: Option<PortError>,
}

/// The settings of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PingSettings {
    /// The SCHED_FIFO priority of every thread, 1 to 99; `None` for ordinary scheduling.
    pub(crate) priority: Option<u8>,
    /// The number of round trips of each master that are kept; 0: none.
    pub(crate) keep: usize,
}

/// Runs until all masters are done, or until [`StopHandle::end`]. `live` has an entry for each
/// party. Returns the result of each party, in the given order, and sentences on settings that the
/// system did not allow.
pub(crate) fn play(
    parties: Vec<PingParty>,
    settings: PingSettings,
    stop: &StopHandle,
    live: &[LiveCounts],
) -> (Vec<PartyEnd>, Vec<String>) {
    let masters = parties
        .iter()
        .filter(|p| p.part == PartyRole::Master)
        .count();
    let mut run = SharedRun {
        settings,
        stop,
        masters: AtomicUsize::new(masters),
        alone: masters == 0,
        start: Instant::now(),
        ready: Barrier::new(1),
    };
    let mut warnings = Vec::new();
    if let Err(why) = lock_memory() {
        warnings.push(format!(
            "memory is not locked ({why}): a page fault can make a round trip longer; raise the limit \
             (ulimit -l unlimited), or run as root"
        ));
    }
    let mut all: Vec<(usize, PartyPlayer<'_>)> = Vec::new();
    for (place, party) in parties.into_iter().enumerate() {
        all.push((place, PartyPlayer::new(party, settings, live.get(place))));
    }
    // Ports without a descriptor can only be polled: by one thread, which polls each of them when
    // another of them has done something.
    let (asked, waited): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, p)| !p.can_be_waited_for());
    let mut groups: Vec<Vec<(usize, PartyPlayer<'_>)>> =
        waited.into_iter().map(|one| vec![one]).collect();
    if !asked.is_empty() {
        groups.push(asked);
    }
    run.ready = Barrier::new(groups.len());
    let mut done: Vec<(usize, PartyEnd)> = Vec::new();
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = groups
            .into_iter()
            .map(|group| scope.spawn(move || run.group(group)))
            .collect();
        for thread in threads {
            match thread.join() {
                Ok((played, warned)) => {
                    done.extend(played);
                    warnings.extend(warned);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    warnings.sort();
    warnings.dedup();
    done.sort_by_key(|(place, _)| *place);
    (
        done.into_iter().map(|(_, played)| played).collect(),
        warnings,
    )
}

/// The state that the threads of a run share.
struct SharedRun<'a> {
    settings: PingSettings,
    stop: &'a StopHandle,
    /// The number of masters that are not done.
    masters: AtomicUsize,
    /// Set if there is no master: then slaves answer until the run is ended.
    alone: bool,
    start: Instant,
    /// No party starts before all threads have their priority: on a busy machine a thread without
    /// one starts late, and the first frame would wait for it.
    ready: Barrier,
}

impl SharedRun<'_> {
    fn now(&self) -> Nanos {
        Nanos::try_from(self.start.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }

    /// Does the work of a thread.
    fn group(
        &self,
        mut group: Vec<(usize, PartyPlayer<'_>)>,
    ) -> (Vec<(usize, PartyEnd)>, Option<String>) {
        let warned = self.prepare();
        for (_, player) in &mut group {
            player.begin();
        }
        self.ready.wait();
        let mut poll = PollSet::with_capacity(2 * group.len() + 2);
        loop {
            let mut next = None;
            for (_, player) in &mut group {
                self.step(player, &mut next);
            }
            if group.iter().all(|(_, player)| player.done) {
                break;
            }
            if let Err(error) = self.wait(&mut poll, &group, next) {
                for (_, player) in &mut group {
                    player.fail_to_wait(&error);
                }
                self.stop.asked.set();
                self.stop.over.set();
            }
        }
        let played = group
            .into_iter()
            .map(|(place, player)| (place, player.end()));
        (played.collect(), warned)
    }

    fn prepare(&self) -> Option<String> {
        let priority = self.settings.priority?;
        let error = schedule_fifo(priority).err()?;
        Some(format!(
            "ordinary scheduling ({error}): other programs can make a round trip longer; allow \
             real-time priorities (/etc/security/limits.conf: rtprio {priority}), or run as root"
        ))
    }

    /// Does one step of a party; `next` becomes the earliest time at which a party needs its next
    /// step.
    fn step(&self, player: &mut PartyPlayer<'_>, next: &mut Option<Nanos>) {
        if player.done {
            return;
        }
        let over = self.stop.over.is_set() || self.alone && self.stop.asked.is_set();
        let is_master = matches!(player.role, PlayerRole::Master(_));
        if over && !is_master {
            player.done = true;
            return;
        }
        if self.stop.asked.is_set() {
            player.end_master();
        }
        match player.step(&mut || self.now()) {
            Ok(NextCall::At(at)) => {
                let port = player.deadline();
                *next = [*next, at, port].into_iter().flatten().min();
                return;
            }
            Ok(NextCall::Done) => {}
            Err(error) => {
                player.error = Some(error);
                // After an error no master waits for frames that cannot come any more.
                self.stop.asked.set();
            }
        }
        player.done = true;
        if is_master && self.masters.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.stop.over.set();
        }
    }

    fn wait(
        &self,
        poll: &mut PollSet,
        group: &[(usize, PartyPlayer<'_>)],
        next: Option<Nanos>,
    ) -> io::Result<()> {
        let timeout = match next.map(|next| next.checked_sub(self.now())) {
            None => None,
            Some(Some(left @ 1..)) => Some(Duration::from_nanos(left)),
            Some(_) => return Ok(()),
        };
        poll.clear();
        for flag in [&self.stop.asked, &self.stop.over] {
            // A flag that is set need not wake up the thread again.
            if !flag.is_set() {
                poll.add_fd(flag.fd.as_raw_fd(), true, false);
            }
        }
        for (_, player) in group.iter().filter(|(_, player)| !player.done) {
            let (receive, transmit) = &player.halves;
            if receive.is_busy() {
                return Ok(());
            }
            let mut add = |wait: port::PortWait| {
                if let Some(fd) = wait.fd {
                    poll.add_fd(fd, wait.readable, wait.writable);
                }
            };
            add(receive.wait());
            if transmit.counters().held > 0 {
                add(transmit.wait());
            }
        }
        poll.wait(timeout).map(|_| ())
    }
}
