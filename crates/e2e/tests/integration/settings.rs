//! Settings that are not possible, and settings by names and from databases.

use e2e::{
    ByteOrder, BytePlace, Crc8Settings, DataIdMode, MakeName, MessageAttributes, P01Settings,
    P02Settings, P04Settings, P05Settings, ProfileName, Protection, ProtectionSettings,
    SettingsError, SignalPlace, Sum8Settings, SumCommon, SumCounter, XorSumSettings,
};
use frame::CanId;

fn error(settings: ProtectionSettings) -> String {
    Protection::new(settings).unwrap_err().to_string()
}

const COMMON: SumCommon = SumCommon {
    length: None,
    counter: None,
};

#[test]
fn an_error_names_the_setting_and_what_is_possible() {
    let p01 = P01Settings::new(0x123, DataIdMode::Both, 0);
    assert_eq!(
        error(ProtectionSettings::P01(P01Settings { counter: 9, ..p01 })),
        "counter is bit 9: it has the low or the high half of a byte, so the bit is a multiple of 4"
    );
    assert_eq!(
        error(ProtectionSettings::P01(P01Settings { counter: 4, ..p01 })),
        "the counter and the checksum have a bit in common: move one of them"
    );
    let nibble = P01Settings::new(0x1123, DataIdMode::Nibble, 0);
    assert_eq!(
        error(ProtectionSettings::P01(nibble)),
        "data_id is 4387: 0 to 4095 are possible here"
    );
    let nibble = P01Settings {
        nibble: 8,
        ..P01Settings::new(0x123, DataIdMode::Nibble, 0)
    };
    assert_eq!(
        error(ProtectionSettings::P01(nibble)),
        "the Data ID and the counter have a bit in common: move one of them"
    );
    let low = P01Settings::new(0x123, DataIdMode::Low, 0);
    assert!(Protection::new(ProtectionSettings::P01(low)).is_ok());
    assert_eq!(
        error(ProtectionSettings::P11(low)),
        "profile 11 takes both bytes of the Data ID, or twelve bits of it (nibble); other modes are \
         those of profile 01"
    );
    let p04 = P04Settings {
        length: Some(8),
        ..P04Settings::new(1)
    };
    assert_eq!(
        error(ProtectionSettings::P04(p04)),
        "a length of 8 bytes: the checksum and the counter need at least 12"
    );
    let p05 = P05Settings {
        offset: 2047,
        ..P05Settings::new(1)
    };
    assert_eq!(
        error(ProtectionSettings::P05(p05)),
        "a length of 2048 bytes: the checksum and the counter need at least 2050"
    );
    let crc8 = Crc8Settings {
        polynomial: 0x39,
        ..Crc8Settings::chrysler(COMMON)
    };
    assert_eq!(
        error(ProtectionSettings::Crc8(crc8)),
        "polynomial 39: possible are 07, 1D, 2F, 31, 9B, D5"
    );
}

#[test]
fn counters_of_makes_are_checked() {
    let toyota = |bit, bits, modulus| {
        ProtectionSettings::Sum8(Sum8Settings::toyota(SumCommon {
            length: Some(8),
            counter: Some(SumCounter { bit, bits, modulus }),
        }))
    };
    assert!(Protection::new(toyota(48, 8, 256)).is_ok());
    assert_eq!(
        error(toyota(44, 5, 32)),
        "counter has 5 bits from bit 44: it has 1 to 8 bits, all in one byte"
    );
    assert_eq!(
        error(toyota(48, 4, 17)),
        "modulus is 17: 2 to 16 are possible here"
    );
    // The last byte is the checksum: a counter there needs one more byte.
    assert_eq!(
        error(toyota(56, 4, 16)),
        "a length of 8 bytes: the checksum and the counter need at least 9"
    );
}

/// A payload whose last byte is the checksum is too short if the counter is in that byte.
#[test]
fn the_checksum_is_behind_the_counter() {
    let settings = XorSumSettings {
        start: 0,
        result: BytePlace::Last,
        common: SumCommon {
            length: None,
            counter: Some(SumCounter {
                bit: 16,
                bits: 8,
                modulus: 256,
            }),
        },
    };
    let protection = Protection::new(ProtectionSettings::XorSum(settings)).unwrap();
    assert!(protection.protected_length(3).is_err());
    assert_eq!(protection.protected_length(4), Ok(4));
}

#[test]
fn profiles_have_many_spellings() {
    let both = ProfileName::P01(DataIdMode::Both);
    for text in [
        "P01",
        "p1",
        "Profile 1",
        "PROFILE_01",
        "E2E_P01",
        "1A",
        "e2e-profile-01 both",
    ] {
        assert_eq!(ProfileName::parse(text), Ok(both), "{text}");
    }
    assert_eq!(
        ProfileName::parse("1C"),
        Ok(ProfileName::P01(DataIdMode::Nibble))
    );
    assert_eq!(ProfileName::parse("Profile 22"), Ok(ProfileName::P22));
    for profile in ProfileName::ALL {
        assert_eq!(ProfileName::parse(&profile.to_string()), Ok(profile));
    }
    assert_eq!(ProfileName::parse("P11 low"), Err(SettingsError::P11Mode));
    // Known to AUTOSAR, but with no example to verify them.
    for (text, profile) in [
        ("P44", "P44"),
        ("P044", "P44"),
        ("PROFILE_44", "P44"),
        ("P08m", "P08m"),
        ("P44m", "P44m"),
    ] {
        let error = SettingsError::NoExample { profile };
        assert_eq!(ProfileName::parse(text), Err(error), "{text}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("profile {profile} is not supported"))
        );
    }
    for text in [
        "",
        "P",
        "P3",
        "P02a",
        "P045",
        "profile",
        "P01 hexadecimal and more letters",
        "\u{e9}",
    ] {
        let error = ProfileName::parse(text).unwrap_err();
        assert_eq!(error, SettingsError::ProfileName, "{text}");
    }
    assert_eq!(
        SettingsError::ProfileName.to_string(),
        "unknown profile: possible are P01, P01 alternating, P01 low, P01 nibble, P02, P04, P05, \
         P06, P07, P08, P11, P11 nibble, P22"
    );
}

