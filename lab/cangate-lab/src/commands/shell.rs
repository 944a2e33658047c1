//! `cangate lab shell`.

use super::exec::{Through, end, guest_file, memory};
use super::setup::{Stages, lab_failure, open};
use super::terminal::{self, Raw};
use crate::cli::lab::Shell;
use console::Failure;
use experiment::spec::{BITRATE, DATA_BITRATE};
use experiment::{Bench, Cpu};
use guest::machine::{Job, Spec, Time};
use guest::{Keyboard, Lab};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A shell ends when its user ends it. This long is for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// How long a guest may take to end after a signal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the shell.
pub(crate) fn run(args: &Shell) -> Result<(), Failure> {
    let kernel: guest::Kernel = args.kernel.parse().map_err(Failure::input)?;
    let bench = args
        .bench
        .parse()
        .map_err(|wrong| Failure::Input(format!("--bench: {wrong}")))?;
    let on_terminal = terminal::is_there();
    let spec = Spec {
        kernel: kernel.to_string(),
        bench,
        controller: Cpu::Pc.controller(),
        bitrate: BITRATE,
        data_bitrate: (bench == Bench::Ctucan).then_some(DATA_BITRATE),
        ethernet: args.ethernet,
        time: Time::Real,
        boot: Vec::new(),
        memory: args.memory.unwrap_or_else(|| memory(bench)),
        virtio: args.virtio.clone(),
        shm: args.shm.clone(),
        files: args
            .file
            .iter()
            .map(|text| guest_file(text))
            .collect::<Result<_, _>>()?,
        job: Job::Shell {
            terminal: on_terminal.then(terminal::describe),
        },
        prepare: None,
        timeout: FOR_EVER,
        trace_registers: false,
    };
    let lab = Arc::new(open(&args.locations)?);
    let signal = end_by_signal(&lab)?;
    let stages = Stages::new();
    let mut sink = Through {
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
            raw = Raw::new().ok();
            follow_size(&keyboard);
        }
        type_in(keyboard);
    });
    // Whatever happened, the terminal is as before, and only then something is said.
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

/// Ends the guest on a signal, and gives what will hold its number, 0 before.
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
            // While something is fetched or built, no guest runs that could be ended. The terminal
            // is not in raw mode then.
            if again {
                std::process::exit(128 + signal);
            }
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                std::process::exit(128 + signal);
            });
        }
    });
    Ok(number)
}

/// Hands on what is typed, or what comes from a pipe, in a thread of its own.
fn type_in(mut keyboard: Keyboard) {
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
        // If the guest is gone, it needs no end.
        let _ = keyboard.end();
    });
}

/// Tells the guest each new size of the terminal.
fn follow_size(keyboard: &Keyboard) {
    let signals = signal_hook::iterator::Signals::new([SIGWINCH]);
    // Without them, the size stays what it was.
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
