//! The other process: a port of kind `virtio` of a `cangate run`, by vhost-user.

use super::QUEUES;
use super::queue::{self, DriverQueue, QueueParts};
use super::transport::DeviceBackend;
use super::wiring::DeviceEvents;
use crate::end::EndNotice;
use crate::error::VmmError;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures,
};
use vhost::vhost_user::{
    Frontend, FrontendReqHandler, HandlerResult, VhostUserFrontend as _,
    VhostUserFrontendReqHandler,
};
use vhost::{VhostBackend as _, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{GuestMemoryBackend as _, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

/// The bit of the features by which both sides agree on vhost-user's own messages.
const PROTOCOL: u64 = 1 << 30;

/// The handler of messages that the other process sends on its own.
struct BackendReport {
    generation: Arc<AtomicU8>,
    /// The interrupt of the configuration.
    changes: Arc<AtomicUsize>,
    calls: Vec<EventFd>,
}

impl VhostUserFrontendReqHandler for BackendReport {
    fn handle_config_change(&self) -> HandlerResult<u64> {
        self.generation.fetch_add(1, Ordering::Release);
        if let Some(call) = self.calls.get(self.changes.load(Ordering::Acquire)) {
            call.write(1)?;
        }
        Ok(0)
    }
}

/// A device that another process implements.
pub(crate) struct VhostBackendDevice {
    path: PathBuf,
    frontend: Frontend,
    memory: GuestMemoryMmap,
    features: u64,
    events: DeviceEvents,
    /// For queues without an interrupt: no process reads it.
    unconnected: EventFd,
    generation: Arc<AtomicU8>,
    news: EndNotice,
}

impl VhostBackendDevice {
    /// Connects to the socket. A thread handles the messages that the other process sends on its
    /// own.
    pub(crate) fn connect(
        path: &Path,
        memory: &GuestMemoryMmap,
        events: DeviceEvents,
        changes: Arc<AtomicUsize>,
        news: EndNotice,
    ) -> Result<Self, VmmError> {
        let generation = Arc::new(AtomicU8::new(0));
        let refused = |error: &dyn std::fmt::Display| VmmError::Backend {
            path: path.to_path_buf(),
            why: error.to_string(),
        };
        let stream = UnixStream::connect(path).map_err(|error| refused(&error))?;
        let watched = stream.try_clone().map_err(|error| refused(&error))?;
        let mut frontend = Frontend::from_stream(stream, QUEUES as u64);
        let offered = begin(&mut frontend).map_err(|error| refused(&error))?;
        let reports = BackendReport {
            generation: Arc::clone(&generation),
            changes,
            calls: events.again()?.calls.into(),
        };
        let mut handler =
            FrontendReqHandler::new(Arc::new(reports)).map_err(|error| refused(&error))?;
        let sent = frontend.set_backend_request_fd(&BorrowedDescriptor(handler.get_tx_raw_fd()));
        sent.map_err(|error| refused(&error))?;
        let (gone, name) = (news.clone(), path.to_path_buf());
        std::thread::spawn(move || {
            let why = watch(&watched, &mut handler);
            gone.ended(Err(VmmError::Backend { path: name, why }));
        });
        Ok(Self {
            path: path.to_path_buf(),
            frontend,
            memory: memory.clone(),
            features: offered & !PROTOCOL,
            events,
            unconnected: EventFd::new(0).map_err(|error| refused(&error))?,
            generation,
            news,
        })
    }

    fn try_start(
        &self,
        features: u64,
        queues: &[DriverQueue; QUEUES],
        parts: &[Option<QueueParts>; QUEUES],
    ) -> Result<(), vhost::Error> {
        self.frontend.set_features(features | PROTOCOL)?;
        let regions: Result<Vec<_>, _> = self
            .memory
            .iter()
            .map(VhostUserMemoryRegionInfo::from_guest_region)
            .collect();
        self.frontend.set_mem_table(&regions?)?;
        for (index, (queue, parts)) in queues.iter().zip(parts).enumerate() {
            let Some(parts) = parts else { continue };
            let places = VringConfigData {
                queue_max_size: queue.size,
                queue_size: queue.size,
                flags: 0,
                desc_table_addr: parts.descriptors,
                used_ring_addr: parts.device,
                avail_ring_addr: parts.driver,
                log_addr: None,
            };
            self.frontend.set_vring_num(index, queue.size)?;
            self.frontend.set_vring_base(index, 0)?;
            self.frontend.set_vring_addr(index, &places)?;
            let call = queue.vector().and_then(|n| self.events.calls.get(n));
            let call = call.unwrap_or(&self.unconnected);
            self.frontend.set_vring_call(index, call)?;
            self.frontend
                .set_vring_kick(index, &self.events.kicks[index])?;
        }
        Ok(())
    }

    fn try_stop(&mut self) -> Result<(), vhost::Error> {
        (0..QUEUES).try_for_each(|index| {
            self.enable(index, false)?;
            self.frontend.get_vring_base(index).map(drop)
        })
    }

    fn enable(&mut self, index: usize, on: bool) -> Result<(), vhost::Error> {
        self.frontend.set_vring_enable(index, on)
    }
}

impl DeviceBackend for VhostBackendDevice {
    fn features(&self) -> u64 {
        self.features
    }

    fn start(&mut self, features: u64, queues: &[DriverQueue; QUEUES]) -> bool {
        // Queues outside of the machine's memory are not handed over.
        let Some(parts) = queue::all_parts(queues, &self.memory) else {
            return false;
        };
        let started = self.try_start(features, queues, &parts).and_then(|()| {
            let mut used = (0..QUEUES).filter(|index| queues[*index].enabled);
            used.try_for_each(|index| self.enable(index, true))
        });
        if started.is_err() {
            // A part of the device may work by now. If it cannot be stopped either, the connection
            // has ended, which the thread that watches it reports.
            let _ = self.try_stop();
        }
        started.is_ok()
    }

    fn stop(&mut self) {
        if let Err(error) = self.try_stop() {
            self.news.ended(Err(VmmError::Backend {
                path: self.path.clone(),
                why: error.to_string(),
            }));
        }
    }

    fn config(&mut self, at: usize, bytes: &mut [u8]) {
        let flags = VhostUserConfigFlags::empty();
        let read = self
            .frontend
            .get_config(at as u32, bytes.len() as u32, flags, bytes);
        match read {
            Ok((_, payload)) if payload.len() == bytes.len() => bytes.copy_from_slice(&payload),
            // Bytes beyond the end of the configuration.
            _ => bytes.fill(0),
        }
    }

    fn generation(&self) -> u8 {
        self.generation.load(Ordering::Acquire)
    }

    fn kick(&mut self, queue: usize) {
        if let Some(kick) = self.events.kicks.get(queue) {
            // A full counter signals the kick, too.
            let _ = kick.write(1);
        }
    }
}

/// Negotiates the protocol; returns the features that are offered.
fn begin(frontend: &mut Frontend) -> Result<u64, vhost::Error> {
    use VhostUserProtocolFeatures as Protocol;
    frontend.set_owner()?;
    let offered = frontend.get_features()?;
    let other = |why: &str| {
        vhost::Error::VhostUserProtocol(vhost::vhost_user::Error::ReqHandlerError(
            io::Error::other(why.to_owned()),
        ))
    };
    if offered & PROTOCOL == 0 {
        return Err(other(
            "it has no configuration (vhost-user's protocol features)",
        ));
    }
    // The minimum that the vhost crate requires before it sends the next messages.
    frontend.set_features(PROTOCOL)?;
    let needed = Protocol::CONFIG | Protocol::BACKEND_REQ;
    let wanted = needed | Protocol::REPLY_ACK | Protocol::MQ;
    let has = frontend.get_protocol_features()?;
    if !has.contains(needed) {
        return Err(other(
            "it does not report its configuration and its changes",
        ));
    }
    frontend.set_protocol_features(has & wanted)?;
    if has.contains(Protocol::REPLY_ACK) {
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    }
    Ok(offered)
}

/// A descriptor that another object owns.
struct BorrowedDescriptor(RawFd);

impl AsRawFd for BorrowedDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// Handles incoming messages until the other process has gone; returns the reason.
fn watch(connection: &UnixStream, handler: &mut FrontendReqHandler<BackendReport>) -> String {
    let mut poll = linux::PollSet::with_capacity(2);
    loop {
        poll.clear();
        // The other thread reads the answers on this descriptor; only its end matters here.
        poll.add_fd(connection.as_raw_fd(), false, false);
        poll.add_fd(handler.as_raw_fd(), true, false);
        if let Err(error) = poll.wait(None) {
            return error.to_string();
        }
        if poll.is_ready(0) {
            return "it has closed its connection".to_owned();
        }
        if poll.is_ready(1)
            && let Err(error) = handler.handle_request()
        {
            return error.to_string();
        }
    }
}
