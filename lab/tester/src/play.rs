//! The loop: sends the planned frames and takes received ones, until all have come back or are
//! lost.
//!
//! On a machine with one processor the tester competes with the gateway, so its work for each frame
//! is small and constant: when it sends one frame at a time, it sleeps until the frame is back, and
//! does not wake up for the reference's stamp, which it fetches afterwards; when it sends at a
//! pace, it sleeps until the next frame is due, and takes received frames before it sends. It never
//! busy-waits.

use crate::plan::PlanSource;
use crate::recorder::FateRecorder;
use crate::wire::{RunFault, TesterSide, TesterWire, UnsentReason};
use frame::{Frame, Nanos};
use probe::traffic::TrafficPattern;

/// The longest sleep without a check for received frames.
const LONGEST_SLEEP: Nanos = 100_000_000;
/// How long the tester goes on listening after the last frame came back, for frames that come out
/// twice.
const LINGER: Nanos = 10_000_000;
/// From the start to the first frame, so that it is as well prepared as the others.
const LEAD: Nanos = 1_000_000;
/// Frames of a flood between two checks for received frames, where sending never has to wait.
const FLOOD_BATCH: u32 = 32;
/// One at a time: after this many losses in a row from the beginning, the fault is elsewhere.
const SILENT_FRAMES: u32 = 5;
/// The longest wait for room to send a frame.
const STUCK: Nanos = 1_000_000_000;

/// Counts apart from those of the frames.
#[derive(Debug, Default)]
pub struct PlayedCounts {
    /// Reason why the run ended early, if it did. The recorder holds everything seen until then.
    pub failure: Option<RunFault>,
    /// Number of times that a frame had to wait for room at the sending interface.
    pub stalled: u64,
    /// The greatest delay of a frame after its scheduled time, ns.
    pub behind: Nanos,
    /// Frames without a kernel timestamp, which got the tester's own.
    pub unstamped: u64,
    /// Error frames, in the order of [`TesterSide::ALL`].
    pub error_frames: [u64; 3],
    /// From the first frame to the end of the waiting, ns.
    pub elapsed: Nanos,
}

/// The waiting times of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayTimeouts {
    /// Time after which a frame that has not come back is no longer waited for, ns after it was
    /// sent.
    pub timeout: Nanos,
    /// One at a time: from a frame's return to the next one, ns. On a machine with one processor
    /// the kernel leaves some of a frame's work to ksoftirqd, which runs only while the tester
    /// sleeps; without a pause the next frame would find it unfinished, and wait behind it.
    pub pause: Nanos,
}

/// Sends the recorder's frames with the timing of `traffic`, and records their fates in the
/// recorder.
pub fn play<W: TesterWire>(
    wire: &mut W,
    recorder: &mut FateRecorder,
    traffic: &PlanSource,
    patience: PlayTimeouts,
) -> PlayedCounts {
    let start = wire.now().saturating_add(LEAD);
    let mut player = PlanPlayer {
        wire,
        recorder,
        patience,
        played: PlayedCounts::default(),
        last: None,
    };
    let done = match traffic {
        PlanSource::Made(TrafficPattern::OneAtATime) => player.one_at_a_time(start),
        PlanSource::Made(TrafficPattern::Flood) => player.flood(start),
        PlanSource::Made(TrafficPattern::Period(_) | TrafficPattern::Load(_))
        | PlanSource::Log(_) => player.paced(start),
    };
    let done = done.and_then(|()| player.settle());
    player.played.failure = done.err();
    player.played.elapsed = player.wire.now().saturating_sub(start);
    player.played
}

struct PlanPlayer<'a, W> {
    wire: &'a mut W,
    recorder: &'a mut FateRecorder,
    patience: PlayTimeouts,
    played: PlayedCounts,
    /// When the last frame was sent.
    last: Option<Nanos>,
}

