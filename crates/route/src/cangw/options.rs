//! cangw's command line, as getopt takes it apart.

use super::{
    OPS, Rule, operand,
    shell::{Command, Word},
};
use crate::text::scan::Wrong;
use crate::{Crc8, Crc8Profile};
use ::config::{Diagnostic, Diagnostics};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::ops::Range;

/// What a cangw command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Add,
    Delete,
    Flush,
    List,
}

/// cangw's options, those with an argument in the second list.
const PLAIN: &str = "ADFLXtei?";
const WITH_ARGUMENT: &str = "sdulfcpxmM";

/// Everything between reading the options and judging them together.
#[derive(Default)]
struct Seen {
    rule: Rule,
    verb: Option<Verb>,
    crc8: Option<Crc8>,
    profile: Option<(Crc8Profile, Range<usize>)>,
    classic: Option<Range<usize>>,
    fd: Option<Range<usize>>,
    sums: Option<Range<usize>>,
    modifications: usize,
}

/// Reads the words after `cangw`. `listed` says that cangw itself printed the line. What is
/// wrong is added to `found`; the rule is of use only for [`Verb::Add`] and [`Verb::Delete`].
pub(super) fn parse(
    command: &[Word],
    listed: bool,
    found: &mut Diagnostics,
) -> Option<(Verb, Rule)> {
    let (name, words) = command.split_first()?;
    let before = found.errors();
    for word in command {
        if let Some(at) = word.expands {
            let message = format!("the shell puts something into `{}`", word.text);
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
    let mut seen = Seen::default();
    seen.rule.fd = fd;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.strip_prefix('-') {
            None | Some("") => stray(word, found),
            Some("-") => {
                words.by_ref().for_each(|word| stray(word, found));
            }
            Some(letters) => cluster(letters, word, &mut words, &mut seen, found),
        }
    }
    let Some(verb) = seen.verb else {
        let d = Diagnostic::error(name.span.clone(), "this says neither -A, -D, -F nor -L")
            .hint("`cangw -A` adds a rule");
        found.push(d);
        return None;
    };
    if matches!(verb, Verb::Add | Verb::Delete) {
        finish(&mut seen, name, listed, found);
    }
    (found.errors() == before).then_some((verb, seen.rule))
}

/// Is `-X` among the options? Needed first: it says how other options are to be read.
fn is_fd(words: &[Word]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.text.strip_prefix('-') else {
            continue;
        };
        for (i, letter) in letters.char_indices() {
            if letter == 'X' {
                return true;
            }
            if WITH_ARGUMENT.contains(letter) {
                if i + letter.len_utf8() == letters.len() {
                    words.next();
                }
                break;
            }
        }
    }
    false
}

fn stray(word: &Word, found: &mut Diagnostics) {
    let message = format!("cangw takes no argument `{}` here", word.text);
    found.push(Diagnostic::error(word.span.clone(), message));
}

