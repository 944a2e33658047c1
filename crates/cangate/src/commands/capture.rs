//! `cangate capture`.

use crate::cli::capture::{Capture, StampChoice};
use capture::live::{
    CaptureControl, CaptureProgress, CaptureSettings, CaptureSummary, LiveError, record,
};
use capture::{CaptureOutput, InterfaceChoice, KeepRule, RotationRule};
use console::Failure;
use linux::chardev::OpenError;
use linux::packet::RingOptions;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// The exit status for lost frames.
const LOSS: u8 = 3;
/// Time after which the kernel hands over frames that a program reads while they are recorded. A
/// shorter one costs a wake-up each time, for each record.
const STREAM_TIMEOUT: Duration = Duration::from_millis(10);
/// The size in bytes of a block of the ring, and of a chunk.
const BLOCK: u64 = 1 << 18;

/// Records until an end is requested.
pub(crate) fn run(args: &Capture) -> Result<(), Failure> {
    let settings = settings(args)?;
    let any = settings.choices.iter().all(|choice| choice.name.is_none());
    if any && no_interface() && !args.memory.quiet {
        eprintln!("there is no CAN interface yet: interfaces that appear later are recorded");
    }
    let control = control()?;
    let mut display = RateDisplay {
        terminal: std::io::stderr().is_terminal() && !args.memory.quiet,
        shown: 0,
        last: (Duration::ZERO, 0, 0),
    };
    let summary = record(&settings, &control, &mut |progress| display.show(progress));
    display.clear();
    let summary = summary.map_err(|error| match error {
        LiveError::Device(OpenError::System { .. }) => Failure::run(error),
        LiveError::NoInterface { .. } | LiveError::TooLong(_) | LiveError::Device(_) => {
            Failure::input(error)
        }
        error => Failure::run(error),
    })?;
    report(args, &settings, &summary)?;
    if settings.output.is_stream() && summary.written.ended.is_some() {
        return Err(Failure::Ended {
            status: Failure::CLOSED,
            text: "standard output was closed before all frames were written to it".to_owned(),
        });
    }
    match summary.counts.lost() {
        0 if any && summary.names.is_empty() && no_interface() => Err(Failure::Run(
            "nothing was recorded: there is no CAN interface (`ip link show type can` and `type vcan` list them)".to_owned(),
        )),
        0 => Ok(()),
        lost => Err(Failure::Ended {
            status: LOSS,
            text: format!("{lost} frames were lost: {}", losses(&summary)),
        }),
    }
}

/// Returns whether there is no CAN interface at all.
fn no_interface() -> bool {
    // If the kernel cannot be asked, the recording reports why.
    linux::link::NetLinks::now().is_ok_and(|links| links.all_can().next().is_none())
}