#[test]
fn makes_have_names() {
    let id = CanId::from_raw(0x100);
    for make in MakeName::ALL {
        assert_eq!(make.name().parse(), Ok(make));
        let needs_place = matches!(
            make,
            MakeName::Psa | MakeName::Tesla | MakeName::VolkswagenPq
        );
        match make.to_settings(id, None, COMMON) {
            Ok(settings) => {
                assert!(!needs_place && Protection::new(settings).is_ok(), "{make}");
            }
            Err(error) => assert!(needs_place && error == SettingsError::NoPlace, "{make}"),
        }
    }
    let error = "bmw".parse::<MakeName>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown make: possible are chrysler, comma_body,"),
        "{error}"
    );
    let wide = e2e::PayloadField::within_byte(0, 8);
    assert_eq!(
        MakeName::Psa
            .to_settings(id, wide, COMMON)
            .unwrap_err()
            .to_string(),
        "a checksum of 8 bits: this one has 4"
    );
}

fn signal(start: usize, bits: u8, order: ByteOrder) -> Option<SignalPlace> {
    Some(SignalPlace { start, bits, order })
}

const BARE: MessageAttributes<'static> = MessageAttributes {
    profile: "",
    data_ids: &[0x123],
    length: None,
    checksum: None,
    counter: None,
};

#[test]
fn attributes_of_a_database_give_a_protection() {
    let attributes = MessageAttributes {
        profile: "PROFILE_05",
        checksum: signal(64, 16, ByteOrder::LittleEndian),
        counter: signal(80, 8, ByteOrder::LittleEndian),
        length: Some(16),
        ..BARE
    };
    let expected = P05Settings {
        offset: 8,
        data_id: 0x123,
        length: Some(16),
    };
    let protection = attributes.to_protection().unwrap();
    assert_eq!(*protection.settings(), ProtectionSettings::P05(expected));
    // In profile 01 the counter has a place of its own: here the high half of byte 6.
    let attributes = MessageAttributes {
        profile: "P01 nibble",
        checksum: signal(63, 8, ByteOrder::BigEndian),
        counter: signal(55, 4, ByteOrder::BigEndian),
        ..BARE
    };
    let mut expected = P01Settings::new(0x123, DataIdMode::Nibble, 7);
    (expected.counter, expected.nibble) = (52, 48);
    let protection = attributes.to_protection().unwrap();
    assert_eq!(*protection.settings(), ProtectionSettings::P01(expected));
    // The CRC of profile 04 is the last field of the header.
    let attributes = MessageAttributes {
        profile: "P04",
        checksum: signal(71, 32, ByteOrder::BigEndian),
        ..BARE
    };
    let protection = attributes.to_protection().unwrap();
    let expected = P04Settings::new(0x123);
    assert_eq!(*protection.settings(), ProtectionSettings::P04(expected));
    // One Data ID for all counters.
    let attributes = MessageAttributes {
        profile: "P02",
        data_ids: &[0x47],
        ..BARE
    };
    let protection = attributes.to_protection().unwrap();
    let expected = P02Settings::new([0x47; 16]);
    assert_eq!(*protection.settings(), ProtectionSettings::P02(expected));
}

#[test]
fn attributes_that_are_not_of_the_profile_are_refused() {
    let error =
        |attributes: MessageAttributes<'_>| attributes.to_protection().unwrap_err().to_string();
    let p05 = MessageAttributes {
        profile: "P05",
        ..BARE
    };
    assert_eq!(
        error(MessageAttributes {
            counter: signal(24, 8, ByteOrder::LittleEndian),
            ..p05
        }),
        "the counter of this profile starts at bit 16, where the signal does not"
    );
    // The other byte order: a start bit of a signal in the right order.
    assert_eq!(
        error(MessageAttributes {
            checksum: signal(7, 16, ByteOrder::BigEndian),
            ..p05
        }),
        "the checksum of this profile starts at bit 0, where the signal does not"
    );
    assert_eq!(
        error(MessageAttributes {
            data_ids: &[0x1_0000],
            ..p05
        }),
        "data_id is 65536: 0 to 65535 are possible here"
    );
    assert_eq!(
        error(MessageAttributes {
            profile: "P02",
            data_ids: &[1, 2, 3],
            ..BARE
        }),
        "3 Data IDs: this profile needs 16"
    );
    assert_eq!(
        error(MessageAttributes {
            profile: "P04",
            checksum: signal(7, 32, ByteOrder::BigEndian),
            ..BARE
        }),
        "the checksum of this profile starts at bit 71, where the signal does not"
    );
}

#[test]
fn length_limits_are_those_of_the_profiles() {
    let limit = |settings| Protection::new(settings).unwrap().length_limit();
    let p01 = P01Settings::new(1, DataIdMode::Both, 0);
    assert_eq!(limit(ProtectionSettings::P11(p01)), Some(30));
    assert_eq!(
        limit(ProtectionSettings::P22(P02Settings::new([0; 16]))),
        Some(32)
    );
    assert_eq!(limit(ProtectionSettings::P05(P05Settings::new(1))), None);
}
