//! Reception by a program of frames that a node of the bus sends (virtualization-2015 §5.3).
//!
//! The tester of the timed bench sends: the kernel sends its frames, so that it takes no processor
//! time except its bus's, and with `--traffic flood` the bus is busy all the time. The program
//! under test records (`cangate capture`), natively or in an inner machine. Frames that arrived are
//! counted in the driver of the controller's owner, at the machine's interface, and by the program.

use super::beside::{asks, counted, idle, native};
use super::error::MeasureError;
use super::gateway::write;
use super::nested::{EXIT_COST, leave_the_bus};
use super::round_trip::{PRIORITY, SETTLE, WARM_UP};
use super::sharing::{self, INSIDE, OWNED, SharingMachines};
use super::{PAUSE, blind_spots};
use crate::choices::Nesting;
use crate::describe::describe;
use crate::plan::plan;
use crate::receiving::{ReceivedCounts, entries};
use crate::settings::Experiment;
use crate::spec::BITRATE;
use crate::trial::RESULTS;
use crate::under_test::{self, INCOMING};
use frame::wire::BitRate;
use guest::agent::JobOutputs;
use guest::inner::ExitCounts;
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::output;
use probe::traffic::{TrafficPattern, number_in};
use probe::{FrameRecord, IncomingFrame, RunDescription, RunResults, Status};
use std::time::Duration;
use tester::{SentFrame, TestPlan, one_way};

/// The bus of the controller under test.
const BUS: u8 = 0;
/// Bits between two frames (ISO 11898-1).
const INTERMISSION: u64 = 3;
/// The file to which the program writes received frames.
const RECEIVED: &str = "/tmp/received.log";
const START: &str = include_str!("receive.sh");
const END: &str = include_str!("received.sh");
/// Time given to the program to start.
const START_TIME: Duration = Duration::from_millis(500);

/// The component that shares the controller with the machine that receives.
pub(super) struct SharingPeer {
    sharing: SharingMachines,
    nesting: Nesting,
}

/// The observations of a run.
struct SeenRun {
    sent: Vec<SentFrame>,
    counts: ReceivedCounts,
    /// The numbers of the frames that the program received, in their order.
    numbers: Vec<u16>,
}

impl SharingPeer {
    /// Starts the component that shares the controller, and sends some frames.
    pub(super) fn prepare(experiment: &Experiment, nesting: Nesting) -> Result<Self, MeasureError> {
        let sharing = sharing::start(experiment, nesting)?;
        leave_the_bus()?;
        let mut receiver = Self { sharing, nesting };
        let few = TestPlan {
            traffic: TrafficPattern::Load(10).into(),
            frames: WARM_UP,
            ..plan(experiment)
        };
        receiver.run(&few)?;
        Ok(receiver)
    }

    /// Sends the frames, and passes the fate of each to the host.
    pub(super) fn measure(
        mut self,
        experiment: &Experiment,
        outputs: &mut JobOutputs,
    ) -> Result<(), MeasureError> {
        if self.sharing.machine.is_some() {
            // This is set only now, so that saved guests are the same for all costs.
            write(EXIT_COST, &experiment.exit_cost.to_string())?;
        }
        std::thread::sleep(SETTLE);
        let seen = self.run(&plan(experiment))?;
        let mut description = RunDescription {
            version: format!("cangate {}", env!("CARGO_PKG_VERSION")),
            config: under_test::abridged(&under_test::config(experiment)?),
            stamp: "end of frame on the bus; when the program had it was not taken".to_owned(),
            time_base: "virtual time (the bus's)".to_owned(),
            blind_spots: blind_spots(experiment).to_owned(),
            ..RunDescription::default()
        };
        describe(&mut description, experiment, &[]);
        description.more.extend(entries(&seen.counts));
        let results = RunResults {
            description,
            ports: vec![INCOMING.to_owned()],
            records: records(&seen.sent, &seen.numbers),
            ..RunResults::default()
        };
        let mut bytes = Vec::new();
        probe::results::write_to(&mut bytes, &results)?;
        outputs.put(RESULTS, &bytes).map_err(MeasureError::Host)
    }

