//! A line for each frame, as candump writes it into a log.

use super::{OpenSource, WatchEnd};
use crate::stop_signal::{SecondSignal, StopSignal};
use crate::watching::{NamedDatabases, SeenFrame, WatchLosses, WatchNews};
use console::Failure;
use frame::text::{Direction, LogLine};
use signals::DecodedFrame;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The time between two looks at whether a signal has come.
const TURN: Duration = Duration::from_millis(50);

/// Prints frames, each batch at once; returns the losses.
pub(super) fn show(
    source: &OpenSource,
    databases: &NamedDatabases,
    mut end: WatchEnd,
) -> Result<WatchLosses, Failure> {
    let stop = StopSignal::listen(SecondSignal::Kills)?;
    if source.is_gateway {
        // The first thing that a reader of the lines should know, and the sign that no frame is
        // missed any more.
        console::say(&format!(
            "watching {}: frames that the routes of the gateway can take, and those that it sends",
            source.ports.join(", ")
        ));
    }
    let mut losses = WatchLosses::default();
    let mut out = std::io::stdout().lock();
    let mut text = String::new();
    while !end.has_come() && !stop.is_set() {
        match source.news.recv_timeout(end.wait(TURN)) {
            Ok(WatchNews::Frames(frames, now)) => {
                text.clear();
                let wanted = usize::try_from(end.left).unwrap_or(usize::MAX);
                for seen in frames.iter().take(wanted) {
                    append(&mut text, seen, source.is_gateway, databases);
                    end.left -= 1;
                }
                out.write_all(text.as_bytes())?;
                out.flush()?;
                if now.lost > losses.lost {
                    let more = now.lost - losses.lost;
                    console::say(&format!("{more} frames were lost here"));
                }
                losses = now;
            }
            Ok(WatchNews::Ended(why)) => {
                console::say(&why);
                break;
            }
            Ok(WatchNews::Failed(failure)) => return Err(failure),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(losses)
}

/// Appends the line of a frame, and a comment with its message.
fn append(text: &mut String, seen: &SeenFrame, has_direction: bool, databases: &NamedDatabases) {
    let Some(frame) = seen.view() else {
        return;
    };
    let direction = match seen.is_sent {
        true => Direction::Sent,
        false => Direction::Received,
    };
    let line = LogLine {
        stamp: seen.at,
        interface: &seen.port,
        frame,
        direction: has_direction.then_some(direction),
    };
    let _ = writeln!(text, "{line}");
    if let Some(message) = databases.message(&seen.port, frame.kind(), frame.id()) {
        let decoded = DecodedFrame {
            message,
            payload: frame.data(),
        };
        let _ = writeln!(text, "# {decoded}");
    }
}
