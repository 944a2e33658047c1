//! Settings from a source of numbers: of all profiles and checksums, many of them impossible.

use e2e::{
    BytePlace, Crc8Settings, Crc16Settings, DataIdMode, MethodFields, NibbleSumSettings,
    P01Settings, P02Settings, P04Settings, P04mSettings, P05Settings, ProtectionSettings,
    Sum8Settings, SumCommon, SumCounter, XorSumSettings,
};

/// Draws settings whose fields lie in the first `room` bytes of a payload, or just behind them.
pub fn draw_settings(room: u16, next: &mut impl FnMut() -> u32) -> ProtectionSettings {
    use ProtectionSettings as S;
    match next() % 16 {
        0 => S::P01(p01(room, next)),
        1 => S::P11(p01(room, next)),
        2 => S::P02(p02(room, next)),
        3 => S::P22(p02(room, next)),
        4 => S::P04(p04(room, next)),
        5 => S::P04m(call(room, next)),
        6 => S::P05(p05(room, next)),
        7 => S::P06(p05(room, next)),
        8 => S::P07(p04(room, next)),
        9 => S::P07m(call(room, next)),
        10 => S::P08(p04(room, next)),
        11 => S::Crc8(Crc8Settings {
            polynomial: [0x07, 0x1D, 0x2F, 0x31, 0x9B, 0xD5, 0x00][next() as usize % 7],
            initial: next() as u8,
            final_xor: next() as u8,
            is_backward: coin(next),
            result: place(room, next),
            common: common(room, next),
        }),
        12 => S::Crc16(Crc16Settings {
            common: common(room, next),
        }),
        13 => S::Sum8(Sum8Settings {
            start: next() as u8,
            adds_id: coin(next),
            adds_length: coin(next),
            result: place(room, next),
            common: common(room, next),
        }),
        14 => S::NibbleSum(NibbleSumSettings {
            start: next() as u8 % 17,
            eff_extra: next() as u8 % 17,
            subtracts_id: coin(next),
            result: place(room, next),
            is_high: coin(next),
            common: common(room, next),
        }),
        _ => S::XorSum(XorSumSettings {
            start: next() as u8,
            result: place(room, next),
            common: common(room, next),
        }),
    }
}

/// Returns true for half of the numbers.
fn coin(next: &mut impl FnMut() -> u32) -> bool {
    next().is_multiple_of(2)
}

fn below(end: u16, next: &mut impl FnMut() -> u32) -> u16 {
    next() as u16 % end.max(1)
}

/// A stated length in half of the settings.
fn length(room: u16, next: &mut impl FnMut() -> u32) -> Option<u16> {
    (coin(next)).then(|| below(room + 2, next))
}

/// An offset that is 0 in half of the settings.
fn offset(room: u16, next: &mut impl FnMut() -> u32) -> u16 {
    if coin(next) { 0 } else { below(room, next) }
}

fn place(room: u16, next: &mut impl FnMut() -> u32) -> BytePlace {
    if coin(next) {
        BytePlace::Last
    } else {
        BytePlace::At(below(room, next))
    }
}

fn common(room: u16, next: &mut impl FnMut() -> u32) -> SumCommon {
    let counter = (coin(next)).then(|| SumCounter {
        bit: below(room * 8, next),
        bits: next() as u8 % 10,
        modulus: next() as u16 % 260,
    });
    SumCommon {
        length: length(room, next),
        counter,
    }
}

fn p01(room: u16, next: &mut impl FnMut() -> u32) -> P01Settings {
    let modes = [
        DataIdMode::Both,
        DataIdMode::Alternating,
        DataIdMode::Low,
        DataIdMode::Nibble,
    ];
    let mode = modes[next() as usize % 4];
    let data_id = next() as u16 & [0xFFFF, 0xFFF][next() as usize % 2];
    let mut settings = P01Settings::new(data_id, mode, offset(room, next));
    if coin(next) {
        settings.counter = below(room * 2, next) * 4 + u16::from(next().is_multiple_of(8));
        settings.nibble = below(room * 2, next) * 4;
    }
    settings.length = length(room, next);
    settings
}

fn p02(room: u16, next: &mut impl FnMut() -> u32) -> P02Settings {
    P02Settings {
        offset: offset(room, next),
        ids: std::array::from_fn(|_| next() as u8),
        length: length(room, next),
    }
}

fn p05(room: u16, next: &mut impl FnMut() -> u32) -> P05Settings {
    P05Settings {
        offset: offset(room, next),
        data_id: next() as u16,
        length: length(room, next),
    }
}

fn p04(room: u16, next: &mut impl FnMut() -> u32) -> P04Settings {
    P04Settings {
        offset: offset(room, next),
        data_id: next(),
        length: length(room, next),
    }
}

fn call(room: u16, next: &mut impl FnMut() -> u32) -> P04mSettings {
    P04mSettings {
        header: p04(room, next),
        method: MethodFields {
            is_response: coin(next),
            is_error: coin(next),
            source: next() >> (next() % 8),
        },
    }
}
