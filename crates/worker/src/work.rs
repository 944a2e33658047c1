//! The only thread that processes frames.

use crate::client_frames::ClientFrames;
use crate::clock::WallClock;
use crate::halves::Engine;
use crate::mailbox::{WorkerMailbox, WorkerMessage};
use crate::spin::WorkerSpin;
use crate::waiting::WorkerWait;
use engine::{PortEvent, StepResult};
use frame::{FrameBuf, Nanos};
use port::PollReceive;
use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The reason why the worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerEnd {
    /// The control thread requested the end.
    Stopped,
    /// The inputs until whose end it should run have ended, and no frame was held.
    Finished,
    /// No frame can come in any more, because ports failed; or no frame can go out, and the run
    /// should end with its inputs.
    Failed,
}

/// The number of consecutive wake-ups without a frame, a held frame sent or a message, after which
/// the worker sleeps for a moment: a descriptor that is always ready and delivers nothing must not
/// take a whole processor from all other threads, least of all with real-time priority.
const IDLE_WAKEUPS: u32 = 1000;
const NAP: Duration = Duration::from_millis(1);

/// The number of checks between two readings of the clock, when the worker does not wait: less than
/// a microsecond on most processors.
const CHECKS_PER_READING: u32 = 16;
/// The number of rounds of checks between two steps.
const ROUNDS: u32 = 64;

/// A listener to the worker, which calls it for events of ports, never for each frame.
pub trait WorkerListener: Sync {
    /// Takes an event of a port.
    fn port_event(&self, event: PortEvent<'_>);
    /// Takes the reason why the worker cannot wait in the kernel: it tries again each millisecond.
    /// The worker reports this once.
    fn wait_failed(&self, why: &io::Error);
}

/// The thread's state.
pub struct Worker<'m> {
    /// The ports and the table.
    pub engine: Engine,
    /// The control thread's requests.
    pub mailbox: &'m WorkerMailbox,
    /// The listener to events of ports.
    pub listener: &'m dyn WorkerListener,
    /// The clock of all stamps.
    pub clock: WallClock,
    /// The ports whose end of input ends the run.
    pub until_end: Vec<String>,
    /// The end of a socket pair that is closed when this thread ends, however it ends: the control
    /// thread sees the other end hang up.
    pub alive: UnixStream,
}

