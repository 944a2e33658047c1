//! A world with its clock: the time of a test, which calls move, or the monotonic time.
//!
//! No call holds Python's lock while it holds the world's: the functions of [`SharedWorld`] that
//! take the world's lock either detach from Python, or are called in a slice. A call that may last
//! works in slices, so that Python can handle signals between them.

use crate::world::{FrameQuestion, HeardFrame, RunEnd, WorldState};
use bus::SendError;
use frame::{Frame, Nanos};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of steps of a slice: some ten milliseconds.
const SLICE_STEPS: u32 = 20_000;

/// Number of steps with which a bus in real time catches up with the clock after a pause, at most:
/// about a second of work, and some minutes of a busy bus. It leaves the rest of the pause out.
const CATCH_UP_STEPS: u32 = 1_000_000;

/// The longest real time that a slice waits.
const SLICE: Duration = Duration::from_millis(50);

/// The result of a slice of work.
pub(crate) enum SliceEnd<T> {
    /// The result of the whole.
    Done(T),
    /// The time is up.
    TimedOut,
    /// Call again.
    Again,
    /// Change this frame of this periodic task, then call again.
    Asks {
        /// The task.
        task: usize,
        /// The index of the frame.
        index: usize,
    },
    /// The caller changes a periodic frame, and must not wait.
    Reentered,
    /// The time of the buses ends before that.
    AfterLast,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitLimit {
    /// A time of the buses, ns.
    At(Nanos),
    /// A time of the clock: the caller does not move the time of a test.
    Real(Instant),
    /// None; the caller moves the time.
    Never,
    /// None; the caller does not move the time of a test.
    RealNever,
}

/// A world that several threads use.
pub(crate) struct SharedWorld {
    world: Mutex<WorldState>,
    moved: Condvar,
    /// The start of a world in real time; `None` for the time of a test.
    started: Option<Instant>,
    /// Real time that the buses have left out and that Python's log does not have yet, ns.
    unreported: AtomicU64,
    /// The functions of Python that change frames of periodic tasks, with their stations.
    callbacks: Mutex<BTreeMap<usize, (usize, Py<PyAny>)>>,
}

impl SharedWorld {
    /// Creates a world without buses.
    pub(crate) fn new(real: bool) -> Self {
        Self {
            world: Mutex::default(),
            moved: Condvar::new(),
            started: real.then(Instant::now),
            unreported: AtomicU64::new(0),
            callbacks: Mutex::default(),
        }
    }

    fn callbacks(&self) -> MutexGuard<'_, BTreeMap<usize, (usize, Py<PyAny>)>> {
        self.callbacks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the function that changes the frames of a station's task.
    pub(crate) fn keep_callback(&self, task: usize, station: usize, callback: Py<PyAny>) {
        self.callbacks().insert(task, (station, callback));
    }

    /// Drops the functions of tasks that are gone.
    pub(crate) fn drop_callbacks(&self, py: Python<'_>) {
        for task in self.with(py, |world| world.cyclic_mut().take_gone()) {
            // A statement of its own: the lock is free when Python drops the function.
            let callback = self.callbacks().remove(&task);
            drop(callback);
        }
    }

    /// Returns the number of these functions.
    pub(crate) fn callback_count(&self) -> usize {
        self.callbacks().len()
    }

    /// Returns the function that changes the frames of a task.
    pub(crate) fn callback(&self, py: Python<'_>, task: usize) -> Option<Py<PyAny>> {
        Some(self.callbacks().get(&task)?.1.clone_ref(py))
    }

    /// Removes the functions of a station's tasks.
    pub(crate) fn take_callbacks(&self, station: usize) -> Vec<Py<PyAny>> {
        let mut callbacks = self.callbacks();
        let of_it = callbacks.iter().filter(|(_, (of, _))| *of == station);
        let tasks: Vec<usize> = of_it.map(|(task, _)| *task).collect();
        let taken = tasks.iter().filter_map(|task| callbacks.remove(task));
        taken.map(|(_, callback)| callback).collect()
    }

    /// Returns whether its time is real.
    pub(crate) const fn is_real(&self) -> bool {
        self.started.is_some()
    }

