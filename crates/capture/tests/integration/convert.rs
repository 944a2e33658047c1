//! Frames are written in each format and read again: they are unchanged, or the change was
//! reported.

use capture::{CaptureOutput, Conversion, ConvertError, convert};
use frame::text::LogLine;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind, Nanos, XlFields};
use logs::{FileFormat, FormatLimits, FrameEntry, LogReader, Shortfall};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// A frame with the information that a log has about it.
#[derive(Clone, Debug)]
struct Logged {
    ns: Nanos,
    interface: String,
    direction: Option<frame::text::Direction>,
    frame: FrameBuf,
}

impl PartialEq for Logged {
    fn eq(&self, other: &Self) -> bool {
        let of = |one: &Self| {
            (
                one.ns,
                one.interface.clone(),
                one.direction,
                *one.frame.header(),
            )
        };
        of(self) == of(other) && self.frame.view().data() == other.frame.view().data()
    }
}

/// Reads a whole file, in the given or the recognised format; it must not have a bad line.
fn read(path: &Path, named: Option<FileFormat>) -> (FileFormat, Vec<Logged>) {
    let mut reader = LogReader::open(path).unwrap().with_format(named);
    let format = reader.recognise().unwrap();
    let frames = reader.map(|entry| {
        let entry = entry.unwrap();
        Logged {
            ns: entry.logged.ns,
            interface: entry.logged.interface.as_str().to_owned(),
            direction: entry.logged.direction,
            frame: entry.frame,
        }
    });
    (format, frames.collect())
}

fn pcapng(frames: &[Logged]) -> Vec<u8> {
    // Written by the writer itself: its output is compared with tshark elsewhere, and here with the
    // frames that are read again.
    let names = capture::InterfaceNames::default();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.pcapng");
    let output = CaptureOutput::from_path(&path, None).unwrap();
    let mut recorder =
        capture::FileRecorder::new(&output, capture::RotationRule::default(), &names, 0, false)
            .unwrap();
    let mut chunk = capture::Chunk::default();
    for one in frames {
        let mut bytes = [0; 2100];
        let len = linux::can::layout::encode(one.frame.view(), &mut bytes).unwrap();
        chunk.push(&capture::RecordedFrame {
            stamp: one.ns,
            interface: names.place(&one.interface),
            direction: one.direction,
            bytes: &bytes[..len],
        });
    }
    recorder.take(&chunk, 0);
    recorder.end();
    std::fs::read(&path).unwrap()
}

/// Returns the frame after the losses that a format with these shortfalls causes, as a reader sees
/// it.
fn lessened(one: &Logged, all: &[Shortfall], first: Nanos) -> Option<Logged> {
    let mut one = one.clone();
    for shortfall in all {
        match shortfall {
            Shortfall::Xl | Shortfall::Channel => return None,
            Shortfall::ErrorFrame => {
                let id = CanId::from_raw(CanId::ERR_FLAG | 0x80);
                let header = Header::new(Kind::Classic, id, 8).unwrap();
                one.frame.reset(header);
                one.direction = None;
            }
            Shortfall::Direction => one.direction = Some(frame::text::Direction::Received),
            Shortfall::Before => one.ns = first - first % 1_000_000,
            Shortfall::Nanoseconds | Shortfall::Microseconds => one.ns -= one.ns % 1000,
            Shortfall::NoDirection => one.direction = None,
            Shortfall::Interface => one.interface = "can0".to_owned(),
            Shortfall::Fd => one.frame = without_fd(&one.frame),
            Shortfall::Bits | Shortfall::Late | Shortfall::Comment => {
                unreachable!("not made here")
            }
        }
    }
    Some(one)
}

/// Returns an FD frame as a format without FD frames has it: only its length can show what it was.
fn without_fd(frame: &FrameBuf) -> FrameBuf {
    let header = frame.header();
    let kind = if header.len() > 8 {
        Kind::Fd
    } else {
        Kind::Classic
    };
    let header = Header::new(kind, header.id(), header.len()).unwrap();
    let mut plain = FrameBuf::new();
    plain.set(FrameRef::new(header, frame.view().data()).unwrap());
    plain
}

