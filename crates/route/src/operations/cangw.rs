//! How an operation is said to can-gw: as options of its tool `cangw`, and as attributes of its
//! messages in the kernel (`uapi/linux/can/gw.h`).

use super::operation::Operation;
use crate::text::scan::Wrong;
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec::Vec};
use core::fmt;
use core::ops::Range;

/// A part of a rule that a change can be, in the order in which can-gw does them; each is there at
/// most once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum RulePart {
    /// A modification, by its number among them.
    Modification(u8),
    /// A checksum, by its number among them. The kernel takes it only in a rule that has a
    /// modification, too.
    Checksum(u8),
}

/// An option with its argument, as it stands in a `cangw` command.
pub(crate) struct Given<'t> {
    pub(crate) letter: char,
    pub(crate) text: &'t str,
    /// Where the letter stands.
    pub(crate) at: Range<usize>,
    /// The word that holds the argument.
    pub(crate) word: Range<usize>,
    /// Where the argument begins, if the word has no quotes.
    pub(crate) start: Option<usize>,
}

impl Given<'_> {
    /// What is wrong with the argument, with its place.
    pub(crate) fn wrong(&self, wrong: &Wrong) -> Diagnostic {
        let span = match self.start {
            Some(start) => start + wrong.part.start..start + wrong.part.end,
            None => self.word.clone(),
        };
        let message = format!("-{}: {}", self.letter, wrong.what);
        Diagnostic::error(span, message).hint(wrong.hint)
    }

    /// A warning: can-gw takes the last one.
    pub(crate) fn twice(&self) -> Diagnostic {
        let message = format!("-{} is given twice; can-gw takes the last one", self.letter);
        Diagnostic::warning(self.at.clone(), message).hint("leave out the first")
    }
}

/// The command in which options stand.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    /// It is about FD frames (`-X`), else about classic ones.
    pub(crate) fd: bool,
    /// It adds or deletes a rule, so that its options must fit together.
    pub(crate) has_rule: bool,
}

/// An attribute of a rule in the kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attribute {
    /// `CGW_*`
    pub kind: u16,
    /// Its value, with zeros where the kernel does not look.
    pub value: Vec<u8>,
}

/// A version of Linux, as far as can-gw depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Has it a fix that the stable series have since these versions? The last one holds for all
    /// later ones.
    #[must_use]
    pub fn has(self, since: &[Self]) -> bool {
        let newest = since.last().is_some_and(|last| self >= *last);
        let series = |v: Self| (v.0, v.1);
        let mut same = since.iter().filter(|v| series(**v) == series(self));
        newest || same.any(|first| self >= *first)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What a rule needs of the kernel.
#[derive(Clone, Debug)]
pub struct Need {
    /// Since when the stable series have it; the last one holds for all later ones.
    pub since: &'static [Version],
    /// Why a kernel without it, named by the text, cannot be given the rule.
    pub why: fn(&str) -> String,
}

/// An operation in can-gw's terms. Everything but the constants has a default: without them can-gw
/// does not have the operation, and a route with it is refused by the operation's name.
pub(crate) trait CanGw: Operation {
    /// The letters of the options that say it. All have an argument.
    const OPTIONS: &'static str = "";

    /// The attributes that say it, in the order in which they are sent.
    const ATTRIBUTES: &'static [u16] = &[];

    /// What its options say, in can-gw's order, each with the place of the option. What is wrong is
    /// added to `found`.
    fn from_options(
        _given: &[&Given<'_>],
        _command: Command,
        _found: &mut Diagnostics,
    ) -> Vec<(Self, Range<usize>)> {
        Vec::new()
    }

    /// Which part of a rule it is.
    ///
    /// # Errors
    /// Why can-gw has no rule for it; that is so unless an operation says otherwise.
    fn rule_part(&self) -> Result<RulePart, String> {
        Err(format!("it does `{}`, which can-gw cannot", Self::NAME))
    }

    /// As a rule for FD or classic frames has it; `None` where it does nothing to such frames.
    ///
    /// # Errors
    /// Why can-gw has no rule for it.
    fn for_rule(&self, _fd: bool) -> Result<Option<Self>, String> {
        Ok(Some(self.clone()))
    }

    /// The options that say what [`for_rule`](Self::for_rule) gave, with a blank before each.
    fn options(&self, _fd: bool) -> String {
        String::new()
    }

    /// The attribute that says what [`for_rule`](Self::for_rule) gave.
    fn to_attribute(&self, _fd: bool) -> Option<Attribute> {
        None
    }

    /// What an attribute of one of [`ATTRIBUTES`](Self::ATTRIBUTES) says of FD or classic frames;
    /// `None` where the kernel carries nothing out.
    fn from_attribute(_attribute: &Attribute, _fd: bool) -> Option<Self> {
        None
    }

    /// The attribute with zeros where the kernel does not look; `None` if its size is not the one
    /// that the kernel sends.
    fn normal(_attribute: &Attribute) -> Option<Attribute> {
        None
    }

    /// What a rule with these, all of one rule, needs of the kernel.
    fn needs(_all: &[&Self], _fd: bool) -> Option<Need> {
        None
    }
}
