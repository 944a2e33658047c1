//! Incidents of a machine, or of the controller that all share, while all machines send; and the
//! fate of every frame.
//!
//! A machine that is killed or reset loses the counts of the frames that it sent. Therefore its
//! frames are counted by the component that shares the controller: it reports, for each machine,
//! the requested frames and their fate. The node that answers has received all frames on the bus.

use super::beside::{self, DATA, LoadSender, native};
use super::error::MeasureError;
use super::gateway::{SUMS, ask, file};
use super::sharing::{BITCAN, INSIDE, OtherMachine, PHYSICAL, SharingMachines, write_command};
use crate::choices::{Incident, Machines, Nesting};
use crate::incident::{IncidentAftermath, RETURNED};
use crate::settings::Experiment;
use crate::under_test::sharing::{CALL, port};
use crate::under_test::{INCOMING, OUTGOING};
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::output;
use std::time::{Duration, Instant};

/// The machine, among those other than the one that asks, to which the incident happens: the one
/// with the highest priority of them, so that it is sending at that moment.
pub(super) const VICTIM: usize = 0;
/// Time for which a machine is stopped.
const PAUSE: Duration = Duration::from_millis(50);
/// Time after which a frame that was on the wire is over.
const ON_THE_WIRE: Duration = Duration::from_millis(2);
/// Time for which the controller is bus-off.
const BUS_OFF: Duration = Duration::from_millis(50);
/// Time limit for a condition to become true, and the interval between checks for it.
const INCIDENT_TIMEOUT: Duration = Duration::from_secs(5);
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// Time given to a frame to be received, and to a gateway to end.
const SETTLE: Duration = Duration::from_millis(300);
const END: Duration = Duration::from_secs(20);

/// Number of faults that make a controller bus-off: each failed attempt adds 8 to its error
/// counter, and 256 is bus-off (ISO 11898-1).
const FAULTS: u32 = 32;

/// Returns the number of frames that an interface has sent, in the namespace of this process:
/// without starting a program, which other machines could keep from the processor.
pub(super) fn frames_sent(interface: &str, process: u32) -> Result<u64, MeasureError> {
    let path = format!("/proc/{process}/net/dev");
    let text = std::fs::read_to_string(&path).map_err(file("read", &path))?;
    sent_in(&text, interface).ok_or_else(|| unreadable(&path, &text))
}

/// Parses `/proc/net/dev`: eight numbers of receiving, then those of sending: bytes, packets, …
fn sent_in(text: &str, interface: &str) -> Option<u64> {
    let mut lines = text.lines();
    let numbers = lines.find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'))?;
    numbers.split_whitespace().nth(9)?.parse().ok()
}

/// Returns an error with the printed text.
fn unreadable(what: &str, text: &str) -> MeasureError {
    MeasureError::Run(format!("{what}: {}", text.trim()))
}

/// Returns the machine to which the incident happens.
fn victim(senders: &mut [LoadSender]) -> Result<&mut OtherMachine, MeasureError> {
    match senders.get_mut(VICTIM) {
        Some(LoadSender::Inside(other)) => Ok(other),
        _ => Err(unreadable(
            "no machine exists to which the incident could happen",
            "",
        )),
    }
}

/// The observations at the time of the incident.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenIncident {
    /// Round trips before the incident.
    before: u64,
    /// Frames of the machine that were on the bus, just after the incident.
    sent: u64,
    /// Machines that had been notified that the controller was bus-off.
    reported: u64,
}

/// Causes the incident of the machine after `trips` round trips; `answered` returns the number of
/// answers sent.
pub(super) fn strike(
    senders: &mut [LoadSender],
    nesting: Nesting,
    incident: Incident,
    trips: u32,
    answered: impl Fn() -> Result<u64, MeasureError>,
) -> Result<SeenIncident, MeasureError> {
    let victim = victim(senders)?;
    let mut before = 0;
    wait("too few round trips are made", || {
        before = answered()?;
        Ok(before >= u64::from(trips))
    })?;
    match incident {
        Incident::Kill => victim.machine.kill(),
        Incident::Reset => victim.machine.reset()?,
        Incident::Pause => {
            victim.machine.pause();
            std::thread::sleep(PAUSE);
        }
        Incident::None | Incident::BusOff => {}
    }
    if incident != Incident::Pause {
        std::thread::sleep(ON_THE_WIRE);
    }
    let sent = sent_by_victim(nesting)?;
    if incident == Incident::Pause {
        victim.machine.go_on();
    }
    Ok(SeenIncident {
        before,
        sent,
        reported: 0,
    })
}