fn settings(args: &Capture) -> Result<CaptureSettings, Failure> {
    let mut choices = Vec::new();
    for text in &args.interfaces {
        let choice = InterfaceChoice::read(text, &args.which.filter).map_err(Failure::input)?;
        if choices
            .iter()
            .any(|known: &InterfaceChoice| known.name == choice.name)
        {
            return Err(Failure::Input(format!(
                "`{text}`: {} is given twice; append all its filters to one name",
                choice.name.as_deref().unwrap_or("any")
            )));
        }
        choices.push(choice);
    }
    // `any` is for the interfaces that are not named.
    choices.sort_by_key(|choice| choice.name.is_none());
    let output = CaptureOutput::from_path(&args.out, args.format).map_err(Failure::input)?;
    #[cfg(feature = "decode")]
    let output = super::messages::with_messages(output, &args.databases)?;
    if args.keep.keep.is_some() && output.is_stream() {
        return Err(Failure::Input(
            "--keep writes a file for each trigger: name a file, not `-`".to_owned(),
        ));
    }
    let blocks = u32::try_from(args.memory.ring / BLOCK).unwrap_or(u32::MAX);
    if !(2..=8192).contains(&blocks) {
        return Err(Failure::Input(
            "--ring: give 512KiB to 2GiB; 16MiB hold about 140 000 classic frames".to_owned(),
        ));
    }
    let rotate = args.files.rotate.unwrap_or_default();
    let usual = RingOptions::default();
    Ok(CaptureSettings {
        choices,
        error_frames: !args.which.no_error_frames,
        direction: args.which.direction,
        ring: RingOptions {
            block_size: BLOCK as u32,
            blocks,
            hardware_stamps: args.which.stamps == StampChoice::Hardware,
            timeout: match output.is_stream() {
                true => STREAM_TIMEOUT,
                false => usual.timeout,
            },
        },
        queue: usize::try_from(args.memory.buffer / BLOCK)
            .unwrap_or(usize::MAX)
            .clamp(2, 1 << 16),
        output,
        rotate: RotationRule {
            size: rotate.size,
            every: rotate.every,
            keep: args.files.files,
        },
        keep: args.keep.keep.map(|before| KeepRule {
            before,
            after: args.keep.after,
            memory: args.keep.memory,
            triggers: args.keep.trigger.iter().flat_map(|t| t.0.clone()).collect(),
        }),
        frames: args.files.count,
        duration: args.files.duration,
    })
}

fn control() -> Result<CaptureControl, Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
    let control = CaptureControl::default();
    let flags = [
        (SIGINT, &control.stop),
        (SIGTERM, &control.stop),
        (SIGUSR1, &control.trigger),
    ];
    for (signal, flag) in flags {
        signal_hook::flag::register(signal, flag.clone())
            .map_err(|error| Failure::Run(format!("cannot listen to signals: {error}")))?;
    }
    Ok(control)
}

/// The display of rates on a terminal, and of remarks.
struct RateDisplay {
    terminal: bool,
    /// The number of characters of the line that is shown.
    shown: usize,
    /// The time, frames and bytes when it was shown.
    last: (Duration, u64, u64),
}

impl RateDisplay {
    fn show(&mut self, progress: &CaptureProgress<'_>) {
        if !progress.remarks.is_empty() {
            self.clear();
        }
        let mut err = std::io::stderr().lock();
        for remark in &progress.remarks {
            // The reader may be gone.
            let _ = writeln!(err, "{remark}");
        }
        drop(err);
        if !self.terminal {
            return;
        }
        let (frames, bytes) = (progress.counts.received(), progress.written.bytes);
        let (then, frames_then, bytes_then) = self.last;
        let seconds = progress
            .elapsed
            .saturating_sub(then)
            .as_secs_f64()
            .max(0.001);
        let rate = |now: u64, then: u64| (now - then) as f64 / seconds;
        let line = format!(
            "{:>8.0} frames/s {:>8.1} kB/s to the file  {} frames  {} lost",
            rate(frames, frames_then),
            rate(bytes, bytes_then) / 1e3,
            frames,
            progress.counts.lost()
        );
        self.last = (progress.elapsed, frames, bytes);
        let _ = write!(std::io::stderr(), "\r{line:<width$}", width = self.shown);
        self.shown = line.len();
    }

    fn clear(&mut self) {
        if self.shown > 0 {
            let _ = write!(std::io::stderr(), "\r{:width$}\r", "", width = self.shown);
            self.shown = 0;
        }
    }
}

fn losses(summary: &CaptureSummary) -> String {
    let counts = &summary.counts;
    let sum = |of: fn(&capture::InterfaceCounts) -> u64| -> u64 {
        counts.interfaces.iter().map(of).sum()
    };
    let parts = [
        (counts.lost_ring, "the kernel's ring was full (--ring)"),
        (
            sum(|i| i.lost_device),
            "a character device's queue was full (it holds 64 frames)",
        ),
        (
            sum(|i| i.lost_queue),
            "the queue to the file was full (--buffer)",
        ),
        (sum(|i| i.lost_file), "the file could not be written"),
        (
            counts.malformed + sum(|i| i.no_frames),
            "not CAN frames, or XL frames, which the format of the file does not have",
        ),
    ];
    let parts = parts.iter().filter(|(frames, _)| *frames > 0);
    let parts: Vec<_> = parts.map(|(n, why)| format!("{n}: {why}")).collect();
    parts.join("; ")
}

