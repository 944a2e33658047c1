//! The outcome of machines in step, in the form of that of a guest.

use super::{COUNTS, SIGNALS, StepSignal, TESTER_NUMBER};
use crate::measure::{self, MeasureError};
use crate::passage::frame_of;
use crate::plan::bit_rate;
use crate::settings::Experiment;
use crate::trial::RESULTS;
use crate::under_test::{INCOMING, OUTGOING};
use frame::wire::{self, BitRate};
use frame::{Frame, FrameRef};
use guest::lockstep::{LinkRecord, LockstepOutcome, LockstepPlan, RecordKind};
use guest::{GuestFailure, GuestOutcome};
use tester::{BusEvent, BusStamp, TesterOutcome, TimedBench};

/// The buses of the stamps.
const INCOMING_BUS: u8 = 0;
const OUTGOING_BUS: u8 = 1;
/// The nodes of the stamps: the tester's, as on the timed bench, and the gateway's.
const TESTER_NODE: u16 = 0;
const GATEWAY_NODE: u16 = 1;

/// The reason why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum ApartError {
    /// The gateway's machine has handed out no counts.
    #[error("the gateway's machine has handed out no {COUNTS}")]
    NoCounts,
    /// The plan has no bus with this name.
    #[error("the machines have no bus {0}")]
    NoBus(&'static str),
    /// The measurement has not begun.
    #[error("no machine has signalled that the measurement begins")]
    NoBeginning,
    /// A bus has carried something that is not a frame.
    #[error("at {0} ns, a bus has carried something that is not a classic frame")]
    NoFrame(u64),
    /// The measurement is not valid, or not every frame is accounted for.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// Returns the outcome of the experiment, from that of its machines. A run without results has a
/// failure in it.
#[must_use]
pub fn outcome(
    experiment: &Experiment,
    plan: &LockstepPlan,
    outcome: LockstepOutcome,
) -> GuestOutcome {
    let LockstepOutcome { machines, links } = outcome;
    let mut guests = machines.into_iter().map(|machine| machine.guest);
    let mut measured = guests.next().unwrap_or_default();
    if !experiment.is_between_cards() {
        return measured;
    }
    let made = match counts(&measured) {
        Ok(counts) => results(experiment, plan, &links, counts),
        Err(error) => Err(error),
    };
    match made {
        Ok(bytes) => measured.outputs = vec![(RESULTS.to_owned(), bytes)],
        Err(error) => {
            let message = guest::with_causes(&error);
            measured.failure = Some(GuestFailure::Guest { message });
        }
    }
    measured
}

fn counts(measured: &GuestOutcome) -> Result<&[u8], ApartError> {
    let mut files = measured.outputs.iter();
    let file = files.find(|(name, _)| name == COUNTS);
    file.map(|(_, bytes)| bytes.as_slice())
        .ok_or(ApartError::NoCounts)
}

/// Returns the results' file.
fn results(
    experiment: &Experiment,
    plan: &LockstepPlan,
    links: &[Vec<LinkRecord>],
    counts: &[u8],
) -> Result<Vec<u8>, ApartError> {
    let of = |name: &'static str| {
        let place = plan.links.iter().position(|link| link.name == name);
        let records = place.and_then(|place| links.get(place));
        records.ok_or(ApartError::NoBus(name))
    };
    let signals = of(SIGNALS)?;
    let is_beginning = |record: &&LinkRecord| {
        frame_of(record).is_some_and(|it| it.id() == StepSignal::Measure.id())
    };
    let begin = signals.iter().find(is_beginning);
    let begin = begin.ok_or(ApartError::NoBeginning)?.at;
    let rate = bit_rate(experiment).map_err(MeasureError::from)?;
    let (incoming, outgoing) = (of(INCOMING)?, of(OUTGOING)?);
    let mut stamps = Vec::with_capacity(incoming.len() + outgoing.len());
    for (bus, records) in [(INCOMING_BUS, incoming), (OUTGOING_BUS, outgoing)] {
        for record in records.iter().filter(|record| record.asked >= begin) {
            stamps.extend(stamp(bus, record, rate)?);
        }
    }
    let outcome = matched(experiment, stamps, begin)?;
    Ok(measure::apart::accounted(experiment, outcome, counts)?)
}

