//! The gateway under test, started, counted and stopped in its namespace.

use super::account::Counts;
use super::command::{Background, GATEWAY, output, printed};
use crate::experiment::{Experiment, Gateway, Hops, Virtual};
use crate::gateway as routes;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const RULES: &str = "/tmp/rules.sh";
const TOML: &str = "/tmp/gateway.toml";

/// What the gateway is set up with: the script of rules, or `gateway.toml`.
pub(super) fn config(experiment: &Experiment) -> Result<String, String> {
    match &experiment.gateway {
        Gateway::Cangw => routes::cangw_script(experiment).map_err(|e| e.to_string()),
        Gateway::User(_) | Gateway::OwnRules | Gateway::Bpf => {
            Ok(routes::gateway_toml(experiment).unwrap_or_default())
        }
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
    /// `cangate run` with its routes in the kernel, how, and how many there are.
    InKernel(#[allow(dead_code)] Background, InKernel, usize),
    /// None.
    None,
}

/// How the kernel has the routes of `cangate run`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InKernel {
    /// As rules of can-gw.
    Rules,
    /// As a BPF program.
    Bpf,
}

/// How long a gateway may take until it can be asked, of the guest's time: 100 000 routes are to
/// be read and put into the kernel.
const START: Duration = Duration::from_secs(300);

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
                virtual_interfaces(experiment)?;
                if crate::words::is_rt(&experiment.kernel) {
                    prefer_sending()?;
                }
                let mut running = cangate_run(&config)?;
                if experiment.filters.count() > Some(crate::words::MOST_FILTERS) {
                    answers(&mut running)?;
                    return Ok(Self::User(running));
                }
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
            Gateway::OwnRules => {
                virtual_interfaces(experiment)?;
                let hops = format!("max_hops={}", experiment.hops.count + 1);
                output(None, &["modprobe", "can-gw", &hops])?;
                Self::in_kernel(&config, InKernel::Rules)
            }
            Gateway::Bpf => {
                virtual_interfaces(experiment)?;
                // Without them a program has no place on kernels before 6.6.
                output(None, &["modprobe", "-a", "sch_ingress", "cls_bpf"])?;
                Self::in_kernel(&config, InKernel::Bpf)
            }
        }
    }

    /// Starts `cangate run`, which puts its routes into the kernel before it answers anybody.
    fn in_kernel(config: &str, how: InKernel) -> Result<Self, String> {
        let mut running = cangate_run(config)?;
        answers(&mut running)?;
        let routes = config.matches("[[routes]]").count();
        Ok(Self::InKernel(running, how, routes))
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
            Self::User(_) => counts.stats(&stats()?)?,
            Self::InKernel(_, how, routes) => {
                let there = match how {
                    InKernel::Rules => counts.kernel_rules(&ask()?)?,
                    InKernel::Bpf => {
                        let show = ["tc", "-s", "-j", "qdisc", "show", "dev", routes::OUTGOING];
                        counts.queue(&output(Some(GATEWAY), &show)?)?;
                        counts.kernel_program(&ask()?)?
                    }
                };
                if there != *routes {
                    return Err(format!(
                        "{there} routes are in the kernel, and {routes} were given"
                    ));
                }
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

/// Starts `cangate run` in the gateway's namespace.
fn cangate_run(config: &str) -> Result<Background, String> {
    write(TOML, config)?;
    let line = ["cangate", "run", TOML];
    Background::start(Some(GATEWAY), &line, "/tmp/gateway")
}

/// Waits until the gateway answers, which it does when its routes are in force.
fn answers(running: &mut Background) -> Result<(), String> {
    let step = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    while waited < START {
        std::thread::sleep(step);
        waited += step;
        if let Some(words) = running.ended() {
            return Err(format!("the gateway did not stay: {words}"));
        }
        // Before it is done, nobody is there or the answer is late.
        if Path::new(routes::SOCKET).exists() && ask().is_ok() {
            return Ok(());
        }
    }
    Err(format!(
        "the gateway does not answer within {} s",
        START.as_secs()
    ))
}

/// What `cangate run` counted, as it says it on its control socket: of 100 000 routes this spares
/// the guest a program that reads and writes it all once more.
fn ask() -> Result<Vec<u8>, String> {
    let ask = || {
        let mut stream = UnixStream::connect(routes::SOCKET)?;
        stream.set_read_timeout(Some(START))?;
        stream.write_all(b"{\"cangate\":1,\"do\":\"stats\"}\n")?;
        let mut reply = Vec::new();
        BufReader::new(stream).read_until(b'\n', &mut reply)?;
        Ok(reply)
    };
    ask().map_err(|e: std::io::Error| format!("the gateway's control socket: {e}"))
}

/// What `cangate run` counted.
fn stats() -> Result<String, String> {
    let line = ["cangate", "stats", "--json", "--socket", routes::SOCKET];
    output(None, &line)
}

fn virtual_interfaces(experiment: &Experiment) -> Result<(), String> {
    let ends = routes::virtuals(experiment.hops);
    if ends.is_empty() {
        return Ok(());
    }
    let ip = |line: &[&str]| {
        let mut all = vec!["ip", "-n", GATEWAY, "link"];
        all.extend(line);
        output(None, &all).map(drop)
    };
    let up = |name: &str| {
        // Room for FD frames.
        ip(&["set", "dev", name, "mtu", "72"])?;
        ip(&["set", "dev", name, "up"])
    };
    match experiment.hops.through {
        Virtual::Vcan => {
            output(None, &["modprobe", "vcan"])?;
            for [name, _] in ends {
                ip(&["add", "dev", name, "type", "vcan"])?;
                up(name)?;
            }
        }
        Virtual::Vxcan => {
            output(None, &["modprobe", "vxcan"])?;
            for [into, out] in ends {
                ip(&["add", "dev", into, "type", "vxcan", "peer", "name", out])?;
                up(into)?;
                up(out)?;
            }
        }
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
