//! The reader of a mapped controller's page, while the other side writes anything into it: it must
//! not panic, must terminate, must pass on only valid frames, and must answer each frame that it
//! took exactly once.

use crate::Target;
use crate::bytes::ByteSource;
use controller::mapped::{BusJoin, DeviceTrap, MappedController, MappedDevice};
use controller::{BitTiming, Controller, ControllerEvent, StartMode};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "mapped_page",
    run,
    words: &[
        // Times of head and tail, a frame's first word, a buffer's state.
        "\u{1}\u{0}\u{0}\u{0}",
        "\u{23}\u{1}\u{0}\u{0}\u{8}\u{0}\u{0}\u{0}",
        "\u{2}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
    ],
};

/// Size of `struct bitcan_registers` in bytes.
const PAGE: usize = 768;
/// Number of frames in the receive FIFO.
const FIFO: usize = 4;
const OPERATIONS: usize = 200;

struct FuzzPage {
    words: Vec<u64>,
    /// The bytes for reads of changing memory, repeated.
    noise: Vec<u8>,
    next: usize,
    /// The interval of reads that return noise; 0 for none.
    rate: usize,
    reads: usize,
    /// The result of the next calls that do not access registers.
    trap: Option<DeviceTrap>,
}

impl FuzzPage {
    fn noise(&mut self) -> u64 {
        (0..8).fold(0, |word, _| {
            let byte = self.noise.get(self.next).copied().unwrap_or(0);
            self.next = (self.next + 1) % self.noise.len().max(1);
            word << 8 | u64::from(byte)
        })
    }

    fn get(&mut self, at: usize) -> u64 {
        self.reads += 1;
        if self.rate > 0 && self.reads.is_multiple_of(self.rate) {
            return self.noise();
        }
        assert!(at.is_multiple_of(8), "a word that is none: {at}");
        self.words.get(at / 8).copied().unwrap_or(u64::MAX)
    }
}

#[derive(Clone)]
struct SharedPage(Rc<RefCell<FuzzPage>>);

impl SharedPage {
    fn call(&self) -> Result<(), DeviceTrap> {
        self.0.borrow().trap.map_or(Ok(()), Err)
    }
}

impl MappedDevice for SharedPage {
    fn get(&self, at: usize) -> u64 {
        self.0.borrow_mut().get(at)
    }
    fn set(&mut self, at: usize, word: u64) {
        let mut page = self.0.borrow_mut();
        let place = page.words.get_mut(at / 8);
        *place.expect("only within the page") = word;
    }
    fn fence(&mut self) {}
    fn ring(&mut self, buffers: u32) -> Result<(), DeviceTrap> {
        assert!(buffers > 0 && buffers < 8);
        self.call()
    }
    fn join(&mut self, join: &BusJoin<'_>) -> Result<(), DeviceTrap> {
        self.call()?;
        // As in the module: everything is reset, the version comes first.
        let mut page = self.0.borrow_mut();
        page.words.fill(0);
        let version = u64::from(join.version);
        page.words[0] = if cfg!(target_endian = "little") {
            version
        } else {
            version << 32
        };
        Ok(())
    }
    fn leave(&mut self) {}
    fn abort(&mut self, buffers: u32) {
        assert!(buffers > 0 && buffers < 8);
    }
    fn recover(&mut self) -> Result<(), DeviceTrap> {
        self.call()
    }
}

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    let shape = bytes.byte();
    let page = Rc::new(RefCell::new(FuzzPage {
        words: vec![0; PAGE / 8],
        noise: input.to_vec(),
        next: 0,
        rate: usize::from(shape >> 3),
        reads: 0,
        trap: None,
    }));
    let mut driver = MappedController::new(SharedPage(page.clone()));
    let properties = driver.properties();
    let timing = |rate| {
        BitTiming::compute(properties.clock, &properties.nominal, rate, 800)
            .expect("it is possible")
    };
    let mode = StartMode {
        data: (shape & 1 != 0).then(|| timing(2_000_000)),
        one_shot: shape & 2 != 0,
        diagnose: shape & 4 != 0,
        ..StartMode::classic(timing(500_000))
    };
    let _ = driver.start(&mode);
    let mut open = BTreeSet::new();
    for token in 0..OPERATIONS as u64 {
        if bytes.is_empty() {
            break;
        }
        match bytes.byte() & 15 {
            0..=2 => {
                let room = driver.room();
                if driver.transmit(bytes.frame().view(), token).is_ok() {
                    assert!(room > 0 && driver.room() == room - 1);
                    open.insert(token);
                }
            }
            3..=5 => service(&mut driver, usize::from(bytes.byte() & 7), &mut open),
            // The other side writes a word, and signals a change.
            6..=10 => {
                let at = usize::from(bytes.byte()) % (PAGE / 8);
                let word = u64::from(bytes.word()) | u64::from(bytes.word()) << 32;
                let mut page = page.borrow_mut();
                page.words[at] = word;
                page.words[0] = page.words[0].wrapping_add(1 << 32 | 1);
            }
            11 => driver.abort(),
            12 => driver.interrupts(bytes.byte() & 1 != 0),
            13 => {
                let _ = driver.restart();
            }
            14 => {
                let traps = [None, Some(DeviceTrap::Down), Some(DeviceTrap::Invalid)];
                let other = Some(DeviceTrap::Other("noise"));
                let which = usize::from(bytes.byte() & 3);
                page.borrow_mut().trap = traps.get(which).copied().unwrap_or(other);
            }
            _ if bytes.byte() & 1 == 0 => driver.stop(),
            _ => {
                let _ = driver.start(&mode);
            }
        }
    }
    driver.stop();
    service(&mut driver, 0, &mut open);
    assert!(open.is_empty(), "never answered: {open:?}");
    assert_eq!(driver.room(), 3);
}

fn service(driver: &mut impl Controller, budget: usize, open: &mut BTreeSet<u64>) {
    let mut received = 0;
    let _ = driver.service(budget, &mut |event| match event {
        ControllerEvent::Received { frame, .. } => {
            let header = frame.header();
            assert!(frame.data().len() == header.data_len() && header.len() <= 64);
            assert!(
                !header.id().is_err(),
                "an error frame is not a frame of the bus"
            );
            received += 1;
        }
        ControllerEvent::Sent { token, .. } | ControllerEvent::Failed { token, .. } => {
            assert!(open.remove(&token), "answered twice: {token}");
        }
        ControllerEvent::Overrun { frames, .. } => assert!(frames > 0),
        _ => {}
    });
    assert!(received <= budget.min(FIFO), "more than there can be");
}
