//! The kernel's side: interfaces, rules, incoming and outgoing frames.

use crate::frames::Owned;
use port::socketcan::{SocketCanSettings, open};
use port::{FrameInterest, Halves, InterestIds, OutgoingFrame, TransmitRefusal};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The kernel has one list of rules.
static ONE: Mutex<()> = Mutex::new(());

/// Takes the lock with which only one test at a time uses the kernel.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a number from the environment.
pub(crate) fn from_env(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |text| text.parse().unwrap())
}

/// The longest time to wait for expected frames.
const TEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Mostly the frames are there when the sender's system call ends; later ones are polled for at
/// this interval.
const SPIN: Duration = Duration::from_millis(1);

/// Lists the rules. The exit status of cangw has no meaning here: from some versions on it is the
/// length of the last answer.
fn list() -> Result<String, String> {
    let output = output("cangw", "-L")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Three virtual interfaces, without rules at first.
pub(crate) struct Kernel {
    pub(crate) interfaces: [String; 3],
    pub(crate) max_hops: u8,
    sender: Halves,
    watchers: Vec<Halves>,
    /// Overflows that error frames reported to each of the sockets.
    overflows: [u64; 3],
}

fn output(program: &str, arguments: &str) -> Result<Output, String> {
    Command::new(program)
        .args(arguments.split_whitespace())
        .output()
        .map_err(|e| format!("`{program}` cannot be run ({e})"))
}

fn run(program: &str, arguments: &str) -> Result<String, String> {
    let output = output(program, arguments)?;
    let notices = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        // Only the first line: cangw explains all its options if it does not understand one.
        let notices = notices.lines().next().unwrap_or_default();
        return Err(format!("`{program} {arguments}` failed: {notices}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn port(interface: &str, receive_buffer: Option<u32>) -> Result<Halves, String> {
    let config = SocketCanSettings {
        queue: 8,
        receive_buffer,
        ..SocketCanSettings::new(interface)
    };
    open("differential", &config).map_err(|e| e.to_string())
}

impl Kernel {
    /// Creates the interfaces, or returns what is missing on this machine.
    pub(crate) fn new() -> Result<Self, String> {
        if port("lo", None).is_err_and(|why| why.contains("modprobe can")) {
            return Err("this kernel has no AF_CAN".into());
        }
        let _ = run("modprobe", "can-gw");
        if !Path::new("/sys/module/can_gw").exists() {
            return Err("this kernel has no can-gw".into());
        }
        if !list()?.trim().is_empty() {
            return Err("there are can-gw rules here that are not this test's".into());
        }
        let interfaces = [0, 1, 2].map(|i| format!("cgt_gw{i}"));
        for name in &interfaces {
            let _ = run("ip", &format!("link del {name}"));
            run("ip", &format!("link add dev {name} type vcan"))?;
            run("ip", &format!("link set {name} mtu 72"))?;
            run("ip", &format!("link set {name} up"))?;
        }
        let hops = std::fs::read_to_string("/sys/module/can_gw/parameters/max_hops");
        let max_hops = hops.ok().and_then(|text| text.trim().parse().ok());
        let mut sender = port(&interfaces[0], None)?;
        let nothing = FrameInterest {
            ids: InterestIds::Nothing,
            ..FrameInterest::default()
        };
        sender.0.set_interest(&nothing).map_err(|e| e.to_string())?;
        let everything = FrameInterest {
            ids: InterestIds::Everything,
            error_frames: true,
            ..FrameInterest::default()
        };
        let mut watchers = Vec::new();
        for name in &interfaces {
            let mut watcher = port(name, Some(8 << 20))?;
            let set = watcher.0.set_interest(&everything);
            set.map_err(|e| e.to_string())?;
            watchers.push(watcher);
        }
        Ok(Self {
            interfaces,
            max_hops: max_hops.unwrap_or(1),
            sender,
            watchers,
            overflows: [0; 3],
        })
    }

    /// Adds a rule; `text` is the arguments after `cangw -A`.
    pub(crate) fn add(&self, text: &str) -> Result<(), String> {
        run("cangw", &format!("-A {text}")).map(drop)
    }

    /// Returns the rules, as cangw lists them.
    pub(crate) fn list(&self) -> String {
        list().unwrap()
    }

    /// Removes all rules. There were none but ours.
    pub(crate) fn flush(&self) {
        let _ = run("cangw", "-F");
        assert_eq!(self.list().trim(), "", "`cangw -F` takes all rules away");
    }

    /// Sends a frame on the first interface.
    pub(crate) fn send(&mut self, frame: &Owned) {
        let outgoing = OutgoingFrame::new(frame.view(), 0);
        match self.sender.1.transmit(0, outgoing) {
            Ok(_) => {
                let flushed = self.sender.1.flush(0).unwrap();
                assert_eq!(flushed.held, 0, "a vcan takes what it is given");
            }
            // Our ports send no error frames, but other programs can.
            Err(TransmitRefusal::Unsupported) => {
                let text = frame.for_cansend();
                run("cansend", &format!("{} {text}", self.interfaces[0])).unwrap();
            }
            Err(refused) => panic!("{frame:?} was refused: {refused:?}"),
        }
    }

    /// Returns the frames on each interface: `count` frames, if they come, and those that come
    /// within `more` time after them.
    pub(crate) fn receive(&mut self, count: usize, more: Duration) -> [Vec<Owned>; 3] {
        let mut out: [Vec<Owned>; 3] = Default::default();
        let start = Instant::now();
        let mut all_since = None;
        loop {
            let watchers = self.watchers.iter_mut().zip(&mut self.overflows);
            for ((watcher, overflows), out) in watchers.zip(&mut out) {
                let mut local = watcher.0.counters().local;
                for _ in 0..64 {
                    let known = out.len();
                    let take = &mut |r: port::ReceivedFrame<'_>| out.push(Owned::of(r.frame));
                    watcher.0.receive(0, 1, take).unwrap();
                    let Some(frame) = out.get(known) else { break };
                    let counters = watcher.0.counters();
                    // The port counts the overflows that error frames report, unless a program
                    // on this machine sent them.
                    let is_counted = counters.local == local && frame.reports_overflow();
                    *overflows += u64::from(is_counted);
                    local = counters.local;
                    let lost = counters.overrun - *overflows;
                    assert_eq!(lost, 0, "the test itself lost frames");
                }
            }
            if out.iter().map(Vec::len).sum::<usize>() >= count {
                let since = *all_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= more {
                    return out;
                }
            }
            if start.elapsed() > TEST_TIMEOUT {
                return out;
            }
            if all_since.is_some() || start.elapsed() > SPIN {
                std::thread::sleep(SPIN);
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // The rules are removed with the interfaces.
        for name in &self.interfaces {
            let _ = run("ip", &format!("link del {name}"));
        }
    }
}
