//! The terminal of a live display: its screen and its keys.

use console::Failure;
use ratatui::backend::TermionBackend;
use ratatui::layout::Rect;
use ratatui::termion::event::{Event, Key, parse_event};
use ratatui::termion::screen::{ToAlternateScreen, ToMainScreen};
use ratatui::termion::{clear, cursor, terminal_size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::collections::VecDeque;
use std::io::{self, Stdout, Write as _, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic;
use std::time::Duration;

/// A terminal whose screen a display has until it is dropped.
pub(super) struct LiveTerminal {
    /// The present size's; `None` before the first drawing.
    terminal: Option<Terminal<TermionBackend<Stdout>>>,
    usual: UsualMode,
    /// Columns and rows.
    size: (u16, u16),
    keys: KeyInput,
}

/// An event of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TerminalInput {
    /// None in the time, or one without an effect.
    Nothing,
    Key(Key),
    /// The screen has another size.
    Resized,
}

impl LiveTerminal {
    /// Takes the screen. If the program panics, the message is shown on the usual screen.
    ///
    /// # Errors
    /// Standard input or output is not a terminal.
    pub(super) fn open() -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::Run(format!("cannot set the terminal up: {error}"));
        let size = terminal_size().map_err(fail)?;
        let usual = UsualMode::leave().map_err(fail)?;
        let before = panic::take_hook();
        let restored = usual.clone();
        panic::set_hook(Box::new(move |panic| {
            restored.restore();
            before(panic);
        }));
        // From here on, the usual mode returns with an error, too.
        let live = Self {
            terminal: None,
            usual,
            size,
            keys: KeyInput::default(),
        };
        write!(stdout(), "{ToAlternateScreen}")?;
        Ok(live)
    }

    /// Draws the screen.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        let terminal = match &mut self.terminal {
            Some(terminal) => terminal,
            none => {
                write!(stdout(), "{}", clear::All)?;
                none.insert(full_screen(self.size)?)
            }
        };
        terminal.draw(draw)?;
        Ok(())
    }

    /// Waits for an event of the terminal, for at most this time.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn next_input(&mut self, wait: Duration) -> Result<TerminalInput, Failure> {
        let fail = |error: io::Error| Failure::Run(format!("cannot read the terminal: {error}"));
        if let Some(key) = self.keys.next(stdin(), wait).map_err(fail)? {
            return Ok(TerminalInput::Key(key));
        }
        let size = terminal_size().map_err(fail)?;
        if size == self.size {
            return Ok(TerminalInput::Nothing);
        }
        self.size = size;
        self.terminal = None;
        Ok(TerminalInput::Resized)
    }
}

/// Returns a terminal of this size, with the whole screen. It never changes its size, because
/// `Terminal` then asks for the place of the cursor, and the answer would come between the keys.
fn full_screen((columns, rows): (u16, u16)) -> io::Result<Terminal<TermionBackend<Stdout>>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let backend = TermionBackend::new(stdout());
    Terminal::with_options(backend, TerminalOptions { viewport })
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        self.usual.restore();
    }
}

/// The terminal's mode before the display.
#[derive(Clone)]
struct UsualMode(Termios);

impl UsualMode {
    /// Sets the terminal to pass each key on at once, without an echo.
    fn leave() -> io::Result<Self> {
        let usual = tcgetattr(stdin())?;
        let mut raw = usual.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(usual))
    }

    fn restore(&self) {
        // A terminal that is gone has no mode to restore.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        let _ = write!(stdout(), "{}{ToMainScreen}", cursor::Show);
        let _ = stdout().flush();
    }
}

/// The bytes that have come from the keyboard, and their keys.
#[derive(Default)]
struct KeyInput {
    bytes: VecDeque<u8>,
}

