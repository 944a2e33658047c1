//! The machines' outputs: whole lines with the machine's name, and files.

use crate::commands::setup::SetupStages;
use console::Failure;
use guest::lockstep::{LockstepOutput, LockstepPlan};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The longest piece of a line that is kept until the line is complete, in bytes.
const LONGEST: usize = 1 << 16;

/// An output of a machine.
struct Stream {
    /// The end of the output, which is not a whole line yet.
    rest: Vec<u8>,
    file: Option<File>,
}

/// Prints the lines of all machines.
pub(super) struct MachineLines<'a> {
    /// Standard output and standard error of each machine, with the prefix of its lines.
    streams: Vec<(String, [Mutex<Stream>; 2])>,
    stages: &'a SetupStages,
    failure: Mutex<Option<Failure>>,
}

impl<'a> MachineLines<'a> {
    pub(super) fn new(
        plan: &LockstepPlan,
        folder: Option<&Path>,
        stages: &'a SetupStages,
    ) -> Result<Self, Failure> {
        let width = plan
            .machines
            .iter()
            .map(|it| it.name.len())
            .max()
            .unwrap_or(0);
        let stream = |name: &str, ending: &str| -> Result<_, Failure> {
            let file = folder.map(|folder| {
                let path = folder.join(format!("{name}.{ending}"));
                File::create(&path).map_err(|error| Failure::file("write", &path, &error))
            });
            Ok(Mutex::new(Stream {
                rest: Vec::new(),
                file: file.transpose()?,
            }))
        };
        let mut streams = Vec::new();
        for machine in &plan.machines {
            let name = &machine.name;
            let both = [stream(name, "out")?, stream(name, "err")?];
            streams.push((format!("{name:width$} | "), both));
        }
        Ok(Self {
            streams,
            stages,
            failure: Mutex::new(None),
        })
    }

    /// Prints what is left of each output, and returns the first failure of writing.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        // The files have what the machines have printed, and no end of line of ours.
        for (_, both) in &mut self.streams {
            for stream in both {
                let stream = stream.get_mut();
                stream.unwrap_or_else(PoisonError::into_inner).file = None;
            }
        }
        for (number, (_, [stdout, stderr])) in self.streams.iter().enumerate() {
            let is_partial = |stream: &Mutex<Stream>| {
                !stream
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .rest
                    .is_empty()
            };
            if is_partial(stdout) {
                self.stdout(number, b"\n");
            }
            if is_partial(stderr) {
                self.stderr(number, b"\n");
            }
        }
        let failure = self
            .failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), Err)
    }

    /// Prints the lines that are complete.
    fn add(&self, stream: &Mutex<Stream>, prefix: &str, bytes: &[u8], to: &mut dyn Write) {
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let Stream { rest, file } = &mut *stream;
        let filed = file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        rest.extend_from_slice(bytes);
        let end = rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let end = if rest.len() > LONGEST {
            rest.len()
        } else {
            end
        };
        let mut text = Vec::new();
        for line in rest
            .drain(..end)
            .as_slice()
            .split_inclusive(|byte| *byte == b'\n')
        {
            text.extend_from_slice(prefix.as_bytes());
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        let printed = match text.as_slice() {
            [] => Ok(()),
            text => {
                self.stages.finish();
                to.write_all(text).and_then(|()| to.flush())
            }
        };
        if let Err(error) = filed.and(printed) {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(Failure::from(error));
        }
    }
}

impl LockstepOutput for MachineLines<'_> {
    fn stdout(&self, machine: usize, bytes: &[u8]) {
        if let Some((prefix, [stream, _])) = self.streams.get(machine) {
            self.add(stream, prefix, bytes, &mut std::io::stdout().lock());
        }
    }

    fn stderr(&self, machine: usize, bytes: &[u8]) {
        if let Some((prefix, [_, stream])) = self.streams.get(machine) {
            self.add(stream, prefix, bytes, &mut std::io::stderr().lock());
        }
    }
}
