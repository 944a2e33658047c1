//! Round trips of a program in an inner machine (virtualization-2015 §5.1, Fig. 3).
//!
//! The program under test asks on a controller of the bus: natively, or in an inner machine by one
//! of the ways of [`Nesting`](crate::Nesting). Another node of the bus answers: a program next to
//! the hypervisor's programs, with the highest priority of all, so that it answers as it would on a
//! machine of its own. It is the same for all ways, and the time that one way adds to another is in
//! the round trip once for sending and once for receiving.

use super::beside::{MomentSpan, RunningSenders, asks};
use super::error::MeasureError;
use super::gateway::write;
use super::incident::{self, SeenIncident};
use super::round_trip::{LOSS, PRIORITY, SETTLE, TRIPS, WARM_UP};
use super::sharing::{self, CARD, INSIDE, OTHER_CARD, SharingMachines};
use super::{TIMEOUT, blind_spots};
use crate::choices::Incident;
use crate::describe::describe;
use crate::measurement::{ProgramTask, SharedController};
use crate::nested::{self, PER_TRIP};
use crate::round_trip::{self, BUS};
use crate::settings::Experiment;
use crate::spec::BITRATE;
use crate::trial::RESULTS;
use crate::under_test::{self, INCOMING, OUTGOING};
use guest::agent::JobOutputs;
use guest::inner::{ExitCounts, InnerMachine};
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::{BackgroundProgram, ProgramError, output};
use probe::RunResults;
use probe::traffic::TrafficPattern;
use std::path::Path;
use std::time::Duration;
use tester::ListeningTester;

/// The priority of the node that answers: above everything under test.
const ANSWERS: &str = "95";
/// Time after which an unanswered frame is lost, where other machines send at the same time, ns:
/// one that babbles can keep all others from the bus.
const SHORT_TIMEOUT: u64 = 100_000_000;
/// Time for which the others' frames are observed without round trips.
const ALONE: Duration = Duration::from_millis(500);
/// Time given to the node that answers to start.
const START: Duration = Duration::from_millis(500);
/// The parameter of `kmod/nesting` that sets the cost of an exit.
pub(super) const EXIT_COST: &str = "/sys/module/nesting/parameters/exit_ns";

/// A program that asks, or waits for its own frames, and another node of the bus.
pub(super) struct NestedProgram {
    program: SharedController,
    sharing: SharingMachines,
    node: OtherNode,
}

/// The other node of the bus; it exists as long as this value.
enum OtherNode {
    /// The node answers.
    Answers(BackgroundProgram),
    /// The node acknowledges, and takes no processor time.
    Acknowledges(#[allow(dead_code, reason = "it listens as long as it is kept")] ListeningTester),
}

impl NestedProgram {
    /// Starts the component that shares the controller with its machines, and the other node.
    pub(super) fn prepare(
        experiment: &Experiment,
        program: SharedController,
    ) -> Result<Self, MeasureError> {
        let sharing = sharing::start(experiment, program.way)?;
        if program.task == ProgramTask::Loop {
            leave_the_bus()?;
            let node = OtherNode::Acknowledges(ListeningTester::begin()?);
            let mut nested = Self {
                program,
                sharing,
                node,
            };
            nested.ping(experiment, WARM_UP)?;
            return Ok(nested);
        }
        let other = if program.way.is_card() {
            OTHER_CARD
        } else {
            OUTGOING
        };
        let slave = ["cangate", "ping", "-q", "--slave", other];
        let line = [&slave[..], &["--priority", ANSWERS]].concat();
        let mut slave = BackgroundProgram::start(Some(GATEWAY), &line, "/tmp/answers")?;
        std::thread::sleep(START);
        if let Some(ended) = slave.ended() {
            return Err(MeasureError::GatewayEnded(ended));
        }
        let node = OtherNode::Answers(slave);
        let mut nested = Self {
            program,
            sharing,
            node,
        };
        nested.ping(experiment, WARM_UP)?;
        Ok(nested)
    }

