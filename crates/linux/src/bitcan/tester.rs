//! The tester's node: opening the device, writing its frames, reading its stamps.

use super::ioctl;
use super::layout::{self, BitcanSetup, BitcanStart, ENTRY, ENTRY_SIZE, HEADER_SIZE, VERSION};
use super::types::{BUSES, BitcanStamp, DEVICE, Error, SendMode, TesterProgress, TimedFrame};
use crate::memory::{MappedMemory, WORD};
use crate::{Errno, PollSet};
use frame::Nanos;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

fn system(what: &'static str, errno: Errno) -> Error {
    Error::System {
        what,
        source: errno.into(),
    }
}

/// The tester's node, with frames to send and room for stamps.
pub struct BitcanTester {
    device: OwnedFd,
    memory: MappedMemory,
    setup: BitcanSetup,
    poll: PollSet,
}

impl BitcanTester {
    /// Opens the tester and writes its frames; `stamps` is the number of stamps for which it must
    /// have room.
    ///
    /// # Errors
    /// [`Error`], which states the remedy.
    pub fn open(frames: &[TimedFrame], stamps: u32) -> Result<Self, Error> {
        let device = File::options()
            .read(true)
            .write(true)
            .open(Path::new(DEVICE));
        let device: OwnedFd = device
            .map_err(|e| match Errno::from_io_error(&e) {
                Some(Errno::NOENT | Errno::NXIO | Errno::NODEV) => Error::Missing,
                Some(Errno::BUSY) => Error::Busy,
                Some(Errno::ACCESS | Errno::PERM) => Error::Forbidden,
                _ => Error::System {
                    what: "cannot be opened",
                    source: e,
                },
            })?
            .into();
        let count = u32::try_from(frames.len())
            .map_err(|_| Error::TooMuch("more frames than it can count".to_owned()))?;
        let mut setup = BitcanSetup {
            version: VERSION,
            frames: count,
            stamps,
            ..BitcanSetup::default()
        };
        let asked = setup;
        ioctl::set_up(&device, &mut setup).map_err(|errno| match errno {
            Errno::INVAL | Errno::PROTO | Errno::NOTTY => {
                Error::Misfit(format!("it refuses version {VERSION} of the interface"))
            }
            Errno::NOMEM | Errno::FBIG | Errno::TOOBIG => Error::TooMuch(format!(
                "no memory for {count} frames and {stamps} stamps: send fewer frames, or give the \
                 machine more memory"
            )),
            _ => system("cannot be set up", errno),
        })?;
        if setup.frames < asked.frames || setup.stamps < asked.stamps {
            return Err(Error::Misfit("it has less room than requested".to_owned()));
        }
        (setup.frames, setup.stamps) = (asked.frames, asked.stamps);
        setup
            .check()
            .map_err(|what| Error::Misfit(what.to_owned()))?;
        let size = usize::try_from(setup.size).unwrap_or(usize::MAX);
        let memory = MappedMemory::map(&device, size).map_err(|e| system("cannot be mapped", e))?;
        let tester = Self {
            device,
            memory,
            setup,
            poll: PollSet::with_capacity(1),
        };
        let version = tester.memory.get(0).map_or(0, |word| halves(word).0);
        if version != VERSION {
            return Err(Error::Misfit(format!("its mapping has version {version}")));
        }
        tester.fill(frames)?;
        Ok(tester)
    }

    fn fill(&self, frames: &[TimedFrame]) -> Result<(), Error> {
        let mut at = self.setup.frames_at as usize;
        for timed in frames {
            let written = layout::frame_words(timed)
                .is_some_and(|words| timed.bus < BUSES && self.memory.write(at, &words));
            if !written {
                let what = format!("{} on bus {} cannot be sent", timed.frame, timed.bus);
                return Err(Error::TooMuch(what));
            }
            at += ENTRY_SIZE;
        }
        Ok(())
    }

    /// Starts sending. `timeout`, ns: in one-at-a-time mode, the time to wait for a frame;
    /// otherwise, the time for which stamping continues after the last frame. Only every
    /// `stamp_every`th number is stamped; 0 counts as 1.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn start(&mut self, mode: SendMode, timeout: Nanos, stamp_every: u32) -> Result<(), Error> {
        let (mode, return_bus) = match mode {
            SendMode::Schedule => (0, 0),
            SendMode::OneAtATime { return_bus } => (1, return_bus),
        };
        let start = BitcanStart {
            mode,
            count: self.setup.frames,
            timeout,
            return_bus,
            reserved: [0; 3],
            stamp_every: stamp_every.max(1),
        };
        ioctl::start(&self.device, &start).map_err(|e| match e {
            Errno::NODEV | Errno::NXIO | Errno::NETDOWN => Error::TooMuch(
                "there is no such bus, or nothing on it is switched on: make an interface with \
                 `echo add NAME bus=N model=sja1000 > /dev/bitcan`, and switch it on"
                    .to_owned(),
            ),
            _ => system("cannot be started", e),
        })
    }

    /// Ends the run early.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn stop(&mut self) -> Result<(), Error> {
        ioctl::stop(&self.device).map_err(|e| system("cannot be stopped", e))
    }

    /// Sleeps until the run has ended, or for `time`. Returns whether the run has ended.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn wait(&mut self, time: Duration) -> Result<bool, Error> {
        if self.progress().done {
            return Ok(true);
        }
        self.poll.clear();
        self.poll.add_fd(self.device.as_raw_fd(), true, false);
        self.poll.wait(Some(time)).map_err(|source| Error::System {
            what: "cannot be waited for",
            source,
        })?;
        Ok(self.progress().done)
    }

    /// Returns the progress of the run.
    #[must_use]
    pub fn progress(&self) -> TesterProgress {
        progress(&self.memory)
    }

    /// Returns the stamps taken so far, in the order of the events on each bus, and the number of
    /// stamps of a kind that this version does not know.
    #[must_use]
    pub fn stamps(&self) -> (Vec<BitcanStamp>, u64) {
        stamps(&self.memory, &self.setup)
    }
}