/// Makes the controller bus-off while all send, after `before` round trips, and counts the machines
/// that are notified. Then its owner restarts it.
pub(super) fn bus_off(
    sharing: &mut SharingMachines,
    nesting: Nesting,
    before: u32,
) -> Result<SeenIncident, MeasureError> {
    let (node, host) = match nesting {
        Nesting::Function => (PHYSICAL, false),
        _ => (INCOMING, true),
    };
    let fault = format!("echo fault bus=0 node={node} frame=1 count={FAULTS} kind=bit > {BITCAN}");
    output(Some(GATEWAY), &["sh", "-c", &fault])?;
    wait("the controller is not bus-off", || owner_says(host, true))?;
    std::thread::sleep(BUS_OFF);
    let mut reported = 0;
    each(sharing, |run| {
        reported += u64::from(is_bus_off(&run(&SHOW)?));
        Ok(())
    })?;
    let sent = sent_by_victim(nesting)?;
    if host {
        output(Some(GATEWAY), &RESTART_HOST)?;
    } else {
        write_command(&format!("pf {PHYSICAL} restart"))?;
    }
    wait("the controller stays bus-off", || owner_says(host, false))?;
    if host {
        // The gateway has to be notified first: a machine may restart then.
        std::thread::sleep(SETTLE);
        each(sharing, |run| run(&RESTART).map(drop))?;
    }
    wait("a machine's interface stays bus-off", || {
        let mut all = true;
        each(sharing, |run| {
            all &= !is_bus_off(&run(&SHOW)?);
            Ok(())
        })?;
        Ok(all)
    })?;
    Ok(SeenIncident {
        before: u64::from(before),
        sent,
        reported,
    })
}

const SHOW: [&str; 6] = ["ip", "-details", "link", "show", "dev", INSIDE];
const RESTART: [&str; 7] = ["ip", "link", "set", INSIDE, "type", "can", "restart"];
const RESTART_HOST: [&str; 7] = ["ip", "link", "set", INCOMING, "type", "can", "restart"];

/// Parses the output of `ip -details link`; modes can appear before the state: `can <FD> state
/// BUS-OFF`.
fn is_bus_off(text: &str) -> bool {
    text.contains(" state BUS-OFF ")
}

/// Returns whether the controller's owner reports the expected state: bus-off or not.
fn owner_says(host: bool, off: bool) -> Result<bool, MeasureError> {
    if host {
        let show = ["ip", "-details", "link", "show", "dev", INCOMING];
        return Ok(is_bus_off(&output(Some(GATEWAY), &show)?) == off);
    }
    let text = bitcan()?;
    let all = text.lines().find(|line| line.starts_with("pf0 "));
    let state = all.and_then(|line| line.rsplit_once("state="));
    let is = state.map(|(_, state)| state == "bus-off");
    is.map(|is| is == off)
        .ok_or_else(|| unreadable(BITCAN, &text))
}

/// An operation in a machine, given a function that runs a program there.
type In<'a> = dyn FnMut(&mut dyn FnMut(&[&str]) -> Result<String, MeasureError>) -> Result<(), MeasureError>
    + 'a;

/// Runs the operation in each machine, the one that asks first.
fn each(
    sharing: &mut SharingMachines,
    mut work: impl FnMut(
        &mut dyn FnMut(&[&str]) -> Result<String, MeasureError>,
    ) -> Result<(), MeasureError>,
) -> Result<(), MeasureError> {
    let work: &mut In<'_> = &mut work;
    if let Some(machine) = &mut sharing.machine {
        work(&mut |line| Ok(machine.output(line)?))?;
    }
    for sender in &mut sharing.beside {
        if let LoadSender::Inside(other) = sender {
            work(&mut |line| Ok(other.machine.output(line)?))?;
        }
    }
    Ok(())
}

