//! Data length codes and the lengths that they represent (ISO 11898-1, table of DLC values).

/// The greatest number of payload bytes of a classic frame.
pub const CLASSIC_MAX: usize = 8;
/// The greatest number of payload bytes of an FD frame.
pub const FD_MAX: usize = 64;
/// The greatest number of payload bytes of an XL frame.
pub const XL_MAX: usize = 2048;

const FD_LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];

/// Returns the payload bytes of an FD frame with this DLC. DLCs above 15 do not exist and are
/// treated as 15.
#[must_use]
pub const fn fd_len(dlc: u8) -> u8 {
    FD_LENGTHS[if dlc > 15 { 15 } else { dlc as usize }]
}

/// Returns the smallest FD DLC whose length holds `len` bytes. Lengths above 64 do not exist; for
/// them it returns 15.
#[must_use]
pub const fn fd_dlc(len: usize) -> u8 {
    let mut dlc = 0;
    while dlc < 15 && (FD_LENGTHS[dlc] as usize) < len {
        dlc += 1;
    }
    dlc as u8
}

/// Returns the payload bytes that an FD frame of `len` bytes has on the wire: `len` rounded up to
/// the next length that a DLC represents.
#[must_use]
pub const fn fd_padded(len: usize) -> usize {
    fd_len(fd_dlc(len)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_round_up_to_what_a_dlc_can_state() {
        assert_eq!(fd_padded(0), 0);
        assert_eq!(fd_padded(8), 8);
        assert_eq!(fd_padded(9), 12);
        assert_eq!(fd_padded(33), 48);
        assert_eq!(fd_padded(64), 64);
        for dlc in 0..=15 {
            assert_eq!(fd_dlc(fd_len(dlc) as usize), dlc);
        }
    }
}
