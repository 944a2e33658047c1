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
    let mut table = FrameTable::new().unwrap();
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
