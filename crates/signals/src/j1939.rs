//! Parameter groups of J1939 in IDs (SAE J1939-21, section 5.2): 18 bits. The low byte is part of
//! the number of a group that is sent to all; of another group, it is the address of the receiver.

use frame::CanId;

/// The largest number of a parameter group: 18 bits.
pub const LARGEST_GROUP: u32 = 0x3_FFFF;

/// Returns whether the low byte of a group is part of its number, and not an address.
#[must_use]
pub const fn is_broadcast_group(group: u32) -> bool {
    /// The first such PDU format.
    const FIRST: u32 = 0xF0;
    group >> 8 & 0xFF >= FIRST
}

/// Returns the mask of the bits of an extended ID that hold the number of this group.
#[must_use]
pub const fn group_id_mask(group: u32) -> u32 {
    let number = match is_broadcast_group(group) {
        true => LARGEST_GROUP,
        false => LARGEST_GROUP & !0xFF,
    };
    number << 8
}

/// Returns the number of the parameter group of an extended ID; the low byte is 0 for groups that
/// are sent to one address.
#[must_use]
pub fn parameter_group(id: CanId) -> Option<u32> {
    let number = id.number();
    let mask = group_id_mask(number >> 8);
    id.is_eff().then_some((number & mask) >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_not_part_of_a_group() {
        for (id, group, mask) in [
            (0x18FE_F12A, 0xFEF1, 0x03FF_FF00),
            (0x0CF0_0400, 0xF004, 0x03FF_FF00),
            (0x18EA_00F9, 0xEA00, 0x03FF_0000),
            (0x18EA_FFF9, 0xEA00, 0x03FF_0000),
            (0x1FEF_FFFF, 0x3_EF00, 0x03FF_0000),
        ] {
            assert_eq!(parameter_group(CanId::eff(id).unwrap()), Some(group));
            assert_eq!(group_id_mask(group), mask, "{group:X}");
        }
        assert_eq!(parameter_group(CanId::sff(0x7FF).unwrap()), None);
    }
}
