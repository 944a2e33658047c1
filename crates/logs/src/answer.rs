//! Lines at which a replay waits for an answer: `wait can0 7E8 500ms`.

/// Where such a line is a mistake: the reason, and the cure.
pub const ONLY_A_SIMULATION_WAITS: &str = "only `cangate demo --log` and `cangate run --simulate \
    --replay` can wait for an answer, as this line asks: play the log with one of them, or remove the line";

/// Returns whether a line of a text asks the replay to wait for an answer. Such a line is not part
/// of any format; the programs that play dialogues take it out before they read the log.
#[must_use]
pub fn asks_to_wait(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"wait");
    rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests {
    use crate::{LogError, LogFault, LogReader};

    #[test]
    fn a_reader_names_the_line_and_the_program_that_waits() {
        let log = b"(1.0) can0 7DF#02\nwait can0 7E8 500ms\n(1.1) can0 123#\nwaits\n".as_slice();
        let mut reader = LogReader::new(log, "t.log");
        let mut frame = frame::FrameBuf::new();
        assert!(matches!(reader.read(&mut frame), Ok(Some(_))));
        let Err(LogError::Bad { line, .. }) = reader.read(&mut frame) else {
            panic!("the line is not reported");
        };
        assert_eq!(line.fault, LogFault::Waits);
        let words = line.to_string();
        assert!(
            words.starts_with("line 2: only `cangate demo --log` and"),
            "{words}"
        );
        assert!(matches!(reader.read(&mut frame), Ok(Some(_))));
        let Err(LogError::Bad { line, .. }) = reader.read(&mut frame) else {
            panic!("the line is not reported");
        };
        assert_ne!(line.fault, LogFault::Waits, "it is another word");
    }
}