/// Matches the frames of both buses, as on the timed bench.
fn matched(
    experiment: &Experiment,
    stamps: Vec<BusStamp>,
    begin: u64,
) -> Result<TesterOutcome, MeasureError> {
    let setup = measure::setup(experiment)?;
    let bench = TimedBench {
        send_bus: INCOMING_BUS,
        receive_bus: OUTGOING_BUS,
        stamp_every: 1,
        rate: bit_rate(experiment)?,
    };
    let mut outcome = tester::from_stamps(&setup, &bench, stamps, begin, 0)?;
    let description = &mut outcome.results.description;
    description.time_base = "the common virtual time of all machines".to_owned();
    description.blind_spots =
        "what real controllers and transceivers add; tolerance of the bit rates; a card reports \
                               a frame as sent when it has it, not at the end of frame"
            .to_owned();
    Ok(outcome)
}

/// Returns the stamp of what happened on a bus; `None` for a frame that was never on it.
fn stamp(
    bus: u8,
    record: &LinkRecord,
    rate: Option<BitRate>,
) -> Result<Option<BusStamp>, ApartError> {
    let event = match record.kind {
        RecordKind::Sent => {
            let frame = frame_of(record).and_then(Frame::from_view);
            BusEvent::Frame(frame.ok_or(ApartError::NoFrame(record.at))?)
        }
        RecordKind::Error => BusEvent::ErrorFrame,
        RecordKind::Lost | RecordKind::Crowded => return Ok(None),
    };
    let duration = frame_of(record).zip(rate).and_then(duration);
    Ok(Some(BusStamp {
        end: record.at,
        duration: duration.unwrap_or(0),
        bus,
        node: match record.machine {
            TESTER_NUMBER => TESTER_NODE,
            _ => GATEWAY_NODE,
        },
        event,
    }))
}

