//! The winner of arbitration, and the bit at which it is decided.

use super::eff_parts;
use super::tables::{STUFF, StuffState, filler};
use crate::{Header, Kind, flags};

/// Returns a number that orders frames as arbitration does: of several that start together, the
/// lowest wins, because a dominant bit is 0.
///
/// From the highest bit: the 11 high bits of the identifier; RTR, RRS or SRR; IDE; for EFF the 18
/// low bits and RTR or RRS (zeros for SFF, which has lost or won against EFF by IDE before); FDF;
/// and the bit after FDF where it is recessive, which only XL has. So at the same identifier, SFF
/// wins over EFF, data over remote, classic over FD and FD over XL.
///
/// The two lowest bits follow *after* the arbitration field. Where two keys differ only in them,
/// ISO 11898-1 has no arbitration: the sender with the higher key sees a dominant bit where it
/// sends a recessive one and treats it as an error. Identifiers must be assigned so that this does
/// not happen.
///
/// An error frame is never on a bus; its key is `u64::MAX`.
#[must_use]
pub const fn arbitration_key(header: &Header) -> u64 {
    if header.id().is_err() && !matches!(header.kind(), Kind::Xl) {
        return u64::MAX;
    }
    let field = if is_eff(header) {
        let (high, low) = eff_parts(header);
        high << 21 | 0b11 << 19 | low << 1 | remote(header)
    } else {
        sff_number(header) << 21 | remote(header) << 20
    };
    field << FORMAT_BITS | format_bits(header)
}

/// Number of the lowest bits of [`arbitration_key`] that follow the arbitration field.
const FORMAT_BITS: u32 = 2;

/// Returns the arbitration field as a number: of several frames that start together, the lowest
/// wins. Two frames with the same number have the same priority. That of an error frame is the
/// highest number.
#[must_use]
pub const fn arbitration_field(header: &Header) -> u64 {
    arbitration_key(header) >> FORMAT_BITS
}

/// Returns FDF and the bit after it.
const fn format_bits(header: &Header) -> u64 {
    match header.kind() {
        Kind::Classic => 0b00,
        Kind::Fd => 0b10,
        Kind::Xl => 0b11,
    }
}

const fn is_eff(header: &Header) -> bool {
    header.id().is_eff() && !matches!(header.kind(), Kind::Xl)
}

const fn sff_number(header: &Header) -> u64 {
    (header.id().raw() & crate::CanId::SFF_MASK) as u64
}

/// Returns RTR of a classic frame; RRS, which FD frames send dominant and XL frames according to
/// their flags.
const fn remote(header: &Header) -> u64 {
    let recessive = match header.kind() {
        Kind::Classic => header.is_rtr(),
        Kind::Fd => false,
        Kind::Xl => header.flags() & flags::XL_RRS != 0,
    };
    recessive as u64
}

/// Returns the number of bits after the beginning of the start of frame at which arbitration is
/// decided: the bits up to and including IDE (SFF, XL) or RTR or RRS (EFF), with the stuff bits
/// before the last of them. At the nominal bit rate; `None` for error frames.
///
/// ```
/// use frame::{Frame, wire};
/// let frame: Frame = "555#".parse()?;
/// assert_eq!(wire::arbitration_bits(&frame.header()), Some(14));
/// let frame: Frame = "000#".parse()?;
/// assert_eq!(wire::arbitration_bits(&frame.header()), Some(16));
/// # Ok::<(), frame::text::ParseError>(())
/// ```
#[must_use]
pub fn arbitration_bits(header: &Header) -> Option<u32> {
    if header.id().is_err() && header.kind() != Kind::Xl {
        return None;
    }
    Some(if is_eff(header) {
        let (high, low) = eff_parts(header);
        count::<33, 5>(high << 21 | 0b11 << 19 | low << 1 | remote(header))
    } else {
        count::<14, 2>(sff_number(header) << 2 | remote(header) << 1)
    })
}

fn count<const BITS: u32, const BYTES: usize>(bits: u64) -> u32 {
    let filled = bits | filler(BYTES as u32 * 8 - BITS) << BITS;
    let mut state = StuffState::IDLE;
    let mut stuffed = 0;
    for i in (0..BYTES).rev() {
        let step = STUFF.step(state, (filled >> (8 * i)) as u8);
        stuffed += step.stuffed();
        state = step.next();
    }
    BITS + stuffed - u32::from(state.after_stuff_bit(bits & 1 != 0))
}
