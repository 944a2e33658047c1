//! Conversion of cangw's lines to routes.

use super::{
    CanGwRule,
    names::{InterfaceList, TakenNames, port_names, route_name},
    options::{self, CanGwVerb},
    shell::{self, ShellCommand, ShellWord},
};
use crate::{
    FrameMatch, IdSet, KindSet, PortId, Route, Routes, TriState,
    config::{MOST_ROUTES, to_toml, toml_string},
};
use ::config::{Diagnostic, Diagnostics, SourceText};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec,
    vec::Vec,
};
use core::ops::Range;
use frame::CanId;

/// Maximum size of the text, in bytes.
const LARGEST: usize = 64 << 20;

/// Maximum number of interfaces; `gateway.toml` can have the same number of ports.
const MOST_INTERFACES: usize = 1024;

/// The result of an import.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportedRules {
    /// The ports' names, by [`PortId`].
    pub ports: Vec<String>,
    /// The Linux interfaces behind them, by [`PortId`].
    pub interfaces: Vec<String>,
    /// The rules as routes.
    pub routes: Routes,
    /// The same routes as a `gateway.toml`.
    pub toml: String,
    /// Warnings about lines that were left out or interpreted in a way that may surprise.
    pub notes: Vec<Diagnostic>,
}

/// A rule, and the comment on its line.
struct RuleLine {
    rule: CanGwRule,
    comment: String,
    span: Range<usize>,
}

/// Reads the output of `cangw -L`, or a shell script with cangw lines; other commands in it are
/// skipped and noted. A comment after a line becomes the route's name.
///
/// # Errors
/// Every line that cannot be interpreted or that cangw itself would refuse, with the notes among
/// them.
pub fn import(source: &SourceText) -> Result<ImportedRules, Vec<Diagnostic>> {
    if source.text.len() > LARGEST {
        let message = format!("{} bytes: the maximum is {LARGEST}", source.text.len());
        return Err(vec![Diagnostic::error(0..0, message)]);
    }
    let mut found = Diagnostics::new();
    let commands = match shell::commands(&source.text) {
        Ok(commands) => commands,
        Err(shell::UnclosedQuote(at)) => {
            let d = Diagnostic::error(at..at + 1, "this quote is never closed");
            return Err(vec![d]);
        }
    };
    let mut gathered = GatheredLines::default();
    for command in &commands {
        match options::cangw(command) {
            Some(words) => gathered.cangw(words, command, &mut found),
            None => gathered.other(command, &mut found),
        }
    }
    if gathered.lines.is_empty() && !found.has_errors() {
        let end = source.text.len();
        let d = Diagnostic::error(end..end, "it contains no rule")
            .hint("give what `cangw -L` prints, or a script with `cangw -A …` lines");
        found.push(d);
    }
    gathered.check_hops(&mut found);
    gathered.check_size(&mut found);
    gathered.note_chains(&mut found);
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    Ok(gathered.into_imported(found.into_sorted()))
}

#[derive(Default)]
struct GatheredLines {
    lines: Vec<RuleLine>,
    max_hops: Option<u8>,
    /// At least one line was not printed by cangw itself.
    scripted: bool,
}

impl GatheredLines {
    fn cangw(&mut self, words: &[ShellWord], command: &ShellCommand, found: &mut Diagnostics) {
        let counters = is_counters(&command.comment);
        let Some((verb, rule)) = options::parse(words, counters, found) else {
            return;
        };
        let span = words.first().map(|w| w.span.clone()).unwrap_or_default();
        let mut note = |message: &str, hint: &str| {
            found.push(Diagnostic::warning(span.clone(), message).hint(hint));
        };
        match verb {
            CanGwVerb::Add if rule.source == rule.destination && !rule.same_port => note(
                "this rule leads back to the interface that its frames come from, so no frame \
                 takes it; it is left out",
                "-i lets frames go back to the interface they came from",
            ),
            CanGwVerb::Add => {
                self.scripted |= !counters;
                let comment = if counters { "" } else { &command.comment };
                self.lines.push(RuleLine {
                    rule,
                    comment: comment.to_owned(),
                    span: span.clone(),
                });
            }
            CanGwVerb::Delete => match self.lines.iter().rposition(|line| line.rule == rule) {
                Some(index) => {
                    self.lines.remove(index);
                    note(
                        "-D removes a rule of an earlier line; the rule is left out",
                        "",
                    );
                }
                None => note("-D removes a rule that is not in this file", ""),
            },
            CanGwVerb::Flush if self.lines.is_empty() => {
                note(
                    "-F removes rules that other programs made",
                    "nothing to do here",
                );
            }
            CanGwVerb::Flush => {
                self.lines.clear();
                note(
                    "-F removes all rules of earlier lines; they are left out",
                    "",
                );
            }
            CanGwVerb::List => note("-L only prints rules", "nothing to do here"),
        }
    }

