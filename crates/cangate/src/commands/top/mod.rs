//! `cangate top`: a gateway's ports and routes, live.

mod app;
mod view;

use super::choice::{GatewayChoice, understand};
use super::stats_watch::{WatchResult, ended, fetch};
use super::terminal::{LiveTerminal, TerminalInput};
use crate::cli::Top;
use crate::rates::GatewayRates;
use crate::stop_signal::{SecondSignal, StopSignal};
use app::TopApp;
use console::Failure;
use gateway::GatewayStats;
use gateway::control::ControlRequest;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// The time to wait for keys before the screen is checked.
const TURN: Duration = Duration::from_millis(50);

/// A message to the screen about the gateway.
enum GatewayNews {
    Rates(Box<GatewayRates>),
    Ended,
    Failed(Failure),
}

pub(crate) fn run(args: &Top, color: bool) -> Result<(), Failure> {
    let gateway = GatewayChoice::which(&args.control, color)?;
    gateway.warn();
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(Failure::input(
            "`cangate top` needs a terminal; `cangate stats --watch` prints the same rates to anything",
        ));
    }
    let first: GatewayStats = understand(gateway.ask(&ControlRequest::Stats)?)?;
    let socket = gateway.socket;
    let quit = StopSignal::listen(SecondSignal::Waits)?;
    let (tell, news) = sync_channel(1);
    let (path, interval) = (socket.clone(), args.interval);
    // The thread ends with the process, or when the receiver is dropped.
    std::thread::spawn(move || ask(&path, first, interval, &tell));
    let mut terminal = LiveTerminal::open()?;
    let mut app = TopApp::new(socket.display().to_string(), color);
    let end = show(&mut terminal, &mut app, &news, &quit);
    drop(terminal);
    match end? {
        TopEnd::Quit => Ok(()),
        TopEnd::Gone => {
            println!("{}", ended(&socket));
            Ok(())
        }
    }
}

enum TopEnd {
    Quit,
    Gone,
}

/// Queries the gateway repeatedly, on its own thread, so that a slow answer does not delay keys.
fn ask(
    socket: &Path,
    mut before: GatewayStats,
    interval: Duration,
    tell: &SyncSender<GatewayNews>,
) {
    let mut at = Instant::now();
    loop {
        std::thread::sleep(interval);
        let news = match fetch(socket) {
            Ok(WatchResult::Seen(_, now)) => {
                let over = at.elapsed();
                at += over;
                let rates = GatewayRates::between(&before, &now, over);
                before = *now;
                GatewayNews::Rates(Box::new(rates))
            }
            Ok(WatchResult::Ended) => GatewayNews::Ended,
            Err(failure) => GatewayNews::Failed(failure),
        };
        let last = !matches!(news, GatewayNews::Rates(_));
        if tell.send(news).is_err() || last {
            return;
        }
    }
}

fn show(
    terminal: &mut LiveTerminal,
    app: &mut TopApp,
    news: &Receiver<GatewayNews>,
    quit: &StopSignal,
) -> Result<TopEnd, Failure> {
    let mut changed = true;
    while !quit.is_set() {
        if changed {
            terminal.draw(|frame| view::draw(app, frame))?;
        }
        changed = false;
        match terminal.next_input(TURN)? {
            TerminalInput::Key(key) if app.press(key) => return Ok(TopEnd::Quit),
            TerminalInput::Key(_) | TerminalInput::Resized => changed = true,
            TerminalInput::Nothing => {}
        }
        match news.try_recv() {
            Ok(GatewayNews::Rates(rates)) => {
                changed |= app.handle_rates(*rates);
            }
            Ok(GatewayNews::Failed(failure)) => return Err(failure),
            Ok(GatewayNews::Ended) | Err(TryRecvError::Disconnected) => return Ok(TopEnd::Gone),
            Err(TryRecvError::Empty) => {}
        }
    }
    Ok(TopEnd::Quit)
}
