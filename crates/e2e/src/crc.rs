//! Cyclic redundancy checks, by tables of 256 entries that the compiler computes.

/// The parameters of a CRC, in the terms of the Rocksoft model, which the documents of AUTOSAR use,
/// too (*Specification of CRC Routines*).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CrcParameters {
    /// The number of bits: 8, 16, 32 or 64.
    pub width: u8,
    /// The polynomial without its highest term; the most significant bit is the term below it.
    pub polynomial: u64,
    /// The register before the first byte.
    pub initial: u64,
    /// Whether each byte enters with its least significant bit first, and the result leaves in that
    /// order, too.
    pub is_reflected: bool,
    /// XORed with the register after the last byte.
    pub final_xor: u64,
}

impl CrcParameters {
    /// SAE J1850, AUTOSAR's `Crc_CalculateCRC8`.
    pub const SAE_J1850: Self = Self::plain(8, 0x1D, 0xFF, 0xFF);
    /// The polynomial of SAE J1850 from zero: profiles 01 and 11.
    pub const PROFILE_01: Self = Self::plain(8, 0x1D, 0, 0);
    /// AUTOSAR's `Crc_CalculateCRC8H2F`: profiles 02 and 22.
    pub const H2F: Self = Self::plain(8, 0x2F, 0xFF, 0xFF);
    /// CRC-16/CCITT-FALSE, AUTOSAR's `Crc_CalculateCRC16`: profiles 05 and 06.
    pub const CCITT_FALSE: Self = Self::plain(16, 0x1021, 0xFFFF, 0);
    /// CRC-16/XMODEM: Hyundai's messages of CAN FD.
    pub const XMODEM: Self = Self::plain(16, 0x1021, 0, 0);
    /// AUTOSAR's `Crc_CalculateCRC32P4`: profiles 04 and 08.
    pub const CRC32P4: Self = Self::reflected(32, 0xF4AC_FB13);
    /// CRC-64/XZ, AUTOSAR's `Crc_CalculateCRC64`: profile 07.
    pub const CRC64: Self = Self::reflected(64, 0x42F0_E1EB_A9EA_3693);

    pub(crate) const fn plain(width: u8, polynomial: u64, initial: u64, final_xor: u64) -> Self {
        Self {
            width,
            polynomial,
            initial,
            is_reflected: false,
            final_xor,
        }
    }

    /// A reflected CRC whose register starts with ones and is inverted at the end.
    const fn reflected(width: u8, polynomial: u64) -> Self {
        let ones = u64::MAX >> (64 - width);
        Self {
            width,
            polynomial,
            initial: ones,
            is_reflected: true,
            final_xor: ones,
        }
    }
}

/// Defines a type of CRC with a register of this integer.
macro_rules! crc_table {
    ($(#[$doc:meta])* $Name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $Name {
            parameters: CrcParameters,
            table: [$int; 256],
        }

        impl $Name {
            pub(crate) const fn new(parameters: CrcParameters) -> Self {
                assert!(parameters.width as u32 == <$int>::BITS);
                let polynomial = parameters.polynomial as $int;
                let mut table = [0; 256];
                let mut byte = 0;
                while byte < 256 {
                    let mut register = if parameters.is_reflected {
                        byte as $int
                    } else {
                        (byte as $int) << (<$int>::BITS - 8)
                    };
                    let mut bit = 0;
                    while bit < 8 {
                        register = if parameters.is_reflected {
                            let out = register & 1;
                            register >> 1 ^ if out == 1 { polynomial.reverse_bits() } else { 0 }
                        } else {
                            let out = register >> (<$int>::BITS - 1);
                            register << 1 ^ if out == 1 { polynomial } else { 0 }
                        };
                        bit += 1;
                    }
                    table[byte] = register;
                    byte += 1;
                }
                Self { parameters, table }
            }

            /// Returns the register before the first byte.
            pub(crate) const fn start(&self) -> $int {
                self.parameters.initial as $int
            }

            /// Returns the register after these bytes.
            pub(crate) fn update(&self, register: $int, bytes: &[u8]) -> $int {
                bytes.iter().fold(register, |register, &byte| self.step(register, byte))
            }

            /// Returns the register after one more byte.
            pub(crate) fn step(&self, register: $int, byte: u8) -> $int {
                if self.parameters.is_reflected {
                    // A register of eight bits has no others that would be shifted.
                    let rest = register.checked_shr(8).unwrap_or(0);
                    rest ^ self.table[usize::from(register as u8 ^ byte)]
                } else {
                    let rest = register.checked_shl(8).unwrap_or(0);
                    let top = (register >> (<$int>::BITS - 8)) as u8;
                    rest ^ self.table[usize::from(top ^ byte)]
                }
            }

            /// Returns the CRC for the register after the last byte.
            pub(crate) const fn finish(&self, register: $int) -> $int {
                register ^ self.parameters.final_xor as $int
            }

            /// Returns the CRC of `data` without the bytes from `at` to before `end`.
            pub(crate) fn without(
                &self,
                register: $int,
                data: &[u8],
                at: usize,
                end: usize,
            ) -> $int {
                let before = data.get(..at).unwrap_or_default();
                let behind = data.get(end..).unwrap_or_default();
                self.update(self.update(register, before), behind)
            }
        }
    };
}

