//! Tables for processing bits eight at a time, computed when the crate is compiled.

/// The effect of bit stuffing on eight bits: up to two stuff bits, so eight to ten bits result.
///
/// A state is the last bit sent and the number of equal bits (one to four): after five, the stuff
/// bit follows at once and starts a new run.
pub(super) struct ByteStuffing([StuffStep; 2048]);

/// One step of [`ByteStuffing`]: the next state at the same position as in [`StuffState`], so that
/// finding the next step takes a mask and no shift; above it the number of stuff bits, above that
/// the bits.
#[derive(Clone, Copy)]
pub(super) struct StuffStep(u32);

const STUFFED_AT: u32 = 12;
const OUT_AT: u32 = 16;

impl StuffStep {
    /// Returns the bits with stuff bits, in the low [`StuffStep::stuffed`] + 8 bits.
    pub(super) const fn out(self) -> u64 {
        (self.0 >> OUT_AT) as u64
    }

    /// Returns the number of stuff bits inserted.
    pub(super) const fn stuffed(self) -> u32 {
        self.0 >> STUFFED_AT & 3
    }

    /// Returns the state after it.
    pub(super) const fn next(self) -> StuffState {
        StuffState(self.0 & StuffState::MASK)
    }
}

/// The state of bit stuffing: the last bit as bit 10, the run less one as bits 9 and 8.
#[derive(Clone, Copy)]
pub(super) struct StuffState(u32);

impl StuffState {
    const LAST_AT: u32 = 10;
    const RUN_AT: u32 = 8;
    const MASK: u32 = 0x700;

    /// A single recessive bit: an idle bus before the start of frame, which is dominant.
    pub(super) const IDLE: Self = Self::new(1, 1);

    const fn new(last: u32, run: u32) -> Self {
        Self(last << Self::LAST_AT | (run - 1) << Self::RUN_AT)
    }

    const fn last(self) -> u32 {
        self.0 >> Self::LAST_AT
    }

    const fn run(self) -> u32 {
        (self.0 >> Self::RUN_AT & 3) + 1
    }

    /// Returns whether the last bit sent was a stuff bit, given that the last bit of the frame is
    /// `last`.
    pub(super) const fn after_stuff_bit(self, last: bool) -> bool {
        // A stuff bit is the inverse of the bit before it and has just begun a run.
        self.run() == 1 && (self.last() == 1) != last
    }
}

impl ByteStuffing {
    /// Processes eight bits from a state.
    #[inline(always)]
    pub(super) const fn step(&self, state: StuffState, byte: u8) -> StuffStep {
        self.0[(state.0 & StuffState::MASK | byte as u32) as usize]
    }
}

pub(super) static STUFF: ByteStuffing = {
    let mut table = [StuffStep(0); 2048];
    let mut i = 0;
    while i < 2048 {
        let (state, byte) = (StuffState(i & StuffState::MASK), i & 0xFF);
        table[i as usize] = stuff_bits(state, byte, 8);
        i += 1;
    }
    ByteStuffing(table)
};

/// Stuffs the low `count` bits of `bits`, highest first, one at a time.
const fn stuff_bits(state: StuffState, bits: u32, count: u32) -> StuffStep {
    let (mut last, mut run) = (state.last(), state.run());
    let (mut out, mut stuffed) = (0, 0);
    let mut i = count;
    while i > 0 {
        i -= 1;
        let bit = bits >> i & 1;
        run = if bit == last { run + 1 } else { 1 };
        last = bit;
        out = out << 1 | bit;
        if run == 5 {
            last = 1 - bit;
            run = 1;
            out = out << 1 | last;
            stuffed += 1;
        }
    }
    StuffStep(out << OUT_AT | stuffed << STUFFED_AT | StuffState::new(last, run).0)
}

/// For each ESI and DLC (five bits), the number of stuff bits among and after them when BRS is
/// before them: it is recessive and follows a dominant bit.
pub(super) static STUFFED_AFTER_BRS: [u8; 32] = {
    let mut table = [0; 32];
    let mut bits = 0;
    while bits < 32 {
        table[bits] = stuff_bits(StuffState::new(1, 1), bits as u32, 5).stuffed() as u8;
        bits += 1;
    }
    table
};

/// A CRC of `WIDTH` bits, 15 to 32, computed by one byte and by four bytes.
pub(super) struct CrcByByte<const WIDTH: u32>([[u32; 256]; 4]);

impl<const WIDTH: u32> CrcByByte<WIDTH> {
    const MASK: u32 = (1 << WIDTH) - 1;

    /// `table[k][b]` is b·x^(8k + WIDTH) modulo the polynomial.
    const fn new(polynomial: u32) -> Self {
        let mut table = [[0; 256]; 4];
        let mut byte = 0;
        while byte < 256 {
            let mut crc = byte << (WIDTH - 8);
            let mut k = 0;
            while k < 4 {
                let mut bit = 0;
                while bit < 8 {
                    let carry = crc >> (WIDTH - 1) & 1;
                    crc = ((crc << 1) ^ (carry * polynomial)) & Self::MASK;
                    bit += 1;
                }
                table[k][byte as usize] = crc;
                k += 1;
            }
            byte += 1;
        }
        Self(table)
    }

    /// Returns the CRC after `count` further bits, at most 8.
    pub(super) const fn bits(&self, crc: u32, bits: u32, count: u32) -> u32 {
        let index = (crc >> (WIDTH - count) ^ bits) & ((1 << count) - 1);
        (crc << count) & Self::MASK ^ self.0[0][(index & 0xFF) as usize]
    }

    /// Returns the CRC after 32 further bits.
    pub(super) const fn word(&self, crc: u32, word: u32) -> u32 {
        let x = word ^ crc << (32 - WIDTH);
        self.0[3][(x >> 24) as usize]
            ^ self.0[2][(x >> 16 & 0xFF) as usize]
            ^ self.0[1][(x >> 8 & 0xFF) as usize]
            ^ self.0[0][(x & 0xFF) as usize]
    }
}

/// CRC of classic frames: x^15 + x^14 + x^10 + x^8 + x^7 + x^4 + x^3 + 1 (ISO 11898-1, CRC field).
pub(super) static CRC_15: CrcByByte<15> = CrcByByte::new(0x4599);
/// CRC of FD frames of up to 16 bytes.
pub(super) static CRC_17: CrcByByte<17> = CrcByByte::new(0x1_685B);
/// CRC of longer FD frames.
pub(super) static CRC_21: CrcByByte<21> = CrcByByte::new(0x10_2899);

/// Returns bits to be put before a frame to fill its header up to whole bytes: they alternate and
/// end recessive, so that they neither cause a stuff bit nor lengthen a run.
pub(super) const fn filler(bits: u32) -> u64 {
    0x55 & ((1 << bits) - 1)
}
