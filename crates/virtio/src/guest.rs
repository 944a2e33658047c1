//! The state of a machine, as set by the monitor's vhost-user messages.

use crate::message::{CONFIG_SIZE, QUEUES, feature};
use crate::rings::{DeviceRings, EVENT_IDX};
use frame::Nanos;
use rustix::fs::{OFlags, SealFlags, fcntl_get_seals, fcntl_getfl, fcntl_setfl};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;

use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserShMemConfig, VhostUserSharedMsg,
    VhostUserSingleMemoryRegion, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{
    Error, GpuBackend, Result, VhostUserBackendReqHandlerMut, VhostUserProtocolFeatures,
};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// `VIRTIO_F_INDIRECT_DESC`, `VIRTIO_F_VERSION_1` (virtio 1.4 §6), and vhost-user's own bit.
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;
const PROTOCOL: u64 = 1 << 30;

/// Address of a region of the machine's memory in the monitor's address space, in which the monitor
/// specifies the queues' addresses.
struct GuestRegion {
    user: u64,
    size: u64,
    guest: u64,
}

/// The features that the device offers to a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceOptions {
    /// CAN FD.
    pub fd: bool,
    /// FD frames of the machine get BRS, for which virtio CAN has no flag.
    pub brs: bool,
    /// A frame is acknowledged only after it was on the bus.
    pub late_ack: bool,
    /// Maximum delay of a notification that a frame was sent, while other frames of the machine are
    /// under way, ns: one interrupt then serves several frames
    /// ([`crate::VirtioDevice::notify_and_arm`]). 0: no delay.
    pub coalesce: Nanos,
    /// Accept memory that its monitor can shrink (a file). If it shrinks, SIGBUS terminates this
    /// process.
    pub unsealed: bool,
}

/// A machine, from its monitor's connection on.
pub(crate) struct GuestMachine {
    pub(crate) rings: DeviceRings,
    options: DeviceOptions,
    regions: Vec<GuestRegion>,
    pub(crate) kicks: [Option<File>; QUEUES],
    pub(crate) calls: [Option<File>; QUEUES],
    acked: u64,
    /// The kicks are other files than before, or the state of the queues has changed.
    pub(crate) changed: bool,
}

impl GuestMachine {
    pub(crate) fn new(options: DeviceOptions) -> Self {
        Self {
            rings: DeviceRings::new(GuestMemoryMmap::new(), 0, options.brs),
            options,
            regions: Vec::new(),
            kicks: [const { None }; QUEUES],
            calls: [const { None }; QUEUES],
            acked: 0,
            changed: false,
        }
    }

    /// Resets everything, because the monitor has disconnected.
    pub(crate) fn leave(&mut self) {
        self.rings.stop_all();
        self.rings.set_memory(GuestMemoryMmap::new());
        self.regions.clear();
        self.kicks = [const { None }; QUEUES];
        self.calls = [const { None }; QUEUES];
        self.acked = 0;
        self.changed = true;
    }

    fn offered(&self) -> u64 {
        let mut offered =
            feature::CLASSIC | feature::RTR | EVENT_IDX | INDIRECT | VERSION_1 | PROTOCOL;
        if self.options.fd {
            offered |= feature::FD;
        }
        if self.options.late_ack {
            offered |= feature::LATE_TX_ACK;
        }
        offered
    }

    /// Converts an address in the monitor's memory to the machine's address.
    fn guest_address(&self, user: u64) -> Result<u64> {
        let holds = |region: &&GuestRegion| {
            user.checked_sub(region.user)
                .is_some_and(|at| at < region.size)
        };
        let region = self.regions.iter().find(holds).ok_or(Error::InvalidParam)?;
        region
            .guest
            .checked_add(user - region.user)
            .ok_or(Error::InvalidParam)
    }

    fn queue(index: u32) -> Result<usize> {
        let index = usize::try_from(index).map_err(|_| Error::InvalidParam)?;
        if index < QUEUES {
            Ok(index)
        } else {
            Err(Error::InvalidParam)
        }
    }
}

const fn unsupported<T>() -> Result<T> {
    Err(Error::InvalidOperation("not offered by this device"))
}

/// Refuses memory that can shrink. The machine's memory is read and written in place: on access to
/// a removed page the kernel sends SIGBUS, which would terminate the gateway with all its ports.
/// Files other than a `memfd` have no seals, and querying the seals does not call their filesystem.
fn demand_seal(file: &File) -> Result<()> {
    let seals = fcntl_get_seals(file).unwrap_or(SealFlags::empty());
    if seals.contains(SealFlags::SHRINK) {
        return Ok(());
    }
    Err(Error::ReqHandlerError(io::Error::other(
        "the machine's memory can shrink (F_SEAL_SHRINK is not set), which would end the gateway: give QEMU \
         `-object memory-backend-memfd` with its default `seal=on`, or trust the monitor by `unsealed = true` in the port",
    )))
}

/// Makes sure that raising an interrupt never blocks: a write to an eventfd whose counter the
/// monitor has filled would block.
fn never_wait(file: &File) -> Result<()> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    // Without /proc the type is unknown, but writes do not block either.
    if fs::read_link(link).is_ok_and(|to| to.as_os_str() != "anon_inode:[eventfd]") {
        return Err(Error::ReqHandlerError(io::Error::other(
            "the monitor's descriptor for interrupts is not an eventfd",
        )));
    }
    fcntl_getfl(file)
        .and_then(|flags| fcntl_setfl(file, flags | OFlags::NONBLOCK))
        .map_err(|error| Error::ReqHandlerError(error.into()))
}

