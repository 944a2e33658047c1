//! A runner of fuzz targets on stable Rust for a limited time: each seed, then seeds changed at
//! random. It runs as many targets at a time as there are processors.
//!
//! An input that panics, or takes longer than [`SLOW`], is written to `fuzz/artifacts/TARGET/`
//! and the target has failed.

#![forbid(unsafe_code)]

use cangate_fuzz::mutate::Mutator;
use cangate_fuzz::{TARGETS, Target};
use clap::Parser;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::num::NonZero;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, abort};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most time for one input.
const SLOW: Duration = Duration::from_secs(10);

/// Runs fuzz targets on stable Rust.
#[derive(Parser)]
struct Arguments {
    /// Only this one
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Start of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run only this file, without catching its panic
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
}

/// The input that is being run, for the watchdog.
#[derive(Default)]
struct Current {
    input: Vec<u8>,
    since: Option<Instant>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| {
            arguments
                .target
                .as_ref()
                .is_none_or(|name| name == target.name)
        })
        .collect();
    if wanted.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("there is no such target; there are: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    if let (Some(path), [target]) = (&arguments.input, wanted.as_slice()) {
        return match fs::read(path) {
            Ok(input) => {
                (target.run)(&input);
                println!("fuzz {} ... ok (1 input)", target.name);
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                ExitCode::FAILURE
            }
        };
    }
    let time = Duration::from_secs(arguments.seconds);
    let (next, good) = (AtomicUsize::new(0), AtomicBool::new(true));
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..processors.min(wanted.len()) {
            scope.spawn(|| {
                while let Some(target) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let held = fuzz(target, arguments.seed, time).unwrap_or_else(|error| {
                        println!("fuzz {} ... FAILED: {error}", target.name);
                        false
                    });
                    good.fetch_and(held, Ordering::Relaxed);
                }
            });
        }
    });
    ExitCode::from(u8::from(!good.into_inner()))
}

/// Runs one target; returns false if an input broke it.
fn fuzz(target: &'static Target, seed: u64, time: Duration) -> io::Result<bool> {
    let seeds = seeds(target)?;
    let current = Arc::new(Mutex::new(Current::default()));
    let watched = Arc::downgrade(&current);
    thread::spawn(move || {
        while let Some(current) = watched.upgrade() {
            watch(target, &lock(&current));
            drop(current);
            thread::sleep(Duration::from_millis(500));
        }
    });

    let mut mutator = Mutator::new(seed, &seeds, target.words);
    let started = Instant::now();
    let mut inputs: u64 = 0;
    while started.elapsed() < time || inputs < seeds.len() as u64 {
        let input = mutator.input();
        {
            let mut current = lock(&current);
            current.input.clear();
            current.input.extend_from_slice(input);
            current.since = Some(Instant::now());
        }
        inputs += 1;
        if panic::catch_unwind(|| (target.run)(input)).is_err() {
            let path = save(target, input)?;
            println!(
                "fuzz {} ... FAILED at input {inputs}, kept as {}. To see it again:\n  \
                 cargo xtask fuzz {} --input {}",
                target.name,
                path.display(),
                target.name,
                path.display()
            );
            return Ok(false);
        }
    }
    println!(
        "fuzz {} ... ok ({inputs} inputs from {} seeds in {:.1} s)",
        target.name,
        seeds.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(true)
}

/// Ends the process if the current input takes too long: an endless loop cannot be stopped in any
/// other way.
fn watch(target: &Target, current: &Current) {
    if current.since.is_some_and(|since| since.elapsed() > SLOW) {
        let kept = save(target, &current.input)
            .map_or_else(|error| error.to_string(), |path| path.display().to_string());
        println!(
            "fuzz {} ... FAILED: an input takes more than {} s, kept as {kept}",
            target.name,
            SLOW.as_secs()
        );
        abort();
    }
}

fn lock(current: &Mutex<Current>) -> MutexGuard<'_, Current> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the seeds in the order of their names, so that runs are reproducible.
fn seeds(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let folder = root().join("seeds").join(target.name);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().map(fs::read).collect()
}

fn save(target: &Target, input: &[u8]) -> io::Result<PathBuf> {
    let folder = root().join("artifacts").join(target.name);
    fs::create_dir_all(&folder)?;
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let path = folder.join(format!("crash-{:016x}", hash.finish()));
    fs::write(&path, input)?;
    Ok(path)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