    /// Makes the round trips, and passes the results to the host.
    pub(super) fn measure(
        mut self,
        experiment: &Experiment,
        outputs: &mut JobOutputs,
    ) -> Result<(), MeasureError> {
        let inside = self.sharing.machine.is_some();
        if inside {
            // This is set only now, so that saved guests are the same for all costs.
            write(EXIT_COST, &experiment.exit_cost.to_string())?;
        }
        std::thread::sleep(SETTLE);
        let (mut results, more) = if self.sharing.beside.is_empty() {
            self.alone(experiment)?
        } else {
            self.beside(experiment)?
        };
        let made = results.records.len();
        let asked = WARM_UP + experiment.frames;
        if made != asked as usize {
            return Err(MeasureError::RoundTrips { asked, made });
        }
        results.records.drain(..WARM_UP as usize);
        let description = &mut results.description;
        description.config = under_test::abridged(&under_test::config(experiment)?);
        describe(description, experiment, &[]);
        if self.program.way.is_card() {
            // The card's driver has a bit rate; QEMU's bus has none.
            description.more.retain(|(name, _)| name != BUS);
        }
        description.time_base = if inside {
            "virtual time (CLOCK_MONOTONIC of the inner machine)"
        } else {
            "virtual time (CLOCK_MONOTONIC of the guest)"
        }
        .to_owned();
        description.more.extend(more);
        description.blind_spots.push_str("; ");
        description.blind_spots.push_str(blind_spots(experiment));
        if inside {
            description.blind_spots.push_str(
                "; the cost of an exit is KVM's work for it, without the time of the hardware and of refilling caches \
                 and TLBs; the inner machine, its monitor and all others share one processor",
            );
        }
        let mut bytes = Vec::new();
        probe::results::write_to(&mut bytes, &results)?;
        outputs.put(RESULTS, &bytes).map_err(MeasureError::Host)
    }

    /// Makes the round trips of one machine that has the bus for itself, and returns KVM's counts
    /// per round trip.
    fn alone(
        &mut self,
        experiment: &Experiment,
    ) -> Result<(RunResults, Vec<(String, String)>), MeasureError> {
        // Both counts include the cost of starting and ending the program.
        let (_, few) = self.counted(experiment, WARM_UP)?;
        std::thread::sleep(SETTLE);
        let (results, many) = self.counted(experiment, WARM_UP + experiment.frames)?;
        let mut more = Vec::new();
        if let (Some(many), Some(few)) = (many, few) {
            for (name, count) in many.since(&few).iter() {
                let each = count as f64 / f64::from(experiment.frames);
                more.push((format!("{PER_TRIP}{name}"), format!("{each:.2}")));
            }
        }
        Ok((results, more))
    }

    /// Makes the round trips of one machine while others send, and returns the others' figures.
    fn beside(
        &mut self,
        experiment: &Experiment,
    ) -> Result<(RunResults, Vec<(String, String)>), MeasureError> {
        let machines = experiment.sharing();
        let interface = interface(self.program, self.sharing.machine.is_some());
        self.sharing.budgets(machines.budget)?;
        let sharing = &mut self.sharing;
        let sending = RunningSenders::start(&mut sharing.beside, machines, || {
            asks(&mut sharing.machine, interface)
        })?;
        let kvm = self.sharing.machine.is_some();
        // Both spans include the cost of starting and ending the program.
        let (few, many) = (WARM_UP, WARM_UP + experiment.frames);
        let ((), first) = MomentSpan::measure(kvm, || self.run(experiment, few))?;
        let (way, incident) = (self.program.way, experiment.incident);
        let off = match incident {
            Incident::BusOff => Some(incident::bus_off(&mut self.sharing, way, few)?),
            _ => None,
        };
        let (struck, second) = MomentSpan::measure(kvm, || match incident {
            Incident::Kill | Incident::Pause | Incident::Reset => self.run_and_strike(experiment),
            Incident::None | Incident::BusOff => {
                self.run(experiment, many).map(|()| SeenIncident::default())
            }
        })?;
        let results = self.trips()?;
        let ((), alone) = MomentSpan::measure(kvm, || {
            std::thread::sleep(ALONE);
            Ok(())
        })?;
        let bus = round_trip::bus_time(&results).and_then(|ns| u64::try_from(ns).ok());
        let counted = results.records.iter().skip(WARM_UP as usize);
        let answered = counted.filter(|r| r.latency().is_some()).count() as u64;
        let asking = (&second.beyond(&first), answered, bus.unwrap_or(0));
        let sharing = &mut self.sharing;
        let gone = matches!(machines.incident, Incident::Kill | Incident::Reset)
            .then_some(incident::VICTIM);
        let beside = sending.stop(&mut sharing.beside, machines, gone, asking, &alone, || {
            asks(&mut sharing.machine, interface)
        })?;
        let mut more = nested::entries(&beside);
        if incident != Incident::None {
            let sharing = std::mem::take(sharing);
            let seen = off.unwrap_or(struck);
            more.extend(incident::aftermath(sharing, experiment, way, seen)?.entries());
        }
        Ok((results, more))
    }

