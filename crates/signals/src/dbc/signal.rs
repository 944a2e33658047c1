//! Signals: `SG_`, and the statements about signals.

use super::attributes::{DbcAttributes, unquoted};
use super::{node, raw_id};
use crate::decimal::Decimal;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::DatabaseWarning;
use crate::signal::{SignalDefinition, SignalKind, SignalPresence, ValueName};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
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

/// The switch of a signal, and its values: `SG_MUL_VAL_`.
#[derive(Clone)]
struct SwitchStatement {
    switch: String,
    values: Vec<RangeInclusive<u64>>,
}

/// Statements about signals that are apart from their messages.
#[derive(Default)]
pub(super) struct SignalStatements {
    /// Signals that `SIG_VALTYPE_` makes floating-point numbers.
    floats: BTreeMap<SignalKey, ()>,
    value_names: BTreeMap<SignalKey, Vec<ValueName>>,
    switches: BTreeMap<SignalKey, SwitchStatement>,
}

impl SignalStatements {
    /// Adds a `SIG_VALTYPE_`, `VAL_` or `SG_MUL_VAL_`. A `VAL_` of an environment variable has no
    /// ID, and is passed over.
    pub(super) fn add(&mut self, statement: Pair<'_, Rule>) {
        let rule = statement.as_rule();
        let mut parts = statement.into_inner().peekable();
        let id = parts.next_if(|part| part.as_rule() == Rule::message_id);
        let id = id.and_then(|id| raw_id(&id).ok());
        let (Some(id), Some(name)) = (id, parts.next()) else {
            return;
        };
        let key = (id, name.as_str().to_owned());
        match rule {
            Rule::signal_value_type => {
                let is_float = |part: Pair<'_, Rule>| part.as_rule() != Rule::sig_val_integer;
                if parts.next().is_some_and(is_float) {
                    self.floats.insert(key, ());
                }
            }
            Rule::value_table_def => {
                self.value_names
                    .insert(key, parts.filter_map(value_name).collect());
            }
            _ => {
                let Some(switch) = parts.next() else { return };
                let switch = switch.as_str().to_owned();
                let values = parts.filter_map(value_range).collect();
                self.switches
                    .insert(key, SwitchStatement { switch, values });
            }
        }
    }
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
        warnings: &mut Vec<DatabaseWarning>,
    ) -> Option<Self> {
        let mut parts = BTreeMap::new();
        let mut receivers = Vec::new();
        // The statement begins with the line break before it.
        let mut line = statement.line_col().0;
        for part in statement.into_inner() {
            match part.as_rule() {
                Rule::node_name => receivers.extend(node(part.as_str())),
                Rule::min_max => {
                    let ends = part.into_inner().map(|end| (end.as_rule(), end.as_str()));
                    parts.extend(ends);
                }
                rule => {
                    if rule == Rule::signal_name {
                        line = part.line_col().0;
                    }
                    parts.insert(rule, part.as_str());
                }
            }
        }
        let text = |rule| parts.get(&rule).copied().unwrap_or_default();
        let name = text(Rule::signal_name).to_owned();
        let mut warn = |problem: String| {
            warnings.push(DatabaseWarning {
                line,
                problem: format!("signal {name} of {message}: {problem}"),
            });
        };
        let order = match parts.contains_key(&Rule::little_endian) {
            true => ByteOrder::Intel,
            false => ByteOrder::Motorola,
        };
        // Without a size, it is one bit.
        let size = parts.get(&Rule::signal_size).copied().unwrap_or("1");
        let (Ok(start), Ok(bits)) = (text(Rule::start_bit).parse(), size.parse()) else {
            let place = text(Rule::start_bit);
            warn(format!(
                "{place}|{size} is not a place in a payload; it is left out"
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
            is_signed: parts.contains_key(&Rule::signed_type),
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
pub(super) fn resolve(
    raw: u32,
    message: &str,
    drafts: Vec<DraftSignal>,
    attributes: &DbcAttributes,
    statements: &SignalStatements,
    warnings: &mut Vec<DatabaseWarning>,
) -> Vec<SignalDefinition> {
    let mut warn = |draft: &DraftSignal, problem: String| {
        warnings.push(DatabaseWarning {
            line: draft.line,
            problem: format!("signal {} of {message}: {problem}", draft.name),
        });
    };
    let mut switches = Vec::new();
    for draft in &drafts {
        let own = statements.switches.get(&(raw, draft.name.clone()));
        switches.push(match own {
            Some(own) => Ok(Some(own.clone())),
            None => by_indicator(draft, &drafts),
        });
    }
    for (index, draft) in drafts.iter().enumerate() {
        if let Err(problem) = leads_to_root(index, &drafts, &switches) {
            warn(draft, format!("{problem}; it is left out"));
            switches[index] = Err(problem);
        }
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
        let key = (raw, draft.name.clone());
        let presence = match switch {
            None => SignalPresence::Always,
            Some(SwitchStatement { switch, values }) => SignalPresence::Switched {
                switch: new_index.get(&switch).copied().unwrap_or_default(),
                values,
            },
        };
        let is_float = statements.floats.contains_key(&key);
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
        signals.push(SignalDefinition {
            line: draft.line,
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
            receivers: draft
                .receivers
                .into_iter()
                .map(|node| attributes.long_node(&node).unwrap_or(node))
                .collect(),
            presence,
            value_names: statements
                .value_names
                .get(&key)
                .cloned()
                .unwrap_or_default(),
        });
    }
    signals
}

/// The switch of a signal, if it has one, or the reason why it is unknown.
type SwitchResult = Result<Option<SwitchStatement>, String>;

/// Returns the switch by the indicator of the `SG_`: the only signal marked `M` of the message.
fn by_indicator(draft: &DraftSignal, drafts: &[DraftSignal]) -> SwitchResult {
    let Some(number) = draft.indicator.strip_prefix('m') else {
        return Ok(None);
    };
    let number = number.strip_suffix('M').unwrap_or(number);
    let Ok(value) = number.parse::<u64>() else {
        return Err("`m` without a value (`M` marks the switch itself)".to_owned());
    };
    let mut marked = drafts.iter().filter(|other| other.indicator == "M");
    match (marked.next(), marked.next()) {
        (Some(switch), None) => Ok(Some(SwitchStatement {
            switch: switch.name.clone(),
            values: Vec::from([value..=value]),
        })),
        (None, _) => Err("no signal of the message is its multiplexer switch (`M`)".to_owned()),
        (Some(_), Some(_)) => Err(
            "several signals are marked as multiplexer switch (`M`), and no SG_MUL_VAL_ names its own".to_owned(),
        ),
    }
}

/// Checks that the switches of a signal lead to a signal that each frame contains.
fn leads_to_root(
    index: usize,
    drafts: &[DraftSignal],
    switches: &[SwitchResult],
) -> Result<(), String> {
    let mut at = index;
    for _ in 0..=drafts.len() {
        let name = match &switches[at] {
            Ok(None) => return Ok(()),
            Ok(Some(own)) => &own.switch,
            Err(problem) => return Err(problem.to_string()),
        };
        match drafts.iter().position(|draft| draft.name == *name) {
            Some(switch) => at = switch,
            None => {
                return Err(format!(
                    "its multiplexer switch {name} is not in the message"
                ));
            }
        }
    }
    Err("its multiplexer switches depend on one another".to_owned())
}
