//! A port on a character device, while the driver's side writes anything into the mapped area: it
//! must not panic, must pass on only valid frames, each slot once, and must count each frame that
//! it took as one of sent, lost and held.

use crate::Target;
use crate::bytes::ByteSource;
use linux::Errno;
use linux::chardev::area::{MappedArea, at, both, first};
use linux::chardev::{AREA, SLOTS};
use port::chardev::{DeviceLine, Open, TransmitRules, halves};
use port::{FrameInterest, Halves, OutgoingFrame, RawFilter};
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "chardev_area",
    run,
    words: &[
        // Heads and states, a frame's first word, counts near their end.
        "\u{1}\u{0}\u{0}\u{0}",
        "\u{23}\u{1}\u{0}\u{0}\u{8}\u{0}\u{0}\u{0}",
        "\u{2}\u{0}\u{0}\u{0}\u{3}\u{0}\u{0}\u{0}",
    ],
};

const OPERATIONS: usize = 200;
/// A second, ns.
const SECOND: u64 = 1_000_000_000;

/// The driver's side of one open file.
struct OpenFile {
    words: Vec<u64>,
    /// The tail that the process has last written.
    tail: u32,
}

struct FakeDriver {
    /// The files that were opened, the last one in use.
    files: Vec<OpenFile>,
    there: bool,
    /// The bytes for reads of changing memory, repeated.
    noise: Vec<u8>,
    next: usize,
    /// The interval of reads that return noise; 0 for none.
    rate: usize,
    reads: usize,
    /// The result of the doorbell.
    rings: Result<u64, Errno>,
}

impl FakeDriver {
    fn open(&mut self) -> usize {
        let mut file = OpenFile {
            words: vec![0; AREA / 8],
            tail: 0,
        };
        // As in the module: its version, and an active controller.
        file.words[at::RX_HEAD / 8] = both(1, 0);
        file.words[at::STATE / 8] = both(1, 1);
        self.files.push(file);
        self.files.len() - 1
    }

    fn get(&mut self, file: usize, at: usize) -> u64 {
        self.reads += 1;
        if self.rate > 0 && self.reads.is_multiple_of(self.rate) {
            return (0..8).fold(0, |word, _| {
                let byte = self.noise.get(self.next).copied().unwrap_or(0);
                self.next = (self.next + 1) % self.noise.len().max(1);
                word << 8 | u64::from(byte)
            });
        }
        assert!(at.is_multiple_of(8), "a word that is none: {at}");
        self.files[file].words[at / 8]
    }

    /// Returns the number of files that were opened, and the tail of the last one.
    fn tail(&self) -> (usize, u32) {
        (self.files.len(), self.files.last().map_or(0, |f| f.tail))
    }
}

#[derive(Clone)]
struct SharedArea(Arc<Mutex<FakeDriver>>);

impl SharedArea {
    fn lock(&self) -> MutexGuard<'_, FakeDriver> {
        self.0.lock().expect("no thread has panicked")
    }
}

struct FakeHandle(SharedArea, usize);

impl MappedArea for FakeHandle {
    fn get(&self, at: usize) -> u64 {
        self.0.lock().get(self.1, at)
    }

    fn set(&self, at: usize, word: u64) {
        let mut driver = self.0.lock();
        let file = &mut driver.files[self.1];
        assert!(
            matches!(at, at::RX_TAIL | at::TX_HEAD) || (at::tx(0)..at::rx(0)).contains(&at),
            "this word is the driver's: {at}"
        );
        file.words[at / 8] = word;
        if at == at::RX_TAIL {
            file.tail = first(word);
        }
    }
}

impl DeviceLine for FakeHandle {
    fn ring(&self) -> Result<u64, Errno> {
        self.0.lock().rings
    }

