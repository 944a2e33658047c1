//! candump's log lines and cansend's grammar: a line that was read and is written again reads the
//! same.

use crate::Target;
use frame::{FrameBuf, text};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_text",
    run,
    words: &[
        "(1398128223.803317) can0 166#D0320009",
        "(0.000000001) vcan10 ",
        "123##1",
        "12345678#",
        "20000080#0000000000000000",
        "#R",
        "#R8_F",
        "_9",
        "45123#81:00:12345678#AA",
        ".",
        " R",
        " T",
        "\r\n",
        "\n",
        "18446744073.709551615",
    ],
};

/// Reads each line as an entry of a log and as a single frame.
fn run(input: &[u8]) {
    let mut first = FrameBuf::new();
    let mut second = FrameBuf::new();
    for line in input.split(|byte| *byte == b'\n') {
        match text::parse_line(line, &mut first) {
            Ok(Some(entry)) => {
                let written = format!(
                    "{:.9}",
                    text::LogLine {
                        stamp: entry.stamp,
                        interface: entry.interface,
                        frame: first.view(),
                        direction: entry.direction,
                    }
                );
                let again = text::parse_line(written.as_bytes(), &mut second);
                assert_eq!(again, Ok(Some(entry)), "{written}");
                assert_eq!(first.view(), second.view(), "{written}");
            }
            Ok(None) => {}
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(error.column >= 1 && error.column <= line.len() + 1);
            }
        }
        if text::parse_frame(line, &mut first).is_ok() {
            let written = first.to_string();
            let again = text::parse_frame(written.as_bytes(), &mut second);
            assert_eq!(again, Ok(()), "{written}");
            assert_eq!(first.view(), second.view(), "{written}");
        }
    }
}