fn frame() -> impl Strategy<Value = FrameBuf> {
    let id = prop_oneof![
        (0u32..0x800).prop_map(|n| CanId::sff(n).unwrap()),
        (0u32..0x2000_0000).prop_map(|n| CanId::eff(n).unwrap()),
    ];
    let classic =
        (id.clone(), any::<bool>(), 0usize..9, 0u8..16).prop_map(|(id, rtr, len, dlc)| {
            let id = if rtr { id.with_rtr() } else { id };
            Header::new(Kind::Classic, id, len)
                .unwrap()
                .with_len8_dlc(dlc)
        });
    let error = any::<u32>().prop_map(|class| {
        let id = CanId::from_raw(CanId::ERR_FLAG | class & CanId::EFF_MASK);
        Header::new(Kind::Classic, id, 8).unwrap()
    });
    let lengths = prop::sample::select(vec![0usize, 1, 7, 8, 12, 16, 20, 24, 32, 48, 64]);
    let fd = (id, lengths, 0u8..4)
        .prop_map(|(id, len, flags)| Header::new(Kind::Fd, id, len).unwrap().with_flags(flags));
    let xl = (
        0u32..0x800,
        1usize..2049,
        any::<(u8, u8, u32)>(),
        any::<u8>(),
    )
        .prop_map(|(id, len, (vcid, sdt, af), flags)| {
            Header::new(Kind::Xl, CanId::sff(id).unwrap(), len)
                .unwrap()
                .with_flags(flags)
                .with_xl(XlFields { vcid, sdt, af })
        });
    let header = prop_oneof![6 => classic, 1 => error, 4 => fd, 1 => xl];
    (header, any::<u64>()).prop_map(|(header, seed)| {
        let mut frame = FrameBuf::new();
        frame.reset(header);
        let mut state = seed;
        for byte in frame.buffer_mut() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        frame
    })
}