impl KeyInput {
    /// Returns the next key of a terminal, after waiting for at most this time for its first byte.
    ///
    /// # Errors
    /// The terminal is gone.
    fn next(&mut self, terminal: impl AsFd, wait: Duration) -> io::Result<Option<Key>> {
        if self.bytes.is_empty() {
            self.fill(terminal.as_fd(), wait)?;
        }
        while self.is_cut() {
            let before = self.bytes.len();
            self.fill(terminal.as_fd(), SEQUENCE_TIMEOUT)?;
            if self.bytes.len() == before {
                break;
            }
        }
        Ok(self.take())
    }

    /// Returns whether the bytes may be the beginning of an escape sequence whose rest is under
    /// way: a slow connection cuts sequences apart.
    fn is_cut(&self) -> bool {
        let mut bytes = self.bytes.iter().copied();
        bytes.next() == Some(ESCAPE)
            && bytes.next().is_none_or(|kind| b"[O".contains(&kind))
            && bytes.all(|byte| byte.is_ascii_digit() || byte == b';')
    }

    /// Reads what has come, without the buffer of the standard library: what is in there, poll(2)
    /// does not report.
    fn fill(&mut self, terminal: BorrowedFd<'_>, wait: Duration) -> io::Result<()> {
        let wait = Timespec::try_from(wait).ok();
        match poll(&mut [PollFd::new(&terminal, PollFlags::IN)], wait.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            ready => ready?,
        };
        let mut bytes = [0; 64];
        let len = read(terminal, &mut bytes)?;
        if len == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it was closed",
            ));
        }
        self.bytes.extend(&bytes[..len]);
        Ok(())
    }

    /// Returns the next key of the bytes. Bytes of no key are passed over.
    fn take(&mut self) -> Option<Key> {
        let first = self.bytes.pop_front()?;
        // The key Esc is a byte that is alone.
        if first == ESCAPE && self.bytes.is_empty() {
            return Some(Key::Esc);
        }
        let mut rest = std::iter::from_fn(|| self.bytes.pop_front().map(Ok));
        match parse_event(first, &mut rest) {
            Ok(Event::Key(key)) => Some(key),
            _ => None,
        }
    }
}

/// The byte of the key Esc, and the first one of sequences.
const ESCAPE: u8 = 0x1b;

/// The longest time between two parts of an escape sequence. The key Esc takes as long to be
/// noticed.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut input = KeyInput {
            bytes: bytes.iter().copied().collect(),
        };
        let mut keys = Vec::new();
        while !input.bytes.is_empty() {
            keys.extend(input.take());
        }
        keys
    }

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        // As xterm and the Linux console send them.
        let all = keys("q\r\t\x1b[A\x1b[B\x1b[5~\x1b[6~\x1b[H\x1b[Z\x7f\x03ä\x1b".as_bytes());
        let expected = [
            Key::Char('q'),
            Key::Char('\n'),
            Key::Char('\t'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Home,
            Key::BackTab,
            Key::Backspace,
            Key::Ctrl('c'),
            Key::Char('ä'),
            Key::Esc,
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn sequences_that_are_cut_apart_are_keys() {
        let (reader, mut writer) = io::pipe().unwrap();
        let wait = Duration::from_secs(60);
        let mut next = |come: &[u8], later: &[u8]| {
            writer.write_all(later).unwrap();
            let mut input = KeyInput {
                bytes: come.iter().copied().collect(),
            };
            input.next(&reader, wait).unwrap()
        };
        assert_eq!(next(b"\x1b", b"[5~"), Some(Key::PageUp));
        assert_eq!(next(b"\x1b[5", b"~"), Some(Key::PageUp));
        assert_eq!(next(b"\x1bO", b"P"), Some(Key::F(1)));
        assert_eq!(next(b"", b"q"), Some(Key::Char('q')));
        // Nothing follows the key Esc.
        assert_eq!(next(b"\x1b", b""), Some(Key::Esc));
        drop(writer);
        let end = KeyInput::default().next(&reader, wait);
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn bytes_of_no_key_are_passed_over() {
        assert_eq!(keys(b"\x1b[200~q"), [Key::Char('q')]);
        assert_eq!(keys(b"\xff"), []);
        assert_eq!(keys(b"\x1b["), []);
    }
}
