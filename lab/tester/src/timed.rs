//! The tester on bit-timed buses (`kmod/bitcan`): the kernel sends the frames and stamps them, and
//! the events are matched afterwards, so that measuring costs the gateway next to nothing.

use crate::measure::Error;
use crate::outcome::{BenchWords, TesterOutcome, assemble, clock};
use crate::plan::{PlanSource, PlannedFrame};
use crate::play::PlayedCounts;
use crate::realtime::{in_own_thread, prepare};
use crate::recorder::{BusTime, FateRecorder, LatencyMeasure};
use crate::setup::TestSetup;
use crate::wire::RunFault;
use frame::Nanos;
use frame::wire::BitRate;
use linux::bitcan::{BUSES, BitcanEvent, BitcanStamp, BitcanTester, DEVICE, SendMode, TimedFrame};
use probe::traffic::{TrafficPattern, number_in};
use std::time::Duration;

/// Number of stamps to make room for, per frame: it goes in, comes out, is lost by a FIFO, comes
/// out a second time.
const STAMPS_PER_FRAME: u32 = 4;
/// Additional stamps, for other events.
const STAMPS_BESIDES: u32 = 1 << 14;
/// How much longer than its frames need the kernel's tester may take, ns.
const TESTER_TIMEOUT: Nanos = 60_000_000_000;
/// Interval between two checks during a long run.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The buses and the settings of a measurement on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedBench {
    /// The bus on which the tester sends.
    pub send_bus: u8,
    /// The bus on which frames come out of the gateway; equal to [`TimedBench::send_bus`] without a
    /// gateway.
    pub receive_bus: u8,
    /// Stamps are taken of every n-th frame only; 1 for all.
    pub stamp_every: u32,
    /// The bit rates of the sending bus, for [`TrafficPattern::Load`] and the description.
    pub rate: Option<BitRate>,
}

/// Sends, stamps and matches on bit-timed buses.
///
/// # Errors
/// [`Error`] where the run cannot begin, or the device fails.
pub fn over_bitcan(setup: &TestSetup, bench: &TimedBench) -> Result<TesterOutcome, Error> {
    in_own_thread(|| sent(setup, bench))
}

/// The tester on the bit-timed buses after its run: it acknowledges the frames that a gateway still
/// sends; without an acknowledgement, a frame after a load would be repeated for ever. It stamps
/// nothing.
pub struct ListeningTester(
    #[expect(dead_code, reason = "it is on the buses while it is open")] BitcanTester,
);

impl ListeningTester {
    /// Joins every bus that exists, until the value is dropped.
    ///
    /// # Errors
    /// [`Error`] where the device is not there, or another process has it.
    pub fn begin() -> Result<Self, Error> {
        Ok(Self(BitcanTester::open(&[], 0)?))
    }
}

fn sent(setup: &TestSetup, bench: &TimedBench) -> Result<TesterOutcome, Error> {
    check(setup, bench)?;
    let planned = setup.plan.frames(bench.rate)?;
    let warnings = prepare(setup.priority);
    if setup.warm_up > 0 {
        let few = planned.len().min(setup.warm_up as usize);
        run(setup, bench, planned.get(..few).unwrap_or_default(), true)?;
    }
    let ran = run(setup, bench, &planned, false)?;
    Ok(outcome(setup, bench, planned, &ran, warnings))
}

/// Evaluates stamps that another tester has taken on bit-timed buses, from frames of this plan: an
/// image without an operating system contains such a tester. `started`: bus time at its start, ns;
/// `lost`: stamps that had no room.
///
/// # Errors
/// [`Error`]: the plan or the buses are not valid.
pub fn from_stamps(
    setup: &TestSetup,
    bench: &TimedBench,
    stamps: Vec<BitcanStamp>,
    started: Nanos,
    lost: u64,
) -> Result<TesterOutcome, Error> {
    check(setup, bench)?;
    let planned = setup.plan.frames(bench.rate)?;
    let ran = DeviceRun {
        stamps,
        unknown: 0,
        started,
        lost,
        done: true,
    };
    Ok(outcome(setup, bench, planned, &ran, Vec::new()))
}

