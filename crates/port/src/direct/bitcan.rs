//! Mapped controllers of the bit-timed bus, `kmod/bitcan`.

use super::backend::{BackendError, BackendOptions, FoundBackend, TakenController};
use controller::driven::{ControllerBackend, ControllerWatch, Lost};
use controller::mapped::{BusJoin, DeviceTrap, MappedController, MappedDevice};
use controller::{Controller, Properties};
use linux::Errno;
use linux::bitcan;
use std::sync::Arc;

/// Prefix of a device's path.
pub(super) const PREFIX: &str = "/dev/bitcan-";

pub(super) fn find(wanted: &BackendOptions<'_>) -> Result<Box<dyn FoundBackend>, BackendError> {
    if wanted.channel.is_some() {
        return Err(BackendError {
            what: format!("{} is one controller: leave `channel` out", wanted.device),
            source: None,
        });
    }
    let device = BitcanPage(Arc::new(bitcan::MappedController::open(wanted.device)?));
    Ok(Box::new(FoundController {
        controller: MappedController::new(device),
        interrupts: wanted.interrupts,
    }))
}

/// A controller that is open, and off the bus. So far, the only effect is that no other process can
/// open it.
struct FoundController {
    controller: MappedController<BitcanPage>,
    interrupts: bool,
}

impl FoundBackend for FoundController {
    fn properties(&self) -> Properties {
        self.controller.properties().clone()
    }

    fn take(mut self: Box<Self>) -> Result<TakenController, BackendError> {
        let device = Arc::clone(&self.controller.device().0);
        Ok(TakenController {
            interrupt: self.interrupts.then(|| device.fd()),
            backend: Box::new(MappedBackend {
                controller: self.controller,
                interrupts: self.interrupts,
                device,
            }),
        })
    }
}

struct MappedBackend {
    controller: MappedController<BitcanPage>,
    interrupts: bool,
    device: Arc<bitcan::MappedController>,
}

impl ControllerBackend for MappedBackend {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut self.controller
    }

    fn waits(&self) -> bool {
        self.interrupts
    }

    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        Ok(self.device.has_news())
    }

    fn arm(&mut self) -> Result<(), Lost> {
        // The driver has reported everything that it has seen; the descriptor becomes readable with
        // the next change.
        Ok(())
    }

    fn watch(&self) -> Option<Box<dyn ControllerWatch>> {
        Some(Box::new(PageRegisters(Arc::clone(&self.device))))
    }
}

/// Watch on the registers, in which the driver reports everything that it has seen.
struct PageRegisters(Arc<bitcan::MappedController>);

impl ControllerWatch for PageRegisters {
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.0.has_news()
    }
}

impl Drop for MappedBackend {
    fn drop(&mut self) {
        self.controller.stop();
    }
}

struct BitcanPage(Arc<bitcan::MappedController>);

fn trap(errno: Errno) -> DeviceTrap {
    match errno {
        Errno::NETDOWN => DeviceTrap::Down,
        Errno::INVAL => DeviceTrap::Invalid,
        Errno::PROTO | Errno::NOTTY => {
            DeviceTrap::Other("cangate and the module are of different versions")
        }
        Errno::NOSPC => DeviceTrap::Other("its bus has no place for another node"),
        Errno::BUSY => DeviceTrap::Other("it is busy"),
        _ => DeviceTrap::Other("the module refuses; the kernel's log may give the reason"),
    }
}

impl MappedDevice for BitcanPage {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.0.get(at)
    }

    #[inline]
    fn set(&mut self, at: usize, word: u64) {
        self.0.set(at, word);
    }

    fn fence(&mut self) {
        self.0.fence();
    }

    #[inline]
    fn ring(&mut self, buffers: u32) -> Result<(), DeviceTrap> {
        self.0.ring(buffers).map_err(trap)
    }

    fn join(&mut self, join: &BusJoin<'_>) -> Result<(), DeviceTrap> {
        let wanted = bitcan::MappedOptions {
            version: join.version,
            bitrate: join.bitrate,
            data_bitrate: join.data_bitrate,
            listen_only: join.listen_only,
            one_shot: join.one_shot,
            filters: join.filters,
        };
        self.0.join(&wanted).map_err(trap)
    }

    fn leave(&mut self) {
        self.0.leave();
    }

    fn abort(&mut self, buffers: u32) {
        self.0.abort(buffers);
    }

    fn recover(&mut self) -> Result<(), DeviceTrap> {
        self.0.recover().map_err(trap)
    }
}