/// Returns the time from start of frame to end of frame, ns.
fn duration((frame, rate): (FrameRef<'_>, BitRate)) -> Option<u32> {
    u32::try_from(wire::length(frame)?.duration(rate, false)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::plan::plan;
    use super::*;
    use crate::choices::MachinePlacement;
    use crate::measure::apart::tests::counted;
    use crate::passage;
    use guest::lockstep::{MachineOutcome, MachineReport};
    use probe::Status;
    use std::path::Path;
    use std::time::Duration;

    const FRAMES: u32 = 4;
    const MEASURED_NUMBER: usize = 0;

    fn experiment() -> Experiment {
        Experiment {
            apart: MachinePlacement::Apart,
            frames: FRAMES,
            ..Experiment::default()
        }
    }

    fn record(machine: usize, asked: u64, at: u64, frame: &Frame) -> LinkRecord {
        passage::tests::record(machine, asked, at, frame.id().raw(), frame.data())
    }

    /// Returns the end of the frame with this number on the first bus, ns.
    fn end(number: usize) -> u64 {
        2_000_000 + number as u64 * 1_000_000
    }

    /// Returns the records of a run in which the frames that `comes` selects come out, each 7 µs
    /// after the end on the first bus and its own time on the second one.
    fn links(comes: impl Fn(usize) -> bool) -> Vec<Vec<LinkRecord>> {
        let e = experiment();
        let rate = bit_rate(&e).unwrap();
        let frames = measure::setup(&e).unwrap().plan.frames(rate).unwrap();
        let frames: Vec<Frame> = frames.into_iter().map(|planned| planned.frame).collect();
        // A frame of the warm-up is the same as the first one that counts.
        let mut incoming = vec![record(TESTER_NUMBER, 400_000, 500_000, &frames[0])];
        let mut outgoing = vec![record(MEASURED_NUMBER, 510_000, 600_000, &frames[0])];
        for (number, frame) in frames.iter().enumerate() {
            let at = end(number);
            incoming.push(record(TESTER_NUMBER, at - 100_000, at, frame));
            if comes(number) {
                let length = u64::from(duration((frame.view(), rate.unwrap())).unwrap());
                let card = at + 6_500;
                outgoing.push(record(MEASURED_NUMBER, card, at + 7_000 + length, frame));
            }
        }
        let signal = Frame::classic(StepSignal::Measure.id(), &[]).unwrap();
        let signals = vec![record(MEASURED_NUMBER, 900_000, 1_000_000, &signal)];
        vec![incoming, outgoing, signals]
    }

    fn run(links: Vec<Vec<LinkRecord>>, counts: &[u8]) -> GuestOutcome {
        let machine = |outputs| MachineOutcome {
            guest: GuestOutcome {
                status: Some(0),
                outputs,
                ..GuestOutcome::default()
            },
            report: MachineReport {
                links: Vec::new(),
                is_ended: false,
                end: Duration::ZERO,
                meetings: 0,
            },
            outputs: [[0; 32]; 2],
        };
        let machines = vec![
            machine(vec![(COUNTS.to_owned(), counts.to_vec())]),
            machine(Vec::new()),
        ];
        let e = experiment();
        outcome(&e, &plan(&e), LockstepOutcome { machines, links })
    }

    #[test]
    fn the_times_of_the_buses_become_latencies() {
        let all = run(links(|_| true), &counted(4, 0, 4));
        assert!(all.failure.is_none(), "{:?}", all.failure);
        let [(name, bytes)] = all.outputs.as_slice() else {
            panic!("one file");
        };
        assert_eq!(name, RESULTS);
        let results = probe::results::read_bytes(Path::new(name), bytes.clone()).unwrap();
        assert_eq!(results.records.len(), FRAMES as usize);
        for (number, record) in results.records.iter().enumerate() {
            // The frame's own time on the second bus is not part of it.
            assert_eq!(record.latency(), Some(7_000));
            assert_eq!(record.incoming.unwrap().end, end(number));
            assert!(record.outgoing.unwrap().duration > 60_000);
        }
        let description = results.description;
        assert!(description.time_base.contains("common virtual time"));
        let apart = ("apart".to_owned(), "yes".to_owned());
        assert!(
            !description
                .more
                .contains(&("bench".to_owned(), "bitcan".to_owned()))
        );
        assert!(description.more.contains(&apart), "{:?}", description.more);
    }

    #[test]
    fn a_lost_frame_is_lost_at_a_known_place_or_an_error() {
        let with = |counts: &[u8]| run(links(|number| number != 2), counts);
        // The driver has received three, and reports an overrun.
        let all = with(&counted(3, 1, 3));
        assert!(all.failure.is_none(), "{:?}", all.failure);
        let bytes = all.outputs[0].1.clone();
        let results = probe::results::read_bytes(Path::new("r"), bytes).unwrap();
        assert_eq!(results.records[2].status, Status::Lost);
        let place = ("lost in the receive FIFO".to_owned(), "1".to_owned());
        let more = results.description.more;
        assert!(more.contains(&place), "{more:?}");
        // It has received four, and forwarded three; it reports no overrun; more than there were.
        for counts in [counted(4, 0, 3), counted(3, 0, 3), counted(5, 0, 3)] {
            let failure = with(&counts).failure.unwrap().to_string();
            assert!(
                failure.contains("not every frame is accounted for"),
                "{failure}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = |links, counts: &[u8]| run(links, counts).failure.unwrap().to_string();
        let whole = || links(|_| true);
        assert!(why(whole(), b"{").contains("cannot be written or read"));
        let mut silent = whole();
        silent[2].clear();
        assert!(why(silent, &counted(4, 0, 4)).contains("measurement begins"));
        let two = whole().into_iter().take(2).collect();
        assert!(why(two, &counted(4, 0, 4)).contains("no bus signals"));
        let mut garbled = whole();
        garbled[0][1].bytes.clear();
        assert!(why(garbled, &counted(4, 0, 4)).contains("not a classic frame"));
    }
}
