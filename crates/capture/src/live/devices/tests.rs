//! Recording from a driver in memory.

use super::*;
use crate::chunk::ChunkEntry;
use crate::queue::{ChunkInbox, WriterMessage, queue};
use frame::{CanId, Frame};
use linux::Errno;
use linux::can::layout::{decode, encode};
use linux::chardev::area::{MappedArea, at, both, first, second};
use linux::chardev::{AREA, SLOTS};
use proptest::prelude::*;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const PATH: &str = "/dev/can0";

/// One open file of the driver.
struct FakeDriver {
    area: Vec<AtomicU64>,
    there: AtomicBool,
    /// Frames lost since the last frame that found room.
    lost: AtomicU64,
    filters: Mutex<(Vec<RawFilter>, u32)>,
}

impl FakeDriver {
    fn new() -> Arc<Self> {
        let driver = Self {
            area: (0..AREA / 8).map(|_| AtomicU64::new(0)).collect(),
            there: AtomicBool::new(true),
            lost: AtomicU64::new(0),
            filters: Mutex::default(),
        };
        driver.state(1);
        Arc::new(driver)
    }

    fn get(&self, at: usize) -> u64 {
        self.area[at / 8].load(SeqCst)
    }

    fn set(&self, at: usize, word: u64) {
        self.area[at / 8].store(word, SeqCst);
    }

    fn state(&self, state: u32) {
        self.set(at::STATE, both(state, second(self.get(at::STATE)) + 1));
    }

    /// Delivers a frame from the bus; returns false if the queue has no room.
    fn deliver(&self, frame: &Frame, stamp: u64, flags: u32) -> bool {
        let head = second(self.get(at::RX_HEAD));
        if head.wrapping_sub(first(self.get(at::RX_TAIL))) >= SLOTS {
            self.lost.fetch_add(1, SeqCst);
            let word = self.get(at::RX_LOST);
            self.set(at::RX_LOST, both(first(word) + 1, second(word)));
            return false;
        }
        let slot = linux::chardev::area::at::rx(head);
        let mut bytes = [0; FD_SIZE];
        let size = encode(frame.view(), &mut bytes).unwrap();
        for (i, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            self.set(slot + at::FRAME + 8 * i, u64::from_ne_bytes(*word));
        }
        let fd = u32::from(size == FD_SIZE);
        self.set(slot, stamp);
        let lost = self.lost.swap(0, SeqCst) as u32;
        self.set(slot + at::FLAGS, both(flags | fd, lost));
        self.set(at::RX_HEAD, both(1, head.wrapping_add(1)));
        true
    }
}

struct FakeHandle(Arc<FakeDriver>);

impl MappedArea for FakeHandle {
    fn get(&self, at: usize) -> u64 {
        self.0.get(at)
    }

    fn set(&self, at: usize, word: u64) {
        self.0.set(at, word);
    }
}

impl DeviceLine for FakeHandle {
    fn ring(&self) -> Result<u64, Errno> {
        panic!("a recording sends nothing");
    }

    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno> {
        *self.0.filters.lock().unwrap() = (filters.to_vec(), errors);
        Ok(())
    }

    fn is_there(&self) -> bool {
        self.0.there.load(SeqCst)
    }

    fn fd(&self) -> RawFd {
        -1
    }
}

struct DeviceBench {
    /// The driver that is found when the device is opened.
    found: Arc<Mutex<Option<Arc<FakeDriver>>>>,
    driver: Arc<FakeDriver>,
    devices: RecordedDevices,
    waiting: StampOrder,
    filling: FillingChunk,
    inbox: ChunkInbox,
}

fn bench(texts: &[&str]) -> DeviceBench {
    let choices: Vec<_> = texts
        .iter()
        .map(|t| InterfaceChoice::read(t, &[]).unwrap())
        .collect();
    let driver = FakeDriver::new();
    let found = Arc::new(Mutex::new(Some(Arc::clone(&driver))));
    let there = Arc::clone(&found);
    let open: Open = Box::new(move |path| {
        let driver = there.lock().unwrap().clone();
        let missing = || OpenError::Missing(path.to_owned());
        Ok(Box::new(FakeHandle(driver.ok_or_else(missing)?)))
    });
    let names = InterfaceNames::default();
    let mut devices = RecordedDevices::open(&choices, true, true, &names, open).unwrap();
    let (sender, inbox) = queue(64);
    let mut filling = FillingChunk::new(None, Instant::now());
    filling.start(sender);
    devices.start(&mut filling);
    DeviceBench {
        found,
        driver,
        devices,
        waiting: StampOrder::new(Duration::ZERO),
        filling,
        inbox,
    }
}

