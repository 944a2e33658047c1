//! Periodic frames, in the time of the buses.

use frame::{Frame, Nanos};

/// A task that sends frames in turn, one each period.
#[derive(Clone, Debug)]
pub(crate) struct CyclicTask {
    /// The station that sends.
    pub(crate) station: usize,
    /// The frames; at least one.
    pub(crate) frames: Vec<Frame>,
    /// The period, ns; above 0.
    pub(crate) period: Nanos,
    /// The time after the start from which on no frame is sent, ns.
    pub(crate) duration: Option<Nanos>,
    /// Whether Python changes each frame before it is sent.
    asks: bool,
    /// The changed frame.
    answer: Option<Frame>,
    next_frame: usize,
    due: Option<Nanos>,
    end: Option<Nanos>,
    sent: u64,
    missed: u64,
}

/// A frame that is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum DueFrame {
    /// It can be sent.
    Ready {
        /// The task.
        task: usize,
        /// The station that sends.
        station: usize,
        /// The frame.
        frame: Frame,
    },
    /// Python changes it first.
    Asks {
        /// The task.
        task: usize,
        /// The index of the frame in the task.
        index: usize,
    },
}

impl CyclicTask {
    /// Creates a task that does not run yet. `asks`: Python changes each frame before it is sent.
    pub(crate) const fn new(
        station: usize,
        frames: Vec<Frame>,
        period: Nanos,
        duration: Option<Nanos>,
        asks: bool,
    ) -> Self {
        Self {
            station,
            frames,
            period,
            duration,
            asks,
            answer: None,
            next_frame: 0,
            due: None,
            end: None,
            sent: 0,
            missed: 0,
        }
    }

    /// Returns whether it runs.
    pub(crate) const fn is_running(&self) -> bool {
        self.due.is_some()
    }

    /// Returns the number of frames that its node has taken, and of those that it had no place for.
    pub(crate) const fn counts(&self) -> (u64, u64) {
        (self.sent, self.missed)
    }
}

/// All tasks of a world.
#[derive(Default)]
pub(crate) struct CyclicTasks {
    all: Vec<CyclicTask>,
    next: Option<Nanos>,
}

impl CyclicTasks {
    /// Adds a task and returns its index.
    pub(crate) fn add(&mut self, task: CyclicTask) -> usize {
        self.all.push(task);
        self.all.len() - 1
    }

    /// Starts a task, or starts it again: its first frame is due now.
    pub(crate) fn start(&mut self, task: usize, now: Nanos) {
        if let Some(task) = self.all.get_mut(task) {
            task.due = Some(now);
            task.end = task.duration.map(|duration| now.saturating_add(duration));
            task.next_frame = 0;
            task.answer = None;
        }
        self.find_next();
    }

    /// Stops a task.
    pub(crate) fn stop(&mut self, task: usize) {
        if let Some(task) = self.all.get_mut(task) {
            task.due = None;
        }
        self.find_next();
    }

    /// Stops all tasks of a station.
    pub(super) fn stop_all(&mut self, station: usize) {
        for task in self.all.iter_mut().filter(|task| task.station == station) {
            task.due = None;
        }
        self.find_next();
    }

    /// Returns a task.
    pub(crate) fn task(&self, task: usize) -> Option<&CyclicTask> {
        self.all.get(task)
    }

    /// Replaces the frames of a task; its times stay as they are.
    pub(crate) fn set_frames(&mut self, task: usize, frames: Vec<Frame>) {
        if let Some(task) = self.all.get_mut(task) {
            task.frames = frames;
        }
    }

    /// Returns the time of the next frame.
    pub(super) const fn next(&self) -> Option<Nanos> {
        self.next
    }

    /// Gives a task its changed frame; without one, the task stops.
    pub(super) fn answer(&mut self, task: usize, frame: Option<Frame>) {
        match (self.all.get_mut(task), frame) {
            (Some(found), Some(frame)) => found.answer = Some(frame),
            _ => self.stop(task),
        }
    }

    /// Returns a frame that is due. One that [asks](DueFrame::Asks) is returned again until it has
    /// its answer.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<DueFrame> {
        if self.next.is_none_or(|next| next > now) {
            return None;
        }
        let is_due = |task: &CyclicTask| task.due.is_some_and(|due| due <= now);
        let place = self.all.iter().position(is_due)?;
        let task = self.all.get_mut(place)?;
        let due = task.due?;
        if task.end.is_some_and(|end| due >= end) || task.frames.is_empty() {
            task.due = None;
            self.find_next();
            return self.take_due(now);
        }
        let index = task.next_frame % task.frames.len();
        if task.asks && task.answer.is_none() {
            return Some(DueFrame::Asks { task: place, index });
        }
        let frame = task.answer.take().or(task.frames.get(index).copied())?;
        task.next_frame = (index + 1) % task.frames.len();
        task.due = Some(due.saturating_add(task.period.max(1)));
        let station = task.station;
        self.find_next();
        Some(DueFrame::Ready {
            task: place,
            station,
            frame,
        })
    }

    /// Counts a frame of a task.
    pub(super) fn count(&mut self, task: usize, is_sent: bool) {
        if let Some(task) = self.all.get_mut(task) {
            match is_sent {
                true => task.sent += 1,
                false => task.missed += 1,
            }
        }
    }

    fn find_next(&mut self) {
        self.next = self.all.iter().filter_map(|task| task.due).min();
    }
}
