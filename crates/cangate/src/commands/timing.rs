//! `cangate timing`: the duration of a frame.

use crate::cli::Timing;
use console::Failure;
use frame::wire::{self, BitRate, WireLength, parse_rate};
use frame::{FrameBuf, FrameRef, Kind, dlc, text};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;

#[derive(Serialize)]
struct TimingFigures {
    frame: String,
    /// Payload bytes on the wire: more than in the frame if no DLC encodes its length.
    payload_bytes: usize,
    bits: u32,
    stuff_bits: u32,
    crc: String,
    data_phase_bits: u32,
    bitrate: u32,
    data_bitrate: u32,
    duration_ns: u64,
    duration_without_intermission_ns: u64,
    /// The duration with the bit rate switched at the sample points of BRS and CRC delimiter
    /// instead of at bit boundaries (docs/decisions/0004-fd-durations.md); the same without BRS.
    duration_at_sample_points_ns: u64,
    #[serde(skip)]
    padded: bool,
}

pub(crate) fn run(args: &Timing) -> Result<(), Failure> {
    let nominal = rate("--bitrate", &args.bitrate)?;
    let data = rate("--data-bitrate", &args.data_bitrate)?;
    let rate = BitRate::new(nominal, Some(data)).map_err(|e| {
        Failure::input(format!(
            "--bitrate {} with --data-bitrate {}: {e}",
            args.bitrate, args.data_bitrate
        ))
    })?;
    let mut all = Vec::with_capacity(args.frames.len());
    let mut buf = FrameBuf::new();
    for given in &args.frames {
        text::parse_frame(given.as_bytes(), &mut buf).map_err(|error| {
            let pad = " ".repeat(error.column.saturating_sub(1));
            Failure::input(format!("{error}\n  {given}\n  {pad}^"))
        })?;
        let length = wire::length(buf.view()).ok_or_else(|| {
            let what = if buf.view().id().is_err() {
                "an error frame of a controller is not a frame on the wire"
            } else {
                "the length of XL frames is not calculated"
            };
            Failure::input(format!("{given}: {what}; give a classic or FD frame"))
        })?;
        all.push(figures(buf.view(), length, rate, data));
    }
    let mut out = String::new();
    for figures in &all {
        if args.json {
            let line = serde_json::to_string(figures).map_err(Failure::run)?;
            let _ = writeln!(out, "{line}");
        } else {
            describe(&mut out, figures);
        }
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

fn rate(option: &str, text: &str) -> Result<u32, Failure> {
    parse_rate(text).map_err(|e| Failure::input(format!("{option} {text}: {e}")))
}

fn figures(frame: FrameRef<'_>, length: WireLength, rate: BitRate, data: u32) -> TimingFigures {
    let bytes = frame.data().len();
    TimingFigures {
        frame: frame.to_string(),
        payload_bytes: match frame.kind() {
            Kind::Fd => dlc::fd_padded(bytes),
            Kind::Classic | Kind::Xl => bytes,
        },
        padded: frame.kind() == Kind::Fd && dlc::fd_padded(bytes) != bytes,
        bits: length.bits(),
        stuff_bits: length.stuff_bits(),
        crc: format!("{:04X}", length.crc()),
        data_phase_bits: length.data_phase_bits(),
        bitrate: rate.nominal(),
        data_bitrate: data,
        duration_ns: length.duration(rate, true),
        duration_without_intermission_ns: length.duration(rate, false),
        duration_at_sample_points_ns: length.duration_with_switch(rate, true),
    }
}

fn describe(out: &mut String, f: &TimingFigures) {
    let _ = writeln!(out, "{}", f.frame);
    if f.padded {
        let _ = writeln!(
            out,
            "  payload     {} bytes on the wire: no DLC encodes the given length, zeros fill it up",
            f.payload_bytes
        );
    }
    let _ = writeln!(
        out,
        "  bits        {} with intermission, of which {} stuff bits",
        f.bits, f.stuff_bits
    );
    if f.data_phase_bits > 0 {
        let _ = writeln!(
            out,
            "  data phase  {} bits at {} bit/s",
            f.data_phase_bits, f.data_bitrate
        );
    }
    let _ = writeln!(out, "  CRC         {}", f.crc);
    let _ = writeln!(
        out,
        "  duration    {} µs at {} bit/s, {} µs to the end of frame (without intermission)",
        micros(f.duration_ns),
        f.bitrate,
        micros(f.duration_without_intermission_ns)
    );
    if f.duration_at_sample_points_ns != f.duration_ns {
        let _ = writeln!(
            out,
            "              {} µs with the rate switched at the sample points of BRS and CRC delimiter",
            micros(f.duration_at_sample_points_ns)
        );
    }
}

fn micros(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