impl Worker<'_> {
    /// Routes frames until the control thread requests the end, or the run ends on its own. Returns
    /// the engine, whose ports are closed.
    pub fn work(mut self) -> (Engine, WorkerEnd) {
        let mut waiting = WorkerWait::new();
        let mut spin = WorkerSpin::of_this_thread();
        // Consecutive wake-ups that brought nothing; see `IDLE_WAKEUPS`.
        let mut idle = 0;
        // The number of frames that ports held after the last step: a change of it is progress.
        let mut held = 0;
        // A wait that fails once fails again at once: one notice for each run is enough.
        let mut warned = false;
        // The time that the last successful spin or wait has read, so that the clock is not read
        // again before the step that follows.
        let mut spun = None;
        let mut woken = None;
        let ended = loop {
            // After a successful spin the mailbox was checked a moment ago and a frame is pending,
            // so the frame goes first.
            if spun.is_none() && self.mailbox.is_waiting() {
                idle = 0;
                // Handling messages takes time: the end of the wait is not the present any more.
                woken = None;
                if let Some(time) = self.drain_mailbox(&mut waiting) {
                    self.drain(&mut waiting, time);
                    break WorkerEnd::Stopped;
                }
            }
            let now = spun.take().or(woken.take());
            let now = now.unwrap_or_else(|| self.clock.now());
            let step = self.engine.step(now);
            if step.events {
                self.forward_events();
                // A run until the end of a log needs a port that can send the log's frames.
                if !self.until_end.is_empty() && self.engine.leads_nowhere() {
                    break WorkerEnd::Failed;
                }
            }
            if step.more {
                // A port has more frames than one batch: no wait, and no check for an end.
                idle = 0;
                continue;
            }
            // If the run may end on its own: step again until a step brought nothing.
            if step.finished || (step.ended > 0 && !self.until_end.is_empty()) {
                if step.frames > 0 {
                    continue;
                }
                if let Some(ended) = self.find_end(&step) {
                    break ended;
                }
            }
            let busy = self.engine.receiving().any(PollReceive::is_busy);
            if busy && spin.may_continue(now) {
                idle = 0;
                spun = self.spin(step.deadline);
                continue;
            }
            idle = if step.frames > 0 || step.held != held {
                0
            } else {
                idle + 1
            };
            held = step.held;
            if idle > IDLE_WAKEUPS {
                std::thread::sleep(NAP);
            }
            let timeout = step.deadline.map(|at| {
                let ahead = at.saturating_sub(self.clock.now());
                Duration::from_nanos(ahead)
            });
            let timeout = match timeout {
                Some(time) if busy => Some(time.min(spin.wait_time())),
                None if busy => Some(spin.wait_time()),
                time => time,
            };
            if timeout == Some(Duration::ZERO) {
                // A deadline has passed meanwhile: the step is due, and a system call is not
                // needed.
                continue;
            }
            if timeout.is_some() {
                // A wake-up by a deadline is work to do, not an idle wake-up.
                idle = 0;
            }
            // Only the wait itself counts as time for other threads, so the clock is read just
            // before it; without a busy port nothing is recorded.
            let from = if busy { self.clock.now() } else { now };
            let waited = waiting.wait_for_work(self.mailbox.bell(), &self.engine, timeout);
            if busy {
                spin.record_wait(from, self.clock.now());
            }
            // A run that ends on its own checks every port before it ends.
            if matches!(waited, Ok(true)) && self.until_end.is_empty() {
                let now = self.clock.now();
                waiting.skip_idle(&mut self.engine, now);
                woken = Some(now);
            }
            if let Err(error) = waited {
                // Out of memory in the kernel, or more ports than RLIMIT_NOFILE allows.
                if !std::mem::replace(&mut warned, true) {
                    self.listener.wait_failed(&error);
                }
                std::thread::sleep(NAP);
            }
        };
        self.engine.close();
        drop(self.alive);
        (self.engine, ended)
    }

    /// Checks again and again the halves that can quickly report that nothing has happened, which
    /// finds a frame much earlier than a step after a step. Returns the time that it has read, at
    /// most some checks old: reading the clock costs more than a check, and would come between a
    /// frame and its step. Returns `None` if a half has news at once, or cannot report (most
    /// cannot).
    fn spin(&mut self, deadline: Option<Nanos>) -> Option<Nanos> {
        let mut read = None;
        for _ in 0..ROUNDS {
            // Messages are not urgent.
            if self.mailbox.is_waiting() {
                return read;
            }
            for _ in 0..CHECKS_PER_READING {
                if self.engine.look_for(|half| !half.is_quiet()) {
                    return read;
                }
                std::hint::spin_loop();
            }
            let now = self.clock.now();
            read = Some(now);
            if deadline.is_some_and(|at| at <= now) {
                break;
            }
        }
        read
    }

    /// Returns the result if the run has come to its end on its own. It ends only after all frames
    /// that came in have also left: ports may hold more than they can flush (frames that wait for
    /// their bus), and a frame that has just been sent can be due at another port of this gateway.
    fn find_end(&self, step: &StepResult) -> Option<WorkerEnd> {
        let due = step.deadline.is_some_and(|at| at <= self.clock.now());
        if step.held > 0 || due {
            return None;
        }
        if step.finished && self.engine.has_failed() {
            return Some(WorkerEnd::Failed);
        }
        let over = self.engine.have_ended(&self.until_end) && !self.engine.holds_any();
        // An input that has failed had more frames to deliver: its end is not a regular end.
        let ended = if self.engine.have_failed(&self.until_end) {
            WorkerEnd::Failed
        } else {
            WorkerEnd::Finished
        };
        over.then_some(ended)
    }

    /// Handles the control thread's requests. Returns the time for an orderly end, if one was
    /// requested.
    fn drain_mailbox(&mut self, waiting: &mut WorkerWait) -> Option<Duration> {
        let mut stop = None;
        while let Some(message) = self.mailbox.take() {
            // A requester that has gone away misses nothing.
            match message {
                WorkerMessage::Count(mut counts, reply) => {
                    self.engine.count(&mut counts);
                    // The counts contain the states of the links. A link that changes back before
                    // the next step would otherwise never be reported as it was counted.
                    self.forward_events();
                    let _ = reply.try_send(counts);
                }
                WorkerMessage::Apply(change, reply) => {
                    waiting.forget();
                    let _ = reply.try_send(self.engine.apply(*change));
                }
                WorkerMessage::Send(mut frames, reply) => {
                    self.send_for_client(&mut frames);
                    let _ = reply.try_send(frames);
                }
                WorkerMessage::Tap(mut changes, reply) => {
                    for change in &mut changes {
                        let (port, tap) = change.parts();
                        self.engine.change_halves(port, |rx, tx| tap.apply(rx, tx));
                    }
                    let _ = reply.try_send(changes);
                }
                WorkerMessage::Settle(name, settled) => self.engine.settle(&name, settled),
                WorkerMessage::Stop(time) => stop = Some(time),
            }
        }
        stop
    }

    /// Offers frames of a client to their port. Frames behind one without room are not offered:
    /// the client offers them again, and none may overtake another.
    fn send_for_client(&mut self, frames: &mut ClientFrames) {
        let now = self.clock.now();
        let (port, frames, answers) = frames.parts();
        let waits = Cell::new(None);
        let views = frames.iter().map(FrameBuf::view);
        let views = views.take_while(|_| waits.get().is_none());
        self.engine.inject(port, now, views, |answer| {
            waits.set(answer.err().filter(|refusal| refusal.is_temporary()));
            answers.push(answer);
        });
        if let Some(refusal) = waits.get() {
            answers.resize(frames.len(), Err(refusal));
        }
        // The port may have failed.
        self.forward_events();
    }

    /// Notifies the control thread of events of ports: never for every frame.
    fn forward_events(&mut self) {
        let listener = self.listener;
        self.engine.events(|event| listener.port_event(event));
    }

    /// Sends the frames that are held, for at most `time`.
    fn drain(&mut self, waiting: &mut WorkerWait, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let step = self.engine.flush(self.clock.now());
            if step.events {
                self.forward_events();
            }
            let left = end.saturating_duration_since(Instant::now());
            if step.held == 0 || left.is_zero() {
                return;
            }
            let ahead = step
                .deadline
                .map(|at| Duration::from_nanos(at.saturating_sub(self.clock.now())));
            // At least one nap, at most ten: a port that is always ready and has no space is asked
            // again soon, and not for ever.
            let pause = ahead.unwrap_or(left).clamp(NAP, 10 * NAP).min(left);
            if waiting.wait_for_room(&self.engine, pause).is_err() {
                std::thread::sleep(NAP);
            }
        }
    }
}
