//! The kernel's ring of blocks, with the frames of all interfaces.

use super::devices::RecordedDevices;
use super::filling::FillingChunk;
use super::sent::EchoRing;
use super::settings::{CaptureSettings, LiveError};
use super::waiting::StampOrder;
use super::watch::InterfaceWatch;
use crate::chunk::{LossPlace, RecordedFrame};
use crate::interfaces::InterfaceChoice;
use crate::names::InterfaceNames;
use linux::packet::{BlockRing, FilterProgram, PassedCounts, SentRing};
use linux::{Errno, PollSet};
use std::time::{Duration, Instant};

/// Interfaces with an index above this one are not counted separately.
const MAX_INDEX: usize = 1 << 12;

/// Size of a classic frame in the ring, in bytes: the maximum number of waiting sent frames is the
/// number of frames in the ring.
const SLOT: usize = 112;

/// The ring, and the state that belongs to it.
pub(super) struct CaptureRing {
    ring: BlockRing,
    watch: InterfaceWatch,
    /// The counters of the frames that the kernel let through, by interface; `None` if the kernel
    /// does not count them.
    passed: Option<PassedCounts>,
    /// The frames that this machine sent, if the direction was requested.
    sent: Option<EchoRing>,
    timeout: Duration,
    /// Whether its stamps come from the same clock as the stamps of character devices.
    by_stamp: bool,
    read: ReadFrames,
    remarks: Vec<String>,
}

/// Frames that were read.
#[derive(Default)]
struct ReadFrames {
    all: u64,
    /// Frames that were announced, but not complete.
    torn: u64,
    /// By the index of their interface.
    by_interface: Vec<u64>,
}

impl CaptureRing {
    /// Prepares everything; no frame is taken yet.
    pub(super) fn open(
        choices: &[InterfaceChoice],
        settings: &CaptureSettings,
        names: InterfaceNames,
    ) -> Result<Self, LiveError> {
        let watch = InterfaceWatch::open(choices, settings.error_frames, names)?;
        let program = watch.program()?;
        let ring = BlockRing::new(&settings.ring)?;
        let passed = PassedCounts::new().ok();
        // If the kernel rejects this program, losses are counted for all interfaces together.
        let passed = passed.filter(|passed| ring.set_counting_filter(&program, passed).is_ok());
        if passed.is_none() {
            ring.set_filter(&program)
                .map_err(|errno| LiveError::Refused {
                    step: "setting the filter (`sysctl net.core.optmem_max` limits its length)",
                    errno,
                })?;
        }
        let sent = if settings.direction {
            let frames = settings.ring.block_size as usize * settings.ring.blocks as usize / SLOT;
            let ring = SentRing::new(frames, settings.ring.hardware_stamps)
                .map_err(LiveError::NoDirection)?;
            ring.set_filter(&program).map_err(LiveError::NoDirection)?;
            Some(EchoRing::new(ring, 2 * frames))
        } else {
            None
        };
        Ok(Self {
            ring,
            watch,
            passed,
            sent,
            timeout: settings.ring.timeout,
            by_stamp: !settings.ring.hardware_stamps,
            read: ReadFrames::default(),
            remarks: Vec::new(),
        })
    }

    /// Starts taking frames. The ring of sent frames is attached last: see [`SentRing`].
    pub(super) fn attach(&self) -> Result<(), Errno> {
        let interface = self.watch.attachment();
        self.ring.attach(interface)?;
        self.sent
            .as_ref()
            .map_or(Ok(()), |sent| sent.ring.attach(interface))
    }

