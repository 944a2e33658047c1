//! Signals, read and written bit by bit as the definition of DBC files says.

use super::number::{Exact, Rng};
use signals::{
    ByteOrder, Decimal, FieldLayout, SignalDefinition, SignalField, SignalKind, SignalPresence,
    SubstituteValues,
};

/// A signal, and the places of its bits.
pub(super) struct ExactSignal {
    pub(super) defined: SignalDefinition,
    pub(super) factor: Exact,
    pub(super) offset: Exact,
    is_signed: bool,
    /// The byte and the bit of each bit of the signal, the least significant one first.
    places: Vec<(usize, u32)>,
}

/// Returns the places of a layout's bits: an Intel signal starts at its least significant bit and
/// goes upwards; a Motorola signal starts at its most significant bit and goes downwards, behind
/// bit 0 of a byte with bit 7 of the next one.
fn places(layout: FieldLayout) -> Vec<(usize, u32)> {
    let (mut byte, mut bit) = (usize::from(layout.start / 8), u32::from(layout.start % 8));
    let mut places = Vec::new();
    for _ in 0..layout.bits {
        places.push((byte, bit));
        match (layout.order, bit) {
            (ByteOrder::Intel, 7) => (byte, bit) = (byte + 1, 0),
            (ByteOrder::Intel, _) => bit += 1,
            (ByteOrder::Motorola, 0) => (byte, bit) = (byte + 1, 7),
            (ByteOrder::Motorola, _) => bit -= 1,
        }
    }
    if layout.order == ByteOrder::Motorola {
        places.reverse();
    }
    places
}

impl ExactSignal {
    /// Returns a signal that is in a payload of `size` bytes.
    pub(super) fn random(rng: &mut Rng, size: usize, most_bits: u64) -> Self {
        let bits = match rng.below(4) {
            0 => 1 + rng.below(8),
            1 => 9 + rng.below(8),
            2 => 17 + rng.below(16),
            _ => 1 + rng.below(most_bits),
        };
        let order = match rng.below(2) {
            0 => ByteOrder::Intel,
            _ => ByteOrder::Motorola,
        };
        let layout = loop {
            let layout = FieldLayout {
                start: rng.below(8 * size as u64) as u16,
                bits: bits as u8,
                order,
            };
            if places(layout).iter().all(|(byte, _)| *byte < size) {
                break layout;
            }
        };
        let mut mantissa = [1, 5, 25, rng.between(1, 999)][rng.below(4) as usize];
        if rng.below(4) == 0 {
            mantissa = -mantissa;
        }
        let factor = Exact::new(mantissa.into(), rng.between(-4, 1) as i32);
        let offset = match rng.below(2) {
            0 => Exact::new(0, 0),
            _ => Exact::new(rng.between(-500, 500).into(), rng.between(-2, 1) as i32),
        };
        Self::new(layout, size, rng.below(2) == 0, factor, offset)
    }

    fn new(
        layout: FieldLayout,
        size: usize,
        is_signed: bool,
        factor: Exact,
        offset: Exact,
    ) -> Self {
        let zero = Decimal::from(0_u64);
        let defined = SignalDefinition {
            line: 1,
            name: "S".into(),
            layout,
            field: SignalField::new(layout, size).unwrap(),
            kind: match is_signed {
                true => SignalKind::Signed,
                false => SignalKind::Unsigned,
            },
            factor: factor.decimal(),
            offset: offset.decimal(),
            range: (zero, zero),
            unit: String::new(),
            receivers: Vec::new(),
            presence: SignalPresence::Always,
            value_names: Vec::new(),
            substitutes: SubstituteValues::default(),
            timeouts: Vec::new(),
            comment: String::new(),
        };
        Self {
            defined,
            factor,
            offset,
            is_signed,
            places: places(layout),
        }
    }

    /// Returns this signal with the bits, the sign and the scale of another one, if it then still
    /// is in the same bytes; otherwise the signal itself.
    pub(super) fn like(self, other: &Self) -> Self {
        let size = 1 + self.places.iter().map(|(byte, _)| *byte).max().unwrap();
        let layout = FieldLayout {
            bits: other.defined.layout.bits,
            ..self.defined.layout
        };
        if places(layout).iter().any(|(byte, _)| *byte >= size) {
            return self;
        }
        Self::new(layout, size, other.is_signed, other.factor, other.offset)
    }

    pub(super) fn limits(&self) -> (i128, i128) {
        let span = 1_i128 << self.places.len();
        match self.is_signed {
            true => (-span / 2, span / 2 - 1),
            false => (0, span - 1),
        }
    }

    pub(super) fn random_raw(&self, rng: &mut Rng) -> i128 {
        let (lowest, highest) = self.limits();
        match rng.below(6) {
            0 => lowest,
            1 => highest,
            2 => (lowest + i128::from(rng.below(4))).min(highest),
            _ => lowest + i128::from(rng.next()).rem_euclid(highest - lowest + 1),
        }
    }

    /// Returns the value of a raw one.
    pub(super) fn value(&self, raw: i128) -> Exact {
        self.factor.times(raw).plus(self.offset)
    }

    /// Returns the bits of a raw value.
    pub(super) fn bits(&self, raw: i128) -> u64 {
        (raw & ((1 << self.places.len()) - 1)) as u64
    }

    /// Returns the raw value; `None` if the payload does not contain the whole signal.
    pub(super) fn read(&self, payload: &[u8]) -> Option<i128> {
        let mut raw = 0_i128;
        for (number, (byte, bit)) in self.places.iter().enumerate() {
            raw |= i128::from(payload.get(*byte)? >> bit & 1) << number;
        }
        let (_, highest) = self.limits();
        Some(if raw > highest {
            raw - (1 << self.places.len())
        } else {
            raw
        })
    }

    /// Writes bits; nothing if the payload does not contain the whole signal.
    pub(super) fn write(&self, payload: &mut [u8], bits: u64) {
        if self.read(payload).is_none() {
            return;
        }
        for (number, (byte, bit)) in self.places.iter().enumerate() {
            payload[*byte] &= !(1 << bit);
            payload[*byte] |= ((bits >> number & 1) as u8) << bit;
        }
    }

    pub(super) fn words(&self) -> String {
        let FieldLayout { start, bits, order } = self.defined.layout;
        let (factor, offset) = (self.factor, self.offset);
        format!(
            "{start}|{bits} {order:?} signed {} ({factor:?},{offset:?})",
            self.is_signed
        )
    }
}