fn outcome(
    setup: &TestSetup,
    bench: &TimedBench,
    planned: Vec<PlannedFrame>,
    ran: &DeviceRun,
    mut warnings: Vec<String>,
) -> TesterOutcome {
    let mut recorder = FateRecorder::new(planned, setup.timeout, BusTime::Reception);
    let mut taken = matched(&mut recorder, &ran.stamps, bench);
    taken.played.elapsed = ran.elapsed();
    taken.played.failure = ran.failure(bench, &taken);
    if ran.lost > 0 || ran.unknown > 0 {
        warnings.push(format!(
            "{} stamps did not fit and {} were of an unknown kind: as many frames may be \
             counted as lost although they were not",
            ran.lost, ran.unknown
        ));
    }
    if taken.bus_off > 0 {
        warnings.push(format!("nodes went bus-off {} times", taken.bus_off));
    }
    let words = words(setup, bench);
    let mut outcome = assemble(setup, &words, &recorder, &taken.played, warnings);
    outcome.overruns = Some(taken.overruns);
    if bench.stamp_every > 1 {
        // To the recorder, the frames in between are neither sent nor lost: it never saw them.
        let every = ("stamp_every".to_owned(), bench.stamp_every.to_string());
        outcome.results.description.more.push(every);
    }
    outcome
}

