//! The keys of the port.

use super::spec::{FallbackSpec, MakeSpec, SignalSpec, SourceSpec, UnboundSettings, ValueSpec};
use config::read::{self, by, later};
use config::{Diagnostics, KeySpec, SpannedValue, TomlTable, TomlValue, ValueShape};
use frame::Nanos;

config::settings! {
    /// The keys of a port that makes messages.
    struct PortKeys<'t> {
        /// The messages that the port makes, by their names in its `database`; see below.
        make: Option<TomlValue<'t>> = None
            => later(|| ValueShape::Named(Box::new(ValueShape::Table(MakeKeys::key_specs())))),
            value "tables", default "required",
            needed "add a table such as [ports.NAME.make.MESSAGE] with `every = \"100ms\"`",
            not "messages" "message" "send";
    }
}

config::settings! {
    /// The keys of a message that is made.
    struct MakeKeys<'t> {
        /// The cycle. The first frame is due one cycle after the start of the port; a late frame
        /// does not move the next one.
        every: Option<Nanos> = None => read::duration(), value "duration", default "none",
            not "cycle" "period" "interval" "cycle_time";
        /// A frame is due when a signal has another value than in the last frame; also in addition
        /// to a cycle.
        on_change: bool = false => read::boolean(), not "event" "changes";
        /// The least time between two frames. A frame that is due earlier waits.
        min_distance: Nanos = 0 => read::duration(), value "duration", default "0",
            not "minimum_distance" "delay" "min_delay" "debounce";
        /// A remote frame with the ID of the message that a route leads to this port gets the
        /// present values.
        answer_remote: bool = false => read::boolean(), not "remote" "rtr" "reply";
        /// A signal that counts the frames, from 0 to the highest value that the database states.
        counter: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, text),
            value "signal", default "none", not "alive" "alive_counter" "rolling_counter";
        /// The values of signals: a number in the signal's unit, the name of a value, or a table
        /// with
        /// `from`. Signals that are not named are 0.
        signals: Option<TomlValue<'t>> = None
            => later(|| ValueShape::Named(Box::new(ValueShape::Any(vec![
                ValueShape::Number(f64::MIN..=f64::MAX),
                ValueShape::Text,
                ValueShape::Table(SourceKeys::key_specs()),
            ])))),
            value "table", default "none", not "signal" "values" "set";
    }
}

config::settings! {
    /// The keys of a signal with a source.
    struct SourceKeys<'t> {
        /// The source: `"DATABASE.Message.Signal"`, or `"Message.Signal"` of the port's own
        /// database.
        from: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, text),
            value "signal", default "required", needed "add `from = \"DATABASE.Message.Signal\"`",
            not "source" "signal";
        /// The treatment of a value that the signal cannot have: `"saturate"`, `"drop"` (the former
        /// value stays), or `{ substitute = VALUE }`. Required if there can be such a value.
        overflow: Option<TomlValue<'t>> = None
            => later(|| choice(&["saturate", "drop"])),
            value "see left", default "none", not "out_of_range" "clamp" "saturate";
        /// The source is silent if it has no new value for this time.
        timeout: Option<SpannedValue<Nanos>> = None => by(|| ValueShape::Duration, duration),
            value "duration", default "never", not "max_age" "deadline";
        /// The value while the source is silent: `"hold"` (the last one), `"stop"` (the message is
        /// not sent), or `{ substitute = VALUE }`. Required with `timeout`.
        silent: Option<TomlValue<'t>> = None => later(|| choice(&["hold", "stop"])),
            value "see left", default "none", not "on_timeout" "substitute" "default";
        /// A signal of the message that is 1 while the source is silent, and otherwise 0.
        status: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, text),
            value "signal", default "none", not "valid" "invalid" "status_bit";
    }
}

