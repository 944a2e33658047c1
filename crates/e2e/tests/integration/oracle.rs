//! PyPI's autosar-e2e 1.0.0 protects and checks the same random frames: profiles 01 with its four
//! modes, 02, 04, 05, 06, 07, and 11 with its two modes.

use crate::random::RandomSource;
use e2e::{
    CounterSource, DataIdMode, P01Settings, P02Settings, P04Settings, P05Settings, Protection,
    ProtectionSettings,
};
use frame::CanId;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A script that protects and checks the frames of each batch. A batch is its number of bytes, then
/// records; a record is a header, the frame to protect, and the frame to check. The answer has the
/// protected frame and the result of the check for each record.
const SCRIPT: &str = r#"
import struct, sys
from e2e import p01, p02, p04, p05, p06, p07, p11
header = struct.Struct("<BBHHHI16s")
modes01 = [p01.E2E_P01_DATAID_BOTH, p01.E2E_P01_DATAID_ALT, p01.E2E_P01_DATAID_LOW, p01.E2E_P01_DATAID_NIBBLE]
modes11 = [p11.E2E_P11_DATAID_BOTH, None, None, p11.E2E_P11_DATAID_NIBBLE]
plain = {4: (p04.e2e_p04_protect, p04.e2e_p04_check), 5: (p05.e2e_p05_protect, p05.e2e_p05_check),
         6: (p06.e2e_p06_protect, p06.e2e_p06_check), 7: (p07.e2e_p07_protect, p07.e2e_p07_check)}
into, out = sys.stdin.buffer, sys.stdout.buffer
while size := into.read(4):
    batch = into.read(int.from_bytes(size, "little"))
    at, answer = 0, bytearray()
    while at < len(batch):
        profile, mode, offset, length, size, data_id, ids = header.unpack_from(batch, at)
        at += header.size
        data = bytearray(batch[at:at + size])
        received = bytearray(batch[at + size:at + 2 * size])
        at += 2 * size
        if profile == 1:
            protect, check = p01.e2e_p01_protect, p01.e2e_p01_check
            options = dict(data_id_mode=modes01[mode], length=length, offset=offset)
        elif profile == 11:
            protect, check = p11.e2e_p11_protect, p11.e2e_p11_check
            options = dict(data_id_mode=modes11[mode], length=length, offset=offset)
        elif profile == 2:
            protect, check, data_id = p02.e2e_p02_protect, p02.e2e_p02_check, ids
            options = dict(length=length)
        else:
            protect, check = plain[profile]
            options = dict(length=length, offset=offset)
        protect(data, data_id, increment_counter=False, **options)
        answer += data
        answer.append(bool(check(received, data_id, **options)))
    out.write(answer)
    out.flush()
"#;

/// The CAN ID takes no part in the checksums of profiles.
const ID: CanId = CanId::from_raw(0x100);

/// The number of records of a batch.
const BATCH: usize = 1000;

/// Returns a Python that has the package: the one that `cargo xtask setup` makes, or the one in
/// PATH.
fn find_python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/python-can/bin/python3");
    let found = [target, PathBuf::from("python3")]
        .into_iter()
        .find(|python| {
            let imports = Command::new(python).args(["-c", "import e2e.p11"]).output();
            imports.is_ok_and(|output| output.status.success())
        });
    if found.is_none() {
        eprintln!(
            "SKIPPED because there is no autosar-e2e: `cargo xtask setup` installs it, or \
             `pip install autosar-e2e==1.0.0`"
        );
    }
    found
}

/// A frame, and what is expected of it.
struct Record {
    settings: ProtectionSettings,
    /// The frame as this crate protects it.
    protected: Vec<u8>,
    /// The same frame, in most records with some wrong bits.
    received: Vec<u8>,
    /// Whether this crate finds the received frame right.
    is_right: bool,
}

/// Draws settings for payloads of `len` bytes; the profile's number and the mode's for the script.
fn draw_settings(random: &mut RandomSource, len: u16, length: Option<u16>) -> ProtectionSettings {
    let protected = length.unwrap_or(len);
    let offset = |random: &mut RandomSource, header: u16| random.below(protected - header + 1);
    let p01 = |random: &mut RandomSource, mode| {
        let mask = if mode == DataIdMode::Nibble {
            0xFFF
        } else {
            0xFFFF
        };
        let at = offset(random, 2);
        let mut settings = P01Settings::new(random.word() as u16 & mask, mode, at);
        settings.length = length;
        settings
    };
    loop {
        return match random.below(11) {
            0 => ProtectionSettings::P01(p01(random, DataIdMode::Both)),
            1 => ProtectionSettings::P01(p01(random, DataIdMode::Alternating)),
            2 => ProtectionSettings::P01(p01(random, DataIdMode::Low)),
            3 => ProtectionSettings::P01(p01(random, DataIdMode::Nibble)),
            4 => ProtectionSettings::P11(p01(random, DataIdMode::Both)),
            5 => ProtectionSettings::P11(p01(random, DataIdMode::Nibble)),
            6 => ProtectionSettings::P02(P02Settings {
                offset: 0,
                ids: std::array::from_fn(|_| random.word() as u8),
                length,
            }),
            kind @ (7 | 8) if protected >= 5 => {
                let settings = P05Settings {
                    offset: offset(random, if kind == 7 { 3 } else { 5 }),
                    data_id: random.word() as u16,
                    length,
                };
                if kind == 7 {
                    ProtectionSettings::P05(settings)
                } else {
                    ProtectionSettings::P06(settings)
                }
            }
            kind @ (9 | 10) if protected >= 20 => {
                let settings = P04Settings {
                    offset: offset(random, if kind == 9 { 12 } else { 20 }),
                    data_id: random.word() as u32,
                    length,
                };
                if kind == 9 {
                    ProtectionSettings::P04(settings)
                } else {
                    ProtectionSettings::P07(settings)
                }
            }
            _ => continue,
        };
    }
}