    /// Lets the program receive the frames that the tester sends.
    fn run(&mut self, plan: &TestPlan) -> Result<SeenRun, MeasureError> {
        let interface = if self.sharing.machine.is_some() {
            INSIDE
        } else {
            INCOMING
        };
        let machine = asks(&mut self.sharing.machine, interface)?.heard;
        let owner = self.owner()?;
        self.in_machine(&["sh", "-c", START, "sh", interface, PRIORITY])?;
        std::thread::sleep(START_TIME);
        let exits = self
            .sharing
            .machine
            .is_some()
            .then(ExitCounts::now)
            .transpose()?;
        let before = idle()?;
        let sent = one_way(plan, BUS, BitRate::new(BITRATE, None)?, None)?;
        let idle = idle()?.saturating_sub(before);
        let exits = exits.map(|exits| Ok::<_, MeasureError>(ExitCounts::now()?.since(&exits)));
        let exits = exits.transpose()?;
        // Frames on their way to the machine arrive during this pause.
        std::thread::sleep(PAUSE);
        let text = self.in_machine(&["sh", "-c", END, "sh"])?;
        let text: serde_json::Value = serde_json::from_str(&text)?;
        let program = text["received"].as_u64().ok_or_else(|| {
            MeasureError::Run(format!("the output of the receiving program is `{text}`"))
        })?;
        let log = match &mut self.sharing.machine {
            Some(machine) => machine.read(RECEIVED)?,
            None => std::fs::read(RECEIVED).map_err(super::gateway::file("read", RECEIVED))?,
        };
        let time = span(&sent);
        let frames = sent.len().max(1) as f64;
        let counts = ReceivedCounts {
            bus: sent.len() as u64,
            load: load(&sent),
            owner: self.owner()?.saturating_sub(owner),
            machine: asks(&mut self.sharing.machine, interface)?
                .heard
                .saturating_sub(machine),
            program,
            idle: 100.0 * idle.as_nanos() as f64 / time.max(1) as f64,
            exits: exits
                .iter()
                .flat_map(ExitCounts::iter)
                .map(|(name, count)| (name.to_owned(), count as f64 / frames))
                .collect(),
        };
        let numbers = numbers(&String::from_utf8_lossy(&log));
        Ok(SeenRun {
            sent,
            counts,
            numbers,
        })
    }

    /// Returns the number of frames that the driver of the controller's owner has passed on.
    fn owner(&mut self) -> Result<u64, MeasureError> {
        let heard = match (self.nesting, &mut self.sharing.owner) {
            (_, Some(owner)) => counted(OWNED, |line| Ok(owner.output(line)?))?,
            (Nesting::Function, None) => asks(&mut self.sharing.machine, INSIDE)?,
            (_, None) => native(INCOMING)?,
        };
        Ok(heard.heard)
    }

    fn in_machine(&mut self, line: &[&str]) -> Result<String, MeasureError> {
        Ok(match &mut self.sharing.machine {
            Some(machine) => machine.output(line)?,
            None => output(Some(GATEWAY), line)?,
        })
    }
}

/// Returns the time from the first end of frame to the last, ns.
fn span(sent: &[SentFrame]) -> u64 {
    match (sent.first(), sent.last()) {
        (Some(first), Some(last)) => last.end.saturating_sub(first.end),
        _ => 0,
    }
}

/// Returns the percentage of that time with a frame on the bus, intermissions included.
fn load(sent: &[SentFrame]) -> f64 {
    let pause = INTERMISSION * 1_000_000_000 / u64::from(BITRATE);
    let busy: u64 = sent
        .iter()
        .skip(1)
        .map(|one| u64::from(one.duration) + pause)
        .sum();
    100.0 * busy as f64 / span(sent).max(1) as f64
}

/// Parses the numbers of the frames in candump's log format: `(TIME) INTERFACE ID#DATA`.
fn numbers(log: &str) -> Vec<u16> {
    let number = |line: &str| {
        let (_, data) = line.split_once('#')?;
        let digits = data.get(..4)?;
        let both = u16::from_str_radix(digits, 16).ok()?;
        number_in(&both.to_be_bytes(), 0)
    };
    log.lines().filter_map(number).collect()
}

/// Returns the fate of each frame: those that arrived keep their order.
fn records(sent: &[SentFrame], numbers: &[u16]) -> Vec<FrameRecord> {
    let mut arrived = numbers.iter().copied().peekable();
    let mut records = Vec::with_capacity(sent.len());
    for (tag, one) in (0..).zip(sent) {
        let number = number_in(one.frame.data(), 0);
        let here = arrived.next_if(|next| Some(*next) == number).is_some();
        records.push(FrameRecord {
            tag,
            route: None,
            incoming: Some(IncomingFrame {
                port: 0,
                id: one.frame.id(),
                kind: Some(one.frame.kind()),
                len: u16::try_from(one.frame.data().len()).unwrap_or(u16::MAX),
                end: one.end,
            }),
            outgoing: None,
            status: if here {
                Status::Delivered
            } else {
                Status::Lost
            },
            processing: None,
            accesses: None,
        });
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};

    fn sent(count: u16) -> Vec<SentFrame> {
        let one = |n: u16| SentFrame {
            frame: Frame::classic(CanId::from_raw(0x123), &n.to_be_bytes()).unwrap(),
            end: 1_000 + u64::from(n) * 10_000,
            duration: 4_000,
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn what_a_program_has_is_reported_by_numbers() {
        let log = "(1.0) can0 123#0000AA\n(1.1) can0 123#0002\n(1.2) can0 20000088#00\n";
        assert_eq!(numbers(log), [0, 2]);
        let of = |r: &FrameRecord| r.status;
        let statuses: Vec<Status> = records(&sent(3), &[0, 2]).iter().map(of).collect();
        assert_eq!(
            statuses,
            [Status::Delivered, Status::Lost, Status::Delivered]
        );
    }

    #[test]
    fn a_bus_is_busy_while_frames_and_intermissions_are_on_it() {
        // 4 µs and 3 bits of 1 µs in 10 µs.
        assert_eq!(load(&sent(11)).round(), 70.0);
        assert_eq!(load(&[]), 0.0);
    }
}
