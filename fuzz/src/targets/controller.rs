//! Drivers of controllers with registers that read as anything: a card that is broken, or of
//! another type. They must not panic, must terminate, and must answer each frame exactly once.

use crate::Target;
use crate::bytes::ByteSource;
use controller::ctucanfd::CtuCanFd;
use controller::sja1000::{ChipWiring, Sja1000};
use controller::{AcceptanceRule, BitTiming, Controller, ControllerEvent, Registers, StartMode};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "controller",
    run,
    words: &[
        "\u{fd}\u{ca}\u{3}\u{2}",
        "\u{0}\u{0}\u{0}\u{0}",
        "\u{1}\u{9}\u{c}",
    ],
};

const OPERATIONS: usize = 200;

/// The bytes that registers return, and the values that were written to them.
struct NoiseRegisters {
    bytes: Vec<u8>,
    next: usize,
    /// The values that were written, which most reads return: otherwise no driver would ever start.
    written: Vec<u32>,
    /// The interval of reads that return noise.
    rate: usize,
    reads: usize,
}

#[derive(Clone)]
struct SharedNoise(Rc<RefCell<NoiseRegisters>>);

impl NoiseRegisters {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.next).copied().unwrap_or(0);
        self.next = (self.next + 1) % self.bytes.len().max(1);
        byte
    }

    fn read(&mut self, offset: u32, size: usize) -> u32 {
        self.reads += 1;
        if !self.reads.is_multiple_of(self.rate) {
            let kept = self.written.get(offset as usize).copied();
            return kept.unwrap_or(0);
        }
        (0..size).fold(0, |all, _| all << 8 | u32::from(self.byte()))
    }

    fn write(&mut self, offset: u32, value: u32) {
        if let Some(place) = self.written.get_mut(offset as usize) {
            *place = value;
        }
    }
}

impl Registers for SharedNoise {
    fn read8(&mut self, offset: u32) -> u8 {
        self.0.borrow_mut().read(offset, 1) as u8
    }
    fn write8(&mut self, offset: u32, value: u8) {
        self.0.borrow_mut().write(offset, value.into());
    }
    fn read32(&mut self, offset: u32) -> u32 {
        // The core's ID, most of the time.
        match self.0.borrow_mut().read(offset, 4) {
            0 if offset == 0 => 0xCAFD,
            value => value,
        }
    }
    fn write32(&mut self, offset: u32, value: u32) {
        self.0.borrow_mut().write(offset, value);
    }
}

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    let shape = bytes.byte();
    let noise = SharedNoise(Rc::new(RefCell::new(NoiseRegisters {
        bytes: input.to_vec(),
        next: 0,
        written: vec![0; 0x500],
        rate: 1 + usize::from(shape >> 4),
        reads: 0,
    })));
    if shape & 1 == 0 {
        let wiring = ChipWiring {
            clock: 8_000_000,
            output: 0xD8,
            clock_divider: 0x47,
        };
        play(Sja1000::new(noise, wiring), &mut bytes, shape);
    } else {
        play(CtuCanFd::new(noise, 100_000_000), &mut bytes, shape);
    }
}

fn play(mut driver: impl Controller, bytes: &mut ByteSource<'_>, shape: u8) {
    let properties = driver.properties();
    let timing = BitTiming::compute(properties.clock, &properties.nominal, 500_000, 875)
        .expect("500 kbit/s is possible");
    let data = properties.data.as_ref().filter(|_| shape & 2 != 0);
    let filters = [AcceptanceRule {
        id: u32::from(bytes.short()),
        mask: u32::from(bytes.short()),
    }];
    let mode = StartMode {
        data: data.map(|limits| {
            BitTiming::compute(properties.clock, limits, 2_000_000, 750)
                .expect("2 Mbit/s is possible")
        }),
        one_shot: shape & 4 != 0,
        diagnose: shape & 8 != 0,
        filters: if shape & 1 == 0 { &[] } else { &filters },
        ..StartMode::classic(timing)
    };
    let mut open = BTreeSet::new();
    for token in 0..OPERATIONS as u64 {
        if bytes.is_empty() {
            break;
        }
        match bytes.byte() & 15 {
            0..=4 => {
                let room = driver.room();
                if driver.transmit(bytes.frame().view(), token).is_ok() {
                    assert!(room > 0 && driver.room() == room - 1);
                    open.insert(token);
                }
            }
            5..=9 => service(&mut driver, usize::from(bytes.byte() & 7), &mut open),
            10 => driver.abort(),
            11 => driver.interrupts(bytes.byte() & 1 != 0),
            12 => {
                let _ = driver.restart();
            }
            13 => driver.stop(),
            _ => {
                let _ = driver.start(&mode);
            }
        }
    }
    driver.stop();
    service(&mut driver, 0, &mut open);
    assert!(open.is_empty(), "never answered: {open:?}");
}

fn service(driver: &mut impl Controller, budget: usize, open: &mut BTreeSet<u64>) {
    let mut received = 0;
    let _ = driver.service(budget, &mut |event| match event {
        ControllerEvent::Received { frame, .. } => {
            assert!(frame.data().len() == frame.header().data_len());
            received += 1;
        }
        ControllerEvent::Sent { token, .. } | ControllerEvent::Failed { token, .. } => {
            assert!(open.remove(&token), "answered twice: {token}");
        }
        _ => {}
    });
    assert!(received <= budget);
}