impl Drop for BitcanTester {
    fn drop(&mut self) {
        // Closing the device ends the run, too; but the mapping keeps it open until it is gone.
        let _ = ioctl::stop(&self.device);
    }
}

/// Returns the two C integers of a word; `.0` is the first in memory.
fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let [a, b, c, d, e, f, g, h] = bytes;
    (
        u32::from_ne_bytes([a, b, c, d]),
        u32::from_ne_bytes([e, f, g, h]),
    )
}

fn progress(memory: &MappedMemory) -> TesterProgress {
    const DONE: u32 = 2;
    let word = |n: usize| memory.get(n * WORD).unwrap_or(0);
    // The state is read first: counts that were written before it changed are then visible.
    let (_, state) = halves(word(0));
    TesterProgress {
        done: state == DONE,
        started: word(1),
        sent: word(2),
        timeouts: word(3),
        stamps: word(4),
        stamps_lost: word(5),
    }
}

fn stamps(memory: &MappedMemory, setup: &BitcanSetup) -> (Vec<BitcanStamp>, u64) {
    let taken = progress(memory).stamps.min(u64::from(setup.stamps)) as usize;
    let mut out = Vec::with_capacity(taken);
    let mut unknown = 0;
    let mut words = [0; ENTRY];
    for index in 0..taken {
        let at = setup.stamps_at as usize + index * ENTRY_SIZE;
        let stamp = memory.read(at, &mut words).then(|| layout::stamp(&words));
        match stamp.flatten() {
            Some(stamp) => out.push(stamp),
            None => unknown += 1,
        }
    }
    (out, unknown)
}

const _: () = assert!(HEADER_SIZE == 6 * WORD);

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};

    fn setup() -> BitcanSetup {
        BitcanSetup {
            version: VERSION,
            frames: 2,
            stamps: 3,
            frames_at: 48,
            stamps_at: 48 + 176,
            size: 4096,
            ..BitcanSetup::default()
        }
    }

    /// Data that the kernel would write, and its interpretation: never more stamps than there is
    /// room for, whatever the count in the header.
    #[test]
    fn the_header_is_not_believed() {
        let memory = MappedMemory::anonymous(4096);
        let state = u64::from_ne_bytes([1, 0, 0, 0, 2, 0, 0, 0]);
        assert!(memory.write(0, &[state, 100, 2, 1, u64::MAX, 7]));
        let expected = TesterProgress {
            done: true,
            started: 100,
            sent: 2,
            timeouts: 1,
            stamps: u64::MAX,
            stamps_lost: 7,
        };
        assert_eq!(progress(&memory), expected);
        let (read, unknown) = stamps(&memory, &setup());
        // Zeros are a classic frame of ID 0 without payload.
        assert_eq!((read.len(), unknown), (3, 0));
        assert!(memory.write(48 + 176 + 8, &[0x0000_FF00_0000_0000]));
        let (read, unknown) = stamps(&memory, &setup());
        assert_eq!((read.len(), unknown), (2, 1));
    }

    #[test]
    fn frames_lie_one_after_the_other() {
        let memory = MappedMemory::anonymous(4096);
        let frame = |n: u8| Frame::classic(CanId::from_raw(u32::from(n)), &[n]).unwrap();
        let tester = std::mem::ManuallyDrop::new(BitcanTester {
            device: File::open("/dev/null").unwrap().into(),
            memory,
            setup: setup(),
            poll: PollSet::default(),
        });
        let timed = |n: u8| TimedFrame {
            at: u64::from(n) * 10,
            bus: n,
            frame: frame(n),
        };
        tester.fill(&[timed(1), timed(2)]).unwrap();
        assert_eq!(tester.memory.get(48), Some(10));
        assert_eq!(tester.memory.get(48 + 88), Some(20));
        assert!(tester.fill(&[timed(BUSES)]).is_err());
        let error = tester.progress();
        assert!(!error.done);
    }

    #[test]
    fn without_the_module_it_gives_the_reason() {
        if Path::new(DEVICE).exists() {
            eprintln!("SKIPPED because {DEVICE} is there");
            return;
        }
        let error = BitcanTester::open(&[], 1).err().unwrap();
        assert!(error.to_string().contains("modprobe bitcan"), "{error}");
    }
}
