//! Recognition of formats: what is not a log, and formats that are given by name.
use crate::formats::read;
use logs::{FileFormat, LogError, LogReader};

/// Input that is not a log is refused with a description of what it looks like; no input is read to
/// its end.
#[test]
fn the_error_for_other_files_names_what_they_look_like() {
    let looks = |bytes: &[u8]| {
        let endless = std::io::Read::chain(bytes, std::io::repeat(*bytes.last().unwrap()));
        let mut reader = LogReader::new(endless, "x");
        match reader.recognise() {
            Err(LogError::Unknown { looks, .. }) => looks.to_string(),
            other => panic!("{other:?}"),
        }
    };
    for (bytes, expected) in [
        (&[0][..], "zero bytes"),
        (&[1, 2, 3, 0xFF], "binary data"),
        (b"hello\nworld\n", "looks like text"),
        (b"  can0  123   [2]  11 22\n", "without time stamps"),
        (b"  can0  RX - -  123   [2]  11 22\n", "without time stamps"),
        (b"can0 123#11\n", "without time stamps"),
        (b"MDF     3.30", "ASAM MDF of another version than 4"),
        (b"BZh91AY", "bzip2"),
        (b"PAR1\x15\x04", "Parquet"),
    ] {
        let text = looks(bytes);
        assert!(text.contains(expected), "{text}");
    }
    let cut = LogReader::new(&b"\xD4\xC3\xB2\xA1\x02\0"[..], "x").recognise();
    let text = cut.unwrap_err().to_string();
    assert!(
        text.contains("pcap that is cut off within its header"),
        "{text}"
    );
    let mut ethernet = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0];
    ethernet.extend([0; 12]);
    ethernet.extend([1, 0, 0, 0]);
    assert!(looks(&ethernet).contains("link type 1,"));
    // A log without a frame is a log; a file without a byte has no format.
    for empty in [&b"\n\n"[..], b"# nothing\n"] {
        assert_eq!(read(empty), (FileFormat::Log, Vec::new(), Vec::new()));
    }
    let error = LogReader::new(&b""[..], "x").recognise().unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
}

/// Random bytes have lines that begin like those of a format: nevertheless, they are not a log.
#[test]
fn junk_is_no_log_by_chance() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for n in 0..500 {
        let mut junk: Vec<u8> = (0..20_000).map(|_| byte()).collect();
        // With a valid line somewhere within.
        let line: &[u8] = [&b"\n;$FILEVERSION=1.1\n"[..], b"\n(1.0) can0 123#11\n", b""][n % 3];
        let at = 200 + 31 * n;
        junk[at..at + line.len()].copy_from_slice(line);
        let error = LogReader::new(junk.as_slice(), "x")
            .recognise()
            .unwrap_err();
        assert!(error.to_string().contains("binary data"), "{n}: {error}");
    }
}

/// A format given by name is accepted, but no frame is read from input that cannot have it.
#[test]
fn a_named_format_does_not_make_a_log_of_anything() {
    let named = |bytes: &[u8], format| {
        let mut reader = LogReader::new(bytes, "x").with_format(Some(format));
        reader.recognise().map_err(|error| error.to_string())
    };
    for (_, format) in FileFormat::NAMES {
        let text = format.is_text();
        assert_eq!(named(b"", format).is_ok(), text, "{format}");
        assert_eq!(named(b"hello\nworld\n", format).is_ok(), text, "{format}");
        assert_eq!(
            named(b"(1.0) can0 123#\n", format).is_ok(),
            text,
            "{format}"
        );
        for (junk, looks) in [
            (&[0; 100_000][..], "zero bytes"),
            (b"\x7FELF\x02\x01\x01\0\0\0\0\0", "a program (ELF)"),
            (b"LOGG\x90\0\0\0", "Vector BLF"),
        ] {
            let output = named(junk, format).unwrap_err();
            assert!(output.contains(looks), "{format}: {output}");
        }
    }
    // A text may have garbage in it; each line of it is reported.
    assert!(named(&[1, 2, 3, 0xFF, 9], FileFormat::Log).is_ok());
    assert!(named(&[1, 2, 3, 0xFF, 9], FileFormat::Pcapng).is_err());
    let output = named(b"\x0A\x0D\x0D\x0A....", FileFormat::Asc).unwrap_err();
    assert!(output.contains("it looks like pcapng"), "{output}");
    let output = named(b"(1.0) can0 123#\n", FileFormat::Pcapng).unwrap_err();
    assert!(output.contains("it looks like candump -L"), "{output}");
    // One line of a pipe is sufficient to begin with.
    struct Waits<'a>(&'a [u8]);
    impl std::io::Read for Waits<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_empty(), "no reader asks for more");
            std::io::Read::read(&mut self.0, into)
        }
    }
    let pipe = Waits(b" (000.000000)  can0  123   [0] \n");
    let mut reader = LogReader::new(pipe, "pipe").with_format(Some(FileFormat::CandumpDelta));
    assert_eq!(reader.recognise().unwrap(), FileFormat::CandumpDelta);
}

/// The decision does not depend on how many bytes come at a time.
#[test]
fn a_named_format_is_the_same_in_pieces() {
    struct OneByOne<'a>(&'a [u8]);
    impl std::io::Read for OneByOne<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = into.len().min(1);
            std::io::Read::read(&mut self.0, &mut into[..n])
        }
    }
    for bytes in [
        &b"\x0A\x0D\x0D\x0A\x1C\0\0\0"[..],
        b"\xD4\xC3\xB2\xA1\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xE3\0\0\0",
        b"<?xml?>\n(1.0) can0 123#\n<AUTOSAR>\n",
        b"\xFF\xFE\n\0",
        b"\n\n(1.0) can0 123#\n",
    ] {
        for (_, format) in FileFormat::NAMES {
            let at_once = LogReader::new(bytes, "x")
                .with_format(Some(format))
                .recognise();
            let mut reader = LogReader::new(OneByOne(bytes), "x").with_format(Some(format));
            let [at_once, in_pieces] = [at_once, reader.recognise()].map(|r| format!("{r:?}"));
            assert_eq!(at_once, in_pieces, "{format}");
        }
    }
}
