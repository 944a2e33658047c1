//! Reads the files with the crate that other programs use for reading.

use super::*;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::RowAccessor;

#[test]
fn rows_are_frames_and_the_file_is_whole_after_each_flush() {
    let texts = [
        "123#DEAD",
        "12345678#R5",
        "123##1AABB",
        "20000080#0011223344556677",
    ];
    let mut table = FrameTable::new(false).unwrap();
    table.begin(&mut Vec::new());
    let mut body = Vec::new();
    for (round, whole) in [4_i64, 8].into_iter().enumerate() {
        for (n, text) in texts.iter().enumerate() {
            let mut buf = frame::FrameBuf::new();
            frame::text::parse_frame(text.as_bytes(), &mut buf).unwrap();
            let entry = FrameEntry {
                stamp: (round * 10 + n) as u64,
                interface: (n % 2) as u16,
                name: ["can0", "can1"][n % 2],
                direction: match n {
                    3 => Some(Direction::Sent),
                    2 => Some(Direction::Received),
                    _ => None,
                },
                frame: buf.view(),
            };
            assert!(table.frame(&entry, &mut body));
        }
        let loss = LossEntry {
            stamp: 0,
            interface: None,
            frames: 7,
            reason: "the kernel's ring was full",
        };
        table.loss(&loss, &mut body);
        let footer = table.flush(&mut body).unwrap();
        let file = Bytes::from([body.clone(), footer].concat());
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), whole);
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len() as i64, whole);
        let last = &rows[round * 4 + 3];
        assert_eq!(last.get_string(1).unwrap(), "can1");
        assert!(last.get_bool(2).unwrap() && last.get_bool(7).unwrap());
        assert_eq!(
            last.get_bytes(14).unwrap().data(),
            [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
        );
        let fd = &rows[round * 4 + 2];
        assert_eq!(fd.get_string(3).unwrap(), "fd");
        assert_eq!(fd.get_bytes(14).unwrap().data(), [0xAA, 0xBB]);
        assert!(!fd.get_bool(2).unwrap());
        let remote = &rows[round * 4 + 1];
        assert!(remote.get_bool(5).unwrap() && remote.get_bool(6).unwrap());
        assert!(remote.get_bool(2).is_err(), "the direction is not known");
        assert_eq!(remote.get_uint(4).unwrap(), 0x1234_5678);
        assert!(remote.get_bytes(14).unwrap().data().is_empty());
    }
}

/// Frames with messages, one without, and one whose payload has no signal; over two row groups.
#[test]
fn messages_and_their_signals_are_columns() {
    let text = "BU_: A\nBO_ 291 M: 8 A\n SG_ S : 0|8@1- (0.5,0) [0|0] \"\" A\n \
        SG_ T : 8|8@1+ (1,0) [0|0] \"\" A\n";
    let database = signals::dbc::read(text.as_bytes()).unwrap();
    let message = &database.messages[0];
    let frames = ["123#FF02", "124#FF", "123#", "123#02"];
    let mut table = FrameTable::new(true).unwrap();
    table.begin(&mut Vec::new());
    let mut body = Vec::new();
    let mut footer = Vec::new();
    for group in frames.chunks(3) {
        for text in group {
            let mut buf = frame::FrameBuf::new();
            frame::text::parse_frame(text.as_bytes(), &mut buf).unwrap();
            let frame = buf.view();
            let entry = FrameEntry {
                stamp: 0,
                interface: 0,
                name: "can0",
                direction: None,
                frame,
            };
            assert!(table.frame(&entry, &mut body));
            if frame.id() == message.id {
                let payload = frame.data();
                table.message(&DecodedFrame { message, payload }, &mut body);
            }
        }
        footer = table.flush(&mut body).unwrap();
    }
    let reader = SerializedFileReader::new(Bytes::from([body, footer].concat())).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let rows: Vec<_> = rows
        .map(|row| {
            let message = row.get_string(16).cloned().ok();
            let signals = row
                .get_map(17)
                .ok()
                .map(|map| format!("{:?}", map.entries()));
            (message, signals)
        })
        .collect();
    let named = |signals: &str| (Some("M".to_owned()), Some(signals.to_owned()));
    assert_eq!(
        rows,
        [
            named("[(Str(\"S\"), Double(-0.5)), (Str(\"T\"), Double(2.0))]"),
            (None, None),
            named("[]"),
            named("[(Str(\"S\"), Double(1.0))]"),
        ]
    );
}