    fn set_filters(&self, _: &[RawFilter], _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn is_there(&self) -> bool {
        self.0.lock().there
    }

    fn fd(&self) -> RawFd {
        -1
    }
}

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    let shape = bytes.byte();
    let driver = SharedArea(Arc::new(Mutex::new(FakeDriver {
        files: Vec::new(),
        there: true,
        noise: input.to_vec(),
        next: 0,
        rate: usize::from(shape >> 2),
        reads: 0,
        rings: Ok(0),
    })));
    let first_file = driver.lock().open();
    let found = driver.clone();
    let again: Open = Box::new(move || {
        if !found.lock().there {
            return Err("it is gone".to_owned());
        }
        let file = found.lock().open();
        Ok(Arc::new(FakeHandle(found.clone(), file)) as Arc<dyn DeviceLine>)
    });
    let line = Arc::new(FakeHandle(driver.clone(), first_file));
    let rules = TransmitRules {
        fd: shape & 1 != 0,
        listen_only: false,
    };
    let mut port = halves("p", "/dev/can0", line, again, rules).expect("it takes all filters");
    let (mut accepted, mut now, mut errors) = (0, 0, false);
    for _ in 0..OPERATIONS {
        if bytes.is_empty() {
            break;
        }
        now += SECOND;
        match bytes.byte() & 15 {
            0..=2 => {
                let frame = bytes.frame();
                let outgoing = OutgoingFrame::new(frame.view(), 0);
                accepted += u64::from(port.1.transmit(now, outgoing).is_ok());
            }
            3..=4 => {
                if let Ok(report) = port.1.flush(now) {
                    assert!(report.sent as u64 <= accepted, "{report:?}");
                }
            }
            5..=7 => receive(&mut port, &driver, now, usize::from(bytes.byte()), errors),
            // The other side writes a word: one of the first words, or of the slots.
            8..=9 => {
                let at = usize::from(bytes.byte()) % (at::tx(0) / 8);
                write(&driver, at, &mut bytes);
            }
            // The other side announces this many frames for the process; there are 64 slots.
            10 => {
                let ahead = u32::from(bytes.below(80));
                if let Some(file) = driver.lock().files.last_mut() {
                    let head = file.tail.wrapping_add(ahead);
                    file.words[at::RX_HEAD / 8] = both(1, head);
                }
            }
            11 => {
                let at = usize::from(bytes.short()) % (AREA / 8);
                write(&driver, at, &mut bytes);
            }
            12 => {
                let which = bytes.byte();
                driver.lock().rings = match which & 7 {
                    0 => Err(Errno::NETDOWN),
                    1 => Err(Errno::NODEV),
                    2 => Err(Errno::INTR),
                    3 => Err(Errno::IO),
                    4 => Ok(u64::MAX),
                    _ => Ok(u64::from(which >> 3)),
                };
            }
            13 => {
                errors = bytes.byte() & 1 != 0;
                let interest = FrameInterest {
                    error_frames: errors,
                    ..FrameInterest::default()
                };
                port.0.set_interest(&interest).expect("it takes all");
            }
            14 => driver.lock().there = false,
            _ => driver.lock().there = true,
        }
        let counters = port.1.counters();
        assert_eq!(counters.taken, accepted);
        assert_eq!(
            counters.taken,
            counters.sent + counters.lost + counters.held,
            "{counters:?}"
        );
        let room = port.1.room();
        assert!(room <= SLOTS as usize || room == usize::MAX, "{room}");
        let _ = (port.0.wait(), port.1.wait(), port.0.link(), port.0.is_up());
        let _ = (port.0.deadline(), port.1.deadline(), port.0.remarks());
    }
}

fn write(driver: &SharedArea, at: usize, bytes: &mut ByteSource<'_>) {
    let word = u64::from(bytes.word()) | u64::from(bytes.word()) << 32;
    if let Some(file) = driver.lock().files.last_mut() {
        file.words[at] = word;
    }
}

/// Checks that each slot that the process returns was passed on or counted, once.
fn receive(port: &mut Halves, driver: &SharedArea, now: u64, budget: usize, errors: bool) {
    let before = port.0.counters();
    let (opened, tail) = driver.lock().tail();
    let mut frames = 0;
    let report = port.0.receive(now, budget, &mut |received| {
        let header = received.frame.header();
        let len = received.frame.data().len();
        assert!(len == header.data_len() && header.len() <= 64);
        assert!(
            errors || !header.id().is_err(),
            "error frames were not requested"
        );
        frames += 1;
    });
    let report = report.expect("receiving never fails");
    assert_eq!(report.frames as u64, frames);
    let after = port.0.counters();
    let (bad, left_out) = (
        after.malformed - before.malformed,
        after.error_frames - before.error_frames,
    );
    let (now_opened, now_tail) = driver.lock().tail();
    let from = if now_opened == opened { tail } else { 0 };
    let slots = u64::from(now_tail.wrapping_sub(from));
    let all = frames + bad + left_out;
    // A head that is not valid empties the queue, and is counted once.
    let impossible = frames + left_out == 0 && bad == 1;
    assert!(
        slots == all || impossible,
        "{slots} slots, {all} counted: {before:?} {after:?}"
    );
    assert!(all <= budget.min(SLOTS as usize) as u64 || impossible);
}