impl<W: TesterWire> PlanPlayer<'_, W> {
    fn frame(&self, index: u32) -> Option<(Nanos, Frame)> {
        let planned = self.recorder.planned().get(index as usize)?;
        Some((planned.at, planned.frame))
    }

    fn one_at_a_time(&mut self, start: Nanos) -> Result<(), RunFault> {
        self.wire.sleep_until(start);
        let mut silent = 0;
        for index in 0.. {
            let Some((_, frame)) = self.frame(index) else {
                break;
            };
            if index > 0 && self.patience.pause > 0 {
                let next = self.wire.now().saturating_add(self.patience.pause);
                self.wire.sleep_until(next);
            }
            self.send(index, &frame)?;
            let until = self.wire.now().saturating_add(self.patience.timeout);
            while !self.came_back(index)? && self.wire.now() < until {
                self.wire.wait_received(until)?;
            }
            self.take(TesterSide::Reference)?;
            if self.recorder.under_way() > silent {
                silent += 1;
                self.take(TesterSide::Send)?;
                if silent == SILENT_FRAMES && index + 1 == SILENT_FRAMES {
                    return Err(self.silence());
                }
            }
        }
        Ok(())
    }

    /// Takes the frames that came out, and returns whether this frame has now come out.
    fn came_back(&mut self, index: u32) -> Result<bool, RunFault> {
        self.take(TesterSide::Receive)?;
        Ok(self.recorder.is_back(index))
    }

    fn paced(&mut self, start: Nanos) -> Result<(), RunFault> {
        for index in 0.. {
            let Some((at, frame)) = self.frame(index) else {
                break;
            };
            let at = start.saturating_add(at);
            loop {
                let now = self.wire.now();
                if now >= at {
                    self.played.behind = self.played.behind.max(now - at);
                    break;
                }
                self.wire
                    .sleep_until(at.min(now.saturating_add(LONGEST_SLEEP)));
                self.take_all()?;
            }
            self.send(index, &frame)?;
        }
        Ok(())
    }

    fn flood(&mut self, start: Nanos) -> Result<(), RunFault> {
        self.wire.sleep_until(start);
        for index in 0.. {
            let Some((_, frame)) = self.frame(index) else {
                break;
            };
            self.send(index, &frame)?;
            if index % FLOOD_BATCH == FLOOD_BATCH - 1 {
                self.take_all()?;
            }
        }
        Ok(())
    }

    /// Sends a frame as soon as there is room for it.
    fn send(&mut self, index: u32, frame: &Frame) -> Result<(), RunFault> {
        let mut until = None;
        loop {
            self.recorder.sent(index, self.wire.stamp_now());
            match self.wire.send(frame) {
                Ok(()) => {
                    self.last = Some(self.wire.now());
                    return Ok(());
                }
                Err(UnsentReason::Full) => self.recorder.unsent(index),
                Err(UnsentReason::Fault(fault)) => {
                    self.recorder.unsent(index);
                    return Err(fault);
                }
            }
            self.played.stalled += 1;
            let now = self.wire.now();
            let until = *until.get_or_insert(now.saturating_add(STUCK));
            if now >= until {
                return Err(RunFault::Stuck(self.wire.name(TesterSide::Send).to_owned()));
            }
            self.take_all()?;
            self.wire.wait_room(until)?;
        }
    }

    /// Waits for the frames under way, and a little longer for frames that come out twice.
    fn settle(&mut self) -> Result<(), RunFault> {
        let Some(last) = self.last else {
            return Ok(());
        };
        let until = last.saturating_add(self.patience.timeout);
        self.take_all()?;
        while self.recorder.under_way() > 0 && self.wire.now() < until {
            let now = self.wire.now();
            self.wire
                .wait_received(until.min(now.saturating_add(LONGEST_SLEEP)))?;
            self.take_all()?;
        }
        let end = self.wire.now().saturating_add(LINGER);
        self.wire.sleep_until(end);
        self.take_all()
    }

    fn take_all(&mut self) -> Result<(), RunFault> {
        for side in TesterSide::ALL {
            self.take(side)?;
        }
        Ok(())
    }

    /// Takes all frames that are waiting on one interface.
    fn take(&mut self, side: TesterSide) -> Result<(), RunFault> {
        if side == TesterSide::Reference && !self.wire.has_reference() {
            return Ok(());
        }
        let now = self.wire.stamp_now();
        let (recorder, played) = (&mut *self.recorder, &mut self.played);
        let mut take = |received: crate::wire::ReceivedFrame<'_>| {
            if received.frame.id().is_err() {
                if let Some(count) = played.error_frames.get_mut(side as usize) {
                    *count += 1;
                }
                return;
            }
            let Some(frame) = Frame::from_view(received.frame) else {
                return;
            };
            let stamp = received.stamp.unwrap_or_else(|| {
                played.unstamped += 1;
                now
            });
            match side {
                TesterSide::Send => {}
                TesterSide::Reference => {
                    recorder.incoming(&frame, stamp);
                }
                TesterSide::Receive => {
                    recorder.outgoing(&frame, stamp, None);
                }
            }
        };
        // A batch that is not full was the last one.
        while self.wire.receive(side, &mut take)? >= BATCH {}
        Ok(())
    }

    /// Builds the fault for when none of the first frames came back, with advice on what to check.
    fn silence(&self) -> RunFault {
        let [send, reference, receive] = TesterSide::ALL.map(|side| self.wire.name(side));
        RunFault::Silence(if self.wire.has_reference() && !self.recorder.any_in() {
            format!(
                "the first {SILENT_FRAMES} frames sent on {send} were not seen on {reference}: \
                 are both on one bus, at one bit rate, with a terminator at each end?"
            )
        } else {
            format!(
                "none of the first {SILENT_FRAMES} frames came out on {receive}: is the gateway \
                 running, and does it let them pass from {send}'s bus to {receive}'s?"
            )
        })
    }
}

/// The greatest number of frames that [`TesterWire::receive`] hands over at once; when it returns
/// this many, there may be more.
pub(crate) const BATCH: usize = linux::can::MOST_ARRIVALS;

#[cfg(test)]
mod tests;