    /// Handles a command that is not cangw: `modprobe can-gw max_hops=N` is evaluated, any other
    /// command is noted.
    fn other(&mut self, command: &ShellCommand, found: &mut Diagnostics) {
        const SHELL: [&str; 12] = [
            "if", "then", "else", "elif", "fi", "do", "done", "{", "}", "exit", "set", ":",
        ];
        let words = || command.words.iter();
        let loads = words().any(|w| matches!(w.text.as_str(), "can-gw" | "can_gw"));
        for word in words().filter(|_| loads) {
            if let Some(hops) = word.text.strip_prefix("max_hops=") {
                match hops.parse::<u8>() {
                    Ok(hops @ 1..=6) => self.max_hops = Some(hops),
                    _ => {
                        let d = Diagnostic::error(
                            word.span.clone(),
                            "this is not a valid number of hops",
                        );
                        found.push(d.hint("can-gw allows 1 to 6"));
                    }
                }
            }
        }
        let Some(first) = command.words.first() else {
            return;
        };
        if !loads && !SHELL.contains(&first.text.as_str()) {
            let message = format!("`{}` is ignored", first.text);
            let hint = "only cangw lines are imported";
            found.push(Diagnostic::warning(first.span.clone(), message).hint(hint));
        }
    }

    /// Checks the hops: can-gw refuses a rule with more hops than its module has
    /// (`cgw_parse_attr`). If the text does not specify the module's number, [`Self::hops`] derives
    /// it from the rules.
    fn check_hops(&self, found: &mut Diagnostics) {
        let Some(most) = self.max_hops else {
            return;
        };
        for line in &self.lines {
            if let Some(hops) = line.rule.hops.filter(|hops| *hops > most) {
                let message = format!("-l {hops} is more than can-gw's max_hops={most}");
                let d = Diagnostic::error(line.span.clone(), message);
                found.push(d.hint("raise max_hops in the modprobe line; cangw refuses this one"));
            }
        }
    }

    /// Returns the module's parameter or, if the text does not specify it, the number that the
    /// rules need.
    fn hops(&self) -> u8 {
        let rules = self.lines.iter().filter_map(|line| line.rule.hops);
        self.max_hops.unwrap_or(1).max(rules.max().unwrap_or(1))
    }

    /// Notes chains of rules. With more than one hop, a frame that a rule sends with `-e` comes in
    /// again at the interface where it went out, and can-gw's rules there take it. A port of a
    /// gateway does not receive the frames that it sends itself.
    fn note_chains(&self, found: &mut Diagnostics) {
        if self.hops() == 1 {
            return;
        }
        // For each source, the destinations of its rules, and whether frames may go back: without
        // -i a frame never goes back to the interface where it came in first.
        let mut onward: BTreeMap<_, (BTreeSet<&str>, bool)> = BTreeMap::new();
        for RuleLine { rule, .. } in &self.lines {
            let (to, back) = onward.entry((&rule.source, rule.fd)).or_default();
            to.insert(&rule.destination);
            *back |= rule.same_port;
        }
        for RuleLine { rule, span, .. } in &self.lines {
            let on = onward
                .get(&(&rule.destination, rule.fd))
                .is_some_and(|(to, back)| *back || to.iter().any(|to| *to != rule.source));
            if on && rule.echo && rule.hops != Some(1) {
                let message = format!(
                    "can-gw's rules for {} take the frames that this rule sends; routes would not",
                    rule.destination
                );
                let hint = "routes take frames from the interface at which they arrive from the \
                            bus: write a route from there to the last interface";
                found.push(Diagnostic::warning(span.clone(), message).hint(hint));
            }
        }
    }