fn draw(random: &mut RandomSource) -> Record {
    let len = 2 + random.below(63);
    // Some frames have bytes behind the protected ones, as FD frames do.
    let length = (random.below(4) == 0).then(|| 2 + random.below(len - 1));
    let settings = draw_settings(random, len, length);
    let protection = Protection::new(settings).unwrap();
    let mut protected: Vec<u8> = (0..len).map(|_| random.word() as u8).collect();
    let counter = protection.counter_field().unwrap();
    if u64::from(read(&protected, &counter)) >= counter.modulus {
        let byte = &mut protected[counter.field.first_byte()];
        *byte &= !counter.field.mask(counter.field.first_byte());
    }
    let sent = protection
        .protect(ID, &mut protected, CounterSource::Keep)
        .unwrap();
    assert_eq!(sent, Some(read(&protected, &counter)));
    let mut received = protected.clone();
    for _ in 0..random.below(4) {
        received[usize::from(random.below(len))] ^= 1 << random.below(8);
    }
    let is_right = protection.verify(ID, &received).is_ok();
    Record {
        settings,
        protected,
        received,
        is_right,
    }
}

fn read(payload: &[u8], counter: &e2e::CounterField) -> u32 {
    counter.field.read(payload).unwrap() as u32
}

/// Returns the record for the script: the frame to protect has other bits in place of the checksum.
fn written(record: &Record) -> Vec<u8> {
    use ProtectionSettings as S;
    let mode = |mode| match mode {
        DataIdMode::Both => 0,
        DataIdMode::Alternating => 1,
        DataIdMode::Low => 2,
        DataIdMode::Nibble => 3,
    };
    let (profile, mode, offset, length, data_id, ids) = match record.settings {
        S::P01(s) => (1, mode(s.mode), s.crc, s.length, s.data_id.into(), [0; 16]),
        S::P11(s) => (11, mode(s.mode), s.crc, s.length, s.data_id.into(), [0; 16]),
        S::P02(s) => (2, 0, 0, s.length, 0, s.ids),
        S::P04(s) => (4, 0, s.offset, s.length, s.data_id, [0; 16]),
        S::P05(s) => (5, 0, s.offset, s.length, s.data_id.into(), [0; 16]),
        S::P06(s) => (6, 0, s.offset, s.length, s.data_id.into(), [0; 16]),
        S::P07(s) => (7, 0, s.offset, s.length, s.data_id, [0; 16]),
        other => unreachable!("{other:?} is not drawn"),
    };
    let len = record.protected.len();
    let mut out = vec![profile, mode];
    out.extend(offset.to_le_bytes());
    out.extend(length.unwrap_or(len as u16).to_le_bytes());
    out.extend((len as u16).to_le_bytes());
    out.extend(data_id.to_le_bytes());
    out.extend(ids);
    let protection = Protection::new(record.settings).unwrap();
    let unprotected = record.protected.iter().enumerate();
    out.extend(unprotected.map(|(at, byte)| byte ^ protection.result_bits(len, at)));
    out.extend(&record.received);
    out
}

/// Sends a batch to the script and compares its answer.
fn compare(script: &mut Child, records: &[Record]) {
    let batch: Vec<u8> = records.iter().flat_map(written).collect();
    let input = script.stdin.as_mut().unwrap();
    input
        .write_all(&(batch.len() as u32).to_le_bytes())
        .unwrap();
    input.write_all(&batch).unwrap();
    input.flush().unwrap();
    let output = script.stdout.as_mut().unwrap();
    for record in records {
        let mut answer = vec![0; record.protected.len() + 1];
        output
            .read_exact(&mut answer)
            .expect("the script answers each record");
        let (is_right, protected) = answer.split_last().unwrap();
        assert_eq!(protected, record.protected, "{:?}", record.settings);
        assert_eq!(
            *is_right == 1,
            record.is_right,
            "{:02X?} with {:?}",
            record.received,
            record.settings
        );
    }
}

fn run(frames: usize, seed: u64) {
    let Some(python) = find_python() else {
        return;
    };
    let mut script = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut random = RandomSource::new(seed);
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..frames / BATCH {
        let records: Vec<Record> = (0..BATCH).map(|_| draw(&mut random)).collect();
        right += records.iter().filter(|record| record.is_right).count();
        wrong += records.iter().filter(|record| !record.is_right).count();
        compare(&mut script, &records);
    }
    drop(script.stdin.take());
    assert!(script.wait().unwrap().success());
    println!("{frames} frames: {right} right, {wrong} wrong");
    assert!(right > frames / 5 && wrong > frames / 5);
}

#[test]
fn another_implementation_agrees() {
    run(20_000, 1);
}

#[test]
#[ignore = "heavy"]
fn another_implementation_agrees_on_a_million_frames() {
    run(1_000_000, 2);
}
