//! The gateway under test, started, counted and stopped in its namespace.

use super::counts::GatewayCounts;
use super::error::MeasureError;
use crate::choices::{HopChoice, MOST_FILTERS, Priority, ReceiveChoice, VirtualKind};
use crate::measurement::GatewayUnderTest;
use crate::settings::Experiment;
use crate::under_test::{self, INCOMING, OUTGOING, SOCKET};
use guest::machine::{BenchKind, GATEWAY_NAMESPACE as GATEWAY};
use guest::program::{BackgroundProgram, output, printed};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const RULES: &str = "/tmp/rules.sh";
const TOML: &str = "/tmp/gateway.toml";
/// The file with the sums that a gateway prints at its end.
pub(super) const SUMS: &str = "/tmp/gateway.sums";

/// Returns the number of rules that a script adds.
fn rules(script: &str) -> usize {
    script.lines().filter(|l| l.starts_with("cangw ")).count()
}

/// A running gateway.
pub(super) enum UnderTest {
    /// can-gw, and the number of its rules.
    Cangw(usize),
    /// `cangate run`.
    User(#[allow(dead_code)] BackgroundProgram),
    /// `cangate run` on controllers that are not interfaces.
    Direct(#[allow(dead_code)] BackgroundProgram),
    /// `cangate run` with its routes in the kernel, in what form, and the number of them.
    InKernel(#[allow(dead_code)] BackgroundProgram, InKernel, usize),
    /// No gateway, or one without software: nothing runs and nothing is queried.
    None,
}

/// The form in which the kernel has the routes of `cangate run`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InKernel {
    /// As rules of can-gw.
    Rules,
    /// As a BPF program.
    Bpf,
}

/// Time given to a gateway until it answers, of the guest's time: 100 000 routes must be read and
/// put into the kernel.
const START: Duration = Duration::from_secs(300);

/// Interval between checks for a gateway.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Number of checks for a gateway in user space, which is ready within seconds.
const MAX_CHECKS: u32 = 100;

impl UnderTest {
    /// Starts the experiment's gateway.
    pub(super) fn start(
        experiment: &Experiment,
        gateway: GatewayUnderTest,
    ) -> Result<Self, MeasureError> {
        let config = under_test::config(experiment)?;
        match gateway {
            GatewayUnderTest::None => Ok(Self::None),
            GatewayUnderTest::Ideal => {
                match experiment.bench {
                    BenchKind::Timed | BenchKind::Vm => join_controllers()?,
                    BenchKind::Kvaser | BenchKind::Ctucan | BenchKind::Vcan | BenchKind::None => {
                        take_over_card()?;
                    }
                }
                Ok(Self::None)
            }
            GatewayUnderTest::Cangw => {
                virtual_interfaces(experiment)?;
                write(RULES, &config)?;
                // With hops the script loads the module itself, with its parameter.
                if experiment.hops == HopChoice::NONE {
                    output(None, &["modprobe", "can-gw"])?;
                }
                output(Some(GATEWAY), &["sh", "-e", RULES])?;
                Ok(Self::Cangw(rules(&config)))
            }
            GatewayUnderTest::User(ways) => {
                virtual_interfaces(experiment)?;
                if experiment.priority == Priority::Softirq {
                    set_priority("ksoftirqd/0", 50)?;
                }
                if ways.receive == ReceiveChoice::BusypollNoIrq {
                    defer_interrupts()?;
                }
                if experiment.kernel.rt() {
                    prefer_sending()?;
                }
                let mut running = cangate_run(&config)?;
                if experiment.filters.count() > Some(MOST_FILTERS) {
                    answers(&mut running)?;
                    return Ok(Self::User(running));
                }
                for _ in 0..MAX_CHECKS {
                    std::thread::sleep(CHECK_INTERVAL);
                    if let Some(ended) = running.ended() {
                        return Err(MeasureError::GatewayEnded(ended));
                    }
                    if Path::new(SOCKET).exists() {
                        return Ok(Self::User(running));
                    }
                }
                Err(MeasureError::GatewaySilent(CHECK_INTERVAL * MAX_CHECKS))
            }
            GatewayUnderTest::Mapped => {
                other_controllers("mapped", [0, 1])?;
                let mut running = cangate_run(&config)?;
                answers(&mut running)?;
                Ok(Self::Direct(running))
            }
            GatewayUnderTest::Chardev => {
                other_controllers(&chardev_model(experiment), [0, 1])?;
                let mut running = cangate_run(&config)?;
                answers(&mut running)?;
                Ok(Self::Direct(running))
            }
            GatewayUnderTest::OwnRules => {
                virtual_interfaces(experiment)?;
                let hops = format!("max_hops={}", experiment.hops.count + 1);
                output(None, &["modprobe", "can-gw", &hops])?;
                Self::in_kernel(&config, InKernel::Rules)
            }
            GatewayUnderTest::Bpf => {
                virtual_interfaces(experiment)?;
                // Without these modules, a program cannot be attached on kernels before 6.6.
                output(None, &["modprobe", "-a", "sch_ingress", "cls_bpf"])?;
                Self::in_kernel(&config, InKernel::Bpf)
            }
        }
    }

    /// Starts `cangate run`, which puts its routes into the kernel before it answers any request.
    fn in_kernel(config: &str, how: InKernel) -> Result<Self, MeasureError> {
        let mut running = cangate_run(config)?;
        answers(&mut running)?;
        let routes = config.matches("[[routes]]").count();
        Ok(Self::InKernel(running, how, routes))
    }

    /// Returns the counts up to now.
    pub(super) fn counts(&self) -> Result<GatewayCounts, MeasureError> {
        let read = |path| output(Some(GATEWAY), &["cat", path]);
        let mut counts = GatewayCounts::default();
        counts.interfaces(&read("/proc/net/dev")?);
        counts.backlog(&read("/proc/net/softnet_stat")?);
        match self {
            Self::Cangw(rules) => {
                // Its exit status is the length of its last read.
                let list = printed(Some(GATEWAY), &["cangw", "-L"])?;
                let listed = counts.rules(&list);
                if listed != *rules {
                    return Err(MeasureError::Missing {
                        what: "rules",
                        there: listed,
                        given: *rules,
                    });
                }
            }
            Self::User(_) => counts.stats(&stats()?)?,
            Self::Direct(_) => {
                counts.stats(&stats()?)?;
                counts.controllers(&read("/dev/bitcan")?);
            }
            Self::InKernel(_, how, routes) => {
                let there = match how {
                    InKernel::Rules => counts.kernel_rules(&ask()?)?,
                    InKernel::Bpf => {
                        let show = ["tc", "-s", "-j", "qdisc", "show", "dev", OUTGOING];
                        counts.queue(&output(Some(GATEWAY), &show)?)?;
                        counts.kernel_program(&ask()?)?
                    }
                };
                if there != *routes {
                    return Err(MeasureError::Missing {
                        what: "routes in the kernel",
                        there,
                        given: *routes,
                    });
                }
            }
            Self::None => {}
        }
        Ok(counts)
    }

    /// Stops the gateway.
    pub(super) fn stop(self) {
        // can-gw's rules disappear with the guest; a process is killed by being dropped.
        drop(self);
    }
}

/// Starts `cangate run` in the gateway's namespace.
pub(super) fn cangate_run(config: &str) -> Result<BackgroundProgram, MeasureError> {
    write(TOML, config)?;
    // Of its output, only errors are of use here.
    let line = ["cangate", "run", "-q", TOML];
    Ok(BackgroundProgram::start(
        Some(GATEWAY),
        &line,
        "/tmp/gateway",
    )?)
}

/// Does the same; after its end its sums are in [`SUMS`].
pub(super) fn cangate_run_to_the_end(config: &str) -> Result<BackgroundProgram, MeasureError> {
    write(TOML, config)?;
    let line = format!("exec cangate run -q --json {TOML} >{SUMS}");
    Ok(BackgroundProgram::start(
        Some(GATEWAY),
        &["sh", "-c", &line],
        "/tmp/gateway",
    )?)
}

/// Waits until the gateway answers, which it does when its routes are active.
pub(super) fn answers(running: &mut BackgroundProgram) -> Result<(), MeasureError> {
    let mut waited = Duration::ZERO;
    while waited < START {
        std::thread::sleep(CHECK_INTERVAL);
        waited += CHECK_INTERVAL;
        if let Some(ended) = running.ended() {
            return Err(MeasureError::GatewayEnded(ended));
        }
        // Until then there is no socket, or the answer is late.
        if Path::new(SOCKET).exists() && ask().is_ok() {
            return Ok(());
        }
    }
    Err(MeasureError::GatewaySilent(START))
}

/// Returns the counters of `cangate run`, as reported on its control socket: for 100 000 routes
/// this spares the guest a program that reads and writes all of them once more.
pub(super) fn ask() -> Result<Vec<u8>, MeasureError> {
    let ask = || -> std::io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(SOCKET)?;
        stream.set_read_timeout(Some(START))?;
        stream.write_all(b"{\"cangate\":1,\"do\":\"stats\"}\n")?;
        let mut reply = Vec::new();
        BufReader::new(stream).read_until(b'\n', &mut reply)?;
        Ok(reply)
    };
    ask().map_err(MeasureError::Control)
}

/// Returns the counters of `cangate run`.
fn stats() -> Result<String, MeasureError> {
    let line = ["cangate", "stats", "--json", "--socket", SOCKET];
    Ok(output(None, &line)?)
}

fn virtual_interfaces(experiment: &Experiment) -> Result<(), MeasureError> {
    let ends = under_test::virtuals(experiment.hops);
    if ends.is_empty() {
        return Ok(());
    }
    let ip = |line: &[&str]| -> Result<(), MeasureError> {
        let mut all = vec!["ip", "-n", GATEWAY, "link"];
        all.extend(line);
        output(None, &all)?;
        Ok(())
    };
    let up = |name: &str| {
        // Room for FD frames.
        ip(&["set", "dev", name, "mtu", "72"])?;
        ip(&["set", "dev", name, "up"])
    };
    match experiment.hops.through {
        VirtualKind::Vcan => {
            output(None, &["modprobe", "vcan"])?;
            for [name, _] in ends {
                ip(&["add", "dev", name, "type", "vcan"])?;
                up(name)?;
            }
        }
        VirtualKind::Vxcan => {
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

/// Gives the interrupt thread of the outgoing interface, which ends transmissions, a higher
/// priority than the gateway's 90; that of the incoming one keeps the kernel's 50. Received frames
/// can then be sent before more are received: otherwise, under flood, frames wait for 64 ms for an
/// interface whose transmit interrupt is not handled. gateway-2011 §3.7 tuned as well, and does not
/// state how.
fn prefer_sending() -> Result<(), MeasureError> {
    let thread = format!("-{}", OUTGOING);
    let is_it = |name: &str| name.starts_with("irq/") && name.ends_with(&thread);
    if set_priorities_of(is_it, 95)? > 0 {
        return Ok(());
    }
    Err(MeasureError::NoInterruptThread(OUTGOING))
}

/// Gives a thread of the kernel a real-time priority.
fn set_priority(thread: &'static str, priority: u8) -> Result<(), MeasureError> {
    if set_priorities_of(|name| name == thread, priority)? > 0 {
        return Ok(());
    }
    Err(MeasureError::NoThread(thread))
}

/// Gives the threads whose names fit a real-time priority; returns their number.
pub(super) fn set_priorities_of(
    fits: impl Fn(&str) -> bool,
    priority: u8,
) -> Result<usize, MeasureError> {
    let mut found = 0;
    let entries = std::fs::read_dir("/proc").map_err(file("read", "/proc"))?;
    for entry in entries.flatten() {
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if fits(name.trim()) {
            let id = entry.file_name().to_string_lossy().into_owned();
            output(None, &["chrt", "-f", "-p", &priority.to_string(), &id])?;
            found += 1;
        }
    }
    Ok(found)
}

/// Keeps the incoming interface's interrupts off while a program polls it: after a poll that found
/// nothing they are deferred (`napi_defer_hard_irqs`), for a time within which the next poll is
/// certain to come (`gro_flush_timeout`, ns; Documentation/networking/napi.rst, "Software IRQ
/// coalescing"). `ip netns exec` shows the sysfs of the interface's namespace.
fn defer_interrupts() -> Result<(), MeasureError> {
    let folder = format!("/sys/class/net/{INCOMING}");
    let script = format!(
        "echo 200 > {folder}/napi_defer_hard_irqs && echo 200000 > {folder}/gro_flush_timeout"
    );
    output(Some(GATEWAY), &["sh", "-c", &script])?;
    Ok(())
}

/// Joins the controllers: frames received by the gateway's incoming controller go directly into the
/// outgoing one.
fn join_controllers() -> Result<(), MeasureError> {
    let both = [INCOMING, OUTGOING];
    for name in both {
        output(Some(GATEWAY), &["ip", "link", "set", "dev", name, "down"])?;
    }
    let order = format!("echo join {INCOMING} {OUTGOING} > /dev/bitcan");
    output(Some(GATEWAY), &["sh", "-c", &order])?;
    for name in both {
        output(Some(GATEWAY), &["ip", "link", "set", "dev", name, "up"])?;
    }
    Ok(())
}

/// Returns the model of `kmod/bitcan` for the experiment's controller as a character device.
pub(super) fn chardev_model(experiment: &Experiment) -> String {
    format!("chardev-{}", experiment.cpu.controller().name())
}

/// Replaces the gateway's interfaces by controllers of this model, with the same names, on these
/// buses.
pub(super) fn other_controllers(model: &str, buses: [u8; 2]) -> Result<(), MeasureError> {
    let orders = buses.iter().zip([INCOMING, OUTGOING]);
    let orders = orders.flat_map(|(bus, name)| {
        [
            format!("del {name}"),
            format!("add {name} bus={bus} model={model}"),
        ]
    });
    for order in orders {
        let order = format!("echo {order} > /dev/bitcan");
        output(Some(GATEWAY), &["sh", "-c", &order])?;
    }
    Ok(())
}

/// Gives the gateway's incoming card to the tester, and silences the outgoing one.
fn take_over_card() -> Result<(), MeasureError> {
    let within = ["ip", "-n", GATEWAY, "link", "set", "dev"];
    output(None, &[&within[..], &[INCOMING, "down"]].concat())?;
    output(None, &[&within[..], &[INCOMING, "netns", "1"]].concat())?;
    output(None, &["ip", "link", "set", "dev", INCOMING, "up"])?;
    Ok(())
}

pub(super) fn write(path: &str, text: &str) -> Result<(), MeasureError> {
    std::fs::write(path, text).map_err(file("write", path))
}

pub(super) fn file<'a>(
    verb: &'static str,
    path: &'a str,
) -> impl FnOnce(std::io::Error) -> MeasureError + use<'a> {
    move |source| MeasureError::File {
        verb,
        path: path.into(),
        source,
    }
}
