//! `cangate lab shell`.

use super::exec::{JobPrinter, end, guest};
use super::measure::from_options;
use super::setup::{SetupStages, lab_failure, open};
use super::terminal::{self, RawTerminal};
use crate::cli::lab::Shell;
use console::Failure;
use guest::machine::{GuestJob, GuestSpec};
use guest::{GuestKeyboard, Lab};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A shell ends when its user ends it. This time is practically unlimited.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// Time given to a guest to end after a signal.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the shell.
pub(crate) fn run(args: &Shell) -> Result<(), Failure> {
    let kernel = from_options(&args.settings)?.kernel;
    let on_terminal = terminal::is_there();
    let spec = GuestSpec {
        kernel,
        job: GuestJob::Shell {
            terminal: on_terminal.then(terminal::describe),
        },
        timeout: FOR_EVER,
        ..guest(&args.guest)?
    };
    let bench = spec.bench;
    let lab = Arc::new(open(&args.locations)?);
    let signal = end_by_signal(&lab)?;
    let stages = SetupStages::new();
    let mut sink = JobPrinter {
        stages: &stages,
        status: Ok(()),
    };
    let mut raw = None;
    let outcome = lab.run_shell(&spec, &stages, &mut sink, &mut |keyboard| {
        if on_terminal {
            stages.finish();
            eprintln!(
                "guest with kernel {kernel}, bench {bench}: real time; `exit` or Ctrl-D ends it"
            );
            raw = RawTerminal::new().ok();
            follow_size(&keyboard);
        }
        type_in(keyboard);
    });
    // In all cases, the terminal is restored first, and messages are printed only then.
    drop(raw);
    let outcome = outcome.map_err(lab_failure)?;
    let written = sink.status;
    stages.finish();
    if let signal @ 1.. = signal.load(Ordering::SeqCst) {
        return Err(Failure::Status(u8::try_from(128 + signal).unwrap_or(255)));
    }
    written?;
    end(&outcome)
}

/// Ends the guest on a signal, and returns the variable that will hold the signal's number, 0
/// before.
fn end_by_signal(lab: &Arc<Lab>) -> Result<Arc<AtomicI32>, Failure> {
    let watch = |error: std::io::Error| Failure::Run(format!("cannot watch for signals: {error}"));
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(watch)?;
    let number = Arc::new(AtomicI32::new(0));
    let (lab, seen) = (Arc::clone(lab), Arc::clone(&number));
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let again = seen.swap(signal, Ordering::SeqCst) != 0;
            lab.stop();
            // While files are fetched or built, no guest runs that could be ended. The terminal is
            // not in raw mode then.
            if again {
                std::process::exit(128 + signal);
            }
            std::thread::spawn(move || {
                std::thread::sleep(END_TIMEOUT);
                std::process::exit(128 + signal);
            });
        }
    });
    Ok(number)
}

/// Passes on typed input, or input from a pipe, in a thread of its own.
fn type_in(mut keyboard: GuestKeyboard) {
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = [0; 1 << 12];
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    if keyboard.bytes(bytes).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // If the guest is gone, this end is not needed.
        let _ = keyboard.end();
    });
}

/// Sends each new size of the terminal to the guest.
fn follow_size(keyboard: &GuestKeyboard) {
    let signals = signal_hook::iterator::Signals::new([SIGWINCH]);
    // Without these signals, the size stays the same.
    let (Ok(mut signals), Ok(mut keyboard)) = (signals, keyboard.try_clone()) else {
        return;
    };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let (rows, columns) = terminal::size();
            if keyboard.size(rows, columns).is_err() {
                return;
            }
        }
    });
}
