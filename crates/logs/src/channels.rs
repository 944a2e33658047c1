//! Formats that number interfaces from 1: the numbers of interfaces, and comments that name them.
//!
//! A writer gives the interface `canN` the number N + 1, as readers of SocketCAN count, if that is
//! free. A comment names the interface of each number (`cangate: channel 1 is can0`), so that a
//! reader restores the names.

use crate::name::InterfaceName;
use crate::words::LineWords;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Maximum number of channels that a file can have.
pub(crate) const CHANNELS: usize = 255;

/// The word that begins such a comment.
const MARK: &str = "cangate:";

/// The numbers of the interfaces of a file that is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelNumbers {
    /// By the indexes of the interfaces; 0: none yet.
    numbers: Vec<u16>,
}

impl ChannelNumbers {
    /// Returns the number of an interface; if it is new, writes a comment with its name, after
    /// these characters. `None`: there are no more numbers.
    pub(crate) fn find_or_add(
        &mut self,
        place: u16,
        name: &str,
        comment: &str,
        out: &mut Vec<u8>,
    ) -> Option<u16> {
        let at = usize::from(place);
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, 0);
        }
        let known = *self.numbers.get(at)?;
        if known > 0 {
            return Some(known);
        }
        let taken = |number: u16| self.numbers.contains(&number);
        let own = name.strip_prefix("can").and_then(|n| n.parse().ok());
        let own = own.filter(|n: &u16| usize::from(*n) < CHANNELS && name == format!("can{n}"));
        let mut free = own.map(|n| n + 1).into_iter().chain(1..=CHANNELS as u16);
        let number = free.find(|number| !taken(*number))?;
        if let Some(place) = self.numbers.get_mut(at) {
            *place = number;
        }
        // Writes into memory do not fail.
        let _ = writeln!(out, "{comment} {MARK} channel {number} is {name}");
        Some(number)
    }
}

/// The names that the comments of a file give to its channels.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelNames(BTreeMap<u32, InterfaceName>);

impl ChannelNames {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Reads a comment, without the characters that begin it.
    pub(crate) fn comment(&mut self, mut words: LineWords<'_>) {
        if !words.next().is_some_and(|word| word.is(MARK)) {
            return;
        }
        let channel = words.nth(1).and_then(|word| word.number(10));
        let name = words.nth(1).and_then(|word| str::from_utf8(word.text).ok());
        let named = channel.zip(name.and_then(InterfaceName::new));
        if let Some((channel, name)) = named.filter(|_| self.0.len() <= CHANNELS) {
            self.0.insert(channel, name);
        }
    }

    /// Returns the name of a channel: the one that a comment gives, or `can(N-1)`.
    pub(crate) fn get(&self, channel: u32) -> InterfaceName {
        let name = self.0.get(&channel).copied();
        name.unwrap_or_else(|| InterfaceName::of_channel(channel))
    }
}
