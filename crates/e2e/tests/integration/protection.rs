//! Writing and checking against the slow implementation, for all profiles and checksums; and each
//! single wrong bit.

use crate::random::RandomSource;
use crate::reference;
use crate::reference::draw::draw_settings;
use e2e::{
    CounterSource, DataIdMode, LinearForm, MethodFields, P01Settings, P02Settings, P04Settings,
    P04mSettings, Protection, ProtectionSettings, ReceptionFault, SendingCounter,
};
use frame::CanId;
use proptest::prelude::*;

const ID: CanId = CanId::from_raw(0x123);

/// Draws settings until they are possible.
fn draw(random: &mut RandomSource, room: u16) -> Protection {
    loop {
        let settings = draw_settings(room, &mut || random.word() as u32);
        if let Ok(protection) = Protection::new(settings) {
            return protection;
        }
    }
}

/// Draws an identifier of either format.
fn draw_id(random: &mut RandomSource) -> CanId {
    let number = random.word() as u32;
    let id = if number >> 31 == 0 {
        CanId::sff(number & CanId::SFF_MASK)
    } else {
        CanId::eff(number & CanId::EFF_MASK)
    };
    id.unwrap()
}

/// Draws a payload that is long enough, with a counter that its protection can have.
fn draw_payload(random: &mut RandomSource, protection: &Protection) -> Vec<u8> {
    let least = protection
        .protected_length(0)
        .err()
        .map(|fault| match fault {
            ReceptionFault::TooShort { needed, .. } => needed,
            other => panic!("{other}"),
        });
    let len = least.unwrap() + usize::from(random.below(20));
    let mut payload: Vec<u8> = (0..len).map(|_| random.word() as u8).collect();
    let mut counter = SendingCounter::from_value(random.word() as u32);
    let own = CounterSource::Own(&mut counter);
    protection.protect(ID, &mut payload, own).unwrap();
    payload
}

/// Returns whether the counter selects the Data ID: another counter can then give the same CRC by
/// chance of the list.
fn selects_id(protection: &Protection, len: usize, byte: usize, bit: usize) -> bool {
    let is_selected = match protection.settings() {
        ProtectionSettings::P02(_) | ProtectionSettings::P22(_) => true,
        ProtectionSettings::P01(settings) => settings.mode == DataIdMode::Alternating,
        _ => false,
    };
    let counter = protection.counter_field();
    let mask = counter.map_or(0, |counter| counter.field.mask(byte));
    is_selected && byte < len && mask >> bit & 1 == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn payloads_are_those_of_the_slow_implementation(seed in 1..=u64::MAX) {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 24);
        let (id, mut payload) = (draw_id(&mut random), draw_payload(&mut random, &protection));
        let mut slow = payload.clone();
        let len = protection.protected_length(payload.len()).unwrap();
        reference::protect(protection.settings(), id, &mut slow[..len]);
        let before = payload.clone();
        let sent = protection.protect(id, &mut payload, CounterSource::Keep).unwrap();
        prop_assert_eq!(&payload, &slow, "{:?}", protection.settings());
        prop_assert_eq!(protection.verify(id, &payload), Ok(sent));
        let mut own = SendingCounter::from_value(random.word() as u32);
        protection.protect(id, &mut payload, CounterSource::Own(&mut own)).unwrap();
        let counter = protection.counter_field().map(|counter| counter.field);
        for (at, (one, other)) in before.iter().zip(&payload).enumerate() {
            let written = protection.written_bits(payload.len(), at);
            prop_assert_eq!((one ^ other) & !written, 0, "byte {}", at);
            let counted = counter.map_or(0, |field| field.mask(at));
            prop_assert_eq!(written & counted, counted, "byte {}", at);
        }
    }

    /// The checksum finds each wrong bit that it covers, and no other bit matters.
    #[test]
    fn each_single_wrong_bit_is_found(seed in 1..=u64::MAX) {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 12);
        let (id, mut payload) = (draw_id(&mut random), draw_payload(&mut random, &protection));
        let right = protection.protect(id, &mut payload, CounterSource::Keep).unwrap();
        let sum = protection.compute(id, &payload).unwrap();
        let len = payload.len();
        for (byte, bit) in (0..len).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let is_covered = protection.covered_bits(len, byte) >> bit & 1 == 1;
            let is_result = protection.result_bits(len, byte) >> bit & 1 == 1;
            payload[byte] ^= 1 << bit;
            let changed = protection.compute(id, &payload).unwrap();
            let verified = protection.verify(id, &payload);
            payload[byte] ^= 1 << bit;
            let place = format!("bit {bit} of byte {byte} with {:?}", protection.settings());
            prop_assert!(!(is_covered && is_result), "{place}");
            if selects_id(&protection, len, byte, bit) {
                continue;
            }
            prop_assert_eq!(changed != sum, is_covered, "{}", &place);
            match verified {
                Ok(counter) => {
                    prop_assert!(!is_covered && !is_result, "{place}");
                    prop_assert_eq!(counter, right);
                }
                Err(ReceptionFault::WrongChecksum | ReceptionFault::WrongLength { .. }) => {
                    prop_assert!(is_covered || is_result, "{place}");
                }
                Err(other) => prop_assert!(false, "{other}: {place}"),
            }
        }
    }

    #[test]
    fn the_identifier_and_the_length_matter_where_the_protection_has_them(seed in 1..=u64::MAX) {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 12);
        let (id, mut payload) = (draw_id(&mut random), draw_payload(&mut random, &protection));
        let sent = protection.protect(id, &mut payload, CounterSource::Keep).unwrap();
        let low = CanId::from_raw(id.raw() ^ 1);
        prop_assert_eq!(
            protection.verify(low, &payload).is_err(),
            protection.reads_id() && !is_only_format(&protection)
        );
        if !protection.reads_id() {
            let other = draw_id(&mut random);
            prop_assert_eq!(protection.verify(other, &payload), Ok(sent));
        }
        if !protection.reads_length() {
            payload.push(random.word() as u8);
            prop_assert_eq!(protection.verify(id, &payload), Ok(sent));
        }
    }

    #[test]
    fn the_linear_form_is_the_checksum(seed in 1..=u64::MAX) {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 24);
        let (id, payload) = (draw_id(&mut random), draw_payload(&mut random, &protection));
        let is_sum = matches!(
            protection.settings(),
            ProtectionSettings::Sum8(_) | ProtectionSettings::NibbleSum(_)
        );
        let form = LinearForm::new(&protection, id, payload.len());
        prop_assert_eq!(form.is_none(), is_sum || payload.len() > 64);
        if let Some(form) = form {
            let terms = payload.iter().enumerate().map(|(at, byte)| form.term(at, *byte));
            let sum = terms.fold(form.constant(), |sum, term| sum ^ term);
            prop_assert_eq!(sum, protection.compute(id, &payload).unwrap());
        }
    }

    #[test]
    fn a_payload_that_cannot_be_protected_stays_as_it_is(seed in 1..=u64::MAX) {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 24);
        let mut payload: Vec<u8> = (0..random.below(30)).map(|_| random.word() as u8).collect();
        let before = payload.clone();
        match protection.protect(ID, &mut payload, CounterSource::Keep) {
            Ok(_) => prop_assert!(protection.verify(ID, &payload).is_ok()),
            Err(fault) => {
                let has_reason = matches!(
                    fault,
                    ReceptionFault::TooShort { .. } | ReceptionFault::InvalidCounter { .. }
                );
                prop_assert!(has_reason, "{fault}");
                prop_assert_eq!(before, payload);
            }
        }
    }
}

