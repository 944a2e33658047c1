//! The device that both halves share: the one that is open at present, and whether it is there.

use super::line::DeviceLine;
use crate::{FrameInterest, InterestIds, LinkState, PortError, RawFilter};
use frame::Nanos;
use linux::chardev::MOST_FILTERS;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first and the longest pause between two attempts to find a device that is gone, ns.
const SHORTEST: Nanos = 20_000_000;
const LONGEST: Nanos = 500_000_000;

/// Classes of error frames (`uapi/linux/can/error.h`) that report the controller's state:
/// CAN_ERR_CRTL, CAN_ERR_BUSOFF, CAN_ERR_RESTARTED. They wake a waiting worker.
const STATES: u32 = 0x004 | 0x040 | 0x100;
/// All classes (`CAN_ERR_MASK`).
const ALL: u32 = 0x1FFF_FFFF;

/// The function that opens the device anew, and starts it.
pub type Open = Box<dyn Fn() -> Result<Arc<dyn DeviceLine>, String> + Send + Sync>;

pub(super) struct SharedDevice {
    pub(super) port: String,
    pub(super) device: String,
    open: Open,
    slow: Mutex<SlowState>,
    /// Number of times that the device was opened again.
    generation: AtomicU32,
    gone: AtomicBool,
    next_check: AtomicU64,
    news: AtomicBool,
}

/// The data that are needed when something changes, never for a frame.
struct SlowState {
    line: Arc<dyn DeviceLine>,
    filters: Vec<RawFilter>,
    errors: u32,
    pause: Nanos,
    remarks: Vec<String>,
}

impl SharedDevice {
    pub(super) fn new(
        port: &str,
        device: &str,
        line: Arc<dyn DeviceLine>,
        open: Open,
    ) -> Result<Self, linux::Errno> {
        let everything = vec![RawFilter { id: 0, mask: 0 }];
        line.set_filters(&everything, STATES)?;
        Ok(Self {
            port: port.to_owned(),
            device: device.to_owned(),
            open,
            slow: Mutex::new(SlowState {
                line,
                filters: everything,
                errors: STATES,
                pause: SHORTEST,
                remarks: Vec::new(),
            }),
            generation: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            next_check: AtomicU64::new(0),
            news: AtomicBool::new(true),
        })
    }

    fn slow(&self) -> MutexGuard<'_, SlowState> {
        // A panic cannot leave the data half changed.
        self.slow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    pub(super) fn line(&self) -> (Arc<dyn DeviceLine>, u32) {
        let slow = self.slow();
        (Arc::clone(&slow.line), self.generation())
    }

    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Notes that the controller is not there any more.
    pub(super) fn lose(&self, now: Nanos) {
        let mut slow = self.slow();
        if self.gone.swap(true, Relaxed) {
            return;
        }
        slow.pause = SHORTEST;
        self.next_check.store(now.saturating_add(SHORTEST), Relaxed);
        let remark = format!(
            "{} is gone: frames for it are refused until it is back",
            self.device
        );
        slow.remarks.push(remark);
        self.news.store(true, Relaxed);
    }

    /// Looks for a device that is gone, after a sensible pause; returns whether it is there.
    pub(super) fn retry(&self, now: Nanos) -> bool {
        if !self.is_gone() {
            return true;
        }
        if now < self.next_check.load(Relaxed) {
            return false;
        }
        let mut slow = self.slow();
        // The old device is still open, so that the new one has another descriptor number.
        let opened = (self.open)().ok().and_then(|line| {
            line.set_filters(&slow.filters, slow.errors).ok()?;
            Some(line)
        });
        let Some(line) = opened else {
            slow.pause = (2 * slow.pause).min(LONGEST);
            self.next_check
                .store(now.saturating_add(slow.pause), Relaxed);
            return false;
        };
        slow.line = line;
        slow.remarks.push(format!("{} is back", self.device));
        self.generation.fetch_add(1, Relaxed);
        self.gone.store(false, Relaxed);
        self.news.store(true, Relaxed);
        true
    }

    pub(super) fn next_check(&self) -> Option<Nanos> {
        self.is_gone().then(|| self.next_check.load(Relaxed))
    }

    /// Returns whether the link has changed since the last call.
    pub(super) fn take_news(&self) -> bool {
        self.news.load(Relaxed) && self.news.swap(false, Relaxed)
    }

    pub(super) fn set_interest(&self, interest: &FrameInterest) -> Result<(), PortError> {
        let mut slow = self.slow();
        slow.filters = filters(interest);
        slow.errors = if interest.error_frames { ALL } else { STATES };
        if self.is_gone() {
            return Ok(());
        }
        match slow.line.set_filters(&slow.filters, slow.errors) {
            // The receiving half notices that it is gone.
            Ok(()) | Err(linux::Errno::NODEV) => Ok(()),
            Err(error) => Err(self.fail("takes no filters", error)),
        }
    }

    pub(super) fn link(&self) -> LinkState {
        if self.is_gone() {
            return LinkState::Gone;
        }
        let state = self.slow().line.state();
        state.map_or(LinkState::Down, LinkState::from)
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.slow().remarks)
    }

    pub(super) fn fail(&self, what: &str, error: linux::Errno) -> PortError {
        PortError {
            port: self.port.clone(),
            what: format!("{} {what}", self.device),
            source: Some(Box::new(std::io::Error::from(error))),
        }
    }
}

/// Returns the filters for the driver: no frame that is of use is left out.
fn filters(interest: &FrameInterest) -> Vec<RawFilter> {
    match &interest.ids {
        InterestIds::Nothing => Vec::new(),
        InterestIds::Filters(list) if list.len() <= MOST_FILTERS => list.clone(),
        InterestIds::Everything | InterestIds::Filters(_) => vec![RawFilter { id: 0, mask: 0 }],
    }
}
