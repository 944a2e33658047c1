//! A machine and its monitor, in this process: memory in a file, queues, and the driver's part of
//! them.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio::VirtioDevice;
use virtio::message::{QUEUES, RESULT_OK};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// Address of the machine's memory in the machine, and in its monitor.
pub const BASE: u64 = 0x10_0000;
const USER: u64 = 0x7000_0000_0000;
pub const SIZE: u64 = 0x4_0000;
/// Number of buffers of each queue.
pub const BUFFERS: u16 = 16;

/// Addresses of a queue's parts: table, available, used, and a page for each buffer.
const fn table(queue: usize) -> u64 {
    BASE + 0x1_0000 * queue as u64
}
const fn available(queue: usize) -> u64 {
    table(queue) + 0x800
}
const fn used(queue: usize) -> u64 {
    table(queue) + 0xC00
}
const fn buffer(queue: usize, head: u16) -> u64 {
    table(queue) + 0x1000 + 0x100 * head as u64
}

/// The machine.
pub struct Machine {
    pub memory: GuestMemoryMmap,
    file: File,
    next: [u16; QUEUES],
    seen: [u16; QUEUES],
    pub kicks: [EventFd; QUEUES],
    pub calls: [EventFd; QUEUES],
}

impl Machine {
    pub fn new() -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("machine", flags).unwrap());
        file.set_len(SIZE).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        Self::in_file(file)
    }

    /// Creates a machine whose memory is this file of [`SIZE`] bytes.
    pub fn in_file(file: File) -> Self {
        let place = FileOffset::new(file.try_clone().unwrap(), 0);
        let region = MmapRegion::from_file(place, SIZE as usize).unwrap();
        let region = GuestRegionMmap::new(region, GuestAddress(BASE)).unwrap();
        let memory = GuestMemoryMmap::from_regions(vec![region]).unwrap();
        let event = || EventFd::new(EFD_NONBLOCK).unwrap();
        Self {
            memory,
            file,
            next: [0; QUEUES],
            seen: [0; QUEUES],
            kicks: [event(), event(), event()],
            calls: [event(), event(), event()],
        }
    }

    /// Returns the same memory and queues, for a monitor in another thread.
    pub fn again(&self) -> Self {
        let copy = |events: &[EventFd; QUEUES]| [0, 1, 2].map(|n| events[n].try_clone().unwrap());
        Self {
            memory: self.memory.clone(),
            file: self.file.try_clone().unwrap(),
            next: self.next,
            seen: self.seen,
            kicks: copy(&self.kicks),
            calls: copy(&self.calls),
        }
    }

    /// Connects the machine's monitor, which sets the device up.
    pub fn connect(&self, path: &Path, features: u64) -> Frontend {
        self.try_connect(path, features).unwrap()
    }

    /// Does the same, when the device may refuse the machine's memory.
    pub fn try_connect(&self, path: &Path, features: u64) -> vhost::Result<Frontend> {
        let mut monitor = Frontend::connect(path, QUEUES as u64).unwrap();
        monitor.set_owner().unwrap();
        let offered = monitor.get_features().unwrap();
        let wanted = features | 1 << 30 | 1 << 32;
        assert_eq!(wanted & !offered, 0, "{offered:#x}");
        monitor.set_features(wanted).unwrap();
        let protocol = monitor.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::CONFIG));
        monitor.set_protocol_features(protocol).unwrap();
        monitor.set_hdr_flags(vhost::vhost_user::message::VhostUserHeaderFlag::NEED_REPLY);
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: BASE,
            memory_size: SIZE,
            userspace_addr: USER,
            mmap_offset: 0,
            mmap_handle: self.file.as_raw_fd(),
        };
        monitor.set_mem_table(&[region])?;
        for queue in 0..QUEUES {
            self.set_up(&monitor, queue);
        }
        for queue in 0..QUEUES {
            monitor.set_vring_enable(queue, true).unwrap();
        }
        Ok(monitor)
    }

    fn set_up(&self, monitor: &Frontend, queue: usize) {
        let user = |at: u64| at - BASE + USER;
        let data = VringConfigData {
            queue_max_size: BUFFERS,
            queue_size: BUFFERS,
            flags: 0,
            desc_table_addr: user(table(queue)),
            used_ring_addr: user(used(queue)),
            avail_ring_addr: user(available(queue)),
            log_addr: None,
        };
        monitor.set_vring_num(queue, BUFFERS).unwrap();
        monitor
            .set_vring_base(queue, self.used_index(queue))
            .unwrap();
        monitor.set_vring_addr(queue, &data).unwrap();
        monitor.set_vring_call(queue, &self.calls[queue]).unwrap();
        monitor.set_vring_kick(queue, &self.kicks[queue]).unwrap();
    }

    fn put<T: vm_memory::ByteValued>(&self, at: u64, value: T) {
        self.memory.write_obj(value, GuestAddress(at)).unwrap();
    }

    fn get<T: vm_memory::ByteValued>(&self, at: u64) -> T {
        self.memory.read_obj(GuestAddress(at)).unwrap()
    }

    pub fn used_index(&self, queue: usize) -> u16 {
        self.get(used(queue) + 2)
    }

    /// Writes the descriptors of a buffer: a part that the device reads, and bytes that it may
    /// write.
    pub fn describe(&self, queue: usize, head: u16, out: &[u8], room: u32) {
        let at = buffer(queue, head);
        self.memory.write_slice(out, GuestAddress(at)).unwrap();
        let (first, second) = (table(queue) + 16 * u64::from(head), u64::from(head) + 8);
        let entry = |place: u64, at: u64, len: u32, flags: u16, next: u16| {
            self.put(place, at);
            self.put(place + 8, len);
            self.put(place + 12, flags);
            self.put(place + 14, next);
        };
        let (next, write) = (1, 2);
        let result = at + 0x80;
        if out.is_empty() {
            entry(first, result, room, write, 0);
        } else if room == 0 {
            entry(first, at, out.len() as u32, 0, 0);
        } else {
            entry(first, at, out.len() as u32, next, second as u16);
            entry(table(queue) + 16 * second, result, room, write, 0);
        }
    }

    /// Makes a buffer available, without a kick.
    pub fn offer(&mut self, queue: usize, head: u16) {
        let slot = u64::from(self.next[queue] % BUFFERS);
        self.put(available(queue) + 4 + 2 * slot, head);
        self.next[queue] = self.next[queue].wrapping_add(1);
        self.put(available(queue) + 2, self.next[queue]);
    }

    /// Sets the index of a queue to a value that no driver writes.
    pub fn lie(&self, queue: usize, index: u16) {
        self.put(available(queue) + 2, index);
    }

    pub fn kick(&self, queue: usize) {
        self.kicks[queue].write(1).unwrap();
    }

    pub fn send(&mut self, queue: usize, head: u16, bytes: &[u8]) {
        self.describe(queue, head, bytes, 1);
        self.offer(queue, head);
        self.kick(queue);
    }

    /// Returns the next buffer that was given back: its head and the bytes written, the first of
    /// which is a result.
    pub fn back(&mut self, queue: usize) -> Option<(u16, Vec<u8>)> {
        if self.used_index(queue) == self.seen[queue] {
            return None;
        }
        let slot = u64::from(self.seen[queue] % BUFFERS);
        let id: u32 = self.get(used(queue) + 4 + 8 * slot);
        let len: u32 = self.get(used(queue) + 8 + 8 * slot);
        self.seen[queue] = self.seen[queue].wrapping_add(1);
        let mut bytes = vec![0; len as usize];
        let at = GuestAddress(buffer(queue, id as u16) + 0x80);
        self.memory.read_slice(&mut bytes, at).unwrap();
        Some((id as u16, bytes))
    }

    pub fn wait_back(&mut self, queue: usize) -> (u16, Vec<u8>) {
        let mut found = None;
        wait("a buffer comes back", || {
            found = self.back(queue);
            found.is_some()
        });
        found.unwrap()
    }

    pub fn command(&mut self, kind: u16) {
        self.send(2, 0, &kind.to_le_bytes());
        assert_eq!(self.wait_back(2).1, [RESULT_OK]);
    }
}