    /// Checks that a `gateway.toml` can hold this number of rules and interfaces.
    fn check_size(&self, found: &mut Diagnostics) {
        let rules = self.lines.iter().map(|line| &line.rule);
        let interfaces: BTreeSet<&str> = rules
            .flat_map(|rule| [rule.source.as_str(), rule.destination.as_str()])
            .collect();
        for (count, most, word) in [
            (interfaces.len(), MOST_INTERFACES, "interfaces"),
            (self.lines.len(), MOST_ROUTES, "rules"),
        ] {
            if count > most {
                let message = format!("{count} {word}: the maximum is {most}");
                found.push(Diagnostic::error(0..0, message));
            }
        }
    }

    fn into_imported(mut self, notes: Vec<Diagnostic>) -> ImportedRules {
        let max_hops = self.hops();
        // can-gw puts a new rule in front of the others.
        if self.scripted {
            self.lines.reverse();
        }
        let mut interfaces = InterfaceList::default();
        let mut names = TakenNames::default();
        let mut routes = Vec::with_capacity(self.lines.len());
        for (index, line) in self.lines.iter().enumerate() {
            let rule = &line.rule;
            let from = interfaces.port(&rule.source);
            let to = interfaces.port(&rule.destination);
            let name = route_name(&line.comment, index, &mut names);
            routes.push(route(rule, name, from, to));
        }
        let routes = Routes {
            max_hops,
            routes,
            ..Routes::default()
        };
        let interfaces = interfaces.names;
        let ports = port_names(&interfaces);
        let toml = file(&routes, &ports, &interfaces);
        ImportedRules {
            ports,
            interfaces,
            routes,
            toml,
            notes,
        }
    }
}

/// Returns whether a comment is `5 handled 0 dropped 0 deleted`, as `cangw -L` ends its lines;
/// older versions leave out the last number.
pub(super) fn is_counters(comment: &str) -> bool {
    let mut words = comment.split_whitespace();
    for name in ["handled", "dropped"] {
        let count = words.next().is_some_and(|w| w.parse::<i64>().is_ok());
        if !count || words.next() != Some(name) {
            return false;
        }
    }
    true
}

fn route(rule: &CanGwRule, name: String, from: PortId, to: PortId) -> Route {
    let errors = rule.filter.is_some_and(|filter| match filter.set {
        IdSet::Masked { mask, .. } => mask & CanId::ERR_FLAG != 0,
        IdSet::Range { .. } => false,
    });
    Route {
        name,
        from: vec![from],
        to: vec![to],
        matching: FrameMatch {
            ids: rule.filter.into_iter().collect(),
            kinds: KindSet {
                classic: !rule.fd,
                fd: rule.fd,
                xl: false,
            },
            err: if errors { TriState::Yes } else { TriState::No },
            ..FrameMatch::default()
        },
        actions: rule.changes.clone(),
        drop: false,
        limit: None,
        hop_limit: rule.hops,
        allow_same_port: rule.same_port,
        echo: rule.echo,
        verify: None,
        protect: None,
        keep_stamp: rule.stamp,
    }
}

/// Returns a port's name as a TOML key.
fn key(name: &str) -> String {
    if name.contains('.') {
        toml_string(name)
    } else {
        name.to_owned()
    }
}

/// Returns the whole `gateway.toml`.
fn file(routes: &Routes, ports: &[String], interfaces: &[String]) -> String {
    let mut text = String::from("# Imported from can-gw rules.\n[gateway]\n");
    text.push_str(&format!("max_hops = {}\n", routes.max_hops));
    for (port, interface) in ports.iter().zip(interfaces) {
        text.push_str(&format!(
            "\n[ports.{}]\nkind = \"socketcan\"\ninterface = {}\n",
            key(port),
            toml_string(interface)
        ));
    }
    text.push('\n');
    text.push_str(&to_toml(&routes.routes, ports));
    text
}