fn wait(
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, MeasureError>,
) -> Result<(), MeasureError> {
    let end = Instant::now() + INCIDENT_TIMEOUT;
    while !is_so()? {
        if Instant::now() >= end {
            return Err(unreadable(
                what,
                &format!("for {} s", INCIDENT_TIMEOUT.as_secs()),
            ));
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
    Ok(())
}

/// Determines the effects of the incident, when all others are silent: the machine returns, and all
/// frames are counted.
pub(super) fn aftermath(
    mut sharing: SharingMachines,
    experiment: &Experiment,
    nesting: Nesting,
    seen: SeenIncident,
) -> Result<IncidentAftermath, MeasureError> {
    let machines = experiment.sharing();
    let later = sent_by_victim(nesting)?.saturating_sub(seen.sent);
    let victim = victim(&mut sharing.beside)?;
    match machines.incident {
        Incident::Kill => victim.start_again()?,
        Incident::Reset => {
            victim.machine.booted()?;
            victim.up()?;
        }
        Incident::None | Incident::Pause | Incident::BusOff => {}
    }
    let (returned, received) = returns(victim, machines)?;
    let heard = native(OUTGOING)?;
    let accounts = accounts(sharing, experiment, nesting)?;
    let sum = |of: fn(&MachineAccount) -> u64| accounts.iter().map(of).sum();
    Ok(IncidentAftermath {
        before: seen.before,
        later,
        reported: seen.reported,
        returned,
        received,
        requested: sum(|a| a.requested),
        sent: sum(|a| a.sent),
        refused: sum(|a| a.refused),
        given_up: sum(|a| a.given_up),
        waiting: sum(|a| a.waiting),
        heard: heard.heard + heard.overrun,
    })
}

/// Lets the machine send some frames, and the node that answers send one: returns how many of the
/// former the node received, and how many frames the machine received.
fn returns(victim: &mut OtherMachine, machines: Machines) -> Result<(u64, u64), MeasureError> {
    let id = format!("{:03X}", beside::id(machines, VICTIM));
    let data: String = DATA.iter().map(|byte| format!("{byte:02X}")).collect();
    let count = RETURNED.to_string();
    let before = native(OUTGOING)?;
    let send = [
        "cangen", INSIDE, "-g", "1", "-n", &count, "-I", &id, "-L", "8", "-D", &data,
    ];
    victim.machine.output(&send)?;
    beside::silence()?;
    let now = native(OUTGOING)?;
    let returned = (now.heard + now.overrun).saturating_sub(before.heard + before.overrun);
    let mut heard = || -> Result<u64, MeasureError> {
        let machine = &mut victim.machine;
        Ok(beside::counted(INSIDE, |line| Ok(machine.output(line)?))?.heard)
    };
    let before = heard()?;
    output(Some(GATEWAY), &["cansend", OUTGOING, &format!("{CALL}#01")])?;
    std::thread::sleep(SETTLE);
    Ok((returned, heard()?.saturating_sub(before)))
}

/// The fates of the frames of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MachineAccount {
    requested: u64,
    sent: u64,
    refused: u64,
    given_up: u64,
    waiting: u64,
}

fn bitcan() -> Result<String, MeasureError> {
    std::fs::read_to_string(BITCAN).map_err(file("read", BITCAN))
}

/// Returns the number of frames on the bus that came from the machine of the incident.
fn sent_by_victim(nesting: Nesting) -> Result<u64, MeasureError> {
    let number = VICTIM as u8;
    if nesting == Nesting::Function {
        // The first function belongs to the machine that asks.
        let function = u32::from(number) + 1;
        let text = bitcan()?;
        return of_function(&text, function)
            .map(|account| account.sent)
            .ok_or_else(|| unreadable(BITCAN, &text));
    }
    let text = String::from_utf8_lossy(&ask()?).into_owned();
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let ports = json["ok"]["ports"].as_array();
    let name = port(number);
    let own = ports.and_then(|all| all.iter().find(|one| one["name"] == name.as_str()));
    // A port of a machine at a controller receives a frame when it was on the bus.
    own.and_then(|port| port["received"].as_u64())
        .ok_or_else(|| unreadable("the gateway's counters", &text))
}

/// Returns the accounts of all machines.
fn accounts(
    mut sharing: SharingMachines,
    experiment: &Experiment,
    nesting: Nesting,
) -> Result<Vec<MachineAccount>, MeasureError> {
    let count = u32::from(experiment.machines);
    if nesting == Nesting::Function {
        let text = bitcan()?;
        let all = (0..count).map(|number| of_function(&text, number));
        return all
            .collect::<Option<_>>()
            .ok_or_else(|| unreadable(BITCAN, &text));
    }
    // QEMU does not outlive the program behind its device; and a gateway reports these sums at its
    // end.
    sharing.machine = None;
    sharing.beside.clear();
    for program in &mut sharing.programs {
        program.end(END);
    }
    let text = std::fs::read_to_string(SUMS).map_err(file("read", SUMS))?;
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let remarks = json["remarks"].as_array().into_iter().flatten();
    let all: Vec<_> = remarks
        .filter_map(|remark| of_remark(remark.as_str()?))
        .collect();
    if all.len() == count as usize {
        Ok(all)
    } else {
        Err(unreadable("the gateway's sums", &text))
    }
}

/// Parses `/dev/bitcan`: `pf0/N key=value …`.
fn of_function(text: &str, number: u32) -> Option<MachineAccount> {
    let name = format!("{PHYSICAL}/{number} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name))?;
    let value = |key: &str| -> Option<u64> {
        let mut words = line.split(' ');
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    let sum = |keys: &[&str]| keys.iter().map(|key| value(key)).sum::<Option<u64>>();
    Some(MachineAccount {
        requested: value("requested")?,
        sent: value("sent")?,
        refused: sum(&["full", "not_permitted", "unsupported", "down"])?,
        given_up: sum(&["aborted", "dropped", "reset"])?,
        waiting: value("waiting")?,
    })
}

/// Parses a remark of a port at a controller: `… N frames requested = N sent, N refused by its
/// rights, N refused while it was down or for their kind, N given up, N waiting; …`.
fn of_remark(text: &str) -> Option<MachineAccount> {
    let (_, text) = text.split_once("controller can: ")?;
    let (text, _) = text.split_once(';')?;
    let (requested, fates) = text.split_once(" frames requested = ")?;
    let numbers: Vec<u64> = fates
        .split(", ")
        .map(|fate| fate.split(' ').next()?.parse().ok())
        .collect::<Option<_>>()?;
    let [sent, rights, down, given_up, waiting] = numbers[..] else {
        return None;
    };
    Some(MachineAccount {
        requested: requested.parse().ok()?,
        sent,
        refused: rights + down,
        given_up,
        waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_from_what_shares_the_controller() {
        let expected = MachineAccount {
            requested: 21,
            sent: 9,
            refused: 10,
            given_up: 1,
            waiting: 1,
        };
        let line = "pf0 bus=0 state=active\npf0/0 requested=0 sent=0\npf0/1 used=1 requested=21 accepted=11 full=1 not_permitted=2 \
                    unsupported=3 down=4 sent=9 aborted=0 dropped=1 reset=0 waiting=1 attempts=9\n";
        assert_eq!(of_function(line, 1), Some(expected));
        assert_eq!(of_function(line, 2), None);
        let remark = "other0: controller can: 21 frames requested = 9 sent, 3 refused by its rights, 7 \
                      refused while it was down or for their kind, 1 given up, 1 waiting; 0 received = 0 read, \
                      0 lost (its queue was full), 0 waiting or discarded";
        assert_eq!(of_remark(remark), Some(expected));
        assert_eq!(of_remark("other0: a monitor has connected"), None);
    }

    #[test]
    fn frames_sent_are_read_without_a_program() {
        let text = "Inter-|   Receive  |  Transmit\n  gw0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n gw1: 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n";
        assert_eq!(sent_in(text, "gw1"), Some(8));
        assert_eq!(sent_in(text, "gw"), None);
    }

    #[test]
    fn a_state_is_read_from_ip() {
        assert!(is_bus_off(
            "    can <FD> state BUS-OFF (berr-counter tx 0 rx 0)"
        ));
        assert!(!is_bus_off("    can state ERROR-ACTIVE restart-ms 0"));
    }
}
