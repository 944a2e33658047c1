//! Notices as text for people.

use super::Notice;
use crate::run::{EndReason, RouteChanges, RouteLine};
use engine::LinkState;
use std::fmt;

/// The maximum number of names in one line; the rest are counted.
const MAX_NAMES: usize = 10;

fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut text = names.take(MAX_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn list(of: &[String]) -> String {
    names(of.iter().map(String::as_str))
}

/// Formats routes as "bpf: a, b; process: c", in the order in which they appear.
fn by_data_path(routes: &[RouteLine]) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for route in routes {
        if !paths.contains(&route.data_path.as_str()) {
            paths.push(&route.data_path);
        }
    }
    let part = |path: &&str| {
        let there: Vec<&str> = routes
            .iter()
            .filter(|route| route.data_path == *path)
            .map(|route| route.name.as_str())
            .collect();
        format!("{path}: {}", names(there.into_iter()))
    };
    paths.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 {
        format!("1 {what}")
    } else {
        format!("{n} {what}s")
    }
}

/// Returns the consequence of a state, and the remedy: for a Linux interface, or for a controller
/// that cangate drives on its own.
const fn consequence(now: LinkState, is_interface: bool) -> &'static str {
    match now {
        LinkState::BusOff if !is_interface => {
            ": frames for it are not sent until the controller is restarted (key `restart` of a `direct` port)"
        }
        LinkState::Down if !is_interface => ": frames for it are not sent until it is up again",
        LinkState::Gone if !is_interface => ": frames for it are not sent until it is back",
        LinkState::Up | LinkState::ErrorWarning => "",
        LinkState::ErrorPassive => {
            ": many frames fail on the bus; check the wiring, the termination and the bit rate"
        }
        LinkState::BusOff => {
            ": frames for it are not sent until the controller is restarted (`ip link set NAME type \
             can restart`, or `restart-ms`)"
        }
        LinkState::Down => {
            ": frames for it are not sent until it is up again (`ip link set NAME up`)"
        }
        LinkState::Gone => ": frames for it are not sent until the interface exists again",
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready {
                control,
                metrics,
                ports,
                not_up,
                routes,
                ..
            } => {
                let all = names(ports.iter().map(|port| port.name.as_str()));
                write!(f, "ready: {} ({all})", plural(ports.len(), "port"))?;
                if routes.is_empty() {
                    write!(f, ", no routes")?;
                } else {
                    let paths = by_data_path(routes);
                    write!(f, ", {} ({paths})", plural(routes.len(), "route"))?;
                }
                match control {
                    Some(path) => write!(f, ", control socket {path}")?,
                    None => write!(f, ", no control socket")?,
                }
                if let Some(url) = metrics {
                    write!(f, ", metrics at {url}")?;
                }
                if !not_up.is_empty() {
                    write!(f, "; not up yet: {}", list(not_up))?;
                }
                Ok(())
            }
            Self::PortsUp { ports } => write!(
                f,
                "all ports are up now, also those that were not at the start: {}",
                list(ports)
            ),
            Self::Link {
                port,
                interface,
                before,
                now,
                ..
            } => {
                write!(f, "port {port}: ")?;
                if let Some(interface) = interface {
                    write!(f, "interface {interface} ")?;
                }
                let name = interface.as_deref().unwrap_or(port);
                let consequence = consequence(*now, interface.is_some()).replace("NAME", name);
                match (before, now) {
                    (_, LinkState::Up) => write!(f, "is up again (it was {before})"),
                    _ => write!(f, "is {now}{consequence}"),
                }
            }
            Self::PortFailed { port, why } => write!(
                f,
                "port {port}: {why}: the port is out of service, the others continue; correct the \
                 cause, then reload, or restart if the port is not retried"
            ),
            Self::PortRecovered { port } => {
                write!(
                    f,
                    "port {port}: it is tried again: frames go there as before"
                )
            }
            Self::FramesLost { port, frames, why } => match frames {
                Some(frames) => write!(f, "port {port}: {frames} frames were lost: {why}"),
                None => write!(f, "port {port}: the frames that it held are lost: {why}"),
            },
            Self::OffloadTaken {
                data_path,
                routes,
                words,
            } => {
                let routes = plural(*routes, "route");
                write!(f, "{data_path} runs {routes} in the kernel ({words})")
            }
            Self::OffloadChanged { words, .. } => f.write_str(words),
            Self::OffloadGivenUp { data_path, why } => {
                write!(f, "{data_path} runs no route in the kernel any more: {why}")
            }
            Self::OffloadFailed { data_path, why } => write!(f, "{data_path}: {why}"),
            Self::RoutesMoved {
                data_path,
                why,
                routes,
                remarks,
            } => {
                let routes = list(routes);
                write!(f, "{data_path}: {why}; in another data path now: {routes}")?;
                for remark in remarks {
                    write!(f, "; {}", remark.trim_end())?;
                }
                Ok(())
            }
            Self::OffloadRestored {
                data_path,
                restored,
                within_ms,
            } => write!(
                f,
                "{data_path}: another program had removed {restored} of this gateway's rules or programs \
                 (`cangw -F`, `tc qdisc del`); they are restored; frames of the {within_ms} ms before \
                 were neither routed nor counted"
            ),
            Self::InterfacesMissing { interfaces } => write!(
                f,
                "no such CAN interface: {}; routes with it start when it appears",
                list(interfaces)
            ),
            Self::Reloaded {
                routes,
                kept,
                opened,
                closed,
                changes,
                remarks,
                ..
            } => {
                write!(f, "reloaded: {}", plural(*routes, "route"))?;
                let RouteChanges {
                    added,
                    removed,
                    changed,
                    renamed,
                    moved,
                    reordered,
                    unchanged: _,
                } = changes;
                let renamed: Vec<String> = renamed
                    .iter()
                    .map(|(before, now)| format!("{before} to {now}"))
                    .collect();
                let all = [
                    (added, "new routes"),
                    (removed, "routes removed"),
                    (changed, "routes changed"),
                    (&renamed, "routes renamed"),
                    (moved, "routes in another data path"),
                    (reordered, "routes in another order"),
                    (opened, "ports opened"),
                    (closed, "ports closed"),
                ];
                let mut any = false;
                for (which, what) in all {
                    if !which.is_empty() {
                        any = true;
                        write!(f, "; {what}: {}", list(which))?;
                    }
                }
                if !any {
                    write!(f, ", nothing changed")?;
                }
                write!(f, "; {} kept", plural(kept.len(), "port"))?;
                for remark in remarks {
                    write!(f, "; {}", remark.trim_end())?;
                }
                Ok(())
            }
            Self::NotReloaded { why, as_before } => {
                if *as_before {
                    write!(f, "not reloaded, everything continues as before: ")?;
                } else {
                    write!(f, "reloaded only in part: ")?;
                }
                f.write_str(why.trim_end())
            }
            Self::Realtime { priority } => {
                write!(f, "the worker runs with SCHED_FIFO, priority {priority}")
            }
            Self::NotRealtime { priority, why } => write!(
                f,
                "ordinary scheduling ({why}): other programs can delay frames; allow real-time \
                 priorities (systemd: LimitRTPRIO={priority}, /etc/security/limits.conf: rtprio \
                 {priority}), give the program CAP_SYS_NICE, or set realtime = false"
            ),
            Self::NotLocked { why } => write!(f, "memory is not locked {why}"),
            Self::NoControl { why } => write!(
                f,
                "{why}: `cangate stats` and `cangate reload` cannot reach this gateway; set \
                 XDG_RUNTIME_DIR to a folder of your own, or `control` in [gateway] to a path"
            ),
            Self::NotNotified { why } => write!(
                f,
                "{why}: the service manager does not know that this gateway runs, and may end it; \
                 in a service of systemd, set Type=notify and NotifyAccess=main"
            ),
            Self::WaitFailed { what, why } => {
                write!(f, "waiting for {what} failed ({why}): trying again")
            }
            Self::PortRemarks { remarks } => f.write_str(&remarks.join("; ")),
            Self::Ending { reason } => f.write_str(match reason {
                EndReason::Signal => "ending: requested by a signal",
                EndReason::Request => "ending: requested by a client of the control socket",
                EndReason::Finished => "ending: every input has ended",
                EndReason::Failed => "ending: no port can receive any more, because ports failed",
            }),
        }
    }
}