fn check(setup: &TestSetup, bench: &TimedBench) -> Result<(), Error> {
    if bench.send_bus >= BUSES || bench.receive_bus >= BUSES {
        return Err(Error::Bench(format!(
            "buses have the numbers 0 to {}",
            BUSES - 1
        )));
    }
    if bench.send_bus == bench.receive_bus && setup.measure == LatencyMeasure::Gateway {
        return Err(Error::Bench(
            "the gateway's two buses must be different: give --send-bus and --receive-bus"
                .to_owned(),
        ));
    }
    if setup.measure != LatencyMeasure::Gateway {
        return Err(Error::Bench(
            "the bit-timed bus stamps at the end of frame itself, so that there is nothing for a \
             self-check to find"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The data that the device returned.
pub(crate) struct DeviceRun {
    pub(crate) stamps: Vec<BitcanStamp>,
    pub(crate) unknown: u64,
    /// Bus time at which the run began.
    pub(crate) started: Nanos,
    /// Stamps that had no room.
    pub(crate) lost: u64,
    /// Whether the run came to its end.
    pub(crate) done: bool,
}

pub(crate) fn run(
    setup: &TestSetup,
    bench: &TimedBench,
    planned: &[PlannedFrame],
    warm: bool,
) -> Result<DeviceRun, Error> {
    let (later, beside) = match warm {
        true => (0, Vec::new()),
        false => setup.plan.together(),
    };
    let measured = planned.iter().map(|p| TimedFrame {
        at: p.at.saturating_add(later),
        bus: bench.send_bus,
        frame: p.frame,
    });
    let besides = beside.iter().map(|(at, frame)| TimedFrame {
        at: *at,
        bus: bench.receive_bus,
        frame: *frame,
    });
    // In the order of each bus; the buses do not wait for one another.
    let frames: Vec<TimedFrame> = measured.chain(besides).collect();
    let stamps = (frames.len() as u32)
        .saturating_mul(STAMPS_PER_FRAME)
        .saturating_add(STAMPS_BESIDES);
    let mode = if warm || setup.plan.traffic == PlanSource::Made(TrafficPattern::OneAtATime) {
        SendMode::OneAtATime {
            return_bus: bench.receive_bus,
        }
    } else {
        SendMode::Schedule
    };
    let mut tester = BitcanTester::open(&frames, stamps)?;
    tester.start(mode, setup.timeout, bench.stamp_every)?;
    let last = frames.iter().map(|f| f.at).max().unwrap_or(0);
    let most = longest(frames.len() as u64, last, mode, setup.timeout);
    let done = wait(&mut tester, most)?;
    if !done {
        tester.stop()?;
    }
    let (stamps, unknown) = tester.stamps();
    let progress = tester.progress();
    Ok(DeviceRun {
        stamps,
        unknown,
        started: progress.started,
        lost: progress.stamps_lost,
        done,
    })
}

/// Returns the longest time that a run can take, ns: every frame lost, or every frame of the
/// greatest length.
fn longest(n: u64, last: Nanos, mode: SendMode, timeout: Nanos) -> Nanos {
    // The longest FD frame has 732 bits, with intermission (docs of `frame::wire`), which take
    // less than this at 10 kbit/s, the lowest rate in use.
    const SLOWEST: Nanos = 80_000_000;
    let each = match mode {
        SendMode::OneAtATime { .. } => timeout,
        SendMode::Schedule => SLOWEST,
    };
    n.saturating_mul(each)
        .saturating_add(last)
        .saturating_add(timeout)
        .saturating_add(TESTER_TIMEOUT)
}

fn wait(tester: &mut BitcanTester, most: Nanos) -> Result<bool, Error> {
    let mut left = Duration::from_nanos(most);
    while !left.is_zero() {
        let now = left.min(CHECK_INTERVAL);
        if tester.wait(now)? {
            return Ok(true);
        }
        left -= now;
    }
    Ok(false)
}

impl DeviceRun {
    /// Returns the time from the start to the last event, ns.
    fn elapsed(&self) -> Nanos {
        let last = self.stamps.iter().map(|s| s.end).max();
        last.map_or(0, |end| end.saturating_sub(self.started))
    }

    fn failure(&self, bench: &TimedBench, taken: &MatchCounts) -> Option<RunFault> {
        if !self.done {
            return Some(RunFault::Stuck(format!(
                "{DEVICE}, bus {},",
                bench.send_bus
            )));
        }
        let silent = taken.first_out.is_none() && taken.first_in.is_some();
        (silent && taken.overruns == 0).then(|| {
            RunFault::Silence(format!(
                "no frame came out on bus {}: is the gateway running, and does it let them pass \
                 from bus {} to bus {}?",
                bench.receive_bus, bench.send_bus, bench.receive_bus
            ))
        })
    }
}

/// The counts made while matching.
#[derive(Default)]
struct MatchCounts {
    played: PlayedCounts,
    overruns: u64,
    bus_off: u64,
    first_in: Option<Nanos>,
    first_out: Option<Nanos>,
}

/// Records the stamps in the recorder, in the order of time.
fn matched(recorder: &mut FateRecorder, stamps: &[BitcanStamp], bench: &TimedBench) -> MatchCounts {
    let mut taken = MatchCounts::default();
    let mut order: Vec<&BitcanStamp> = stamps.iter().collect();
    // A stable sort: events of the same time keep the order in which they were taken.
    order.sort_by_key(|stamp| stamp.end);
    // By number: the next frame of the plan that carries it.
    let mut next: Vec<u32> = (0..1 << 16).collect();
    for stamp in order {
        let frame = match stamp.event {
            BitcanEvent::Frame(frame) => frame,
            BitcanEvent::ErrorFrame => {
                let which = if stamp.bus == bench.send_bus { 0 } else { 2 };
                if let Some(count) = taken.played.error_frames.get_mut(which) {
                    *count += 1;
                }
                continue;
            }
            BitcanEvent::Overrun => {
                taken.overruns += 1;
                continue;
            }
            BitcanEvent::BusOff => {
                taken.bus_off += 1;
                continue;
            }
        };
        if stamp.bus == bench.send_bus && stamp.node == 0 {
            let number = number_in(frame.data(), 0).unwrap_or(0);
            if let Some(next) = next.get_mut(usize::from(number)) {
                // The kernel sends in the order of the plan, each frame once.
                recorder.sent(*next, stamp.end);
                *next = next.saturating_add(1 << 16);
            }
            recorder.incoming(&frame, stamp.end);
            taken.first_in.get_or_insert(stamp.end);
        } else if stamp.bus == bench.receive_bus && stamp.node != 0 {
            recorder.outgoing(&frame, stamp.end, Some(Nanos::from(stamp.duration)));
            taken.first_out.get_or_insert(stamp.end);
        }
    }
    taken
}

fn words(setup: &TestSetup, bench: &TimedBench) -> BenchWords {
    BenchWords {
        bench: "bitcan",
        time_base: format!(
            "{} time (CLOCK_MONOTONIC of the bit-timed bus)",
            clock(setup.virtual_time)
        ),
        stamp: "end of frame, last bit of EOF, exact".to_owned(),
        blind_spots: "what real controllers and transceivers add; tolerance of the bit rates; \
                      stamps are as exact as the kernel's timer is on time"
            .to_owned(),
        bit_rates: bench
            .rate
            .map_or_else(|| "as the interfaces are set".to_owned(), |r| r.to_string()),
        ports: [
            format!("bus {}", bench.send_bus),
            format!("bus {}", bench.receive_bus),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestPlan;
    use frame::{CanId, Frame};

    const BENCH: TimedBench = TimedBench {
        send_bus: 0,
        receive_bus: 1,
        stamp_every: 1,
        rate: None,
    };

    fn stamp(end: Nanos, bus: u8, node: u16, event: BitcanEvent) -> BitcanStamp {
        BitcanStamp {
            end,
            duration: 222_000,
            bus,
            node,
            event,
        }
    }

    fn recorder(frames: u32) -> FateRecorder {
        let plan = TestPlan {
            frames,
            traffic: TrafficPattern::Flood.into(),
            ..TestPlan::default()
        };
        FateRecorder::new(
            plan.frames(None).unwrap(),
            1_000_000_000,
            BusTime::Reception,
        )
    }

    #[test]
    fn stamps_become_latencies_and_losses() {
        let mut recorder = recorder(4);
        let frames: Vec<Frame> = recorder.planned().iter().map(|p| p.frame).collect();
        let other = Frame::classic(CanId::from_raw(9), &[0, 1]).unwrap();
        let stamps = [
            stamp(300_000, 0, 0, BitcanEvent::Frame(frames[0])),
            stamp(600_000, 0, 0, BitcanEvent::Frame(frames[1])),
            // Out of the order of time: buses are stamped one after the other.
            stamp(550_000, 1, 7, BitcanEvent::Frame(frames[0])),
            stamp(700_000, 0, 5, BitcanEvent::ErrorFrame),
            stamp(700_000, 1, 5, BitcanEvent::ErrorFrame),
            stamp(900_000, 0, 0, BitcanEvent::Frame(frames[2])),
            stamp(900_000, 0, 5, BitcanEvent::Overrun),
            stamp(950_000, 0, 5, BitcanEvent::Frame(other)),
            stamp(990_000, 1, 0, BitcanEvent::Frame(frames[2])),
            stamp(1_200_000, 1, 7, BitcanEvent::Frame(frames[1])),
        ];
        let taken = matched(&mut recorder, &stamps, &BENCH);
        assert_eq!(taken.played.error_frames, [1, 0, 1]);
        assert_eq!((taken.overruns, taken.bus_off), (1, 0));
        let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
        let latencies: Vec<_> = records.iter().map(probe::FrameRecord::latency).collect();
        assert_eq!(latencies, [Some(28_000), Some(378_000), None]);
        assert_eq!((counts.sent, counts.received, counts.lost), (3, 2, 1));
        assert_eq!(counts.not_tried, 1, "never on the bus");
        assert_eq!(
            counts.foreign, 0,
            "another node's frames are not the tester's"
        );
    }

    /// More frames than numbers: each generation is matched with its own.
    #[test]
    fn numbers_come_round() {
        let n = (1 << 16) + 3;
        let mut recorder = recorder(n);
        let frames: Vec<Frame> = recorder.planned().iter().map(|p| p.frame).collect();
        let end = |i: usize| 1_000_000 + i as u64 * 300_000;
        let numbered = || frames.iter().enumerate();
        // One bus after the other: the matching code sorts them by time.
        let stamps: Vec<BitcanStamp> = numbered()
            .map(|(i, &frame)| stamp(end(i), 0, 0, BitcanEvent::Frame(frame)))
            .chain(numbered().map(|(i, &frame)| {
                stamp(end(i) + 222_000 + i as u64, 1, 3, BitcanEvent::Frame(frame))
            }))
            .collect();
        matched(&mut recorder, &stamps, &BENCH);
        let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
        assert_eq!((counts.received, counts.lost), (u64::from(n), 0));
        for (i, record) in records.iter().enumerate() {
            assert_eq!(record.latency(), Some(i as i64));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad = |bench: TimedBench| check(&TestSetup::default(), &bench).is_err();
        assert!(bad(TimedBench {
            receive_bus: 0,
            ..BENCH
        }));
        assert!(bad(TimedBench {
            send_bus: 8,
            ..BENCH
        }));
        assert!(!bad(BENCH));
        let setup = TestSetup {
            measure: LatencyMeasure::Sending,
            ..TestSetup::default()
        };
        assert!(check(&setup, &BENCH).is_err());
    }
}
