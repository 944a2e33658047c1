//! The character devices that are recorded: they appear and disappear, and their queues are short.

use super::filling::FillingChunk;
use super::settings::LiveError;
use super::waiting::{HeldFrame, StampOrder};
use crate::chunk::LossPlace;
use crate::interfaces::InterfaceChoice;
use crate::names::InterfaceNames;
use frame::text::Direction;
use linux::PollSet;
use linux::can::layout::FD_SIZE;
use linux::chardev::{CharDevice, OpenError, ReceiveQueue};
use port::chardev::DeviceLine;
use route::RawFilter;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Interval of the attempts to open a device that is gone.
const PAUSE: Duration = Duration::from_millis(200);
/// All classes of error frames (`CAN_ERR_MASK`).
const ERRORS: u32 = 0x1FFF_FFFF;

/// Function that opens the device of a path.
pub(super) type Open = Box<dyn Fn(&str) -> Result<Box<dyn DeviceLine>, OpenError>>;

/// Returns the function that opens real devices.
pub(super) fn open() -> Open {
    Box::new(|path| Ok(Box::new(CharDevice::open(path)?)))
}

/// All devices that the user selected.
pub(super) struct RecordedDevices {
    all: Vec<RecordedDevice>,
    open: Open,
    errors: u32,
    /// Whether received frames are distinguished from sent ones.
    direction: bool,
    remarks: Vec<String>,
}

struct RecordedDevice {
    path: String,
    place: u16,
    filters: Vec<RawFilter>,
    at: Option<OpenDevice>,
    /// Time of the next attempt to open a device that is gone, since the start.
    look_at: Duration,
    /// Lost frames that no later frame has reported yet: in the queue, and in the controller.
    unreported: u64,
    overruns: u64,
}

/// A device that is open.
struct OpenDevice {
    line: Box<dyn DeviceLine>,
    queue: ReceiveQueue,
    stopped: bool,
}

impl OpenDevice {
    /// Opens a device and sets the filters; frames that were in the queue before are discarded.
    fn new(open: &Open, path: &str, filters: &[RawFilter], errors: u32) -> Result<Self, OpenError> {
        let line = open(path)?;
        line.set_filters(filters, errors)
            .map_err(|errno| OpenError::System {
                path: path.to_owned(),
                what: "does not support filters",
                source: errno.into(),
            })?;
        Ok(Self {
            queue: ReceiveQueue::from_now(&*line),
            line,
            stopped: false,
        })
    }
}

impl RecordedDevices {
    /// Opens those of the choices that are devices.
    pub(super) fn open(
        choices: &[InterfaceChoice],
        error_frames: bool,
        direction: bool,
        names: &InterfaceNames,
        open: Open,
    ) -> Result<Self, LiveError> {
        let errors = if error_frames { ERRORS } else { 0 };
        let mut all = Vec::new();
        for choice in choices {
            let Some(path) = choice.device() else {
                continue;
            };
            let filters = choice.raw_filters();
            all.push(RecordedDevice {
                at: Some(OpenDevice::new(&open, path, &filters, errors)?),
                path: path.to_owned(),
                place: names.place(path),
                filters,
                look_at: Duration::ZERO,
                unreported: 0,
                overruns: 0,
            });
        }
        Ok(Self {
            all,
            open,
            errors,
            direction,
            remarks: Vec::new(),
        })
    }

    /// Starts taking frames.
    pub(super) fn start(&mut self, filling: &mut FillingChunk) {
        for one in &mut self.all {
            // The interface of lost frames is always known for devices.
            filling.counts.at(one.place).lost_ring = Some(0);
            if let Some(opened) = &mut one.at {
                opened.queue = ReceiveQueue::from_now(&*opened.line);
            }
        }
    }

    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Adds the descriptors to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        for opened in self.all.iter().filter_map(|one| one.at.as_ref()) {
            poll.add_fd(opened.line.fd(), true, false);
        }
    }

    /// Returns the time of the next attempt to open a device that is gone, since the start.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let gone = self.all.iter().filter(|one| one.at.is_none());
        gone.map(|one| one.look_at).min()
    }

    /// Takes the frames in the queues.
    pub(super) fn take(&mut self, filling: &mut FillingChunk, waiting: &mut StampOrder) {
        if self.all.is_empty() {
            return;
        }
        let came = filling.elapsed();
        for one in &mut self.all {
            one.take(came, self.direction, filling, waiting);
        }
    }

    /// Checks which devices have disappeared, come back, stopped or started.
    pub(super) fn check(&mut self, filling: &mut FillingChunk, waiting: &mut StampOrder) {
        let now = filling.elapsed();
        for one in &mut self.all {
            let Some(opened) = &mut one.at else {
                if now >= one.look_at {
                    // The driver may have created it only now.
                    one.at = OpenDevice::new(&self.open, &one.path, &one.filters, self.errors).ok();
                    one.look_at = now + PAUSE;
                    if one.at.is_some() {
                        self.remarks.push(format!("{} is back", one.path));
                    }
                }
                continue;
            };
            let stopped = opened.line.state().is_none();
            if stopped && !opened.line.is_there() {
                // The driver puts nothing into the queue any more.
                one.take(now, self.direction, filling, waiting);
                (one.at, one.look_at) = (None, now + PAUSE);
                self.remarks.push(format!(
                    "{} is gone; it is recorded again when it is back",
                    one.path
                ));
                continue;
            }
            if std::mem::replace(&mut opened.stopped, stopped) != stopped {
                self.remarks.push(if stopped {
                    format!(
                        "{} is stopped; a program that starts it brings frames, such as `cangate run` \
                         with its `bitrate`",
                        one.path
                    )
                } else {
                    format!("{} is started", one.path)
                });
            }
        }
    }

    /// Stops taking frames.
    pub(super) fn end(&mut self) {
        for one in &mut self.all {
            one.at = None;
        }
    }

    /// Reports, at the end, the losses that no later frame has reported.
    pub(super) fn report_rest(&mut self, filling: &mut FillingChunk) {
        for one in &mut self.all {
            let lost = std::mem::take(&mut one.unreported) + std::mem::take(&mut one.overruns);
            if lost > 0 {
                filling.gap(Some(one.place), lost, LossPlace::Device);
            }
        }
    }
}

impl RecordedDevice {
    fn take(
        &mut self,
        came: Duration,
        direction: bool,
        filling: &mut FillingChunk,
        waiting: &mut StampOrder,
    ) {
        let Some(OpenDevice { line, queue, .. }) = &mut self.at else {
            return;
        };
        let counts = &mut filling.counts;
        let frames = queue.waiting(&**line).unwrap_or_else(|_| {
            counts.malformed += 1;
            0
        });
        // Read after the number of frames: the driver has counted a loss before the frames that
        // report it.
        let lost = queue.take_lost(&**line);
        self.unreported += u64::from(lost.queue);
        self.overruns += u64::from(lost.controller);
        counts.at(self.place).lost_device += u64::from(lost.queue) + u64::from(lost.controller);
        for _ in 0..frames {
            let mut bytes = [0; FD_SIZE];
            let slot = queue.take(&**line, &mut bytes);
            let reported = u64::from(slot.lost_before).min(self.unreported);
            self.unreported -= reported;
            let sent = if slot.sent {
                Direction::Sent
            } else {
                Direction::Received
            };
            waiting.push(HeldFrame {
                came,
                stamp: slot.time,
                interface: self.place,
                direction: direction.then_some(sent),
                lost: reported + std::mem::take(&mut self.overruns),
                len: slot.bytes.len(),
                bytes,
            });
        }
        if frames > 0 {
            queue.release(&**line);
        }
    }
}
