//! A world with its clock: the time of a test, which calls move, or the monotonic time.
//!
//! No call holds Python's lock while it holds the world's. A call that may last works in slices,
//! so that Python can handle signals between them.

use crate::world::{FrameQuestion, HeardFrame, RunEnd, WorldState};
use bus::{Bus, SendError};
use frame::{Frame, Nanos};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of steps of a slice: some ten milliseconds.
const SLICE_STEPS: u32 = 20_000;

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

    /// Returns the world, which has the time of the clock if that is real.
    pub(crate) fn lock(&self) -> MutexGuard<'_, WorldState> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = self.real_now() {
            world.run(Some(now), u32::MAX, |_| false);
            self.moved.notify_all();
        }
        world
    }

    fn real_now(&self) -> Option<Nanos> {
        let elapsed = self.started?.elapsed().as_nanos();
        Some(Nanos::try_from(elapsed).unwrap_or(Nanos::MAX))
    }

    /// Returns the limit of a wait of this length, ns. `drives`: the caller moves the time of a
    /// test.
    pub(crate) fn limit(&self, timeout: Option<Nanos>, drives: bool) -> WaitLimit {
        match (timeout, drives || self.is_real()) {
            (Some(timeout), true) => WaitLimit::At(self.lock().now().saturating_add(timeout)),
            (None, true) => WaitLimit::Never,
            (Some(timeout), false) => {
                let end = Instant::now().checked_add(Duration::from_nanos(timeout));
                end.map_or(WaitLimit::RealNever, WaitLimit::Real)
            }
            (None, false) => WaitLimit::RealNever,
        }
    }

    /// Waits a slice of time until `ready` returns a result.
    pub(crate) fn wait<T>(
        &self,
        limit: WaitLimit,
        mut ready: impl FnMut(&mut WorldState) -> Option<T>,
    ) -> SliceEnd<T> {
        let mut world = self.lock();
        let mut found = None;
        let mut done = |world: &mut WorldState| {
            found = ready(world);
            found.is_some()
        };
        let end = match limit {
            WaitLimit::At(end) if !self.is_real() => world.run(Some(end), SLICE_STEPS, done),
            WaitLimit::Never if !self.is_real() && world.next().is_some() => {
                world.run(None, SLICE_STEPS, done)
            }
            WaitLimit::At(end) if done(&mut world) || world.now() >= end => RunEnd::Reached,
            WaitLimit::Real(end) if done(&mut world) || Instant::now() >= end => RunEnd::Reached,
            WaitLimit::At(_) | WaitLimit::Never | WaitLimit::Real(_) | WaitLimit::RealNever => {
                if !done(&mut world) {
                    let longest = self.longest_sleep(&world, limit);
                    drop(self.moved.wait_timeout(world, longest));
                    return SliceEnd::Again;
                }
                RunEnd::Done
            }
        };
        self.moved.notify_all();
        match (found, end) {
            (Some(found), _) => SliceEnd::Done(found),
            (None, RunEnd::Reached) => SliceEnd::TimedOut,
            (None, RunEnd::Asks) => match world.take_question() {
                Some(FrameQuestion::Mine { task, index }) => SliceEnd::Asks { task, index },
                Some(FrameQuestion::Reentered) => SliceEnd::Reentered,
                Some(FrameQuestion::OfAnother) => {
                    drop(self.moved.wait_timeout(world, SLICE));
                    SliceEnd::Again
                }
                None => SliceEnd::Again,
            },
            (None, _) => SliceEnd::Again,
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

    /// Waits for a frame that a station hears.
    pub(crate) fn receive(&self, station: usize, limit: WaitLimit) -> SliceEnd<Option<HeardFrame>> {
        self.wait(limit, |world| {
            let found = world.station_mut(station)?;
            match found.is_open() {
                true => found.take().map(Some),
                false => Some(None),
            }
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

    /// Hands a frame to a station's node.
    pub(crate) fn try_send(&self, station: usize, frame: &Frame) -> Result<(), SendError> {
        let answer = self.lock().send(station, frame);
        self.moved.notify_all();
        answer
    }

    /// Calls `work` with the world, and wakes the threads that wait for it.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut WorldState) -> T) -> T {
        let result = work(&mut self.lock());
        self.moved.notify_all();
        result
    }

    /// Calls `work` with the bus of a station.
    pub(crate) fn with_bus<T>(
        &self,
        station: usize,
        work: impl FnOnce(&mut Bus) -> T,
    ) -> Option<T> {
        self.with(|world| world.bus_of_mut(station).map(work))
    }
}
