//! The cost of recording many interfaces with any program: processor time for each frame, and
//! frames that are missing in the file.
//!
//! Frames are sent into virtual interfaces at a pace, with real-time priority, as buses would
//! deliver them: whether the recorder keeps up or not. Its processor time is the kernel's own
//! account of its threads (`/proc/PID/task/*/schedstat`), from the first frame until it has nothing
//! more to do. The cost of a delivery to the recorder is part of the sender's time, because a
//! virtual interface delivers within the call that sends; the difference to a run without a
//! recorder is this share.

use crate::realtime::prepare;
use frame::{CanId, Frame};
use linux::can::layout::{CLASSIC_SIZE, encode};
use linux::can::{CanSocket, OpenError};
use linux::mmsg::MmsgOutbox;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Interval between groups of frames.
const TICK: Duration = Duration::from_millis(1);
/// Time given to a recorder to start.
const START: Duration = Duration::from_secs(2);
/// Time given to a recorder to write its frames, with a margin: cangate writes Parquet every 10
/// seconds.
const SETTLE: Duration = Duration::from_secs(12);

/// The parameters of a trial.
#[derive(Clone, Debug)]
pub struct RecorderTrial<'a> {
    /// The recorder's name in the result.
    pub name: &'a str,
    /// The recorder's processes: program and arguments, and the file for standard output; empty for
    /// no recorder.
    pub commands: &'a [(Vec<String>, PathBuf)],
    /// Virtual interfaces into which frames are sent, in turn.
    pub interfaces: &'a [String],
    /// Frames per second, over all interfaces.
    pub rate: u32,
    /// Number of frames to send.
    pub frames: u32,
}

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialCost {
    /// The recorder.
    pub recorder: String,
    /// Requested frames per second.
    pub rate: u32,
    /// Frames that were sent.
    pub sent: u32,
    /// Time that sending took, s.
    pub seconds: f64,
    /// Achieved frames per second: fewer than requested where the sender itself takes the whole
    /// processor.
    pub reached: f64,
    /// Processor time of the recorder for each frame that was sent, ns.
    pub recorder_ns: f64,
    /// Processor time of the sender for each frame, with all deliveries, ns.
    pub sender_ns: f64,
}

/// The reasons why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// An interface cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A frame could not be sent.
    #[error("{0}: sending: {1}")]
    Send(String, linux::Errno),
    /// The recorder could not be run.
    #[error("{0}: {1}")]
    Run(String, io::Error),
    /// The recorder ended too early.
    #[error("{0} ended before the first frame; does it run by itself?")]
    Ended(String),
}

/// Runs a recorder while frames are sent.
///
/// # Errors
/// [`RecorderError`]
pub fn measure(trial: &RecorderTrial<'_>) -> Result<TrialCost, RecorderError> {
    let mut sockets = Vec::new();
    for interface in trial.interfaces {
        let socket = CanSocket::open(interface)?;
        let set = socket.set_filters(&[]).and_then(|()| {
            let state = socket.query_state()?;
            socket.attach(state.index)
        });
        set.map_err(|errno| OpenError::set_up(interface, errno))?;
        sockets.push((socket, interface));
    }
    let mut children = start(trial)?;
    sleep(START);
    let fail = |error| RecorderError::Run(trial.name.to_owned(), error);
    let all = |children: &[Child]| {
        children
            .iter()
            .map(|c| consumed(c.id()))
            .sum::<io::Result<u64>>()
    };
    let before = all(&children).map_err(|_| RecorderError::Ended(trial.name.to_owned()))?;
    let sent = std::thread::scope(|scope| scope.spawn(|| send(trial, &sockets)).join());
    let (nanos, sender) = sent.unwrap_or_else(|_| {
        let gone = io::Error::other("the sender's thread has ended");
        Err(RecorderError::Run(trial.name.to_owned(), gone))
    })?;
    sleep(SETTLE);
    let after = all(&children).map_err(fail)?;
    for child in &mut children {
        let pid = Pid::from_child(child);
        kill_process(pid, Signal::INT).map_err(|errno| fail(errno.into()))?;
        child.wait().map_err(fail)?;
    }
    let each = |nanos: u64| nanos as f64 / f64::from(trial.frames);
    let seconds = nanos as f64 / 1e9;
    Ok(TrialCost {
        recorder: trial.name.to_owned(),
        rate: trial.rate,
        sent: trial.frames,
        seconds,
        reached: f64::from(trial.frames) / seconds,
        recorder_ns: each(after - before),
        sender_ns: each(sender),
    })
}

