//! The display on a terminal.

use super::app::WatchApp;
use super::{OpenSource, WatchEnd, view};
use crate::commands::terminal::{LiveTerminal, TerminalInput};
use crate::opening::unix_now;
use crate::stop_signal::{SecondSignal, StopSignal};
use crate::watching::{NamedDatabases, WatchLosses, WatchNews};
use console::Failure;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

/// The time to wait for keys before frames are looked at. A frame is shown at most this long, and a
/// drawing, after it came.
const TURN: Duration = Duration::from_millis(40);

/// The most pieces of news between two looks at the keys.
const MAX_NEWS: usize = 256;

/// The time between two drawings without news: bytes lose their mark some time after their change.
const REDRAW: Duration = Duration::from_millis(250);

/// Time after the last frame from which on no byte is marked any more.
const MARKS_END: Duration = Duration::from_secs(2);

/// Shows the table until a key, a signal, or the end of the source; returns the losses.
pub(super) fn show(
    source: &OpenSource,
    databases: &NamedDatabases,
    end: WatchEnd,
    color: bool,
) -> Result<WatchLosses, Failure> {
    let quit = StopSignal::listen(SecondSignal::Waits)?;
    let mut app = WatchApp::new(source.ports.clone(), source.is_gateway, databases, color);
    let mut terminal = LiveTerminal::open()?;
    let shown = turns(&mut terminal, &mut app, source, end, &quit);
    drop(terminal);
    if let Some(why) = shown? {
        println!("{why}");
    }
    Ok(app.losses)
}

/// Draws and handles keys; returns why the source has ended, if it has.
fn turns(
    terminal: &mut LiveTerminal,
    app: &mut WatchApp<'_>,
    source: &OpenSource,
    mut end: WatchEnd,
    quit: &StopSignal,
) -> Result<Option<String>, Failure> {
    let (mut is_changed, mut has_more) = (true, false);
    let (mut drawn, mut last) = (Instant::now(), Instant::now());
    while !quit.is_set() && !end.has_come() {
        // A source with many frames is not slowed down by more drawings than one can see.
        let is_soon = has_more && drawn.elapsed() < TURN;
        if is_changed && !is_soon || (drawn.elapsed() >= REDRAW && last.elapsed() < MARKS_END) {
            let now = unix_now();
            terminal.draw(|frame| view::draw(app, now, frame))?;
            drawn = Instant::now();
            is_changed = false;
        }
        let wait = if has_more { Duration::ZERO } else { TURN };
        match terminal.next_input(end.wait(wait))? {
            TerminalInput::Key(key) if app.press(key) => return Ok(None),
            TerminalInput::Key(_) | TerminalInput::Resized => is_changed = true,
            TerminalInput::Nothing => {}
        }
        // On a busy bus, the keys have their turn.
        has_more = true;
        for _ in 0..MAX_NEWS {
            match source.news.try_recv() {
                Ok(WatchNews::Frames(mut frames, losses)) => {
                    let wanted = usize::try_from(end.left).unwrap_or(usize::MAX);
                    frames.truncate(wanted);
                    end.left -= frames.len() as u64;
                    app.take(frames, losses);
                    last = Instant::now();
                    is_changed = true;
                }
                Ok(WatchNews::Failed(failure)) => return Err(failure),
                Ok(WatchNews::Ended(why)) => return Ok(Some(why)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {
                    has_more = false;
                    break;
                }
            }
        }
    }
    Ok(None)
}
