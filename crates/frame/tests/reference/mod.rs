//! Frames on the wire as a list of bits, built field by field as ISO 11898-1 describes them. Slow
//! and obvious: the reference for the fast calculation.

use frame::{CanId, FrameRef, Kind, dlc};

/// One bit on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bit {
    pub(crate) recessive: bool,
    /// Whether it was inserted by bit stuffing, and not at a fixed place.
    pub(crate) stuff: bool,
    /// Whether it has the data bit rate.
    pub(crate) fast: bool,
}

/// A frame on the wire.
pub(crate) struct Wire {
    /// From the start of frame to the end of the intermission.
    pub(crate) bits: Vec<Bit>,
    pub(crate) crc: u32,
    /// Index in `bits` one past the last bit by which arbitration is decided.
    pub(crate) arbitration_end: usize,
    /// The same for FDF, which follows the arbitration field.
    pub(crate) format_end: usize,
}

impl Wire {
    pub(crate) fn stuff_bits(&self) -> usize {
        self.bits.iter().filter(|b| b.stuff).count()
    }

    pub(crate) fn fast_bits(&self) -> usize {
        self.bits.iter().filter(|b| b.fast).count()
    }
}

/// A bit before stuffing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    /// The last bit of the arbitration, as the bus model needs it.
    Arbitration,
    /// FDF, or the bit in its place.
    Format,
    /// The first bit of the data phase.
    Fast,
}

#[derive(Default)]
struct Fields(Vec<(bool, Option<Mark>)>);

impl Fields {
    fn bit(&mut self, recessive: bool) {
        self.0.push((recessive, None));
    }

    fn marked(&mut self, recessive: bool, mark: Mark) {
        self.0.push((recessive, Some(mark)));
    }

    fn number(&mut self, value: u32, bits: u32) {
        for i in (0..bits).rev() {
            self.bit(value >> i & 1 == 1);
        }
    }

    fn mark_last(&mut self, mark: Mark) {
        self.0.last_mut().unwrap().1 = Some(mark);
    }
}

/// Returns all bits of a frame; `None` where it is never on a bus or is not supported here.
pub(crate) fn wire(frame: FrameRef<'_>) -> Option<Wire> {
    if frame.id().is_err() || frame.kind() == Kind::Xl {
        return None;
    }
    let fd = frame.kind() == Kind::Fd;
    let brs = frame.header().is_brs();
    let mut data = frame.data().to_vec();
    if fd {
        let lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
        let on_wire = lengths.into_iter().find(|l| *l >= data.len()).unwrap();
        data.resize(on_wire, 0);
    }

    // Start of frame, arbitration field.
    let id = frame.id().raw();
    let remote = !fd && id & CanId::RTR_FLAG != 0;
    let mut fields = Fields::default();
    fields.bit(false);
    if id & CanId::EFF_FLAG != 0 {
        fields.number(id >> 18 & 0x7FF, 11);
        fields.bit(true); // SRR
        fields.bit(true); // IDE
        fields.number(id & 0x3_FFFF, 18);
        fields.bit(remote); // RTR or RRS
        fields.mark_last(Mark::Arbitration);
        fields.marked(fd, Mark::Format); // FDF
        fields.bit(false); // r0 or res
    } else {
        fields.number(id & 0x7FF, 11);
        fields.bit(remote);
        fields.bit(false); // IDE
        fields.mark_last(Mark::Arbitration);
        fields.marked(fd, Mark::Format); // FDF
        if fd {
            fields.bit(false); // res
        }
    }
    // Rest of the control field.
    if fd {
        fields.bit(brs);
        let esi = frame.header().is_esi();
        fields.marked(esi, if brs { Mark::Fast } else { Mark::None });
        fields.number(u32::from(dlc::fd_dlc(frame.len())), 4);
    } else {
        fields.number(u32::from(frame.header().dlc()), 4);
    }
    for byte in &data {
        fields.number(u32::from(*byte), 8);
    }
    if fd {
        Some(fd_rest(&fields, data.len()))
    } else {
        Some(classic_rest(fields))
    }
}

fn classic_rest(mut fields: Fields) -> Wire {
    let plain: Vec<bool> = fields.0.iter().map(|b| b.0).collect();
    let crc = crc(&plain, 15, 0x4599, 0);
    fields.number(crc, 15);
    let mut wire = stuffed(&fields, true);
    wire.crc = crc;
    tail(&mut wire.bits);
    wire
}

fn fd_rest(fields: &Fields, len: usize) -> Wire {
    let mut wire = stuffed(fields, false);
    let fast = wire.bits.last().unwrap().fast;
    let count = (wire.stuff_bits() % 8) as u32;
    let gray: u32 = [0b000, 0b001, 0b011, 0b010, 0b110, 0b111, 0b101, 0b100][count as usize];
    let parity = gray.count_ones() % 2;

    let mut covered: Vec<bool> = wire.bits.iter().map(|b| b.recessive).collect();
    let mut field = Fields::default();
    field.number(gray, 3);
    field.number(parity, 1);
    covered.extend(field.0.iter().map(|b| b.0));
    let (width, polynomial) = if len <= 16 {
        (17, 0x1_685B)
    } else {
        (21, 0x10_2899)
    };
    wire.crc = crc(&covered, width, polynomial, 1 << (width - 1));
    field.number(wire.crc, width);

    // A fixed stuff bit before the first and after each fourth bit.
    for (i, (recessive, _)) in field.0.iter().enumerate() {
        let mut push = |recessive| {
            wire.bits.push(Bit {
                recessive,
                stuff: false,
                fast,
            });
        };
        if i == 0 {
            let before = covered[covered.len() - 5];
            push(!before);
        }
        push(*recessive);
        if i % 4 == 3 {
            push(!*recessive);
        }
    }
    tail(&mut wire.bits);
    wire
}

/// CRC delimiter, acknowledge, its delimiter, end of frame, intermission.
fn tail(bits: &mut Vec<Bit>) {
    let mut push = |recessive| {
        bits.push(Bit {
            recessive,
            stuff: false,
            fast: false,
        });
    };
    push(true);
    push(false);
    push(true);
    for _ in 0..7 + 3 {
        push(true);
    }
}

/// Adds an inverse bit after five equal bits, which counts for the next five.
fn stuffed(fields: &Fields, after_last: bool) -> Wire {
    let mut wire = Wire {
        bits: Vec::new(),
        crc: 0,
        arbitration_end: 0,
        format_end: 0,
    };
    let mut fast = false;
    for (i, (recessive, mark)) in fields.0.iter().enumerate() {
        fast |= *mark == Some(Mark::Fast);
        wire.bits.push(Bit {
            recessive: *recessive,
            stuff: false,
            fast,
        });
        match mark {
            Some(Mark::Arbitration) => wire.arbitration_end = wire.bits.len(),
            Some(Mark::Format) => wire.format_end = wire.bits.len(),
            _ => {}
        }
        let last = i + 1 == fields.0.len();
        let run = wire
            .bits
            .iter()
            .rev()
            .take_while(|b| b.recessive == *recessive)
            .count();
        if run == 5 && (!last || after_last) {
            wire.bits.push(Bit {
                recessive: !*recessive,
                stuff: true,
                fast,
            });
        }
    }
    wire
}

/// The shift register of ISO 11898-1.
fn crc(bits: &[bool], width: u32, polynomial: u32, init: u32) -> u32 {
    let mut register = init;
    for bit in bits {
        let next = *bit ^ (register >> (width - 1) & 1 == 1);
        register = register << 1 & ((1 << width) - 1);
        if next {
            register ^= polynomial;
        }
    }
    register
}