fn start(trial: &RecorderTrial<'_>) -> Result<Vec<Child>, RecorderError> {
    let mut children = Vec::new();
    for (command, output) in trial.commands {
        let Some((program, arguments)) = command.split_first() else {
            continue;
        };
        let fail = |error| RecorderError::Run(program.clone(), error);
        let output = File::create(output).map_err(fail)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(output).stderr(Stdio::null());
        children.push(command.spawn().map_err(fail)?);
    }
    Ok(children)
}

/// Returns the processor time of all threads of a process, ns.
fn consumed(pid: u32) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().unwrap_or_default();
        sum += first.parse::<u64>().map_err(io::Error::other)?;
    }
    Ok(sum)
}

/// Sends all frames; returns the time it took, and the processor time of it, ns.
fn send(
    trial: &RecorderTrial<'_>,
    sockets: &[(CanSocket, &String)],
) -> Result<(u64, u64), RecorderError> {
    // Buses do not wait for a recorder. Without the privilege for this priority, `reached` shows
    // the effect.
    let _ = prepare(Some(50));
    let mut outbox = MmsgOutbox::new(1, CLASSIC_SIZE);
    let interval = 1_000_000_000 / u64::from(trial.rate.max(1));
    let start = now(ClockId::Monotonic);
    let worked = now(ClockId::ThreadCPUTime);
    for number in 0..trial.frames {
        let due = start + u64::from(number) * interval;
        let early = due.saturating_sub(now(ClockId::Monotonic));
        if early > 0 {
            sleep(Duration::from_nanos(early).max(TICK));
        }
        let turn = number as usize % sockets.len().max(1);
        let Some((socket, interface)) = sockets.get(turn) else {
            break;
        };
        let id = CanId::from_raw(0x100 + turn as u32);
        let mut payload = [0x5A; 8];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        let frame = Frame::classic(id, &payload).ok();
        if let (Some(frame), Some((slot, len))) = (frame, outbox.slot(0)) {
            *len = encode(frame.view(), slot).unwrap_or(0);
        }
        outbox
            .write_one(socket, 0)
            .map_err(|errno| RecorderError::Send((*interface).clone(), errno))?;
    }
    Ok((
        now(ClockId::Monotonic) - start,
        now(ClockId::ThreadCPUTime) - worked,
    ))
}

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Counts the frames in a file that a recorder wrote: candump's lines, blocks of pcapng, or records
/// of pcap.
///
/// # Errors
/// The file cannot be read, or has another format.
pub fn count(path: &Path) -> io::Result<u64> {
    let bytes = fs::read(path)?;
    let word = |at: usize| {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.map(|word| u32::from_le_bytes(*word) as usize)
    };
    match word(0) {
        // Blocks; type 6 holds a frame.
        Some(0x0A0D_0D0A) => {
            let (mut at, mut frames) = (0, 0);
            while let (Some(kind), Some(len)) = (word(at), word(at + 4)) {
                frames += u64::from(kind == 6);
                at += len.max(12);
            }
            Ok(frames)
        }
        // Records after a header of 24 bytes, with timestamps in microseconds or nanoseconds.
        Some(0xA1B2_C3D4 | 0xA1B2_3C4D) => {
            let (mut at, mut frames) = (24, 0);
            while let Some(len) = word(at + 8) {
                frames += 1;
                at += 16 + len;
            }
            Ok(frames)
        }
        None => Ok(0),
        _ if bytes.starts_with(b"(") || bytes.starts_with(b"#") => {
            let lines = bytes.split(|byte| *byte == b'\n');
            Ok(lines.filter(|line| line.starts_with(b"(")).count() as u64)
        }
        _ => Err(io::Error::other(
            "neither candump's text nor pcap nor pcapng",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_each_form_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let counted = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            count(&path).ok()
        };
        assert_eq!(
            counted(b"(1.0) can0 1#\n# a loss\n(2.0) can0 2#\n"),
            Some(2)
        );
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let blocks = [0x0A0D_0D0A, 12, 12, 6, 16, 0, 16, 1, 12, 12, 6, 12, 12];
        assert_eq!(counted(&words(&blocks)), Some(2));
        let mut records = vec![0xA1B2_C3D4, 0, 0, 0, 0, 0];
        records.extend([0, 0, 4, 4, 7, 0, 0, 0, 0]);
        assert_eq!(counted(&words(&records)), Some(2));
        assert_eq!(counted(b""), Some(0));
        assert_eq!(counted(b"something else"), None);
    }

    #[test]
    fn the_kernel_accounts_for_every_thread() {
        // Another process: in this one, threads of other tests end, and their time goes with them.
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let before = consumed(busy.id()).unwrap();
        let has_grown = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            consumed(busy.id()).unwrap() > before
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(has_grown);
        assert!(consumed(u32::MAX).is_err());
    }
}
