//! Representation of an operation for can-gw: as options of its tool `cangw`, and as attributes of
//! its netlink messages to the kernel (`uapi/linux/can/gw.h`).

use super::operation::Operation;
use crate::text::scan::ScanError;
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec::Vec};
use core::fmt;
use core::ops::Range;

/// The part of a rule that a change becomes, in the order in which can-gw applies them. A rule has
/// each part at most once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum RulePart {
    /// A modification, by its number among the modifications.
    Modification(u8),
    /// A checksum, by its number among the checksums. The kernel accepts it only in a rule that has
    /// a modification, too.
    Checksum(u8),
}

/// An option with its argument, as given in a `cangw` command.
pub(crate) struct GivenOption<'t> {
    pub(crate) letter: char,
    pub(crate) text: &'t str,
    /// The position of the letter.
    pub(crate) at: Range<usize>,
    /// The word that holds the argument.
    pub(crate) word: Range<usize>,
    /// The position of the argument, if the word has no quotes.
    pub(crate) start: Option<usize>,
}

impl GivenOption<'_> {
    /// Returns a diagnostic with the mistake in the argument and its position.
    pub(crate) fn wrong(&self, wrong: &ScanError) -> Diagnostic {
        let span = match self.start {
            Some(start) => start + wrong.part.start..start + wrong.part.end,
            None => self.word.clone(),
        };
        let message = format!("-{}: {}", self.letter, wrong.what);
        Diagnostic::error(span, message).hint(wrong.hint)
    }

    /// Returns a warning that the option is repeated: can-gw takes the last one.
    pub(crate) fn twice(&self) -> Diagnostic {
        let message = format!("-{} is given twice; can-gw takes the last one", self.letter);
        Diagnostic::warning(self.at.clone(), message).hint("leave out the first")
    }
}

/// The command to which options belong.
#[derive(Clone, Copy)]
pub(crate) struct OptionSource {
    /// The command is for FD frames (`-X`) instead of classic ones.
    pub(crate) fd: bool,
    /// The command adds or deletes a rule, so that its options must be consistent.
    pub(crate) has_rule: bool,
}

/// An attribute of a rule in the kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RuleAttribute {
    /// `CGW_*`
    pub kind: u16,
    /// Its value, with zeros where the kernel ignores it.
    pub value: Vec<u8>,
}

/// A version of Linux, for features on which can-gw depends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KernelVersion(pub u32, pub u32, pub u32);

impl KernelVersion {
    /// Returns whether this version has a fix that the stable series have since the versions
    /// `since`. The last one of them applies to all later versions.
    #[must_use]
    pub fn has(self, since: &[Self]) -> bool {
        let newest = since.last().is_some_and(|last| self >= *last);
        let series = |v: Self| (v.0, v.1);
        let mut same = since.iter().filter(|v| series(**v) == series(self));
        newest || same.any(|first| self >= *first)
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A feature of the kernel that a rule needs.
#[derive(Clone, Debug)]
pub struct KernelNeed {
    /// The versions since which the stable series have it; the last one applies to all later
    /// versions.
    pub since: &'static [KernelVersion],
    /// Function that returns the reason why a kernel without it, whose name is the argument, cannot
    /// accept the rule.
    pub why: fn(&str) -> String,
}

/// An operation in can-gw's terms. Everything but the constants has a default: an operation that
/// keeps the defaults does not exist in can-gw, and a route with it is refused with the operation's
/// name.
pub(crate) trait CanGw: Operation {
    /// The letters of its options. All have an argument.
    const OPTIONS: &'static str = "";

    /// The kinds of its attributes, in the order in which they are sent.
    const ATTRIBUTES: &'static [u16] = &[];

    /// Parses its options. Returns the operations in can-gw's order, each with the position of the
    /// option. Mistakes are added to `found`.
    fn from_options(
        _given: &[&GivenOption<'_>],
        _command: OptionSource,
        _found: &mut Diagnostics,
    ) -> Vec<(Self, Range<usize>)> {
        Vec::new()
    }

    /// Returns the part of a rule that it becomes.
    ///
    /// # Errors
    /// The reason why can-gw has no rule for it; this is the default.
    fn rule_part(&self) -> Result<RulePart, String> {
        Err(format!("it does `{}`, which can-gw cannot", Self::NAME))
    }

    /// Returns the operation in the form of a rule for FD or classic frames; `None` if it does
    /// nothing to such frames.
    ///
    /// # Errors
    /// The reason why can-gw has no rule for it.
    fn for_rule(&self, _fd: bool) -> Result<Option<Self>, String> {
        Ok(Some(self.clone()))
    }

    /// Returns the options for a result of [`for_rule`](Self::for_rule), with a blank before each.
    fn options(&self, _fd: bool) -> String {
        String::new()
    }

    /// Returns the attribute for a result of [`for_rule`](Self::for_rule).
    fn to_attribute(&self, _fd: bool) -> Option<RuleAttribute> {
        None
    }

    /// Returns the operation that an attribute of one of [`ATTRIBUTES`](Self::ATTRIBUTES) specifies
    /// for FD or classic frames; `None` if the kernel does nothing.
    fn from_attribute(_attribute: &RuleAttribute, _fd: bool) -> Option<Self> {
        None
    }

    /// Returns the attribute with zeros where the kernel ignores it; `None` if its size is not the
    /// one that the kernel sends.
    fn normal(_attribute: &RuleAttribute) -> Option<RuleAttribute> {
        None
    }

    /// Returns the kernel feature that a rule with these operations needs; they are all of one
    /// rule.
    fn needs(_all: &[&Self], _fd: bool) -> Option<KernelNeed> {
        None
    }
}
