//! Periodic frames, in the time of the buses.

use frame::{Frame, Nanos};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The answer of Python about the next frame.
    answer: Option<FrameAnswer>,
    /// Whether Python has no object of the task any more: the task ends with its last frame.
    is_forgotten: bool,
    next_frame: usize,
    due: Option<Nanos>,
    end: Option<Nanos>,
    sent: u64,
    missed: u64,
}

/// The answer of Python about a frame that it changes before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FrameAnswer {
    /// Send this frame.
    Send(Frame),
    /// Leave this frame out; the next one is due a period later.
    Skip,
    /// Stop the task.
    Stop,
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
            is_forgotten: false,
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

/// All tasks of a world: those that run, and those that Python can start again.
#[derive(Default)]
pub(crate) struct CyclicTasks {
    /// The tasks by their numbers. A number is given once.
    all: BTreeMap<usize, CyclicTask>,
    /// The times of the tasks that run, with their numbers.
    due: BTreeSet<(Nanos, usize)>,
    next_number: usize,
    /// The tasks that [ask](DueFrame::Asks) and are gone since [`CyclicTasks::take_gone`].
    gone: Vec<usize>,
}

impl CyclicTasks {
    /// Adds a task and returns its number.
    pub(crate) fn add(&mut self, task: CyclicTask) -> usize {
        let number = self.next_number;
        self.next_number += 1;
        self.all.insert(number, task);
        number
    }

    /// Starts a task, or starts it again: its first frame is due now.
    pub(crate) fn start(&mut self, task: usize, now: Nanos) {
        if let Some(found) = self.all.get_mut(&task) {
            found.end = found.duration.map(|duration| now.saturating_add(duration));
            found.next_frame = 0;
            found.answer = None;
            self.set_due(task, Some(now));
        }
    }

    /// Stops a task.
    pub(crate) fn stop(&mut self, task: usize) {
        self.set_due(task, None);
    }

    /// Stops all tasks of a station.
    pub(super) fn stop_all(&mut self, station: usize) {
        let of_it = self.all.iter().filter(|(_, task)| task.station == station);
        let of_it: Vec<usize> = of_it.map(|(number, _)| *number).collect();
        for task in of_it {
            self.stop(task);
        }
    }

    /// Removes a task that Python does not use any more, as soon as it does not run.
    pub(crate) fn forget(&mut self, task: usize) {
        if let Some(found) = self.all.get_mut(&task) {
            found.is_forgotten = true;
            let due = found.due;
            self.set_due(task, due);
        }
    }

    /// Returns the tasks whose frames Python has changed and that are gone since the last call.
    pub(crate) fn take_gone(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.gone)
    }

    /// Returns a task.
    pub(crate) fn task(&self, task: usize) -> Option<&CyclicTask> {
        self.all.get(&task)
    }

    /// Returns the number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Replaces the frames of a task; its times stay as they are.
    pub(crate) fn set_frames(&mut self, task: usize, frames: Vec<Frame>) {
        if let Some(task) = self.all.get_mut(&task) {
            task.frames = frames;
        }
    }

    /// Returns the time of the next frame.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Gives a task the answer about its next frame.
    pub(super) fn answer(&mut self, task: usize, answer: FrameAnswer) {
        match (self.all.get_mut(&task), answer) {
            (_, FrameAnswer::Stop) => self.stop(task),
            (Some(found), answer) => found.answer = Some(answer),
            (None, _) => {}
        }
    }

    /// Returns a frame that is due. One that [asks](DueFrame::Asks) is returned again until it has
    /// its answer.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<DueFrame> {
        loop {
            let (due, number) = *self.due.first().filter(|(due, _)| *due <= now)?;
            let task = self.all.get_mut(&number)?;
            if task.end.is_some_and(|end| due >= end) || task.frames.is_empty() {
                self.set_due(number, None);
                continue;
            }
            let index = task.next_frame % task.frames.len();
            let answer = match (task.asks, task.answer.take()) {
                (true, None) => {
                    let task = number;
                    return Some(DueFrame::Asks { task, index });
                }
                (_, Some(answer)) => answer,
                (false, None) => FrameAnswer::Send(*task.frames.get(index)?),
            };
            task.next_frame = (index + 1) % task.frames.len();
            let (station, period) = (task.station, task.period.max(1));
            self.set_due(number, Some(due.saturating_add(period)));
            if let FrameAnswer::Send(frame) = answer {
                let task = number;
                return Some(DueFrame::Ready {
                    task,
                    station,
                    frame,
                });
            }
        }
    }

    /// Counts a frame of a task.
    pub(super) fn count(&mut self, task: usize, is_sent: bool) {
        if let Some(task) = self.all.get_mut(&task) {
            match is_sent {
                true => task.sent += 1,
                false => task.missed += 1,
            }
        }
    }

    /// Sets the time of a task's next frame; without one, a forgotten task is gone.
    fn set_due(&mut self, number: usize, due: Option<Nanos>) {
        let Some(task) = self.all.get_mut(&number) else {
            return;
        };
        if let Some(before) = task.due {
            self.due.remove(&(before, number));
        }
        task.due = due;
        match due {
            Some(due) => {
                self.due.insert((due, number));
            }
            None if task.is_forgotten => {
                if task.asks {
                    self.gone.push(number);
                }
                self.all.remove(&number);
            }
            None => {}
        }
    }
}
