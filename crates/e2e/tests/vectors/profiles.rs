//! Profiles of AUTOSAR.
//!
//! * 01, 02, 04 to 07 and 11: results of PyPI's autosar-e2e 1.0.0.
//! * 04m, 07m, 08 and 22: the figures in the tests of handohun/autosar-e2e (a52ce72).
//! * 11 and 22: also the example tables of AUTOSAR's document, as public tests cite them.

use crate::{bytes, protected};
use e2e::{
    DataIdMode, MethodFields, P01Settings, P02Settings, P04Settings, P04mSettings, P05Settings,
    ProtectionSettings,
};
use frame::CanId;

/// The CAN ID takes no part in the checksums of profiles.
const ID: CanId = CanId::from_raw(0x100);

/// Returns a payload of zeros as these settings protect it.
fn zeros(settings: ProtectionSettings, len: usize, counter: u32) -> Vec<u8> {
    protected(settings, ID, &vec![0; len], counter)
}

/// Returns these bytes followed by zeros.
fn padded(hex: &str, len: usize) -> Vec<u8> {
    let mut all = bytes(hex);
    all.resize(len, 0);
    all
}

#[test]
fn profiles_01_and_11() {
    let p01 = |mode| ProtectionSettings::P01(P01Settings::new(0x123, mode, 0));
    let p11 = |mode| ProtectionSettings::P11(P01Settings::new(0x123, mode, 0));
    let vectors = [
        (DataIdMode::Both, "CC 00", "91 01"),
        (DataIdMode::Nibble, "2A 10", "77 11"),
        (DataIdMode::Alternating, "CE 00", "02 01"),
        (DataIdMode::Low, "CE 00", "93 01"),
    ];
    for (mode, first, second) in vectors {
        assert_eq!(zeros(p01(mode), 8, 0), padded(first, 8), "{mode:?}");
        assert_eq!(zeros(p01(mode), 8, 1), padded(second, 8), "{mode:?}");
    }
    for (mode, first, second) in &vectors[..2] {
        assert_eq!(zeros(p11(*mode), 8, 0), padded(first, 8), "{mode:?}");
        assert_eq!(zeros(p11(*mode), 8, 1), padded(second, 8), "{mode:?}");
    }
    let later = P01Settings::new(0x123, DataIdMode::Nibble, 8);
    let payload = zeros(ProtectionSettings::P11(later), 16, 0);
    assert_eq!(payload[..8], [0; 8]);
    assert_eq!(payload[8..], padded("7D 10", 8));
}

#[test]
fn profiles_02_and_22() {
    let ids = std::array::from_fn(|index| index as u8 + 1);
    let sums = bytes("1B 98 31 0D 18 9B 65 08 1D 9E 37 0B 1E 9D CD 0E");
    let counters = (1..16).chain([0]);
    for (counter, sum) in counters.zip(sums) {
        let expected = [sum, counter as u8, 0, 0, 0, 0, 0, 0];
        let settings = P02Settings::new(ids);
        assert_eq!(
            zeros(ProtectionSettings::P02(settings), 8, counter),
            expected
        );
        assert_eq!(
            zeros(ProtectionSettings::P22(settings), 8, counter),
            expected
        );
    }
    let mut later = P02Settings::new(ids);
    later.offset = 8;
    let payload = zeros(ProtectionSettings::P22(later), 16, 1);
    assert_eq!(payload[8..], padded("14 01", 8));
}

fn later(settings: P04Settings) -> P04Settings {
    P04Settings {
        offset: 8,
        ..settings
    }
}

/// The settings of a method call: type and result, as in the vectors.
fn call(header: P04Settings, is_response: bool, is_error: bool) -> P04mSettings {
    let method = MethodFields {
        is_response,
        is_error,
        source: 0x0012_3456,
    };
    P04mSettings { header, method }
}

#[test]
fn profile_04() {
    let settings = P04Settings::new(0x0A0B_0C0D);
    assert_eq!(
        zeros(ProtectionSettings::P04(settings), 16, 0),
        padded("0010 0000 0A0B0C0D 862B0556", 16)
    );
    assert_eq!(
        zeros(ProtectionSettings::P04(later(settings)), 24, 0)[8..],
        padded("0018 0000 0A0B0C0D 69D7502E", 16)
    );
    for (is_response, is_error, end) in [
        (false, false, "AE674CA0 00123456"),
        (true, false, "85257619 40123456"),
        (true, true, "2345570F 50123456"),
    ] {
        let settings = ProtectionSettings::P04m(call(settings, is_response, is_error));
        let expected = padded(&format!("0014 0000 0A0B0C0D {end}"), 20);
        assert_eq!(zeros(settings, 20, 0), expected);
    }
}

#[test]
fn profile_07() {
    let settings = P04Settings::new(0x0A0B_0C0D);
    assert_eq!(
        zeros(ProtectionSettings::P07(settings), 24, 0),
        padded("1FB2E737FCEDBCD9 00000018 00000000 0A0B0C0D", 24)
    );
    assert_eq!(
        zeros(ProtectionSettings::P07(later(settings)), 32, 0)[8..16],
        bytes("17F7C817323865A8")
    );
    for (is_response, is_error, sum) in [
        (false, false, "AE96A7D0A5017594"),
        (true, false, "A62D6486E83F2CAF"),
        (true, true, "09D9E80C47343202"),
    ] {
        let settings = ProtectionSettings::P07m(call(settings, is_response, is_error));
        assert_eq!(zeros(settings, 28, 0)[..8], bytes(sum));
    }
}

#[test]
fn profile_08() {
    let settings = P04Settings::new(0x0A0B_0C0D);
    assert_eq!(
        zeros(ProtectionSettings::P08(settings), 20, 0),
        padded("41494E52 00000014 00000000 0A0B0C0D", 20)
    );
    assert_eq!(
        zeros(ProtectionSettings::P08(later(settings)), 28, 0)[8..12],
        bytes("E891E5A8")
    );
}

#[test]
fn profiles_05_and_06() {
    let settings = P05Settings::new(0x1234);
    let later = P05Settings {
        offset: 8,
        ..settings
    };
    let p05 = ProtectionSettings::P05;
    assert_eq!(zeros(p05(settings), 8, 0), padded("1C CA 00", 8));
    assert_eq!(zeros(p05(settings), 8, 1), padded("CF 8D 01", 8));
    assert_eq!(zeros(p05(later), 16, 0)[8..], padded("28 91 00", 8));
    let p06 = ProtectionSettings::P06;
    assert_eq!(zeros(p06(settings), 8, 0), padded("B1 55 00 08 00", 8));
    assert_eq!(zeros(p06(later), 16, 0)[8..], padded("4E B7 00 10 00", 8));
}
