//! One candump log for each bus, with all frames on it.

use crate::error::Error;
use frame::text::{Direction, LogLine};
use frame::{Frame, Nanos};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The name of the folder of the logs.
const FOLDER: &str = "buses";

/// The logs of all buses, in a folder `buses`. Frames that the gateway has sent are marked `T`,
/// those of other nodes `R`, as in the log of a program on the gateway's machine.
pub(crate) struct BusLogs(Vec<BusLog>);

struct BusLog {
    bus: String,
    path: PathBuf,
    file: BufWriter<File>,
}

impl BusLogs {
    /// Creates the files, whose names are those of the buses.
    pub(crate) fn create(out: &Path, buses: &[&str]) -> Result<Self, Error> {
        let folder = out.join(FOLDER);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Write { path, source }
        };
        std::fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let mut logs: Vec<BusLog> = Vec::new();
        for bus in buses {
            // The bus of a character device has the name of a path.
            let plain = bus.trim_start_matches('/').replace('/', "-");
            let mut path = folder.join(format!("{plain}.log"));
            let mut number = 2;
            while logs.iter().any(|log| log.path == path) {
                path = folder.join(format!("{plain}-{number}.log"));
                number += 1;
            }
            let file = File::create(&path).map_err(failed(&path))?;
            logs.push(BusLog {
                bus: (*bus).to_owned(),
                path,
                file: BufWriter::new(file),
            });
        }
        Ok(Self(logs))
    }

    /// Writes a frame that ended on the bus with this index at `end`.
    pub(crate) fn write(
        &mut self,
        bus: usize,
        end: Nanos,
        frame: &Frame,
        by_gateway: bool,
    ) -> Result<(), Error> {
        let Some(log) = self.0.get_mut(bus) else {
            return Ok(());
        };
        let line = LogLine {
            stamp: end,
            interface: &log.bus,
            frame: frame.view(),
            direction: Some(match by_gateway {
                true => Direction::Sent,
                false => Direction::Received,
            }),
        };
        writeln!(log.file, "{line}").map_err(|source| log.failed(source))
    }

    /// Writes what is still in memory.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        for log in &mut self.0 {
            log.file.flush().map_err(|source| log.failed(source))?;
        }
        Ok(())
    }
}

impl BusLog {
    fn failed(&self, source: io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }
}
