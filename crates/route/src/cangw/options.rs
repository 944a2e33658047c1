//! cangw's command line, as getopt splits it.

use super::{
    CanGwRule, operand,
    shell::{ShellCommand, ShellWord},
};
use crate::Action;
use crate::operations::cangw::{GivenOption, OptionSource, RulePart};
use crate::text::scan::ScanError;
use ::config::{Diagnostic, Diagnostics};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::ops::Range;

/// The operation of a cangw command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CanGwVerb {
    Add,
    Delete,
    Flush,
    List,
}

/// cangw's options without an argument.
const PLAIN: &str = "ADFLXtei?";
/// Options with an argument that do not concern changes.
const OF_RULE: &str = "sdulf";

fn has_argument(letter: char) -> bool {
    OF_RULE.contains(letter) || Action::has_option(letter)
}

/// The parts of a command that were read, before its options are checked together.
#[derive(Default)]
struct CommandLine<'w> {
    rule: CanGwRule,
    verb: Option<CanGwVerb>,
    /// Options that specify changes, in the order of the command.
    changes: Vec<GivenOption<'w>>,
}

/// Parses the words after `cangw`. `listed` is true if cangw itself printed the line. Mistakes are
/// added to `found`. The rule is meaningful only for [`CanGwVerb::Add`] and [`CanGwVerb::Delete`].
pub(super) fn parse(
    command: &[ShellWord],
    listed: bool,
    found: &mut Diagnostics,
) -> Option<(CanGwVerb, CanGwRule)> {
    let (name, words) = command.split_first()?;
    let before = found.errors();
    for word in command {
        if let Some(at) = word.expands {
            let message = format!("the shell expands `{}`", word.text);
            let d = Diagnostic::error(at..word.span.end, message)
                .label("unknown here")
                .hint("write the value itself, or import what `cangw -L` prints");
            found.push(d);
        }
    }
    if found.errors() > before {
        return None;
    }
    let fd = is_fd(words);
    let mut line = CommandLine::default();
    line.rule.fd = fd;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.strip_prefix('-') {
            None | Some("") => stray(word, found),
            Some("-") => {
                words.by_ref().for_each(|word| stray(word, found));
            }
            Some(letters) => cluster(letters, word, &mut words, &mut line, found),
        }
    }
    let has_rule = matches!(line.verb, Some(CanGwVerb::Add | CanGwVerb::Delete));
    let changes = Action::from_options(&line.changes, OptionSource { fd, has_rule }, found);
    let Some(verb) = line.verb else {
        let d = Diagnostic::error(name.span.clone(), "this has neither -A, -D, -F nor -L")
            .hint("`cangw -A` adds a rule");
        found.push(d);
        return None;
    };
    if has_rule {
        finish(&mut line.rule, changes, name, listed, found);
    }
    (found.errors() == before).then_some((verb, line.rule))
}

/// Returns whether `-X` is among the options. This is needed first, because other options depend on
/// it.
fn is_fd(words: &[ShellWord]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.text.strip_prefix('-') else {
            continue;
        };
        for (i, letter) in letters.char_indices() {
            if letter == 'X' {
                return true;
            }
            if has_argument(letter) {
                if i + letter.len_utf8() == letters.len() {
                    words.next();
                }
                break;
            }
        }
    }
    false
}

fn stray(word: &ShellWord, found: &mut Diagnostics) {
    let message = format!("cangw takes no argument `{}` here", word.text);
    found.push(Diagnostic::error(word.span.clone(), message));
}

/// Parses one word of options: `-Aei`, `-s can0`, `-scan0`.
fn cluster<'w>(
    letters: &'w str,
    word: &'w ShellWord,
    words: &mut core::slice::Iter<'w, ShellWord>,
    line: &mut CommandLine<'w>,
    found: &mut Diagnostics,
) {
    for (i, letter) in letters.char_indices() {
        let at = word.part(i + 1..i + 1 + letter.len_utf8());
        if PLAIN.contains(letter) {
            plain(letter, line);
            continue;
        }
        if !has_argument(letter) {
            let d = Diagnostic::error(at, format!("cangw has no option -{letter}"))
                .hint("it has -A -D -F -L -s -d -X -t -e -i -u -l -f -m -M -x -c -p");
            found.push(d);
            continue;
        }
        let rest = &letters[i + letter.len_utf8()..];
        let (text, holder, skip) = if rest.is_empty() {
            let Some(next) = words.next() else {
                let message = format!("-{letter} needs an argument");
                found.push(Diagnostic::error(at, message));
                return;
            };
            (next.text.as_str(), next, 0)
        } else {
            (rest, word, i + 2)
        };
        let given = GivenOption {
            letter,
            text,
            at,
            word: holder.span.clone(),
            start: holder.start().map(|start| start + skip),
        };
        if !OF_RULE.contains(letter) {
            line.changes.push(given);
        } else if let Err(wrong) = of_rule(&given, &mut line.rule, found) {
            found.push(given.wrong(&wrong));
        }
        return;
    }
}

