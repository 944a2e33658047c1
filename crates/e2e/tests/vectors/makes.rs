//! Checksums of makes: results of the functions of opendbc (7343a66).

use crate::{bytes, protected};
use e2e::{
    BytePlace, Crc8Settings, MakeName, NibbleSumSettings, P02Settings, PayloadField, Protection,
    ProtectionSettings, Sum8Settings, SumCommon, XorSumSettings,
};
use frame::CanId;

const COMMON: SumCommon = SumCommon {
    length: None,
    counter: None,
};

fn id(number: u32) -> CanId {
    CanId::sff(number).unwrap()
}

/// Returns the payload of the examples as these settings protect it.
fn example(settings: ProtectionSettings, id: CanId) -> Vec<u8> {
    protected(settings, id, &bytes("0011223344556677"), 0)
}

/// Returns the settings of a make whose checksum has its place from the make.
fn make(name: MakeName, id: CanId) -> ProtectionSettings {
    name.to_settings(id, None, COMMON).unwrap()
}

/// Returns the last byte of the example.
fn last(name: MakeName, id: CanId) -> u8 {
    example(make(name, id), id)[7]
}

#[test]
fn crc8_of_makes() {
    assert_eq!(last(MakeName::Chrysler, id(0x100)), 0x1B);
    assert_eq!(last(MakeName::Giorgio, id(0xDE)), 0x01);
    assert_eq!(last(MakeName::Giorgio, id(0x100)), 0x1B);
    assert_eq!(last(MakeName::CommaBody, id(0x100)), 0x50);
}

/// The list of message FD (ESP_21) of Volkswagen's MQB.
#[test]
fn volkswagen_mqb_is_profile_02() {
    let list = bytes("B4 EF F8 49 1E E5 C2 C0 97 19 3C C9 F1 98 D6 61");
    let settings = ProtectionSettings::P02(P02Settings::new(list.try_into().unwrap()));
    assert_eq!(
        protected(settings, id(0xFD), &bytes("0011223344556677"), 1),
        bytes("B011223344556677")
    );
}

#[test]
fn sums_of_bytes() {
    assert_eq!(last(MakeName::Toyota, id(0x2E4)), 0x53);
    let subaru = make(MakeName::Subaru, id(0x122));
    assert_eq!(example(subaru, id(0x122))[0], 0xFF);
    let tesla = Sum8Settings::tesla(BytePlace::At(7), COMMON);
    assert_eq!(example(ProtectionSettings::Sum8(tesla), id(0x488))[7], 0xF1);
}

#[test]
fn sums_of_half_bytes() {
    assert_eq!(last(MakeName::Honda, id(0xE4)), 0x75);
    let long = CanId::eff(0x18DA_B0F1).unwrap();
    assert_eq!(last(MakeName::Honda, long), 0x7F);
}

#[test]
fn crc16_of_hyundai() {
    let settings = make(MakeName::HyundaiFd, id(0x50));
    // The number 5D50, little-endian.
    assert_eq!(example(settings, id(0x50))[..2], [0x50, 0x5D]);
    let payload: Vec<u8> = (0..0x20).collect();
    let long = protected(settings, id(0x12A), &payload, 0);
    assert_eq!(long[..2], [0x3E, 0x86]);
}

/// Without a figure from outside: the formula by hand.
#[test]
fn psa_volkswagen_pq_hyundai_and_nissan() {
    // B − (1+1+2+2+3+3+4+4+5+5+6+6+7) is −38, modulo 16 A; the high half of the last byte.
    let high = PayloadField::within_byte(60, 4);
    let psa = MakeName::Psa.to_settings(id(0x305), high, COMMON).unwrap();
    assert_eq!(example(psa, id(0x305))[7], 0xA7);
    for (number, start) in [(0x452, 0x4), (0x38D, 0x7), (0x42D, 0xC)] {
        let settings = NibbleSumSettings::psa(id(number), BytePlace::Last, true, COMMON);
        assert_eq!(settings.start, start);
    }
    // 11 ^ 22 ^ 33 is 00, 44 ^ 55 is 11, 66 ^ 70 is 16.
    let first = PayloadField::within_byte(0, 8);
    let pq = MakeName::VolkswagenPq
        .to_settings(id(0x100), first, COMMON)
        .unwrap();
    let payload = bytes("FF11223344556670");
    assert_eq!(protected(pq, id(0x100), &payload, 0)[0], 0x11 ^ 0x16);
    let mlb = ProtectionSettings::XorSum(XorSumSettings {
        start: 0x5A,
        result: BytePlace::At(0),
        common: COMMON,
    });
    assert_eq!(
        protected(mlb, id(0x100), &payload, 0)[0],
        0x5A ^ 0x11 ^ 0x16
    );
    // SAE J1850 is the CRC of Chrysler and of Nissan.
    assert_eq!(last(MakeName::Nissan, id(0x100)), 0x1B);
    // The register 22 instead of FF: the terms of FF ^ 22 and of FF ^ DF are added by XOR.
    let hyundai = last(MakeName::Hyundai, id(0x100));
    let zeroed = |initial| {
        let settings = Crc8Settings {
            initial,
            final_xor: 0,
            ..Crc8Settings::chrysler(COMMON)
        };
        let protection = Protection::new(ProtectionSettings::Crc8(settings)).unwrap();
        protection.compute(id(0x100), &[0; 8]).unwrap() as u8
    };
    assert_eq!(hyundai ^ 0x1B, zeroed(0xFF ^ 0x22) ^ 0xFF ^ 0xDF);
}