fn report(
    args: &Capture,
    settings: &CaptureSettings,
    summary: &CaptureSummary,
) -> Result<(), Failure> {
    if args.memory.json {
        let text = json(settings, summary);
        if settings.output.is_stream() {
            let _ = writeln!(std::io::stderr(), "{text}");
        } else {
            writeln!(std::io::stdout(), "{text}")?;
        }
        return Ok(());
    }
    if args.memory.quiet {
        return Ok(());
    }
    let counts = &summary.counts;
    let mut text = format!(
        "{} frames in {:.1} s, {} lost; ",
        counts.received(),
        summary.elapsed.as_secs_f64(),
        counts.lost()
    );
    let written = &summary.written;
    let files = match written.files {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let _ = match settings.keep {
        Some(_) => write!(
            text,
            "{} triggers, {} frames in {files}, {} bytes",
            written.triggers, written.frames, written.bytes
        ),
        None => write!(
            text,
            "{}: {} frames in {files}, {} bytes",
            settings.output.path.display(),
            written.frames,
            written.bytes
        ),
    };
    if settings.output.options.messages {
        let _ = write!(text, "\n  {} frames with their message", written.named);
    }
    if summary.names.len() > 1 {
        for (name, one) in summary.names.iter().zip(&counts.interfaces) {
            let ring = one.lost_ring.unwrap_or_default();
            let lost = ring + one.lost_device + one.lost_queue + one.lost_file + one.no_frames;
            let _ = write!(text, "\n  {name}: {} frames, {lost} lost", one.received);
        }
        let by_interface = counts.interfaces.iter().filter_map(|one| one.lost_ring);
        if by_interface.sum::<u64>() < counts.lost_ring {
            let _ = write!(
                text,
                "\n  lost in the ring, on any of them: {}",
                counts.lost_ring
            );
        }
    }
    if counts.no_direction > 0 {
        let _ = write!(
            text,
            "\n  {} frames have an unknown direction (a larger --ring helps)",
            counts.no_direction
        );
    }
    let _ = writeln!(std::io::stderr(), "{text}");
    Ok(())
}

fn json(settings: &CaptureSettings, summary: &CaptureSummary) -> serde_json::Value {
    let counts = &summary.counts;
    let interface = |(name, one): (_, &capture::InterfaceCounts)| {
        json!({
            "name": name,
            "received": one.received,
            "payload_bytes": one.payload_bytes,
            "lost_ring": one.lost_ring,
            "lost_device": one.lost_device,
            "lost_queue": one.lost_queue,
            "lost_file": one.lost_file,
            "no_frames": one.no_frames,
        })
    };
    let none = capture::InterfaceCounts::default();
    let all = counts.interfaces.iter().chain(std::iter::repeat(&none));
    let names = summary.names.iter().map(|name| &**name);
    json!({
        "seconds": summary.elapsed.as_secs_f64(),
        "file": settings.output.path,
        "received": counts.received(),
        "recorded": counts.recorded(),
        "lost": counts.lost(),
        "lost_ring": counts.lost_ring,
        "malformed": counts.malformed,
        "no_direction": counts.no_direction,
        "interfaces": names.zip(all).map(interface).collect::<Vec<_>>(),
        "written": {
            "frames": summary.written.frames,
            "named": summary.written.named,
            "bytes": summary.written.bytes,
            "files": summary.written.files,
            "triggers": summary.written.triggers,
        },
    })
}