fn plain(letter: char, line: &mut CommandLine<'_>) {
    let verb = match letter {
        'A' => CanGwVerb::Add,
        'D' => CanGwVerb::Delete,
        'F' => CanGwVerb::Flush,
        'L' => CanGwVerb::List,
        other => {
            match other {
                't' => line.rule.stamp = true,
                'e' => line.rule.echo = true,
                'i' => line.rule.same_port = true,
                _ => {}
            }
            return;
        }
    };
    // The first one counts, as in cangw.
    line.verb.get_or_insert(verb);
}

/// Parses an option that does not concern changes.
fn of_rule(
    given: &GivenOption<'_>,
    rule: &mut CanGwRule,
    found: &mut Diagnostics,
) -> Result<(), ScanError> {
    let text = given.text;
    let warning = |message: &str| Diagnostic::warning(given.at.clone(), message);
    match given.letter {
        letter @ ('s' | 'd') => {
            operand::interface(text)?;
            let place = if letter == 's' {
                &mut rule.source
            } else {
                &mut rule.destination
            };
            if !place.is_empty() {
                found.push(given.twice());
            }
            text.clone_into(place);
        }
        'u' => {
            operand::uid(text)?;
            let d = warning("-u is left out: nothing here uses it");
            found.push(d.hint("a route is known by its name"));
        }
        'l' => rule.hops = Some(operand::hops(text)?),
        _ => {
            let (filter, ignored) = operand::filter(text)?;
            if rule.filter.replace(filter).is_some() {
                found.push(given.twice());
            }
            if ignored {
                let hint = "the kernel reads this `~` as `:`, and so does cangate";
                let d = warning("a filter for error frames cannot be inverted");
                found.push(d.hint(hint));
            }
        }
    }
    Ok(())
}

/// Completes the rule: checks the options that depend on one another.
fn finish(
    rule: &mut CanGwRule,
    changes: Vec<(Action, Range<usize>)>,
    name: &ShellWord,
    listed: bool,
    found: &mut Diagnostics,
) {
    let mut missing: Vec<String> = Vec::new();
    for (value, option) in [(&rule.source, "-s"), (&rule.destination, "-d")] {
        if value.is_empty() {
            missing.push(option.to_owned());
        }
    }
    if !missing.is_empty() {
        let message = format!("{} is missing", missing.join(" and "));
        let hint = "a rule needs -s INTERFACE and -d INTERFACE";
        found.push(Diagnostic::error(name.span.clone(), message).hint(hint));
    }
    let is_sum = |change: &Action| matches!(change.rule_part(), Ok(RulePart::Checksum(_)));
    let sums = changes.iter().filter(|(change, _)| is_sum(change));
    let first_sum = sums.map(|(_, at)| at.clone()).min_by_key(|at| at.start);
    rule.changes = changes.into_iter().map(|(change, _)| change).collect();
    if let (Some(at), false) = (first_sum, rule.modifies()) {
        let message = "can-gw takes checksums only in a rule that modifies something";
        if listed {
            let hint = "the checksum is left out here, as can-gw leaves it out";
            found.push(Diagnostic::warning(at, message).hint(hint));
            rule.changes.retain(|change| !is_sum(change));
        } else {
            let hint = "add -m or -M; cangw refuses this line";
            found.push(Diagnostic::error(at, message).hint(hint));
        }
    }
}

/// Returns the words from `cangw` on, if the command runs cangw: with or without its path, after
/// `sudo`, `exec` and the like, and inside the shell's `if` and loops.
pub(super) fn cangw(command: &ShellCommand) -> Option<&[ShellWord]> {
    const BEFORE: [&str; 15] = [
        "sudo", "doas", "exec", "env", "nice", "time", "command", "if", "then", "else", "elif",
        "do", "while", "!", "{",
    ];
    let mut prefixed = false;
    for (i, word) in command.words.iter().enumerate() {
        let text = word.text.as_str();
        if text.rsplit('/').next() == Some("cangw") {
            return command.words.get(i..);
        }
        let option = prefixed && text.starts_with('-');
        let assignment = text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if BEFORE.contains(&text) {
            prefixed = true;
        } else if !option && !assignment {
            return None;
        }
    }
    None
}