/// The entries that went into the file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum SeenEntry {
    Frame(u64, Direction, Frame),
    Lost(u64),
}

impl DeviceBench {
    fn take(&mut self) {
        self.devices.take(&mut self.filling, &mut self.waiting);
    }

    fn look(&mut self) -> Vec<String> {
        self.devices.check(&mut self.filling, &mut self.waiting);
        self.devices.take_remarks()
    }

    /// Checks the devices immediately: a test does not wait.
    fn look_soon(&mut self) -> Vec<String> {
        self.devices.all[0].look_at = Duration::ZERO;
        self.look()
    }

    fn end(mut self) -> (Vec<SeenEntry>, crate::InterfaceCounts, u64) {
        self.take();
        self.devices.end();
        let filling = &mut self.filling;
        self.waiting
            .release_all(&mut |held| filling.take_held(held));
        self.devices.report_rest(filling);
        filling.hand_over();
        let mut seen = Vec::new();
        while let Ok(WriterMessage::Chunk(chunk, _)) = self.inbox.full.try_recv() {
            seen.extend(chunk.entries().map(|entry| match entry {
                ChunkEntry::Frame(record) => {
                    let frame = Frame::from_view(decode(record.bytes).unwrap()).unwrap();
                    SeenEntry::Frame(record.stamp, record.direction.unwrap(), frame)
                }
                ChunkEntry::Gap(gap) => {
                    assert_eq!((gap.interface, gap.at), (Some(0), LossPlace::Device));
                    SeenEntry::Lost(gap.frames)
                }
            }));
        }
        let malformed = self.filling.counts.malformed;
        (seen, *self.filling.counts.at(0), malformed)
    }
}

fn classic(id: u32) -> Frame {
    Frame::classic(CanId::from_raw(id), &[id as u8; 8]).unwrap()
}

#[test]
fn frames_have_the_driver_s_stamps_directions_and_losses() {
    let mut b = bench(&["/dev/can0,123:7FF"]);
    let filter = RawFilter {
        id: 0x123,
        mask: 0x7FF,
    };
    assert_eq!(*b.driver.filters.lock().unwrap(), (vec![filter], ERRORS));
    let all = [
        classic(1),
        Frame::fd(CanId::from_raw(0x7FF), 1, &[9; 64]).unwrap(),
        classic(CanId::ERR_FLAG | 4),
    ];
    b.driver.deliver(&all[0], 100, 0);
    b.driver
        .deliver(&all[1], 200, linux::chardev::area::FRAME_SENT);
    b.driver.deliver(&all[2], 300, 0);
    b.take();
    for n in 0..SLOTS + 5 {
        b.driver.deliver(&classic(n), 1000, 0);
    }
    b.driver.set(at::OVERRUNS, both(2, 0));
    b.take();
    b.driver.deliver(&classic(7), 2000, 0);
    let (seen, counts, malformed) = b.end();
    let (received, sent) = (Direction::Received, Direction::Sent);
    let begin = [
        SeenEntry::Frame(100, received, all[0]),
        SeenEntry::Frame(200, sent, all[1]),
        SeenEntry::Frame(300, received, all[2]),
        // The first number is the time when this was noticed; the number of lost frames is unknown.
        SeenEntry::Lost(2),
        SeenEntry::Frame(1000, received, classic(0)),
    ];
    assert_eq!(seen[..5], begin);
    let end = [
        SeenEntry::Lost(5),
        SeenEntry::Frame(2000, received, classic(7)),
    ];
    assert_eq!(seen[seen.len() - 2..], end);
    assert_eq!((counts.received, counts.lost_device), (68, 7));
    assert_eq!((counts.lost_ring, malformed), (Some(0), 0));
}

