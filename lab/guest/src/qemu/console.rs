//! Search of the guest's console for the reason why it ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The amount of the console's output that is kept, in bytes.
const KEPT: u64 = 16 << 10;

/// Returns the end of a console's file, as text: whole lines, no carriage returns.
pub(crate) fn end_of(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
        let mut bytes = Vec::new();
        file.take(KEPT).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\r', "")
}

/// An error of a guest, as its console shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleTrouble {
    /// The kernel panicked, with this message.
    Panic(String),
    /// The kernel killed this program because there was no memory.
    NoMemory(String),
}

/// Searches a console's text for an error. A panic caused by lack of memory counts as lack of
/// memory.
pub(crate) fn trouble(console: &str) -> Option<ConsoleTrouble> {
    let after = |mark: &str| {
        console.lines().find_map(|line| {
            line.find(mark)
                .map(|at| line[at + mark.len()..].trim().to_owned())
        })
    };
    let panic = after("Kernel panic - not syncing:");
    if let Some(words) = &panic
        && (words.contains("Out of memory")
            || words.contains("out of memory")
            || words.contains("deadlocked on memory"))
    {
        return Some(ConsoleTrouble::NoMemory("the whole guest".to_owned()));
    }
    // `Out of memory: Killed process 123 (name) total-vm:…`
    if let Some(words) = after("Out of memory: Killed process") {
        let name = words
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map_or(words.as_str(), |(name, _)| name);
        return Some(ConsoleTrouble::NoMemory(name.to_owned()));
    }
    // The kernel could not even unpack its image.
    if console.contains("Initramfs unpacking failed") && panic.is_some() {
        return Some(ConsoleTrouble::NoMemory(
            "the image that the guest boots".to_owned(),
        ));
    }
    panic.map(ConsoleTrouble::Panic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_want_of_memory_are_distinguished() {
        let panic = "[    3.1] sysrq: Trigger a crash\n[    3.2] Kernel panic - not syncing: sysrq triggered crash\n[    3.2] CPU: 0";
        assert_eq!(
            trouble(panic),
            Some(ConsoleTrouble::Panic("sysrq triggered crash".to_owned()))
        );
        let killed = "[   12.0] Out of memory: Killed process 77 (tail (x)) total-vm:9kB";
        assert_eq!(
            trouble(killed),
            Some(ConsoleTrouble::NoMemory("tail (x".to_owned()))
        );
        let whole = "Kernel panic - not syncing: System is deadlocked on memory";
        assert_eq!(
            trouble(whole),
            Some(ConsoleTrouble::NoMemory("the whole guest".to_owned()))
        );
        assert_eq!(trouble("all is well"), None);
    }

    #[test]
    fn only_the_end_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console");
        assert_eq!(end_of(&path), "");
        let mut text = "x\r\n".repeat(20_000);
        text.push_str("the end");
        std::fs::write(&path, text).unwrap();
        let end = end_of(&path);
        assert!(end.ends_with("x\nthe end") && end.len() < 17_000);
    }
}
