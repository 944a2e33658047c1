//! The gateway under test, started, counted and stopped in its namespace.

use super::account::Counts;
use super::command::{Background, GATEWAY, output, printed};
use crate::experiment::{Experiment, Gateway, Hops};
use crate::gateway::{self as routes, VIRTUAL};
use std::path::Path;
use std::time::Duration;

const RULES: &str = "/tmp/rules.sh";
const TOML: &str = "/tmp/gateway.toml";

/// What the gateway is set up with: the script of rules, or `gateway.toml`.
pub(super) fn config(experiment: &Experiment) -> Result<String, String> {
    match &experiment.gateway {
        Gateway::Cangw => routes::cangw_script(experiment).map_err(|e| e.to_string()),
        Gateway::User(_) => Ok(routes::gateway_toml(experiment).unwrap_or_default()),
        Gateway::None => Ok(String::new()),
    }
}

/// How many rules a script puts in.
fn rules(script: &str) -> usize {
    script.lines().filter(|l| l.starts_with("cangw ")).count()
}

/// A gateway that runs.
pub(super) enum UnderTest {
    /// can-gw, with so many rules.
    Cangw(usize),
    /// `cangate run`.
    User(#[allow(dead_code)] Background),
    /// None.
    None,
}

impl UnderTest {
    /// Starts the experiment's gateway.
    pub(super) fn start(experiment: &Experiment) -> Result<Self, String> {
        let config = config(experiment)?;
        match &experiment.gateway {
            Gateway::None => Ok(Self::None),
            Gateway::Cangw => {
                virtual_interfaces(experiment)?;
                write(RULES, &config)?;
                // With hops the script loads the module itself, with its parameter.
                if experiment.hops == Hops::NONE {
                    output(None, &["modprobe", "can-gw"])?;
                }
                output(Some(GATEWAY), &["sh", "-e", RULES])?;
                Ok(Self::Cangw(rules(&config)))
            }
            Gateway::User(_) => {
                if crate::words::is_rt(&experiment.kernel) {
                    prefer_sending()?;
                }
                write(TOML, &config)?;
                let line = ["cangate", "run", TOML];
                let mut running = Background::start(Some(GATEWAY), &line, "/tmp/gateway")?;
                for _ in 0..100 {
                    std::thread::sleep(Duration::from_millis(50));
                    if let Some(words) = running.ended() {
                        return Err(format!("the gateway did not stay: {words}"));
                    }
                    if Path::new(routes::SOCKET).exists() {
                        return Ok(Self::User(running));
                    }
                }
                Err("the gateway does not answer".to_owned())
            }
        }
    }

    /// What was counted up to now.
    pub(super) fn counts(&self) -> Result<Counts, String> {
        let read = |path| output(Some(GATEWAY), &["cat", path]);
        let mut counts = Counts::default();
        counts.interfaces(&read("/proc/net/dev")?);
        counts.backlog(&read("/proc/net/softnet_stat")?);
        match self {
            Self::Cangw(rules) => {
                // Its status is the length of what it read last.
                let list = printed(Some(GATEWAY), &["cangw", "-L"])?;
                let listed = counts.rules(&list);
                if listed != *rules {
                    return Err(format!(
                        "can-gw lists {listed} rules, and {rules} were put in"
                    ));
                }
            }
            Self::User(_) => {
                let line = ["cangate", "stats", "--json", "--socket", routes::SOCKET];
                counts.stats(&output(None, &line)?)?;
            }
            Self::None => {}
        }
        Ok(counts)
    }

    /// Stops it.
    pub(super) fn stop(self) {
        // can-gw's rules go with the guest; a process is killed by being dropped.
        drop(self);
    }
}

fn virtual_interfaces(experiment: &Experiment) -> Result<(), String> {
    let Hops { count, interfaces } = experiment.hops;
    if count == 0 {
        return Ok(());
    }
    output(None, &["modprobe", "vcan"])?;
    for name in VIRTUAL.iter().take(usize::from(interfaces)) {
        let ip = |line: &[&str]| {
            let mut all = vec!["ip", "-n", GATEWAY, "link"];
            all.extend(line);
            output(None, &all).map(drop)
        };
        ip(&["add", "dev", name, "type", "vcan"])?;
        // Room for FD frames.
        ip(&["set", "dev", name, "mtu", "72"])?;
        ip(&["set", "dev", name, "up"])?;
    }
    Ok(())
}

/// Puts the interrupt thread of the outgoing interface, which ends transmissions, before the
/// gateway's 90; the incoming one's keeps the kernel's 50. What was taken can then be sent before
/// more is taken: without it, under flood, frames wait for 64 ms in front of an interface that
/// nobody tells that it is free. gateway-2011 §3.7 tuned too, and does not say how.
fn prefer_sending() -> Result<(), String> {
    let thread = format!("-{}", routes::OUTGOING);
    let entries = std::fs::read_dir("/proc").map_err(|e| format!("/proc: {e}"))?;
    for entry in entries.flatten() {
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let name = name.trim();
        if name.starts_with("irq/") && name.ends_with(&thread) {
            let id = entry.file_name().to_string_lossy().into_owned();
            return output(None, &["chrt", "-f", "-p", "95", &id]).map(drop);
        }
    }
    Err(format!(
        "no interrupt thread is {}'s, whose priority is to be raised",
        routes::OUTGOING
    ))
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("cannot write {path}: {e}"))
}