/// Returns whether only the format of the identifier takes part in the checksum.
fn is_only_format(protection: &Protection) -> bool {
    match protection.settings() {
        ProtectionSettings::NibbleSum(settings) => !settings.subtracts_id,
        _ => false,
    }
}

/// Returns a payload of 24 zeros as these settings protect it.
fn zeros(settings: ProtectionSettings) -> [u8; 24] {
    let mut payload = [0; 24];
    let protection = Protection::new(settings).unwrap();
    protection
        .protect(ID, &mut payload, CounterSource::Keep)
        .unwrap();
    payload
}

fn fault(settings: ProtectionSettings, payload: &[u8]) -> ReceptionFault {
    let protection = Protection::new(settings).unwrap();
    protection.verify(ID, payload).unwrap_err()
}

#[test]
fn a_frame_of_another_message_has_a_reason() {
    let p04 = |data_id| ProtectionSettings::P04(P04Settings::new(data_id));
    let found = 0x0A0B_0C0D;
    assert_eq!(
        fault(p04(0x0A0B_0C0E), &zeros(p04(found))),
        ReceptionFault::WrongDataId { found }
    );
    assert_eq!(
        fault(p04(found), &zeros(p04(found))[..20]),
        ReceptionFault::WrongLength {
            found: 24,
            expected: 20
        }
    );
    // Twelve bits: four in the payload, eight in the CRC.
    let nibble =
        |data_id| ProtectionSettings::P01(P01Settings::new(data_id, DataIdMode::Nibble, 0));
    assert_eq!(
        fault(nibble(0x523), &zeros(nibble(0x123))),
        ReceptionFault::WrongDataId { found: 1 }
    );
    assert_eq!(
        fault(nibble(0x124), &zeros(nibble(0x123))),
        ReceptionFault::WrongChecksum
    );
    let call = |source| {
        let method = MethodFields {
            is_response: true,
            is_error: false,
            source,
        };
        let header = P04Settings::new(1);
        ProtectionSettings::P04m(P04mSettings { header, method })
    };
    assert_eq!(
        fault(call(2), &zeros(call(3))),
        ReceptionFault::WrongMethod { found: 0x4000_0003 }
    );
}

