//! The loop that waits for times, for input, and for the destination.

use super::sender::{FrameSender, NextStep, SendCounts};
use super::{FrameSource, FrameTarget, TargetTotals};
use crate::stop_signal::StopSignal;
use console::Failure;
use frame::Nanos;
use linux::PollSet;
use std::time::Duration;

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SentSummary {
    /// The fates until frames were taken.
    pub(crate) counts: SendCounts,
    /// The fates of those that were taken.
    pub(crate) totals: TargetTotals,
    /// A signal ended the run.
    pub(crate) is_interrupted: bool,
}

impl SentSummary {
    /// Returns the number of frames that were not sent in time.
    pub(crate) const fn not_in_time(&self) -> u64 {
        self.counts.full + self.counts.down + self.totals.held
    }

    /// Returns the number of frames that were not sent, for whatever reason.
    pub(crate) const fn not_sent(&self) -> u64 {
        self.not_in_time() + self.counts.unsupported + self.totals.lost
    }
}

/// Time for frames that were taken to leave after a signal, ns.
const SETTLING: Nanos = 1_000_000_000;

/// Sends all frames of a source, or those until a signal. Frames that were taken have the time
/// `settling`, in ns, to leave.
///
/// # Errors
/// The target cannot go on.
pub(crate) fn run(
    sender: &mut FrameSender,
    source: &mut dyn FrameSource,
    target: &mut dyn FrameTarget,
    stop: &StopSignal,
    clock: &mut dyn FnMut() -> Nanos,
    settling: Nanos,
) -> Result<SentSummary, Failure> {
    let mut poll = PollSet::with_capacity(4);
    let mut is_interrupted = false;
    loop {
        if stop.is_set() && !is_interrupted {
            is_interrupted = true;
            sender.end();
        }
        let serve_at = target.serve(clock())?;
        let next = sender.step(clock, source, target)?;
        let (send_at, input) = match next {
            NextStep::At(at) => (Some(at), None),
            NextStep::Input => (None, source.wait()),
            NextStep::Done => break,
        };
        let at = [serve_at, send_at].into_iter().flatten().min();
        poll.clear();
        stop.wait(&mut poll);
        if let Some(fd) = input {
            poll.add_fd(fd, true, false);
        }
        target.wait(&mut poll);
        wait_until(&mut poll, at, clock)?;
    }
    let mut end = clock().saturating_add(settling);
    loop {
        // After a signal, frames that wait have a second to leave.
        if stop.is_set() && !is_interrupted {
            is_interrupted = true;
            end = end.min(clock().saturating_add(SETTLING));
        }
        let serve_at = target.serve(clock())?;
        let now = clock();
        if target.totals().held == 0 || now >= end {
            break;
        }
        poll.clear();
        if !is_interrupted {
            stop.wait(&mut poll);
        }
        target.wait(&mut poll);
        wait_until(
            &mut poll,
            Some(serve_at.map_or(end, |at| at.min(end))),
            clock,
        )?;
    }
    Ok(SentSummary {
        counts: sender.counts(),
        totals: target.totals(),
        is_interrupted,
    })
}

/// Waits for a descriptor, until a time at the latest; `None`: without limit.
fn wait_until(
    poll: &mut PollSet,
    at: Option<Nanos>,
    clock: &mut dyn FnMut() -> Nanos,
) -> Result<(), Failure> {
    let timeout = at.map(|at| Duration::from_nanos(at.saturating_sub(clock())));
    if timeout == Some(Duration::ZERO) {
        return Ok(());
    }
    let waited = poll.wait(timeout).map(drop);
    waited.map_err(|error| Failure::Run(format!("cannot wait: {error}")))
}