    fn set_filter(&self, program: &FilterProgram) -> Result<(), Errno> {
        if let Some(sent) = &self.sent {
            sent.ring.set_filter(program)?;
        }
        match &self.passed {
            Some(passed) => self.ring.set_counting_filter(program, passed),
            None => self.ring.set_filter(program),
        }
    }

    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.remarks);
        all.extend(self.watch.take_remarks());
        all
    }

    /// Adds the descriptors to wait for: two.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        poll.add_fd(self.ring.fd(), true, false);
        poll.add_fd(self.watch.fd(), true, false);
    }

    /// Clears the error of the socket. The watch already reports that an interface is down or gone.
    pub(super) fn clear_error(&self) {
        let _ = self.ring.take_error();
    }

    /// Handles changes of interfaces: they have appeared, disappeared or changed.
    pub(super) fn changed(&mut self) {
        if !self.watch.changed() {
            return;
        }
        let done = self.watch.program().and_then(|program| {
            self.set_filter(&program)
                .map_err(|errno| LiveError::Refused {
                    step: "setting the filter",
                    errno,
                })
        });
        if let Err(error) = done {
            self.remarks.push(error.to_string());
        }
        // Attaching to an interface that is gone fails; it is tried again when the interface is
        // back.
        let _ = self.attach();
    }

    /// Takes all blocks that the kernel has handed over, and the waiting frames that precede them.
    /// The queues of devices are short: they are emptied between two blocks.
    pub(super) fn drain(
        &mut self,
        filling: &mut FillingChunk,
        waiting: &mut StampOrder,
        devices: &mut RecordedDevices,
    ) {
        loop {
            if self.ring.is_losing() {
                self.statistics(filling);
            }
            let Self {
                ring,
                watch,
                sent,
                read,
                by_stamp,
                ..
            } = self;
            if let Some(sent) = sent {
                sent.take();
            }
            let Some(taken) = ring.take_block(|caught| {
                read.count(caught.interface);
                let direction = sent
                    .as_mut()
                    .and_then(|sent| sent.direction(caught.interface, caught.stamp, caught.bytes));
                if *by_stamp {
                    while let Some(held) = waiting.before(caught.stamp) {
                        filling.take_held(&held);
                    }
                }
                filling.take(&RecordedFrame {
                    stamp: caught.stamp,
                    interface: watch.place(caught.interface),
                    direction,
                    bytes: caught.bytes,
                });
            }) else {
                break;
            };
            read.torn += u64::from(taken.malformed);
            filling.counts.malformed += u64::from(taken.malformed);
            devices.take(filling, waiting);
        }
        if let Some(sent) = &mut self.sent {
            filling.counts.no_direction = sent.waiting.unknown;
            if self.ring.waiting() == 0 {
                sent.is_level();
            }
        }
    }

    /// Reads the kernel's counters of dropped frames.
    pub(super) fn statistics(&mut self, filling: &mut FillingChunk) {
        match self.ring.take_statistics() {
            Ok(output) => {
                let counts = &mut filling.counts;
                counts.passed += u64::from(output.seen.saturating_sub(output.dropped));
                if output.dropped > 0 {
                    counts.lost_ring += u64::from(output.dropped);
                    filling.gap(None, output.dropped.into(), LossPlace::Ring);
                }
            }
            Err(errno) => self.remarks.push(format!(
                "the kernel does not report what it has dropped: {errno}"
            )),
        }
    }

    /// Closes the filter for new frames.
    pub(super) fn close(&mut self) {
        if let Err(errno) = self.ring.set_filter(&FilterProgram::nothing()) {
            self.remarks.push(format!("ending: {errno}"));
        }
    }

    /// Takes the rest of the ring: the kernel hands over the block that is being filled after its
    /// timeout.
    pub(super) fn drain_all(
        &mut self,
        filling: &mut FillingChunk,
        waiting: &mut StampOrder,
        devices: &mut RecordedDevices,
    ) {
        let until = Instant::now() + 4 * self.timeout + Duration::from_secs(1);
        let mut poll = PollSet::default();
        self.drain(filling, waiting, devices);
        while self.ring.waiting() > 0 && Instant::now() < until {
            poll.clear();
            poll.add_fd(self.ring.fd(), true, false);
            if poll.wait(Some(self.timeout)).is_err() {
                break;
            }
            self.drain(filling, waiting, devices);
        }
    }

    /// Compares the number of frames that were read with the kernel's counters, after all have been
    /// read.
    pub(super) fn check(&mut self, filling: &mut FillingChunk) {
        let (read, passed) = (self.read.all + self.read.torn, filling.counts.passed);
        if read == passed {
            self.losses_by_interface(filling);
        } else {
            self.remarks.push(format!(
                "the kernel reports that it put {passed} frames into the ring, but {read} were read; \
                 please report this"
            ));
        }
    }

    /// Assigns losses to interfaces. Every frame that was let through was read or lost: the
    /// difference is the number of lost frames.
    fn losses_by_interface(&mut self, filling: &mut FillingChunk) {
        let Some(passed) = &self.passed else { return };
        let counts = &mut filling.counts;
        let mut lost = Vec::new();
        if counts.lost_ring > 0 {
            for interface in 1..MAX_INDEX {
                let read = self.read.by_interface.get(interface).copied();
                let passed = passed.read(interface as u32).ok().flatten();
                let passed = passed.unwrap_or_default();
                match passed.saturating_sub(read.unwrap_or_default()) {
                    0 => {}
                    frames => lost.push((interface as u32, frames)),
                }
            }
        }
        // An interface with a higher index may have lost some frames.
        if lost.iter().map(|(_, frames)| frames).sum::<u64>() != counts.lost_ring {
            return;
        }
        for (interface, _) in &lost {
            counts.at(self.watch.place(*interface));
        }
        for one in &mut counts.interfaces {
            one.lost_ring = Some(0);
        }
        for (interface, frames) in lost {
            let count = &mut counts.at(self.watch.place(interface)).lost_ring;
            *count = count.map(|before| before + frames);
        }
    }
}

impl ReadFrames {
    /// Counts a frame of this interface that was read.
    #[inline]
    fn count(&mut self, interface: u32) {
        self.all += 1;
        let at = interface as usize;
        if at >= MAX_INDEX {
            return;
        }
        if self.by_interface.len() <= at {
            self.by_interface.resize(at + 1, 0);
        }
        if let Some(read) = self.by_interface.get_mut(at) {
            *read += 1;
        }
    }
}
