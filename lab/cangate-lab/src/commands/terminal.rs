//! The caller's terminal: its kind and its size, and the raw mode in which every key goes to the
//! guest.

use guest::machine::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The folders with descriptions of terminals (terminfo(5)), after `$TERMINFO` and `~/.terminfo`.
const TERMINFO: [&str; 4] = [
    "/etc/terminfo",
    "/lib/terminfo",
    "/usr/share/terminfo",
    "/usr/lib/terminfo",
];

/// Returns whether there is a terminal, for typing and for reading.
pub(super) fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Describes the terminal for the guest.
pub(super) fn describe() -> TerminalSize {
    let name = std::env::var("TERM").unwrap_or_default();
    let (rows, columns) = size();
    TerminalSize {
        terminfo: terminfo(&name).unwrap_or_default(),
        name,
        rows,
        columns,
    }
}

/// Returns rows and columns. A terminal that does not know its size gets that of a plain one.
pub(super) fn size() -> (u16, u16) {
    match tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => (24, 80),
    }
}

/// Returns the host's description of a kind of terminal.
fn terminfo(name: &str) -> Option<Vec<u8>> {
    let first = name.chars().next()?;
    if name.contains('/') {
        return None;
    }
    let of_user = std::env::var_os("HOME").map(|home| Path::new(&home).join(".terminfo"));
    let named = std::env::var_os("TERMINFO").map(PathBuf::from);
    let folders = named.into_iter().chain(of_user);
    let folders = folders.chain(TERMINFO.map(PathBuf::from));
    let mut files = folders.map(|folder| folder.join(first.to_string()).join(name));
    files.find_map(|file| std::fs::read(file).ok())
}

/// The raw mode of the terminal, until this value is dropped: it passes on every key, and shows its
/// input unchanged.
pub(super) struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Enters the raw mode.
    pub(super) fn new() -> std::io::Result<Self> {
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Input is flushed: keys that were typed for the guest are not for the caller's shell.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.before);
    }
}
