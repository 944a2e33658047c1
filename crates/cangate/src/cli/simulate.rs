//! Options of the commands that run a gateway file on embedded buses.

use clap::Args;
use demo::{InterfaceMap, LogInput, LogRepeat};
use frame::Nanos;
use frame::wire::BitRate;
use gateway::simulate::SimulationOptions;
use std::fmt;
use std::path::{Path, PathBuf};

/// How a log is replayed.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Put the frames of an interface of the log on this bus or the bus of this port; `NAME=`
    /// leaves them out.
    ///
    /// Repeat it for several interfaces. Example: --map vcan0=can0
    #[arg(long, value_name = "NAME=BUS", value_parser = mapped, requires = "log")]
    pub(crate) map: Vec<(String, Option<String>)>,
    /// Replay the log N times, or `endless`.
    #[arg(long = "loop", value_name = "N", value_parser = rounds, requires = "log")]
    pub(crate) rounds: Option<ReplayRounds>,
    /// The time from the last frame of a round to the first frame of the next one.
    #[arg(long, value_name = "TIME", value_parser = super::time::nanos, requires = "rounds")]
    pub(crate) pause: Option<Nanos>,
}

/// How often a log is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplayRounds {
    /// This number of times.
    Number(u64),
    /// Until the run is ended.
    Endless,
}

impl ReplayArgs {
    /// Returns the log with these options. `by_name`: its interfaces must have the names of buses.
    pub(crate) fn input(&self, path: &Path, strict: bool, by_name: bool) -> LogInput {
        LogInput {
            path: path.to_owned(),
            strict,
            map: InterfaceMap {
                by_name: by_name || !self.map.is_empty(),
                names: self.map.iter().cloned().collect(),
            },
            repeat: LogRepeat {
                rounds: match self.rounds {
                    None => Some(1),
                    Some(ReplayRounds::Number(rounds)) => Some(rounds),
                    Some(ReplayRounds::Endless) => None,
                },
                pause: self.pause.unwrap_or(0),
            },
        }
    }
}

/// The bit rates of buses in place of interfaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AsBus {
    /// The port; `None`: all ports for which the file states no bit rate.
    port: Option<String>,
    rate: BitRate,
}

impl fmt::Display for AsBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.port {
            Some(port) => write!(f, "{port}={}", self.rate),
            None => write!(f, "{}", self.rate),
        }
    }
}

/// Returns the options of a simulation with these bit rates.
pub(crate) fn simulation(rates: &[AsBus], out: Option<&PathBuf>) -> SimulationOptions {
    let mut options = SimulationOptions {
        out: out.cloned(),
        ..SimulationOptions::default()
    };
    for AsBus { port, rate } in rates {
        match port {
            None => options.rate = Some(*rate),
            Some(port) => {
                options.ports.insert(port.clone(), *rate);
            }
        }
    }
    options
}

/// Parses `500k`, `500k/2M` or `PORT=500k`.
pub(crate) fn as_bus(text: &str) -> Result<AsBus, String> {
    let (port, rate) = match text.split_once('=') {
        Some((port, rate)) => (Some(port.to_owned()), rate),
        None => (None, text),
    };
    let rate = rate.parse::<BitRate>().map_err(|error| {
        format!("{error}; give a bit rate such as 500k, or 500k/2M for a bus with CAN FD")
    })?;
    Ok(AsBus { port, rate })
}

fn mapped(text: &str) -> Result<(String, Option<String>), String> {
    let (from, to) = text
        .split_once('=')
        .ok_or("give the interface of the log and the bus, for example vcan0=can0")?;
    let to = (!to.is_empty()).then(|| to.to_owned());
    Ok((from.to_owned(), to))
}

fn rounds(text: &str) -> Result<ReplayRounds, String> {
    match (text, text.parse::<u64>()) {
        ("endless", _) => Ok(ReplayRounds::Endless),
        (_, Ok(number)) if number > 0 => Ok(ReplayRounds::Number(number)),
        _ => Err("give a number from 1, or `endless`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_for_all_ports_or_for_one() {
        let read = |text: &str| as_bus(text).unwrap();
        let options = simulation(&[read("500k"), read("body=125k/1M")], None);
        assert_eq!(options.rate, BitRate::new(500_000, None).ok());
        let body = BitRate::new(125_000, Some(1_000_000)).ok();
        assert_eq!(options.ports.get("body").copied(), body);
        for wrong in ["", "fast", "body=", "1M/500k"] {
            assert!(as_bus(wrong).unwrap_err().contains("500k/2M"), "{wrong}");
        }
    }

    #[test]
    fn rounds_are_a_number_or_endless() {
        assert_eq!(rounds("3"), Ok(ReplayRounds::Number(3)));
        assert_eq!(rounds("endless"), Ok(ReplayRounds::Endless));
        assert!(rounds("0").is_err() && rounds("-1").is_err());
    }
}