/// Connects the monitor, while `work` is called for the device in this thread: its messages are
/// answered only then.
pub fn connect_while(
    machine: &std::cell::RefCell<Machine>,
    path: &Path,
    features: u64,
    mut work: impl FnMut(),
) -> Frontend {
    let (send, receive) = std::sync::mpsc::channel();
    let (path, copy) = (path.to_owned(), machine.borrow().again());
    let monitor = std::thread::spawn(move || {
        let _ = send.send(copy.connect(&path, features));
    });
    let mut found = None;
    wait("the monitor is connected", || {
        work();
        found = receive.try_recv().ok();
        found.is_some()
    });
    monitor.join().unwrap();
    found.unwrap()
}

/// Sends a command to a device for which `work` is called in this thread.
pub fn command_in(machine: &std::cell::RefCell<Machine>, kind: u16, mut work: impl FnMut()) {
    machine.borrow_mut().send(2, 0, &kind.to_le_bytes());
    let mut found = None;
    wait("the command is obeyed", || {
        work();
        found = machine.borrow_mut().back(2);
        found.is_some()
    });
    assert_eq!(found.unwrap().1, [RESULT_OK]);
}

/// Returns the status that the monitor reads.
pub fn status(monitor: &mut Frontend) -> u16 {
    let flags = VhostUserConfigFlags::empty();
    let (_, bytes) = monitor.get_config(0, 2, flags, &[0; 2]).unwrap();
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// A device with a thread that does its work, until it is dropped.
pub struct Worked {
    device: Arc<Mutex<Option<VirtioDevice>>>,
    /// Number of completed calls of [`VirtioDevice::work`].
    rounds: Arc<AtomicU64>,
    worker: Option<std::thread::JoinHandle<()>>,
}

impl Worked {
    pub fn new(device: VirtioDevice) -> Self {
        let device = Arc::new(Mutex::new(Some(device)));
        let rounds = Arc::new(AtomicU64::new(0));
        let (theirs, counter) = (Arc::clone(&device), Arc::clone(&rounds));
        let begun = Instant::now();
        let worker = std::thread::spawn(move || {
            while let Some(device) = theirs.lock().unwrap().as_mut() {
                device.work(begun.elapsed().as_nanos() as u64);
                counter.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        Self {
            device,
            rounds,
            worker: Some(worker),
        }
    }

    /// Waits until the device has handled each event that exists now, for example a kick whose
    /// frame the caller has taken already.
    pub fn handle_events(&self) {
        let before = self.rounds.load(Ordering::Relaxed);
        // The first round may have read its events before this call.
        wait("two rounds of work", || {
            self.rounds.load(Ordering::Relaxed) >= before + 2
        });
    }

    pub fn lock(&self) -> impl std::ops::DerefMut<Target = VirtioDevice> + '_ {
        struct Held<'a>(MutexGuard<'a, Option<VirtioDevice>>);
        impl std::ops::Deref for Held<'_> {
            type Target = VirtioDevice;
            fn deref(&self) -> &VirtioDevice {
                self.0.as_ref().unwrap()
            }
        }
        impl std::ops::DerefMut for Held<'_> {
            fn deref_mut(&mut self) -> &mut VirtioDevice {
                self.0.as_mut().unwrap()
            }
        }
        Held(self.device.lock().unwrap())
    }
}

impl Drop for Worked {
    fn drop(&mut self) {
        self.device.lock().unwrap().take();
        self.worker.take().unwrap().join().unwrap();
    }
}

/// Waits until the condition is true.
pub fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "not after 10 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}
