//! Frames that go one way: the tester sends them on a bit-timed bus, and another program counts
//! those that arrive.

use crate::measure::Error;
use crate::plan::{PlannedFrame, TestPlan};
use crate::realtime::{in_own_thread, prepare};
use crate::setup::TestSetup;
use crate::timed::{DeviceRun, TimedBench, run};
use frame::wire::BitRate;
use frame::{Frame, Nanos};
use linux::bitcan::{BitcanEvent, BitcanStamp};

/// How long the tester stays on the bus after the last frame, ns.
const AFTER: Nanos = 1_000_000;

/// A frame that was on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentFrame {
    /// The frame as sent; its number is in its first two bytes.
    pub frame: Frame,
    /// Its end of frame, ns of the bus's time.
    pub end: Nanos,
    /// From start of frame to end of frame, without intermission, ns.
    pub duration: u32,
}

/// Sends the plan's frames on a bus of `kmod/bitcan`, at this bit rate, and returns those that were
/// on it, in their order.
///
/// # Errors
/// [`Error`] where the run cannot begin, or the device fails.
pub fn one_way(
    plan: &TestPlan,
    bus: u8,
    rate: BitRate,
    priority: Option<u8>,
) -> Result<Vec<SentFrame>, Error> {
    in_own_thread(|| {
        let planned = plan.frames(Some(rate))?;
        // Sending needs no priority: the kernel's tester already holds the frames.
        let _ = prepare(priority);
        let setup = TestSetup {
            plan: plan.clone(),
            timeout: AFTER,
            ..TestSetup::default()
        };
        let bench = TimedBench {
            send_bus: bus,
            receive_bus: bus,
            stamp_every: 1,
            rate: Some(rate),
        };
        let ran = run(&setup, &bench, &planned, false)?;
        if !ran.done || ran.lost > 0 {
            return Err(Error::Bench(format!(
                "not all of {} frames left on bus {bus}, or their stamps did not fit: is a node on it that acknowledges?",
                planned.len()
            )));
        }
        Ok(in_order(&planned, &ran, bus))
    })
}

/// Returns the planned frames among those stamped on the bus: they leave in their order, and the
/// tester's node number is 0.
fn in_order(planned: &[PlannedFrame], ran: &DeviceRun, bus: u8) -> Vec<SentFrame> {
    let mut stamps: Vec<&BitcanStamp> = ran
        .stamps
        .iter()
        .filter(|s| s.bus == bus && s.node == 0)
        .collect();
    stamps.sort_by_key(|stamp| stamp.end);
    let mut planned = planned.iter().map(|one| one.frame).peekable();
    let mut sent = Vec::new();
    for stamp in stamps {
        if let BitcanEvent::Frame(frame) = stamp.event
            && planned.next_if_eq(&frame).is_some()
        {
            sent.push(SentFrame {
                frame,
                end: stamp.end,
                duration: stamp.duration,
            });
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::CanId;

    #[test]
    fn what_others_send_is_not_the_plans() {
        let frame = |n: u8| Frame::classic(CanId::from_raw(0x123), &[0, n]).unwrap();
        let planned: Vec<_> = [0, 1]
            .map(|n| PlannedFrame {
                at: 0,
                frame: frame(n),
            })
            .into();
        let stamp = |end, bus, event| BitcanStamp {
            end,
            duration: 5,
            bus,
            node: 0,
            event,
        };
        let ran = DeviceRun {
            stamps: vec![
                stamp(30, 0, BitcanEvent::Frame(frame(1))),
                stamp(10, 0, BitcanEvent::Frame(frame(0))),
                stamp(20, 0, BitcanEvent::Frame(frame(7))),
                stamp(25, 1, BitcanEvent::Frame(frame(1))),
                stamp(26, 0, BitcanEvent::ErrorFrame),
            ],
            unknown: 0,
            started: 0,
            lost: 0,
            done: true,
        };
        let ends: Vec<_> = in_order(&planned, &ran, 0).iter().map(|s| s.end).collect();
        assert_eq!(ends, [10, 30]);
    }
}