impl VhostUserBackendReqHandlerMut for GuestMachine {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.rings.stop_all();
        self.changed = true;
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.reset_owner()
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.offered())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.offered() != 0 {
            return Err(Error::FeatureMismatch);
        }
        self.acked = features;
        self.rings.set_features(features);
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        if regions.len() != files.len() {
            return Err(Error::IncorrectFds);
        }
        let wrong = |error: &dyn std::fmt::Display| {
            Error::ReqHandlerError(io::Error::other(error.to_string()))
        };
        let mut mapped = Vec::with_capacity(regions.len());
        let mut places = Vec::with_capacity(regions.len());
        for (region, file) in regions.iter().zip(files) {
            let size = usize::try_from(region.memory_size).map_err(|_| Error::InvalidParam)?;
            if !self.options.unsealed {
                demand_seal(&file)?;
            }
            // A file that is mapped beyond its end would terminate this process.
            let length = file.metadata().map_err(Error::ReqHandlerError)?.len();
            let end = region.mmap_offset.checked_add(region.memory_size);
            if end.is_none_or(|end| end > length) {
                return Err(Error::InvalidParam);
            }
            let place = FileOffset::new(file, region.mmap_offset);
            let memory = MmapRegion::from_file(place, size).map_err(|error| wrong(&error))?;
            let at = GuestAddress(region.guest_phys_addr);
            mapped.push(GuestRegionMmap::new(memory, at).ok_or(Error::InvalidParam)?);
            places.push(GuestRegion {
                user: region.user_addr,
                size: region.memory_size,
                guest: region.guest_phys_addr,
            });
        }
        let memory = GuestMemoryMmap::from_regions(mapped).map_err(|error| wrong(&error))?;
        self.rings.set_memory(memory);
        self.regions = places;
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        let index = Self::queue(index)?;
        if self.rings.set_size(index, num) {
            Ok(())
        } else {
            Err(Error::InvalidParam)
        }
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _flags: VhostUserVringAddrFlags,
        descriptor: u64,
        used: u64,
        available: u64,
        _log: u64,
    ) -> Result<()> {
        let index = Self::queue(index)?;
        let of = |user| self.guest_address(user);
        let (table, available, used) = (of(descriptor)?, of(available)?, of(used)?);
        if self.rings.set_addresses(index, table, available, used) {
            Ok(())
        } else {
            Err(Error::InvalidParam)
        }
    }

    fn set_vring_base(&mut self, index: u32, _base: u32) -> Result<()> {
        // The queue itself holds the index of the buffers that were given back; nothing else is
        // needed.
        Self::queue(index).map(|_| ())
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        let queue = Self::queue(index)?;
        let next = self.rings.stop(queue);
        self.kicks[queue] = None;
        self.calls[queue] = None;
        self.changed = true;
        Ok(VhostUserVringState::new(index, u32::from(next)))
    }

    fn set_vring_kick(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let queue = Self::queue(u32::from(index))?;
        self.kicks[queue] = fd;
        self.rings.start(queue);
        // Without vhost-user protocol features, a queue is enabled from the beginning.
        if self.acked & PROTOCOL == 0 {
            self.rings.enable(queue, true);
        }
        self.changed = true;
        Ok(())
    }

    fn set_vring_call(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let queue = Self::queue(u32::from(index))?;
        if let Some(file) = &fd {
            never_wait(file)?;
        }
        self.calls[queue] = fd;
        Ok(())
    }

    fn set_vring_err(&mut self, _index: u8, _fd: Option<File>) -> Result<()> {
        Ok(())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::RESET_DEVICE
            | VhostUserProtocolFeatures::BACKEND_REQ)
    }

    fn set_protocol_features(&mut self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(QUEUES as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.rings.enable(Self::queue(index)?, enable);
        self.changed = true;
        Ok(())
    }

    fn get_config(
        &mut self,
        offset: u32,
        size: u32,
        _flags: VhostUserConfigFlags,
    ) -> Result<Vec<u8>> {
        let mut all = [0; 256];
        all[..CONFIG_SIZE].copy_from_slice(&self.rings.status().to_le_bytes());
        let (from, len) = (offset as usize, size as usize);
        let part = from.checked_add(len).and_then(|to| all.get(from..to));
        part.map(<[u8]>::to_vec).ok_or(Error::InvalidParam)
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        Err(Error::InvalidOperation("the configuration is only read"))
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        unsupported()
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        unsupported()
    }

    fn get_inflight_fd(&mut self, _: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        unsupported()
    }

    fn set_inflight_fd(&mut self, _: &VhostUserInflight, _: File) -> Result<()> {
        unsupported()
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        unsupported()
    }

    fn add_mem_region(
        &mut self,
        _: &VhostUserSingleMemoryRegion,
        _: File,
        _: Option<bool>,
    ) -> Result<Option<VhostUserMemoryRegionBase>> {
        unsupported()
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        unsupported()
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        unsupported()
    }

    fn check_device_state(&mut self) -> Result<()> {
        unsupported()
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        unsupported()
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        unsupported()
    }
}