#[test]
fn losses_that_no_frame_reports_stand_at_the_end() {
    let mut b = bench(&[PATH]);
    for n in 0..SLOTS + 3 {
        b.driver.deliver(&classic(n), 1, 0);
    }
    b.take();
    let (seen, counts, _) = b.end();
    assert_eq!(seen.last(), Some(&SeenEntry::Lost(3)));
    assert_eq!((counts.received, counts.lost_device), (64, 3));
}

#[test]
fn a_device_that_goes_is_recorded_to_its_last_frame_and_again_when_it_is_back() {
    let mut b = bench(&[PATH]);
    assert!(b.look().is_empty());
    b.driver.deliver(&classic(1), 10, 0);
    b.driver.state(0);
    b.driver.there.store(false, SeqCst);
    *b.found.lock().unwrap() = None;
    let gone = "/dev/can0 is gone; it is recorded again when it is back";
    assert_eq!(b.look(), [gone]);
    assert!(b.devices.deadline().is_some(), "somebody looks for it");
    assert!(b.look_soon().is_empty());
    b.take();
    let new = FakeDriver::new();
    // Other programs opened it before, and this frame is for them.
    new.deliver(&classic(5), 11, 0);
    *b.found.lock().unwrap() = Some(Arc::clone(&new));
    assert_eq!(b.look_soon(), ["/dev/can0 is back"]);
    assert_eq!(b.devices.deadline(), None);
    new.deliver(&classic(2), 20, 0);
    let (seen, counts, _) = b.end();
    let of = |stamp, id| SeenEntry::Frame(stamp, Direction::Received, classic(id));
    assert_eq!(seen, [of(10, 1), of(20, 2)]);
    assert_eq!((counts.received, counts.lost_device), (2, 0));
}

#[test]
fn a_stopped_controller_is_reported_once() {
    let mut b = bench(&[PATH]);
    b.driver.state(0);
    let output = b.look();
    assert!(
        output[0].starts_with("/dev/can0 is stopped; "),
        "{output:?}"
    );
    assert!(b.look().is_empty());
    b.driver.state(4);
    assert_eq!(b.look(), ["/dev/can0 is started"]);
}

#[test]
fn a_device_that_is_not_there_is_an_error_at_the_start() {
    let choices = [InterfaceChoice::read("/dev/can7", &[]).unwrap()];
    let open: Open = Box::new(|path| Err(OpenError::Missing(path.to_owned())));
    let names = InterfaceNames::default();
    let Err(error) = RecordedDevices::open(&choices, true, false, &names, open) else {
        panic!("there is none");
    };
    assert!(
        error.to_string().contains("there is no /dev/can7"),
        "{error}"
    );
}

proptest! {
    /// Arbitrary steps of the driver: every frame that it put into the queue is recorded once, and
    /// all losses are reported once.
    #[test]
    fn each_frame_is_recorded_or_lost(steps in prop::collection::vec(0_u8..40, 0..2000)) {
        let mut b = bench(&[PATH]);
        let (mut room, mut lost) = (Vec::new(), 0);
        for (n, step) in steps.iter().enumerate() {
            match step {
                0 => b.take(),
                1 => drop(b.look()),
                _ if b.driver.deliver(&classic(n as u32 % 0x800), n as u64, 0) => room.push(n as u64),
                _ => lost += 1,
            }
        }
        let (seen, counts, malformed) = b.end();
        let stamp = |seen: &SeenEntry| match seen {
            SeenEntry::Frame(stamp, ..) => Some(*stamp),
            SeenEntry::Lost(_) => None,
        };
        let gap = |seen: &SeenEntry| match seen {
            SeenEntry::Lost(frames) => *frames,
            SeenEntry::Frame(..) => 0,
        };
        prop_assert_eq!(seen.iter().filter_map(stamp).collect::<Vec<_>>(), room.clone());
        prop_assert_eq!(seen.iter().map(gap).sum::<u64>(), lost);
        prop_assert_eq!((counts.received, counts.lost_device, malformed), (room.len() as u64, lost, 0));
    }
}