crc_table!(
    /// A CRC of 8 bits.
    Crc8,
    u8
);
crc_table!(
    /// A CRC of 16 bits.
    Crc16,
    u16
);
crc_table!(
    /// A CRC of 32 bits.
    Crc32,
    u32
);
crc_table!(
    /// A CRC of 64 bits.
    Crc64,
    u64
);

/// The CRC of profiles 01 and 11.
pub(crate) static PROFILE_01: Crc8 = Crc8::new(CrcParameters::PROFILE_01);
/// The CRC of profiles 02 and 22.
pub(crate) static H2F: Crc8 = Crc8::new(CrcParameters::H2F);
/// The CRC of profiles 05 and 06.
pub(crate) static CCITT_FALSE: Crc16 = Crc16::new(CrcParameters::CCITT_FALSE);
/// The CRC of Hyundai's messages of CAN FD.
pub(crate) static XMODEM: Crc16 = Crc16::new(CrcParameters::XMODEM);
/// The CRC of profiles 04 and 08.
pub(crate) static CRC32P4: Crc32 = Crc32::new(CrcParameters::CRC32P4);
/// The CRC of profile 07.
pub(crate) static CRC64: Crc64 = Crc64::new(CrcParameters::CRC64);

/// The polynomials of 8 bits with a table: those of the catalogue of CRCs that vehicles are known
/// to use.
pub(crate) const POLYNOMIALS_8: [u8; 6] = [0x07, 0x1D, 0x2F, 0x31, 0x9B, 0xD5];

/// The tables for [`POLYNOMIALS_8`], from zero and without a final XOR.
static TABLES_8: [Crc8; 6] = {
    const fn zeroed(index: usize) -> Crc8 {
        Crc8::new(CrcParameters::plain(8, POLYNOMIALS_8[index] as u64, 0, 0))
    }
    [
        zeroed(0),
        zeroed(1),
        zeroed(2),
        zeroed(3),
        zeroed(4),
        zeroed(5),
    ]
};

/// Returns the table for a polynomial of 8 bits, if there is one.
pub(crate) fn find_table(polynomial: u8) -> Option<&'static Crc8> {
    let index = POLYNOMIALS_8.iter().position(|&one| one == polynomial)?;
    TABLES_8.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input of the check values in catalogues of CRCs.
    const CHECK: &[u8] = b"123456789";

    macro_rules! check {
        ($crc:expr) => {{
            let crc = $crc;
            crc.finish(crc.update(crc.start(), CHECK))
        }};
    }

    /// The values are in AUTOSAR's *Specification of CRC Routines* or in the catalogue of CRCs of
    /// Greg Cook.
    #[test]
    fn check_values_are_those_of_the_catalogues() {
        assert_eq!(check!(Crc8::new(CrcParameters::SAE_J1850)), 0x4B);
        assert_eq!(check!(&PROFILE_01), 0x37);
        assert_eq!(check!(&H2F), 0xDF);
        assert_eq!(check!(&CCITT_FALSE), 0x29B1);
        assert_eq!(check!(&XMODEM), 0x31C3);
        let arc = CrcParameters {
            is_reflected: true,
            ..CrcParameters::plain(16, 0x8005, 0, 0)
        };
        assert_eq!(check!(Crc16::new(arc)), 0xBB3D);
        let ethernet = CrcParameters::reflected(32, 0x04C1_1DB7);
        assert_eq!(check!(Crc32::new(ethernet)), 0xCBF4_3926);
        assert_eq!(check!(&CRC32P4), 0x1697_D06A);
        assert_eq!(check!(&CRC64), 0x995D_C9BB_DF19_39FA);
    }

    #[test]
    fn each_table_of_eight_bits_has_its_polynomial() {
        for polynomial in POLYNOMIALS_8 {
            let table = find_table(polynomial).unwrap();
            // The register 1 before eight shifts leaves the polynomial behind.
            assert_eq!(table.update(0, &[1]), polynomial);
        }
        assert!(find_table(0x39).is_none());
    }
}
