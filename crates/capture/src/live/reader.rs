//! The reader: moves frames out of the kernel's ring and out of devices' queues into chunks.

use super::devices::{RecordedDevices, open};
use super::filling::FillingChunk;
use super::ring::CaptureRing;
use super::settings::{CaptureSettings, LiveError};
use super::waiting::StampOrder;
use crate::counts::CaptureCounts;
use crate::interfaces::InterfaceChoice;
use crate::names::InterfaceNames;
use crate::queue::ChunkSender;
use linux::PollSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Margin for the kernel to hand over a block after its timeout.
const MARGIN: Duration = Duration::from_millis(50);
/// Duration of one round of reading, if only devices are recorded.
const ROUND: Duration = Duration::from_millis(5);

/// Reads frames and never waits for a file.
pub(super) struct FrameReader {
    /// The ring of the interfaces, if interfaces are recorded.
    ring: Option<CaptureRing>,
    devices: RecordedDevices,
    waiting: StampOrder,
    poll: PollSet,
    filling: FillingChunk,
    until: Option<Duration>,
    remarks: Vec<String>,
}

impl FrameReader {
    /// Prepares everything; no frame is taken yet.
    pub(super) fn open(
        settings: &CaptureSettings,
        names: InterfaceNames,
        start: Instant,
    ) -> Result<Self, LiveError> {
        for name in settings.choices.iter().filter_map(|c| c.name.as_ref()) {
            // In the order in which the user named them.
            names.place(name);
        }
        let CaptureSettings {
            choices,
            error_frames,
            direction,
            ..
        } = settings;
        let devices = RecordedDevices::open(choices, *error_frames, *direction, &names, open())?;
        let interfaces = choices.iter().filter(|choice| choice.device().is_none());
        let interfaces: Vec<InterfaceChoice> = interfaces.cloned().collect();
        let ring = if interfaces.is_empty() {
            None
        } else {
            Some(CaptureRing::open(&interfaces, settings, names)?)
        };
        let ordered = ring.is_some() && !settings.ring.hardware_stamps;
        let hold = if ordered {
            settings.ring.timeout + MARGIN
        } else {
            ROUND
        };
        Ok(Self {
            ring,
            devices,
            waiting: StampOrder::new(hold),
            poll: PollSet::default(),
            filling: FillingChunk::new(settings.frames, start),
            until: settings.duration,
            remarks: Vec::new(),
        })
    }

    /// Starts taking frames.
    pub(super) fn start(&mut self, sender: ChunkSender) -> Result<(), LiveError> {
        self.filling.start(sender);
        if let Some(ring) = &self.ring {
            ring.attach().map_err(|errno| LiveError::Refused {
                step: "attaching to the interface",
                errno,
            })?;
        }
        self.devices.start(&mut self.filling);
        self.devices.check(&mut self.filling, &mut self.waiting);
        Ok(())
    }

    /// Returns whether the requested number of frames or the duration is reached.
    pub(super) fn is_done(&self) -> bool {
        let over = |until| self.filling.elapsed() >= until;
        self.filling.is_full() || self.until.is_some_and(over)
    }

    pub(super) const fn counts(&mut self) -> &mut CaptureCounts {
        &mut self.filling.counts
    }

    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.remarks);
        if let Some(ring) = &mut self.ring {
            all.extend(ring.take_remarks());
        }
        all.extend(self.devices.take_remarks());
        all
    }

    /// Waits for at most `most`, and takes the frames that are available.
    pub(super) fn step(&mut self, most: Duration) {
        let now = self.filling.elapsed();
        let due = [self.until, self.devices.deadline(), self.waiting.deadline()];
        let due = due.into_iter().flatten().map(|at| at.saturating_sub(now));
        let most = due.fold(most, Duration::min);
        self.poll.clear();
        if let Some(ring) = &self.ring {
            ring.add_to(&mut self.poll);
        }
        self.devices.add_to(&mut self.poll);
        // One additional millisecond, so that the wait does not end too early again and again.
        let waited = self.poll.wait(Some(most + Duration::from_millis(1)));
        if let Err(error) = waited {
            self.remarks.push(format!("waiting for frames: {error}"));
            std::thread::sleep(Duration::from_millis(100));
        }
        if let Some(ring) = &self.ring
            && self.poll.is_ready(0)
        {
            ring.clear_error();
        }
        self.drain();
        if let Some(ring) = &mut self.ring
            && self.poll.is_ready(1)
        {
            ring.changed();
        }
        self.devices.check(&mut self.filling, &mut self.waiting);
    }

    /// Takes all available frames.
    fn drain(&mut self) {
        let Self {
            ring,
            devices,
            waiting,
            filling,
            ..
        } = self;
        devices.take(filling, waiting);
        if let Some(ring) = ring {
            ring.drain(filling, waiting, devices);
        }
        waiting.release(filling.elapsed(), &mut |held| filling.take_held(held));
        filling.hand_over();
    }

    pub(super) fn each_second(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.statistics(&mut self.filling);
        }
    }

    /// Handles SIGUSR1.
    pub(super) fn signal(&mut self) {
        self.drain();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let stamp = now.map_or(0, |now| now.as_nanos() as u64);
        if !self.filling.signal(stamp) {
            self.remarks
                .push("the queue to the writer is full: this trigger is lost".to_owned());
        }
    }

    /// Stops taking new frames, and takes those in the ring and in the queues.
    pub(super) fn end(&mut self, whole: bool) {
        let Self {
            ring,
            devices,
            waiting,
            filling,
            ..
        } = self;
        devices.take(filling, waiting);
        // Frames that arrive from now on are not recorded; if they are lost, they are not counted.
        devices.end();
        if let Some(ring) = ring {
            ring.close();
            if whole {
                ring.drain_all(filling, waiting, devices);
            }
            ring.statistics(filling);
        }
        waiting.release_all(&mut |held| filling.take_held(held));
        devices.report_rest(filling);
        filling.hand_over();
        if let Some(ring) = ring
            && whole
        {
            ring.check(filling);
        }
    }

    /// Drops the queue, so that the writer ends.
    pub(super) fn close(mut self) -> (CaptureCounts, Vec<String>) {
        let remarks = self.take_remarks();
        (self.filling.counts, remarks)
    }
}