    /// Returns the world, which has the time of the clock if that is real. After a long pause of
    /// the process, the buses leave out what they cannot catch up with: their time stays behind the
    /// clock's from then on.
    fn lock(&self) -> MutexGuard<'_, WorldState> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(elapsed) = self.real_now() {
            let now = elapsed.saturating_sub(world.skipped());
            if world.run(Some(now), CATCH_UP_STEPS, |_| false) == RunEnd::Paused {
                let rest = now.saturating_sub(world.now());
                world.skip(rest);
                self.unreported.fetch_add(rest, Ordering::Relaxed);
            }
            self.moved.notify_all();
        }
        world
    }

    /// Reports to Python's log the real time that the buses have left out.
    pub(crate) fn report_skipped(&self, py: Python<'_>) {
        let skipped = self.unreported.swap(0, Ordering::Relaxed);
        if skipped == 0 {
            return;
        }
        let text = format!(
            "the buses stood still for {:.3} s: their traffic since the last call was more than \
             they can catch up with at once; call recv() or now() more often, or stop periodic \
             messages before a pause",
            Duration::from_nanos(skipped).as_secs_f64()
        );
        let log = py.import("logging").and_then(|logging| {
            let log = logging.call_method1("getLogger", ("cangate",))?;
            log.call_method1("warning", ("%s", text))
        });
        if let Err(error) = log {
            error.write_unraisable(py, None);
        }
    }

    fn real_now(&self) -> Option<Nanos> {
        let elapsed = self.started?.elapsed().as_nanos();
        Some(Nanos::try_from(elapsed).unwrap_or(Nanos::MAX))
    }

    /// Returns the limit of a wait of this length, ns. `drives`: the caller moves the time of a
    /// test.
    pub(crate) fn limit(&self, py: Python<'_>, timeout: Option<Nanos>, drives: bool) -> WaitLimit {
        match (timeout, drives || self.is_real()) {
            (Some(timeout), true) => {
                let now = self.with(py, |world| world.now());
                WaitLimit::At(now.saturating_add(timeout))
            }
            (None, true) => WaitLimit::Never,
            (Some(timeout), false) => {
                let end = Instant::now().checked_add(Duration::from_nanos(timeout));
                end.map_or(WaitLimit::RealNever, WaitLimit::Real)
            }
            (None, false) => WaitLimit::RealNever,
        }
    }

    /// Waits a slice of time until `ready` returns a result. The caller is detached from Python.
    pub(crate) fn wait<T>(
        &self,
        limit: WaitLimit,
        mut ready: impl FnMut(&mut WorldState) -> Option<T>,
    ) -> SliceEnd<T> {
        let mut world = self.lock();
        let end = if self.moves(&world, limit) {
            let until = match limit {
                WaitLimit::At(end) => Some(end),
                _ => None,
            };
            let mut found = None;
            let end = world.run(until, SLICE_STEPS, |world| {
                found = ready(world);
                found.is_some()
            });
            if let Some(found) = found {
                self.moved.notify_all();
                return SliceEnd::Done(found);
            }
            end
        } else {
            if let Some(found) = ready(&mut world) {
                self.moved.notify_all();
                return SliceEnd::Done(found);
            }
            if !Self::is_over(&world, limit) {
                let longest = self.longest_sleep(&world, limit);
                drop(self.moved.wait_timeout(world, longest));
                return SliceEnd::Again;
            }
            RunEnd::Reached
        };
        self.moved.notify_all();
        match end {
            RunEnd::Reached => SliceEnd::TimedOut,
            RunEnd::AfterLast => SliceEnd::AfterLast,
            RunEnd::Done | RunEnd::Paused => SliceEnd::Again,
            RunEnd::Asks => match world.take_question() {
                Some(FrameQuestion::Mine { task, index }) => SliceEnd::Asks { task, index },
                Some(FrameQuestion::Reentered) => SliceEnd::Reentered,
                Some(FrameQuestion::OfAnother) => {
                    drop(self.moved.wait_timeout(world, SLICE));
                    SliceEnd::Again
                }
                None => SliceEnd::Again,
            },
        }
    }

    /// Returns whether a wait moves the time: that of a test, and without a limit only as long as
    /// something will happen on its own.
    fn moves(&self, world: &WorldState, limit: WaitLimit) -> bool {
        match limit {
            WaitLimit::At(_) => !self.is_real(),
            WaitLimit::Never => !self.is_real() && world.next().is_some(),
            WaitLimit::Real(_) | WaitLimit::RealNever => false,
        }
    }

    /// Returns whether the limit of a wait is reached that does not move the time.
    fn is_over(world: &WorldState, limit: WaitLimit) -> bool {
        match limit {
            WaitLimit::At(end) => world.now() >= end,
            WaitLimit::Real(end) => Instant::now() >= end,
            WaitLimit::Never | WaitLimit::RealNever => false,
        }
    }

    /// Returns how long a caller can sleep until something may have happened.
    fn longest_sleep(&self, world: &WorldState, limit: WaitLimit) -> Duration {
        let mut longest = SLICE;
        if let WaitLimit::Real(end) = limit {
            longest = longest.min(end.saturating_duration_since(Instant::now()));
        }
        if self.is_real() {
            let end = match limit {
                WaitLimit::At(end) => Some(end),
                _ => None,
            };
            if let Some(next) = world.next().into_iter().chain(end).min() {
                let ahead = next.saturating_sub(world.now());
                longest = longest.min(Duration::from_nanos(ahead));
            }
        }
        longest
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, end: Nanos) -> SliceEnd<()> {
        self.wait(WaitLimit::At(end), |_| None)
    }

    /// Waits for a frame that a station hears; the end of the wait of a closed station has none.
    pub(crate) fn receive(&self, station: usize, limit: WaitLimit) -> SliceEnd<Option<HeardFrame>> {
        self.wait(limit, |world| match world.station_mut(station) {
            Some(found) => found.take().map(Some),
            None => Some(None),
        })
    }

    /// Waits until a station's node takes a frame, or refuses it for another reason than a full
    /// queue.
    pub(crate) fn send(
        &self,
        station: usize,
        frame: &Frame,
        limit: WaitLimit,
    ) -> SliceEnd<Result<(), SendError>> {
        self.wait(limit, |world| match world.send(station, frame) {
            Err(SendError::Full) => None,
            answer => Some(answer),
        })
    }

    /// Calls `work` with the world, detached from Python, and wakes the threads that wait for it.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut WorldState) -> T + Send,
    ) -> T {
        let result = py.detach(|| {
            let result = work(&mut self.lock());
            self.moved.notify_all();
            result
        });
        self.report_skipped(py);
        result
    }
}
