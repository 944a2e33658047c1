//! Losses that cangate's recordings state in text, parsed again.
//!
//! `cangate capture` writes them where a format has no field for them: as a comment line in
//! candump's log and in ASC, and in pcapng as a comment where the kernel does not report to which
//! interface the frames belong.

use crate::name::InterfaceName;

/// The number of frames that are missing, and their interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameLoss {
    pub(crate) frames: u64,
    pub(crate) interface: Option<InterfaceName>,
}

/// Parses `12 frames of can0 are missing here: the reason`, without the characters that begin a
/// comment.
pub(crate) fn line(text: &[u8]) -> Option<FrameLoss> {
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

/// Parses `12 frames of any interface are missing: the reason`.
pub(crate) fn anywhere(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let (count, rest) = text.split_once(' ')?;
    rest.starts_with("frames of any interface are missing: ")
        .then(|| count.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_words_are_losses() {
        let can0 = InterfaceName::new("can0");
        let said = line(b" 12 frames of can0 are missing here: the queue to the file was full");
        assert_eq!(said.map(|l| (l.frames, l.interface)), Some((12, can0)));
        let said = line(b"3 frames are missing here: the kernel's ring was full");
        assert_eq!(said.map(|l| (l.frames, l.interface)), Some((3, None)));
        for other in [
            "frames",
            "12 frames of can0",
            "x frames are missing here: y",
        ] {
            assert_eq!(line(other.as_bytes()), None, "{other}");
        }
        let said = b"7 frames of any interface are missing: the kernel's ring was full";
        assert_eq!(anywhere(said), Some(7));
        assert_eq!(anywhere(b"brake test"), None);
    }
}
