//! Frames and mistakes of logs that may be damaged.
use logs::LogReader;
use std::io::Read;

/// Returns the frames, as lines of candump's log with nanoseconds, and the mistakes.
pub(crate) fn frames<R: Read>(reader: LogReader<R>) -> (Vec<String>, Vec<String>) {
    let (mut frames, mut wrong) = (Vec::new(), Vec::new());
    for entry in reader {
        match entry {
            Ok(entry) => {
                let line = frame::text::LogLine {
                    stamp: entry.logged.ns,
                    interface: entry.logged.interface.as_str(),
                    frame: entry.frame.view(),
                    direction: entry.logged.direction,
                };
                frames.push(format!("{line:.9}"));
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    (frames, wrong)
}

/// Reads a log with bits flipped at random places, this number of times: nothing may panic, and
/// there is no more to read than the log could have.
pub(crate) fn flip(log: &[u8], times: u64) {
    let mut state = 1_u64;
    let mut number = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..times {
        let mut damaged = log.to_vec();
        for _ in 0..=number(3) {
            let at = number(damaged.len());
            damaged[at] ^= 1 << number(8);
        }
        let (frames, wrong) = frames(LogReader::new(&damaged[..], "log"));
        assert!(frames.len() + wrong.len() <= 2 * log.len());
    }
}