#[test]
fn counter_15_of_profile_01_is_invalid() {
    let settings = P01Settings::new(0x123, DataIdMode::Both, 0);
    let protection = Protection::new(ProtectionSettings::P01(settings)).unwrap();
    let mut payload = [0, 0x0F, 0, 0, 0, 0, 0, 0];
    payload[0] = protection.compute(ID, &payload).unwrap() as u8;
    let invalid = Err(ReceptionFault::InvalidCounter { found: 15 });
    assert_eq!(protection.verify(ID, &payload), invalid);
    let kept = protection.protect(ID, &mut payload, CounterSource::Keep);
    assert_eq!(kept, invalid);
}

/// A sender's counters: profile 01 leaves out 15, profile 02 begins with 1.
#[test]
fn senders_count_as_their_profile_does() {
    let counters = |settings| {
        let protection = Protection::new(settings).unwrap();
        let mut own = SendingCounter::new(&protection);
        let mut payload = [0; 24];
        let mut next = || {
            let own = CounterSource::Own(&mut own);
            protection.protect(ID, &mut payload, own).unwrap().unwrap()
        };
        (0..18).map(|_| next()).collect::<Vec<u32>>()
    };
    let p01 = P01Settings::new(0x123, DataIdMode::Alternating, 0);
    let expected: Vec<u32> = (0..15).chain(0..3).collect();
    assert_eq!(counters(ProtectionSettings::P01(p01)), expected);
    let p02 = ProtectionSettings::P02(P02Settings::new([7; 16]));
    let expected: Vec<u32> = (1..16).chain(0..3).collect();
    assert_eq!(counters(p02), expected);
    let p08 = Protection::new(ProtectionSettings::P08(P04Settings::new(1))).unwrap();
    let mut own = SendingCounter::from_value(u32::MAX);
    let mut payload = [0; 24];
    for expected in [u32::MAX, 0] {
        let own = CounterSource::Own(&mut own);
        assert_eq!(p08.protect(ID, &mut payload, own), Ok(Some(expected)));
    }
}

/// In profiles 02 and 22 the counter selects the Data ID. With the list of the vectors, each single
/// wrong bit of the counter is found, too. A list can be chosen so badly that it is not.
#[test]
fn wrong_counters_of_profile_02_depend_on_the_list() {
    let is_found = |ids: [u8; 16]| {
        let settings = ProtectionSettings::P02(P02Settings::new(ids));
        let protection = Protection::new(settings).unwrap();
        (0..16).all(|counter| {
            let mut payload = [0, counter, 1, 2, 3, 4, 5, 6];
            protection
                .protect(ID, &mut payload, CounterSource::Keep)
                .unwrap();
            (0..4).all(|bit| {
                let mut wrong = payload;
                wrong[1] ^= 1 << bit;
                protection.verify(ID, &wrong) == Err(ReceptionFault::WrongChecksum)
            })
        })
    };
    let mut ids: [u8; 16] = std::array::from_fn(|index| index as u8 + 1);
    assert!(is_found(ids));
    // With one of these Data IDs for counter 0, frames with the counters 0 and 1 have the same CRC.
    let collides = (0..=255).any(|id| {
        ids[0] = id;
        !is_found(ids)
    });
    assert!(collides);
}

/// A CRC of n bytes finds each error within n consecutive bytes: no burst that is shorter than its
/// polynomial is a multiple of it.
#[test]
fn errors_within_the_width_of_a_crc_are_found() {
    let mut compared = 0;
    for seed in 1..=512 {
        let mut random = RandomSource::new(seed);
        let protection = draw(&mut random, 24);
        let Some(crc) = protection.crc_parameters() else {
            continue;
        };
        let mut payload = draw_payload(&mut random, &protection);
        protection
            .protect(ID, &mut payload, CounterSource::Keep)
            .unwrap();
        let len = payload.len();
        let width = usize::from(crc.width / 8);
        for first in 0..=len.saturating_sub(width) {
            let mut wrong = payload.clone();
            let burst = first..(first + width).min(len);
            let is_covered = burst.clone().all(|byte| {
                let is_selected = (0..8).any(|bit| selects_id(&protection, len, byte, bit));
                protection.covered_bits(len, byte) == 0xFF && !is_selected
            });
            for byte in &mut wrong[burst] {
                *byte = random.word() as u8;
            }
            if is_covered && wrong != payload {
                compared += 1;
                let settings = protection.settings();
                assert!(
                    protection.verify(ID, &wrong).is_err(),
                    "{seed} {settings:?}"
                );
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}
