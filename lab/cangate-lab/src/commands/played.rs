//! The log of `cangate lab measure --log`.

use console::Failure;
use experiment::{LogSide, LogTraffic};
use frame::{Frame, FrameBuf, Nanos};
use port::log::{LogError, LogReader};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads the frames of a log; those of the interface `out` are for the outgoing bus.
pub(super) fn read(path: &Path, out: Option<&str>) -> Result<LogTraffic, Failure> {
    let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()));
    let mut reader = LogReader::open(path).map_err(Failure::input)?;
    reader.recognise().map_err(Failure::input)?;
    let mut frames: Vec<(LogSide, Nanos, Frame)> = Vec::new();
    let mut interfaces = BTreeSet::new();
    let mut buf = FrameBuf::new();
    let (mut xl, mut last) = (0_u64, 0);
    loop {
        let logged = match reader.read(&mut buf) {
            Ok(None) => break,
            Ok(Some(logged)) => logged,
            Err(LogError::Bad { .. }) => continue,
            Err(error) => return Err(Failure::input(error)),
        };
        let Some(frame) = Frame::from_view(buf.view()) else {
            xl += 1;
            continue;
        };
        let interface = logged.interface.as_str();
        interfaces.insert(interface.to_owned());
        let side = match out == Some(interface) {
            true => LogSide::Outgoing,
            false => LogSide::Incoming,
        };
        // A stamp that goes back is replaced by the one before it, as in `cangate demo`.
        last = logged.ns.max(last);
        frames.push((side, last, frame));
    }
    for remark in reader.remarks() {
        eprintln!("warning: {remark}");
    }
    if xl > 0 {
        eprintln!("warning: {}: {xl} XL frames are skipped", path.display());
    }
    if let Some(out) = out.filter(|out| !interfaces.contains(*out)) {
        let all: Vec<String> = interfaces.into_iter().collect();
        return Err(wrong(format!(
            "it has no interface {out} (--log-out), only: {}",
            all.join(", ")
        )));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    LogTraffic::new(&name, frames).map_err(|error| wrong(error.to_string()))
}