/// One word of options: `-Aei`, `-s can0`, `-scan0`.
fn cluster<'w>(
    letters: &str,
    word: &'w Word,
    words: &mut core::slice::Iter<'w, Word>,
    seen: &mut Seen,
    found: &mut Diagnostics,
) {
    for (i, letter) in letters.char_indices() {
        let at = word.part(i + 1..i + 1 + letter.len_utf8());
        if PLAIN.contains(letter) {
            plain(letter, seen);
            continue;
        }
        if !WITH_ARGUMENT.contains(letter) {
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
        if let Err(wrong) = argument(letter, text, &at, seen, found) {
            let span = holder.part(skip + wrong.part.start..skip + wrong.part.end);
            let message = format!("-{letter}: {}", wrong.what);
            found.push(Diagnostic::error(span, message).hint(wrong.hint));
        }
        return;
    }
}

fn plain(letter: char, seen: &mut Seen) {
    let verb = match letter {
        'A' => Verb::Add,
        'D' => Verb::Delete,
        'F' => Verb::Flush,
        'L' => Verb::List,
        other => {
            match other {
                't' => seen.rule.stamp = true,
                'e' => seen.rule.echo = true,
                'i' => seen.rule.same_port = true,
                _ => {}
            }
            return;
        }
    };
    // As cangw has it, the first one counts.
    seen.verb.get_or_insert(verb);
}

fn argument(
    letter: char,
    text: &str,
    at: &Range<usize>,
    seen: &mut Seen,
    found: &mut Diagnostics,
) -> Result<(), Wrong> {
    let size = seen.rule.size();
    let mut twice = |is: bool| {
        if is {
            let message = format!("-{letter} is given twice; can-gw takes the last one");
            found.push(Diagnostic::warning(at.clone(), message).hint("leave out the first"));
        }
    };
    match letter {
        's' | 'd' => {
            operand::interface(text)?;
            let place = if letter == 's' {
                &mut seen.rule.source
            } else {
                &mut seen.rule.destination
            };
            twice(!place.is_empty());
            text.clone_into(place);
        }
        'u' => {
            operand::uid(text)?;
            let d = Diagnostic::warning(at.clone(), "-u is left out: nothing here goes by it");
            found.push(d.hint("a route is known by its name"));
        }
        'l' => seen.rule.hops = Some(operand::hops(text)?),
        'f' => {
            let (filter, ignored) = operand::filter(text)?;
            twice(seen.rule.filter.replace(filter).is_some());
            if ignored {
                let message = "a filter for error frames cannot be inverted";
                let hint = "the kernel reads it as if `:` stood in place of `~`, and so it is here";
                found.push(Diagnostic::warning(at.clone(), message).hint(hint));
            }
        }
        'x' => {
            let sum = operand::xor_sum(text, size)?;
            twice(seen.rule.xor.replace(sum).is_some());
            seen.sums.get_or_insert(at.clone());
        }
        'c' => {
            let crc = operand::crc8(text, size)?;
            twice(seen.crc8.replace(crc).is_some());
            seen.sums.get_or_insert(at.clone());
        }
        'p' => seen.profile = Some((operand::profile(text)?, at.clone())),
        _ => modification(letter == 'M', text, at, seen, found)?,
    }
    Ok(())
}

/// `-m` and `-M`.
fn modification(
    fd: bool,
    text: &str,
    at: &Range<usize>,
    seen: &mut Seen,
    found: &mut Diagnostics,
) -> Result<(), Wrong> {
    let modify = operand::modify(text, fd)?;
    if (&modify.id, &modify.len, &modify.flags, &modify.data) == (&None, &None, &None, &None) {
        let message = "nothing is named that is to be changed; it is left out";
        let hint = "with this, cangate marks its own rules";
        found.push(Diagnostic::warning(at.clone(), message).hint(hint));
        return Ok(());
    }
    let kind = if fd { &mut seen.fd } else { &mut seen.classic };
    kind.get_or_insert(at.clone());
    seen.modifications += 1;
    if seen.modifications > OPS.len() {
        let message = "cangw takes four modifications and ignores this one";
        found.push(Diagnostic::warning(at.clone(), message).hint("leave it out"));
        return Ok(());
    }
    let place = OPS.iter().position(|op| *op == modify.op).unwrap_or(0);
    if let Some(place) = seen.rule.modify.get_mut(place)
        && place.replace(modify).is_some()
    {
        let message = "a rule has one modification of each sort; can-gw takes the last one";
        found.push(Diagnostic::warning(at.clone(), message).hint("leave out the first"));
    }
    Ok(())
}

/// What the options mean together.
fn finish(seen: &mut Seen, name: &Word, listed: bool, found: &mut Diagnostics) {
    let mut missing: Vec<String> = Vec::new();
    for (value, option) in [(&seen.rule.source, "-s"), (&seen.rule.destination, "-d")] {
        if value.is_empty() {
            missing.push(option.to_owned());
        }
    }
    if !missing.is_empty() {
        let message = format!("{} is missing", missing.join(" and "));
        let hint = "a rule needs -s INTERFACE and -d INTERFACE";
        found.push(Diagnostic::error(name.span.clone(), message).hint(hint));
    }
    if let (true, Some(at)) = (seen.rule.fd, &seen.classic) {
        let message = "-m changes classic frames, and -X takes FD frames";
        found.push(Diagnostic::error(at.clone(), message).hint("use -M with -X"));
    }
    if let (false, Some(at)) = (seen.rule.fd, &seen.fd) {
        let message = "-M changes FD frames, and this rule takes classic frames";
        found.push(Diagnostic::error(at.clone(), message).hint("use -m, or add -X"));
    }
    match (seen.crc8.take(), seen.profile.take()) {
        (Some(mut crc), profile) => {
            if let Some((profile, _)) = profile {
                crc.profile = profile;
            }
            seen.rule.crc8 = Some(crc);
        }
        (None, Some((_, at))) => {
            let message = "-p does nothing without -c";
            found.push(Diagnostic::warning(at, message).hint("leave it out"));
        }
        (None, None) => {}
    }
    if let (Some(at), false) = (&seen.sums, seen.rule.modifies()) {
        let message = "can-gw takes checksums only in a rule that modifies something";
        if listed {
            let hint = "the checksum is left out here, as can-gw leaves it out";
            found.push(Diagnostic::warning(at.clone(), message).hint(hint));
            seen.rule.crc8 = None;
            seen.rule.xor = None;
        } else {
            let hint = "add -m or -M; cangw refuses this line";
            found.push(Diagnostic::error(at.clone(), message).hint(hint));
        }
    }
}

/// The words from `cangw` on, where the command runs cangw: by its path or not, behind `sudo`,
/// `exec` and the like, and inside the shell's `if` and loops.
pub(super) fn cangw(command: &Command) -> Option<&[Word]> {
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
