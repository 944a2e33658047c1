//! Losses that cangate's recordings state in text, written and parsed again.
//!
//! `cangate capture` writes them where a format has no field for them: as a comment line in
//! candump's log, in ASC and in TRC, and in pcapng as a comment where the kernel does not report to
//! which interface the frames belong. [`words`] reports the losses that a log of any format states.

use crate::name::InterfaceName;
use crate::write::LossEntry;
use std::io::Write as _;

/// The number of frames that are missing, and their interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameLoss {
    pub(crate) frames: u64,
    pub(crate) interface: Option<InterfaceName>,
}

/// The characters that begin a comment, of all formats.
const COMMENTS: [&[u8]; 3] = [b"#", b"//", b";"];

/// Parses `# 12 frames of can0 are missing here: the reason`, as [`comment`] writes it.
pub(crate) fn line(line: &[u8]) -> Option<FrameLoss> {
    let text = COMMENTS
        .iter()
        .find_map(|begin| line.strip_prefix(*begin))?;
    let text = str::from_utf8(text).ok()?.trim_ascii();
    let (count, rest) = text.split_once(" frames")?;
    let frames = count.parse().ok()?;
    let (whose, _) = rest.split_once(" are missing here: ")?;
    let interface = match whose.strip_prefix(" of ") {
        Some(name) => Some(InterfaceName::new(name)?),
        None if whose.is_empty() => None,
        None => return None,
    };
    Some(FrameLoss { frames, interface })
}

/// Writes a comment that begins with these characters, which readers of logs ignore.
pub(crate) fn comment(begin: &str, loss: &LossEntry<'_>, out: &mut Vec<u8>) {
    let whose = loss
        .interface
        .map_or(String::new(), |(_, name)| format!(" of {name}"));
    // Writes into memory do not fail.
    let _ = writeln!(
        out,
        "{begin} {} frames{whose} are missing here: {}",
        loss.frames, loss.reason
    );
}

/// Parses `12 frames of any interface are missing: the reason`.
pub(crate) fn anywhere(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let (count, rest) = text.split_once(' ')?;
    rest.starts_with("frames of any interface are missing: ")
        .then(|| count.parse().ok())?
}

/// Returns words for a user on the frames that are missing according to a log; `None` if none are.
#[must_use]
pub fn words(frames: u64) -> Option<String> {
    let are = match frames {
        0 => return None,
        1 => "1 frame is".to_owned(),
        _ => format!("{frames} frames are"),
    };
    Some(format!(
        "{are} missing according to the log, because its recorder lost them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_words_are_losses() {
        let can0 = InterfaceName::new("can0");
        let output = line(b"# 12 frames of can0 are missing here: the queue to the file was full");
        assert_eq!(output.map(|l| (l.frames, l.interface)), Some((12, can0)));
        let output = line(b"// 3 frames are missing here: the kernel's ring was full");
        assert_eq!(output.map(|l| (l.frames, l.interface)), Some((3, None)));
        for other in [
            "frames",
            "12 frames of can0",
            "x frames are missing here: y",
        ] {
            assert_eq!(line(format!("; {other}").as_bytes()), None, "{other}");
        }
        assert_eq!(line(b"3 frames are missing here: no comment"), None);
        let output = b"7 frames of any interface are missing: the kernel's ring was full";
        assert_eq!(anywhere(output), Some(7));
        assert_eq!(anywhere(b"brake test"), None);
    }
}
