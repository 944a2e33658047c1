//! Signals: `SG_`, and the statements about signals.

use super::attributes::{DbcAttributes, unquoted};
use super::split::FilePlaces;
use super::switches::{SwitchStatement, SwitchedName, find_switches, without_root};
use super::{node, raw_id};
use crate::DatabaseError;
use crate::decimal::Decimal;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::DatabaseWarning;
use crate::room::{SignalRoom, node_bytes};
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind, SignalPresence, ValueName};
use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use can_dbc_pest::{Pair, Rule};
use core::ops::RangeInclusive;

/// A signal as its `SG_` has it.
pub(super) struct DraftSignal {
    pub(super) name: String,
    line: usize,
    /// `M`, `m3` or `m3M`; empty for a signal that each frame contains.
    indicator: String,
    layout: FieldLayout,
    field: SignalField,
    is_signed: bool,
    factor: Decimal,
    offset: Decimal,
    range: (Decimal, Decimal),
    unit: String,
    receivers: Vec<String>,
}

/// The ID of a message as the file has it, and the name of a signal.
type SignalKey = (u32, String);

/// The statements about one signal that are apart from its message. A statement replaces one before
/// it of the same keyword.
#[derive(Default)]
struct SignalAdditions {
    /// `SIG_VALTYPE_` makes the signal a floating-point number.
    is_float: bool,
    value_names: Vec<ValueName>,
    switch: Option<SwitchStatement>,
    comment: String,
    /// The line and the keyword of the first statement other than a comment.
    place: Option<(usize, &'static str)>,
}

/// The statements about signals, and comments of messages.
#[derive(Default)]
pub(super) struct SignalStatements {
    of_signals: BTreeMap<SignalKey, SignalAdditions>,
    message_comments: BTreeMap<u32, String>,
}

impl SignalStatements {
    /// Adds a `SIG_VALTYPE_`, `VAL_`, `SG_MUL_VAL_` or `CM_`. A `VAL_` of an environment variable
    /// has no ID, and is passed over.
    pub(super) fn add(&mut self, statement: Pair<'_, Rule>, places: &FilePlaces<'_>) {
        let rule = statement.as_rule();
        if rule == Rule::comment {
            return statement
                .into_inner()
                .for_each(|part| self.add_comment(part));
        }
        let line = places.line(&statement);
        let mut parts = statement.into_inner().peekable();
        let id = parts.next_if(|part| part.as_rule() == Rule::message_id);
        let id = id.and_then(|id| raw_id(&id));
        let (Some(id), Some(name)) = (id, parts.next()) else {
            return;
        };
        let key = (id, name.as_str().to_owned());
        let keyword = match rule {
            Rule::signal_value_type => "SIG_VALTYPE_",
            Rule::value_table_def => "VAL_",
            _ => "SG_MUL_VAL_",
        };
        let additions = self.of_signals.entry(key).or_default();
        additions.place.get_or_insert((line, keyword));
        match rule {
            Rule::signal_value_type => {
                let is_float = |part: Pair<'_, Rule>| part.as_rule() != Rule::sig_val_integer;
                additions.is_float |= parts.next().is_some_and(is_float);
            }
            Rule::value_table_def => {
                additions.value_names = parts.filter_map(value_name).collect();
            }
            _ => {
                let Some(switch) = parts.next() else { return };
                let switch = switch.as_str().to_owned();
                let values = parts.filter_map(value_range).collect();
                additions.switch = Some(SwitchStatement { switch, values });
            }
        }
    }

    /// Adds a comment. One that names no signal is its message's.
    fn add_comment(&mut self, part: Pair<'_, Rule>) {
        let rule = part.as_rule();
        let is_of_message = matches!(
            rule,
            Rule::comment_signal | Rule::comment_message | Rule::comment_message_implicit
        );
        let mut parts = part.into_inner();
        let id = parts.next().filter(|_| is_of_message);
        let Some(id) = id.and_then(|id| raw_id(&id)) else {
            return;
        };
        match (parts.next(), parts.next()) {
            (Some(signal), Some(comment)) => {
                let key = (id, signal.as_str().to_owned());
                self.of_signals.entry(key).or_default().comment = comment_text(&comment);
            }
            (Some(comment), None) => {
                self.message_comments.insert(id, comment_text(&comment));
            }
            (None, _) => {}
        }
    }

    /// Returns the comment of a message; empty if it has none.
    pub(super) fn comment_of(&self, raw: u32) -> String {
        self.message_comments.get(&raw).cloned().unwrap_or_default()
    }