    /// Makes the round trips, with the incident after a quarter of them.
    fn run_and_strike(&mut self, experiment: &Experiment) -> Result<SeenIncident, MeasureError> {
        let (program, incident) = (self.program, experiment.incident);
        let (count, trips) = (WARM_UP + experiment.frames, WARM_UP + experiment.frames / 4);
        let OtherNode::Answers(slave) = &self.node else {
            return Err(MeasureError::Run(
                "the other node does not answer: it only acknowledges".to_owned(),
            ));
        };
        let node = slave.id();
        let at_first = incident::frames_sent(OUTGOING, node)?;
        let answered = move || Ok(incident::frames_sent(OUTGOING, node)?.saturating_sub(at_first));
        let SharingMachines {
            machine, beside, ..
        } = &mut self.sharing;
        std::thread::scope(|scope| {
            let striking = scope
                .spawn(move || incident::strike(beside, program.way, incident, trips, answered));
            run(machine, program, experiment, count)?;
            let struck = striking.join();
            struck.unwrap_or_else(|_| {
                Err(MeasureError::Run(
                    "the thread that causes the incident has panicked".to_owned(),
                ))
            })
        })
    }

    /// Makes `count` round trips, and returns KVM's counts during them.
    fn counted(
        &mut self,
        experiment: &Experiment,
        count: u32,
    ) -> Result<(RunResults, Option<ExitCounts>), MeasureError> {
        if self.sharing.machine.is_none() {
            return Ok((self.ping(experiment, count)?, None));
        }
        let before = ExitCounts::now()?;
        self.run(experiment, count)?;
        let exits = ExitCounts::now()?.since(&before);
        Ok((self.trips()?, Some(exits)))
    }

    /// Makes `count` round trips. Unanswered ones are in the results.
    fn ping(&mut self, experiment: &Experiment, count: u32) -> Result<RunResults, MeasureError> {
        self.run(experiment, count)?;
        self.trips()
    }

    fn run(&mut self, experiment: &Experiment, count: u32) -> Result<(), MeasureError> {
        run(&mut self.sharing.machine, self.program, experiment, count)
    }

    fn trips(&mut self) -> Result<RunResults, MeasureError> {
        let path = Path::new(TRIPS);
        Ok(match &mut self.sharing.machine {
            Some(machine) => probe::results::read_bytes(path, machine.read(TRIPS)?)?,
            None => probe::results::read(path)?,
        })
    }
}

/// Takes the node that answers off the bus: it would have an interrupt for each frame.
pub(super) fn leave_the_bus() -> Result<(), MeasureError> {
    output(Some(GATEWAY), &["ip", "link", "set", OUTGOING, "down"])?;
    Ok(())
}

/// Makes `count` round trips, in the machine if there is one.
fn run(
    machine: &mut Option<InnerMachine>,
    program: SharedController,
    experiment: &Experiment,
    count: u32,
) -> Result<(), MeasureError> {
    let words = words(program, experiment, count, machine.is_some());
    let line: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(machine) = machine else {
        return match output(Some(GATEWAY), &line) {
            Err(ProgramError::Failed { status, .. }) if status.code() == Some(LOSS) => Ok(()),
            other => Ok(other.map(drop)?),
        };
    };
    let ran = machine.run(&line)?;
    if ran.status == 0 || ran.status == LOSS {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&ran.stderr);
    Err(MeasureError::Run(format!(
        "in the inner machine: {}",
        text.trim()
    )))
}

/// Returns the interface of the program that asks.
fn interface(program: SharedController, inside: bool) -> &'static str {
    match (inside, program.way.is_card()) {
        (true, _) => INSIDE,
        (false, true) => CARD,
        (false, false) => INCOMING,
    }
}

/// Returns the command that makes `count` round trips.
fn words(
    program: SharedController,
    experiment: &Experiment,
    count: u32,
    inside: bool,
) -> Vec<String> {
    let period = match experiment.traffic {
        TrafficPattern::Period(ns) => ns / 1000,
        _ => 0,
    };
    let interface = interface(program, inside);
    let timeout = if experiment.machines > 1 {
        SHORT_TIMEOUT
    } else {
        TIMEOUT
    };
    let mut line = format!(
        "cangate ping -q {interface} --count {count} --period {period} --timeout {} --payload {} --priority {PRIORITY} \
         --out {TRIPS}",
        timeout / 1_000_000,
        experiment.payload,
    );
    if !program.way.is_card() {
        line.push_str(&format!(" --bitrate {BITRATE}"));
    }
    if program.task == ProgramTask::Loop {
        line.push_str(" --own");
    }
    line.split(' ').map(str::to_owned).collect()
}