fn logged() -> impl Strategy<Value = Vec<Logged>> {
    let names = ["can0", "can7", "vcan1", "powertrain", "can1"];
    let direction = prop::sample::select(vec![
        None,
        Some(frame::text::Direction::Received),
        Some(frame::text::Direction::Sent),
    ]);
    let steps = prop_oneof![
        6 => (0i64..2_000_000).prop_map(|us| us * 1000),
        2 => 0i64..5_000_000_000,
        1 => -3_000_000i64..0,
    ];
    let one = (
        steps,
        prop::sample::select(names.to_vec()),
        direction,
        frame(),
    );
    let begin = prop_oneof![Just(1_700_000_000_123_456_789u64), Just(4_000_000), Just(0)];
    (begin, prop::collection::vec(one, 0..40)).prop_map(|(mut ns, all)| {
        all.into_iter()
            .map(|(step, name, direction, frame)| {
                ns = ns.saturating_add_signed(step);
                Logged {
                    ns,
                    interface: name.to_owned(),
                    direction,
                    frame,
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn what_is_written_is_read_again(
        frames in logged(), form in prop::sample::select(vec!["log", "asc", "trc", "csv", "pcapng"]),
        packing in prop::sample::select(vec!["", ".gz", ".zst"]), nanos in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{form}{packing}"));
        let input = pcapng(&frames);
        let mut output = CaptureOutput::from_path(&path, None).unwrap();
        output.options.nanos = nanos;
        let reader = LogReader::new(input.as_slice(), "in");
        let done = convert(reader, &Conversion { output: &output, strict: false }).unwrap();
        prop_assert_eq!((done.from, done.bad.count()), (FileFormat::Pcapng, 0));
        // The shortfalls, frame by frame, computed in another way than the counts of the
        // conversion.
        let mut limits = FormatLimits::new(output.format, output.options);
        let mut counted = BTreeMap::<Shortfall, u64>::new();
        let mut first = None;
        let expected: Vec<Logged> = frames.iter().filter_map(|one| {
            let found = limits.shortfalls(&FrameEntry {
                stamp: one.ns, interface: 0, name: &one.interface, direction: one.direction,
                frame: one.frame.view(),
            });
            for shortfall in &found {
                *counted.entry(*shortfall).or_default() += 1;
            }
            // A frame that is left out begins no file.
            let written = !found.iter().any(|shortfall| shortfall.is_left_out());
            let begin = if written { *first.get_or_insert(one.ns) } else { 0 };
            lessened(one, &found, begin)
        }).collect();
        let message: BTreeMap<_, _> = done.shortfalls.iter().map(|(s, f)| (*s, f.frames)).collect();
        prop_assert_eq!(message, counted);
        let written = match form {
            "log" => FileFormat::Log,
            name => FileFormat::named(name).unwrap(),
        };
        // A log of candump has no header: one without frames is an empty file, of no format.
        let nothing = form == "log" && expected.is_empty();
        let recognised = LogReader::open(&path).unwrap().recognise();
        match &recognised {
            Ok(format) => prop_assert!(!nothing && *format == written, "{:?}", format),
            Err(error) => prop_assert!(nothing && error.to_string().contains("it is empty"), "{}", error),
        }
        let (_, found) = read(&path, nothing.then_some(written));
        prop_assert_eq!(done.written.frames as usize, expected.len());
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected, "{} of {}", form, text(expected));
        }
    }
}

fn text(one: &Logged) -> String {
    let line = LogLine {
        stamp: one.ns,
        interface: &one.interface,
        frame: one.frame.view(),
        direction: one.direction,
    };
    format!("{line:.9}")
}

fn run(
    input: &str,
    to: &str,
    strict: bool,
) -> Result<(capture::ConversionResult, Vec<u8>), ConvertError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(to);
    let output = CaptureOutput::from_path(&path, None).unwrap();
    let reader = LogReader::new(input.as_bytes(), "in.log");
    let done = convert(
        reader,
        &Conversion {
            output: &output,
            strict,
        },
    )?;
    Ok((done, std::fs::read(path).unwrap()))
}

#[test]
fn asc_as_others_write_it() {
    let input = "(1436509052.249713) can0 123#1122 R\n\
        (1436509052.249713) vcan3 12345678#R4 T\n\
        (1436509052.250713111) can1 321##5AABB R\n\
        (1436509052.3) vcan3 20000004#0004000000000000\n\
        (1436509052.4) can0 7FF#0011223344556677_F R\n";
    let (done, bytes) = run(input, "x.asc", false).unwrap();
    let lines = String::from_utf8(bytes).unwrap();
    let expected = format!(
        "date Fri Jul 10 06:17:32.249 2015\n\
         base hex  timestamps absolute\n\
         internal events logged\n\
         // written by cangate {}\n\
         Begin Triggerblock Fri Jul 10 06:17:32.249 2015\n\
         \x20  0.000000 Start of measurement\n\
         // cangate: channel 1 is can0\n\
         \x20  0.000713 1  123             Rx   d 2 11 22\n\
         // cangate: channel 2 is vcan3\n\
         \x20  0.000713 2  12345678x       Tx   r 4\n\
         // cangate: channel 3 is can1\n\
         \x20  0.001713111 CANFD   3 Rx        321                                   1 0 2  2 AA BB        0    0     3000        0        0        0        0        0\n\
         \x20  0.051000 2  ErrorFrame\n\
         \x20  0.151000 1  7FF             Rx   d f 00 11 22 33 44 55 66 77\n\
         End TriggerBlock\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(lines, expected);
    assert_eq!(done.left_out(), 0);
    assert_eq!(done.shortfalls.len(), 1, "{:?}", done.shortfalls);
    let found = &done.shortfalls[&Shortfall::ErrorFrame];
    assert_eq!(
        (found.frames, found.first.as_str()),
        (1, "line 4: vcan3 20000004#0004000000000000")
    );
}

#[test]
fn what_cannot_be_reported_is_counted_with_the_first_frame() {
    let input = "(2.0) can0 123#11 R\n\
        (3.000000001) can0 124# R\n\
        (1.5) can0 125#\n\
        nonsense\n\
        (4.0) can0 00123#81:00:12345678#AABB R\n\
        (4.0) can0 00124#81:00:12345678#AABB R\n\
        (5.0) can0 20000004#0004000000000000\n";
    let all = |to: &str| {
        let (done, _) = run(input, to, false).unwrap();
        assert_eq!(done.bad.count(), 1);
        let found = done.shortfalls.iter();
        let found = found.map(|(s, f)| format!("{s:?} {} {}", f.frames, f.first));
        (done.left_out(), found.collect::<Vec<_>>())
    };
    assert_eq!(
        all("x.asc"),
        (
            2,
            vec![
                "Xl 2 line 5: can0 00123#81:00:12345678#AABB".to_owned(),
                "ErrorFrame 1 line 7: can0 20000004#0004000000000000".to_owned(),
                "Direction 1 line 3: can0 125#".to_owned(),
                "Before 1 line 3: can0 125#".to_owned(),
            ]
        )
    );
    assert_eq!(
        all("x.log"),
        (0, vec!["Nanoseconds 1 line 2: can0 124#".to_owned()])
    );
    assert_eq!(all("x.pcapng"), (0, vec![]));
    if cfg!(feature = "parquet") {
        assert_eq!(all("x.parquet"), (0, vec![]));
    }
    // Strict: the first of them ends the conversion.
    let error = run("(3.000000001) can0 124# R\n", "x.log", true).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 1: can0 124#: such frames would be written with whole")
    );
    assert!(matches!(
        run(input, "x.pcapng", true),
        Err(ConvertError::Log(_))
    ));
}

/// Flags that contradict one another, as can-gw can make them: pcapng keeps them, text reports that
/// it does not.
#[test]
fn bits_that_no_frame_has_are_reported() {
    let frames: Vec<Logged> = [
        (Kind::Classic, CanId::ERR_FLAG | CanId::EFF_FLAG | 4, 0),
        (Kind::Fd, CanId::RTR_FLAG | 0x123, 0),
        (Kind::Fd, 0x123, 0x80),
        (Kind::Classic, 0x1234, 0),
    ]
    .into_iter()
    .map(|(kind, id, flags)| {
        let header = Header::new(kind, CanId::from_raw(id), 8)
            .unwrap()
            .with_flags(flags);
        let mut frame = FrameBuf::new();
        frame.set(FrameRef::new(header, &[1; 8]).unwrap());
        Logged {
            ns: 5000,
            interface: "can0".to_owned(),
            direction: None,
            frame,
        }
    })
    .collect();
    let input = pcapng(&frames);
    let folder = tempfile::tempdir().unwrap();
    for (form, expected) in [
        (FileFormat::Log, 4),
        (FileFormat::Asc, 3),
        (FileFormat::Pcapng, 0),
    ] {
        let path = folder.path().join(format!("{form:?}"));
        let output = CaptureOutput::from_path(&path, Some(form)).unwrap();
        let reader = LogReader::new(input.as_slice(), "in");
        let done = convert(
            reader,
            &Conversion {
                output: &output,
                strict: false,
            },
        )
        .unwrap();
        let bits = done
            .shortfalls
            .get(&Shortfall::Bits)
            .map_or(0, |found| found.frames);
        assert_eq!(bits, expected, "{form:?}");
        let (_, found) = read(&path, None);
        assert_eq!(found.len(), 4);
        if form == FileFormat::Pcapng {
            assert_eq!(found, frames);
        }
    }
}

#[test]
fn more_interfaces_than_asc_can_name() {
    let lines = (0..300).map(|n| format!("(1.0) if{n} 123# R\n"));
    let (done, _) = run(&lines.collect::<String>(), "x.asc", false).unwrap();
    assert_eq!(done.shortfalls[&Shortfall::Channel].frames, 300 - 255);
    assert_eq!(done.written.frames, 255);
}

#[test]
fn what_is_no_log_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = CaptureOutput::from_path(&folder.path().join("x.log"), None).unwrap();
    let reader = LogReader::new(&[0u8; 100][..], "zeros");
    let conversion = Conversion {
        output: &output,
        strict: false,
    };
    assert!(matches!(
        convert(reader, &conversion),
        Err(ConvertError::Log(_))
    ));
    assert!(!output.path.exists());
}

/// The losses that a recording reports are kept in each format, and can be read again.
#[cfg(feature = "parquet")]
#[test]
fn losses_that_a_log_states_are_kept() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let field = Path::new(env!("CARGO_MANIFEST_DIR")).join("../logs/tests/field/files");
    let folder = tempfile::tempdir().unwrap();
    let first = field.join("k21-dropcount.pcapng");
    let converted = |from: &Path, to: &str, strict: bool| {
        let path = folder.path().join(to);
        let output = CaptureOutput::from_path(&path, None).unwrap();
        let conversion = Conversion {
            output: &output,
            strict,
        };
        let done = convert(LogReader::open(from).unwrap(), &conversion);
        done.map(|done| (done, path))
    };
    let missing = |path: &Path| {
        let mut reader = LogReader::open(path).unwrap();
        let (mut frame, mut at) = (FrameBuf::new(), 0);
        let mut all = Vec::new();
        while let Some(_logged) = reader.read(&mut frame).unwrap() {
            let missing = reader.take_missing();
            all.extend(
                missing
                    .iter()
                    .map(|m| (at, m.frames, m.interface.map(|n| n.to_string()))),
            );
            at += 1;
        }
        let missing = reader.take_missing();
        all.extend(
            missing
                .iter()
                .map(|m| (at, m.frames, m.interface.map(|n| n.to_string()))),
        );
        all
    };
    let expected = [(1, 5, Some("can0".to_owned()))];
    assert_eq!(missing(&first), expected);
    // From one format into the next one, and so on.
    let mut from = first.clone();
    for to in ["a.log", "b.asc", "c.pcapng", "d.log.gz", "e.pcapng.zst"] {
        let (done, path) = converted(&from, to, false).unwrap();
        assert_eq!(done.missing, 5, "{to}");
        assert_eq!(missing(&path), expected, "{to}");
        from = path;
    }
    let (_, path) = converted(&from, "f.parquet", false).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let lost = metadata.key_value_metadata().unwrap();
    let lost = lost.iter().find(|pair| pair.key == "cangate.lost").unwrap();
    assert_eq!(lost.value.as_deref(), Some("5"));
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            let mut columns = row.get_column_iter();
            let (_, field) = columns.find(|(name, _)| *name == "lost_before").unwrap();
            field.to_string()
        })
        .collect();
    assert_eq!(rows, ["0", "5"]);
    // A user's comment is counted, because no format stores it.
    let (done, _) = converted(&first, "g.pcapng", false).unwrap();
    assert_eq!(done.shortfalls[&Shortfall::Comment].frames, 1);
    assert!(matches!(
        converted(&first, "h.pcapng", true),
        Err(ConvertError::Shortfall { .. })
    ));
}