    /// Adds a warning for each statement whose signal is not one of those in the file, unless its
    /// message is left out.
    pub(super) fn warn_of_unknown_signals(
        &self,
        known: &BTreeSet<(u32, &str)>,
        left_out: &BTreeSet<u32>,
        warnings: &mut Vec<DatabaseWarning>,
    ) {
        for ((raw, name), additions) in &self.of_signals {
            let Some((line, keyword)) = additions.place else {
                continue;
            };
            if !known.contains(&(*raw, name)) && !left_out.contains(raw) {
                warnings.push(DatabaseWarning {
                    line,
                    problem: format!(
                        "{keyword} of a signal that is not in the file: {} of message {raw}",
                        shown(name)
                    ),
                });
            }
        }
    }
}

/// Returns the text of a comment, in which a backslash precedes quotation marks.
fn comment_text(comment: &Pair<'_, Rule>) -> String {
    unquoted(comment.as_str()).replace("\\\"", "\"")
}

fn value_name(part: Pair<'_, Rule>) -> Option<ValueName> {
    let mut inner = part.into_inner();
    let raw = inner.next()?.as_str().parse().ok()?;
    let name = unquoted(inner.next()?.as_str());
    Some(ValueName { raw, name })
}

fn value_range(part: Pair<'_, Rule>) -> Option<RangeInclusive<u64>> {
    let mut ends = part.into_inner().map(|end| end.as_str().parse::<u64>());
    Some(ends.next()?.ok()?..=ends.next()?.ok()?)
}

impl DraftSignal {
    /// Reads an `SG_`; `None`, and a warning, if no payload can contain it.
    pub(super) fn parse(
        statement: Pair<'_, Rule>,
        message: &str,
        len: usize,
        places: &FilePlaces<'_>,
        warnings: &mut Vec<DatabaseWarning>,
    ) -> Option<Self> {
        let mut parts = Vec::new();
        let mut receivers = Vec::new();
        // The statement begins with the line break before it: its name is on its line.
        let mut line = 0;
        for part in statement.into_inner() {
            match part.as_rule() {
                Rule::node_name => receivers.extend(node(part.as_str())),
                Rule::min_max => {
                    let ends = part.into_inner().map(|end| (end.as_rule(), end.as_str()));
                    parts.extend(ends);
                }
                rule => {
                    if rule == Rule::signal_name {
                        line = places.line(&part);
                    }
                    parts.push((rule, part.as_str()));
                }
            }
        }
        // A rule occurs once in a statement, and a statement has some ten of them.
        let find = |rule| parts.iter().find(|(one, _)| *one == rule);
        let part_of = |rule| find(rule).map(|(_, text)| *text);
        let text = |rule| part_of(rule).unwrap_or_default();
        let name = text(Rule::signal_name).to_owned();
        let mut warn = |problem: String| {
            warnings.push(DatabaseWarning {
                line,
                problem: format!("signal {} of {}: {problem}", shown(&name), shown(message)),
            });
        };
        let order = match part_of(Rule::little_endian) {
            Some(_) => ByteOrder::Intel,
            None => ByteOrder::Motorola,
        };
        // Without a size, it is one bit.
        let size = part_of(Rule::signal_size).unwrap_or("1");
        let (Ok(start), Ok(bits)) = (text(Rule::start_bit).parse(), size.parse::<u32>()) else {
            let (place, size) = (shown(text(Rule::start_bit)), shown(size));
            warn(format!(
                "{place}|{size} is not a place in a payload; it is left out"
            ));
            return None;
        };
        let Ok(bits) = u8::try_from(bits) else {
            warn(format!(
                "{bits} bits: a signal has 1 to 64 bits; it is left out"
            ));
            return None;
        };
        let layout = FieldLayout { start, bits, order };
        let field = match SignalField::new(layout, len) {
            Ok(field) => field,
            Err(error) => {
                warn(format!("{error}; it is left out"));
                return None;
            }
        };
        if field.end() > len {
            warn(format!("it ends in byte {} of {len}", field.end()));
        }
        let scale = (text(Rule::factor).parse(), text(Rule::offset).parse());
        let (Ok(factor), Ok(offset)) = scale else {
            warn("its factor or offset has more than 38 digits; it is left out".to_owned());
            return None;
        };
        let end = |rule| text(rule).parse().unwrap_or(Decimal::ZERO);
        Some(Self {
            line,
            indicator: text(Rule::multiplexer_indicator).to_owned(),
            layout,
            field,
            is_signed: part_of(Rule::signed_type).is_some(),
            factor,
            offset,
            range: (end(Rule::minimum), end(Rule::maximum)),
            unit: unquoted(text(Rule::unit)),
            receivers,
            name,
        })
    }
}

/// Returns the signals of a message with what other statements of the file add to them. Signals
/// whose multiplexer switch is unknown are left out, with a warning.
///
/// # Errors
/// [`DatabaseError`] at the signal with which the file has too many.
pub(super) fn resolve(
    raw: u32,
    message: &str,
    drafts: Vec<DraftSignal>,
    attributes: &DbcAttributes,
    statements: &SignalStatements,
    warnings: &mut Vec<DatabaseWarning>,
    room: &mut SignalRoom,
) -> Result<Vec<SignalDefinition>, DatabaseError> {
    let mut warn = |draft: &DraftSignal, problem: String| {
        warnings.push(DatabaseWarning {
            line: draft.line,
            problem: format!(
                "signal {} of {}: {problem}",
                shown(&draft.name),
                shown(message)
            ),
        });
    };
    let names: Vec<SwitchedName<'_>> = drafts
        .iter()
        .map(|draft| SwitchedName {
            name: &draft.name,
            indicator: &draft.indicator,
        })
        .collect();
    let additions_of = |name: &str| statements.of_signals.get(&(raw, name.to_owned()));
    let statement_of = |name: &str| additions_of(name)?.switch.clone();
    let mut switches = find_switches(&names, statement_of);
    for (index, problem) in without_root(&names, &switches) {
        warn(&drafts[index], format!("{problem}; it is left out"));
        switches[index] = Err(problem);
    }
    // A signal whose switch is left out has been left out for the same reason.
    let mut new_index = BTreeMap::new();
    let kept = drafts
        .iter()
        .zip(&switches)
        .filter(|(_, switch)| switch.is_ok());
    for (next, (draft, _)) in kept.enumerate() {
        new_index.entry(draft.name.clone()).or_insert(next);
    }
    let kept = drafts.into_iter().zip(switches);
    let kept = kept.filter_map(|(draft, switch)| Some((draft, switch.ok()?)));
    let mut signals = Vec::new();
    for (draft, switch) in kept {
        let additions = additions_of(&draft.name);
        let presence = match switch {
            None => SignalPresence::Always,
            Some(SwitchStatement { switch, values }) => SignalPresence::Switched {
                switch: new_index.get(&switch).copied().unwrap_or_default(),
                values,
            },
        };
        let is_float = additions.is_some_and(|one| one.is_float);
        let kind = match (is_float, draft.layout.bits) {
            (true, 32) => SignalKind::Float32,
            (true, 64) => SignalKind::Float64,
            _ if draft.is_signed => SignalKind::Signed,
            _ => SignalKind::Unsigned,
        };
        if is_float && !matches!(kind, SignalKind::Float32 | SignalKind::Float64) {
            let bits = draft.layout.bits;
            warn(
                &draft,
                format!("{bits} bits are not a float; it is taken as an integer"),
            );
        }
        let timeouts = attributes.receive_timeouts(raw, &draft.name, &draft.receivers);
        let mut receivers = Vec::new();
        for node in draft.receivers {
            let node = attributes.long_node(&node).unwrap_or(node);
            room.take_at(draft.line, 0, node_bytes(&node))?;
            receivers.push(node);
        }
        let signal = SignalDefinition {
            line: draft.line,
            substitutes: attributes.substitutes(raw, &draft.name),
            timeouts,
            comment: additions.map_or_else(String::new, |one| one.comment.clone()),
            name: attributes
                .long_signal(raw, &draft.name)
                .unwrap_or(draft.name),
            layout: draft.layout,
            field: draft.field,
            kind,
            factor: draft.factor,
            offset: draft.offset,
            range: draft.range,
            unit: draft.unit,
            receivers,
            presence,
            value_names: additions.map_or_else(Vec::new, |one| one.value_names.clone()),
        };
        let of_timeouts = signal.timeouts.iter();
        let of_timeouts = of_timeouts.map(|one| one.node.as_deref().map_or(0, node_bytes));
        let texts = signal.text_bytes() + of_timeouts.sum::<usize>();
        room.take_at(signal.line, 1, texts)?;
        signals.push(signal);
    }
    Ok(signals)
}