fn choice(words: &[&'static str]) -> ValueShape {
    let substitute = ValueShape::Any(vec![
        ValueShape::Number(f64::MIN..=f64::MAX),
        ValueShape::Text,
    ]);
    let key = KeySpec::new("substitute", substitute, "The value, in the signal's unit.");
    ValueShape::Any(vec![
        ValueShape::Words(words.to_vec()),
        ValueShape::Table(vec![key.needed()]),
    ])
}

fn text(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<String>> {
    Some(value.string(found)?.map(ToOwned::to_owned))
}

fn duration(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<Nanos>> {
    value.duration(found)
}

fn make(
    name: &SpannedValue<&str>,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<MakeSpec> {
    let mut table = value.table(format!("message `{}`", name.value), found)?;
    let keys = MakeKeys::read(&mut table, found);
    if keys.every == Some(0) {
        table.wrong(
            "every",
            "a cycle of 0 is no time",
            "leave it out, or write \"10ms\"",
            found,
        );
    }
    if let Some(every) = keys.every
        && every < keys.min_distance
    {
        let message = "the least distance is longer than the cycle";
        table.wrong("min_distance", message, "make it the cycle at most", found);
    }
    if keys.every.is_none() && !keys.on_change && !keys.answer_remote {
        let hint = "add `every = \"100ms\"`, `on_change = true` or `answer_remote = true`";
        table.missing("every", hint, found);
    }
    let signals = keys
        .signals
        .and_then(|value| value.table(format!("`signals` of message `{}`", name.value), found))
        .map(|table| table.all())
        .unwrap_or_default();
    let signals = signals.into_iter();
    let signals = signals.filter_map(|(signal, value)| {
        let spec = signal_spec(&signal, &value, found)?;
        Some((signal.map(ToOwned::to_owned), spec))
    });
    let signals = signals.collect();
    table.finish(found);
    Some(MakeSpec {
        name: name.clone().map(ToOwned::to_owned),
        every: keys.every,
        on_change: keys.on_change,
        min_distance: keys.min_distance,
        answer_remote: keys.answer_remote,
        counter: keys.counter,
        signals,
    })
}

fn signal_spec(
    name: &SpannedValue<&str>,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<SignalSpec> {
    if !value.is_table() {
        return value_spec(value, found).map(SignalSpec::Constant);
    }
    let mut table = value.table(format!("signal `{}`", name.value), found)?;
    let keys = SourceKeys::read(&mut table, found);
    let overflow = keys.overflow;
    let overflow = overflow.and_then(|value| fallback(&value, &["saturate", "drop"], found));
    let silent = keys.silent;
    let silent = silent.and_then(|value| fallback(&value, &["hold", "stop"], found));
    match (&keys.timeout, table.has("silent")) {
        (Some(_), false) => {
            let hint =
                "add `silent = \"hold\"`, `silent = \"stop\"` or `silent = { substitute = VALUE }`";
            table.missing("silent", hint, found);
        }
        (None, true) if !table.has("timeout") => {
            let hint = "add `timeout = \"500ms\"`, or leave `silent` out";
            table.wrong("silent", "`silent` needs a `timeout`", hint, found);
        }
        _ => {}
    }
    if keys.status.is_some() && !table.has("timeout") {
        let hint = "add `timeout = \"500ms\"`, or leave `status` out";
        table.wrong("status", "`status` needs a `timeout`", hint, found);
    }
    table.finish(found);
    Some(SignalSpec::Source(SourceSpec {
        from: keys.from?,
        overflow,
        timeout: keys.timeout,
        silent,
        status: keys.status,
    }))
}

fn fallback(
    value: &TomlValue<'_>,
    words: &'static [&'static str],
    found: &mut Diagnostics,
) -> Option<FallbackSpec> {
    if value.is_table() {
        let mut table = value.table(format!("`{}`", value.name()), found)?;
        let given = table.need("substitute", found);
        table.finish(found);
        return value_spec(&given?, found).map(FallbackSpec::Substitute);
    }
    let pairs: Vec<(&'static str, &'static str)> =
        words.iter().map(|word| (*word, *word)).collect();
    Some(FallbackSpec::Word(value.one_of(&pairs, found)?.value))
}

/// Reads a number exactly, or the name of a value.
fn value_spec(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<ValueSpec>> {
    if let Some(name) = value.as_str() {
        return Some(value.at(ValueSpec::Name(name.to_owned())));
    }
    let number = value.as_decimal().and_then(|text| text.parse().ok());
    match number {
        Some(number) => Some(value.at(ValueSpec::Number(number))),
        None => {
            value.expected("a number, or the name of a value in quotes", found);
            None
        }
    }
}

/// Returns the keys of the port, apart from `database`.
pub(super) fn keys() -> Vec<KeySpec> {
    PortKeys::key_specs()
}

impl UnboundSettings {
    pub(super) fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = PortKeys::read(table, found);
        let database = table.string("database", found);
        if database.is_none() && !table.has("database") {
            let hint = "add `database = \"NAME\"`, the name of a table [databases.NAME]";
            table.missing("database", hint, found);
        }
        let makes = keys
            .make
            .and_then(|value| value.table("`make`", found))
            .map(|table| table.all())
            .unwrap_or_default();
        let makes = makes.into_iter();
        let makes = makes.filter_map(|(name, value)| make(&name, &value, found));
        Self {
            makes: makes.collect(),
            database: database.map(|name| name.map(ToOwned::to_owned)),
        }
    }
}
