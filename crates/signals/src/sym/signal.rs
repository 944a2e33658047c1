//! Signals: `Sig`, `Var` and `Mux`, and the names of `Enum`.

use super::tokens::{SymStatement, Token};
use super::{SymReader, SymbolDraft};
use crate::DatabaseError;
use crate::decimal::Decimal;
use crate::define_signal::identifier;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::MessageDefinition;
use crate::room::{bytes_of_copies, name_bytes};
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind, SignalPresence, ValueName};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

/// The names of the values of each enumeration.
pub(super) type EnumTable = BTreeMap<String, Rc<[ValueName]>>;

/// A signal whose place in a message may be open. A clone has the same texts in memory.
#[derive(Clone)]
pub(super) struct SignalDraft<'a> {
    line: usize,
    name: Rc<str>,
    /// As in the file: for big-endian signals counted from bit 7 of byte 0.
    start: u16,
    bits: u32,
    order: ByteOrder,
    kind: SignalKind,
    factor: Decimal,
    offset: Decimal,
    range: (Option<Decimal>, Option<Decimal>),
    unit: Rc<str>,
    comment: &'a str,
    names: Rc<[ValueName]>,
}

impl<'a> SignalDraft<'a> {
    /// Reads a `Sig` of the section of signals, or a `Var`, which has its place with it.
    pub(super) fn read(
        values: &[Token<'_>],
        has_place: bool,
        enums: &EnumTable,
        statement: &SymStatement<'a>,
    ) -> Result<Self, String> {
        let [name, kind, rest @ ..] = values else {
            return Err("a name and a type are expected".to_owned());
        };
        let (place, rest) = match rest {
            [start, Token::Mark(','), bits, rest @ ..] if has_place => {
                ((Some(start.text()), Some(bits.text())), rest)
            }
            _ if has_place => return Err("no place, such as 0,8".to_owned()),
            [Token::Word(bits), rest @ ..] if !bits.starts_with('-') => ((None, Some(*bits)), rest),
            _ => ((None, None), rest),
        };
        let whole = |text: Option<&str>, default| match text {
            Some(text) => text
                .parse::<u32>()
                .map_err(|_| format!("`{}` is not a number of bits", shown(text))),
            None => Ok(default),
        };
        let stated = whole(place.1, 0)?;
        let start = u16::try_from(whole(place.0, 0)?);
        let (kind, bits) = match kind.text() {
            "signed" => (SignalKind::Signed, stated),
            "float" => (SignalKind::Float32, 32),
            "double" => (SignalKind::Float64, 64),
            "bit" => (SignalKind::Unsigned, 1),
            "char" => (SignalKind::Unsigned, 8),
            _ => (SignalKind::Unsigned, stated),
        };
        let mut draft = Self {
            line: statement.line,
            name: identifier(name.text()).into(),
            start: start.map_err(|_| "its start bit is in no payload".to_owned())?,
            bits,
            order: ByteOrder::Intel,
            kind,
            factor: Decimal::ONE,
            offset: Decimal::ZERO,
            range: (None, None),
            unit: Rc::default(),
            comment: statement.comment,
            names: Rc::default(),
        };
        match values[1].text() {
            "bit" => draft.range = (Some(Decimal::ZERO), Some(Decimal::ONE)),
            "signed" | "unsigned" | "float" | "double" | "char" | "string" | "raw" => {}
            name => draft.names = names_of(name, enums)?,
        }
        draft.read_options(rest, enums)?;
        Ok(draft)
    }

    /// Reads what follows the type and the place.
    fn read_options(&mut self, tokens: &[Token<'_>], enums: &EnumTable) -> Result<(), String> {
        for token in tokens {
            let (key, value) = match token {
                Token::Word("-m") => {
                    self.order = ByteOrder::Motorola;
                    continue;
                }
                Token::Option(key, value) => (*key, value),
                // How a program shows the value.
                _ => continue,
            };
            let decimal = || {
                let number = value.parse::<Decimal>();
                number.map_err(|error| format!("/{}:{} is {error}", shown(key), shown(value)))
            };
            match key {
                "u" => self.unit = value.as_str().into(),
                "f" => self.factor = decimal()?,
                "o" => self.offset = decimal()?,
                "min" => self.range.0 = Some(decimal()?),
                "max" => self.range.1 = Some(decimal()?),
                "e" => self.names = names_of(value, enums)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a `Mux`: the name of a value of the switch, the switch's place, and the value.
    pub(super) fn read_switch(
        values: &[Token<'_>],
        statement: &SymStatement<'a>,
    ) -> Result<(Self, u64), String> {
        let [name, start, Token::Mark(','), bits, value, rest @ ..] = values else {
            return Err("a name, a place such as 0,8 and a value are expected".to_owned());
        };
        let place = [
            Token::Word("unsigned"),
            start.clone(),
            Token::Mark(','),
            bits.clone(),
        ];
        let tokens: Vec<Token<'_>> = [name.clone()]
            .into_iter()
            .chain(place)
            .chain(rest.iter().cloned())
            .collect();
        let mut draft = Self::read(&tokens, true, &BTreeMap::new(), statement)?;
        let value = value.text();
        let number = match value.strip_suffix(['h', 'H']) {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        };
        let number =
            number.ok_or_else(|| format!("`{}` is not a value of a switch", shown(value)))?;
        draft.names = Rc::new([ValueName {
            raw: number.into(),
            name: name.text().to_owned(),
        }]);
        Ok((draft, number))
    }

    /// Returns the signal at a start bit.
    pub(super) fn at(&self, start: &str, line: usize) -> Result<Self, String> {
        let start = start.parse();
        Ok(Self {
            start: start.map_err(|_| format!("{} has no start bit", shown(&self.name)))?,
            line,
            ..self.clone()
        })
    }

    /// Returns the signal in messages of `len` bytes.
    fn define(&self, len: usize) -> Result<SignalDefinition, String> {
        let bits = self.bits;
        let layout = FieldLayout {
            start: match self.order {
                ByteOrder::Intel => self.start,
                ByteOrder::Motorola => FieldLayout::motorola_start(self.start),
            },
            bits: u8::try_from(bits)
                .map_err(|_| format!("{bits} bits: a signal has 1 to 64 bits"))?,
            order: self.order,
        };
        let field = SignalField::new(layout, len).map_err(|error| format!("{error}"))?;
        let mut signal = SignalDefinition::new(self.line, (*self.name).to_owned(), layout, field);
        signal.kind = self.kind;
        (signal.factor, signal.offset) = (self.factor, self.offset);
        signal.set_range(self.range.0, self.range.1);
        signal.unit = (*self.unit).to_owned();
        signal.comment = self.comment.to_owned();
        signal.value_names = self.names.to_vec();
        Ok(signal)
    }

    /// Returns the bytes of the texts in its definition.
    fn text_bytes(&self) -> usize {
        self.name.len() + self.unit.len() + self.comment.len() + name_bytes(&self.names)
    }
}

impl SymReader<'_> {
    /// Adds the signals of a message's symbols; `copies` is the number of messages with them.
    /// Signals that no payload can contain are left out, with a warning.
    ///
    /// # Errors
    /// [`DatabaseError`] at the signal with which the file has too many.
    pub(super) fn read_signals(
        &mut self,
        symbols: Vec<SymbolDraft<'_>>,
        copies: usize,
        message: &mut MessageDefinition,
    ) -> Result<(), DatabaseError> {
        let mut switch = None;
        for symbol in symbols {
            let mut presence = SignalPresence::Always;
            if let Some((draft, value)) = symbol.switch {
                // All symbols have the same switch, which has the name of its first value.
                let index = match switch {
                    Some(index) => {
                        let texts = bytes_of_copies(name_bytes(&draft.names), copies, 0);
                        self.take(draft.line, 0, texts)?;
                        let first: &mut SignalDefinition = &mut message.signals[index];
                        first.value_names.extend(draft.names.iter().cloned());
                        index
                    }
                    None => match self.push(&draft, copies, message)? {
                        Some(index) => index,
                        None => continue,
                    },
                };
                switch = Some(index);
                presence = SignalPresence::Switched {
                    switch: index,
                    values: Vec::from([value..=value]),
                };
            }
            for draft in symbol.signals {
                if let Some(index) = self.push(&draft, copies, message)? {
                    message.signals[index].presence = presence.clone();
                }
            }
        }
        Ok(())
    }

    /// Adds a signal, and returns its index.
    fn push(
        &mut self,
        draft: &SignalDraft<'_>,
        copies: usize,
        message: &mut MessageDefinition,
    ) -> Result<Option<usize>, DatabaseError> {
        // A warning about the signal has the names of both.
        let texts = bytes_of_copies(draft.text_bytes(), copies, message.name.len());
        self.take(draft.line, copies, texts)?;
        match draft.define(message.len) {
            Ok(signal) => {
                message.signals.push(signal);
                Ok(Some(message.signals.len() - 1))
            }
            Err(problem) => {
                let (name, message) = (shown(&draft.name), shown(&message.name));
                let problem = format!("signal {name} of {message}: {problem}; it is left out");
                self.warn(draft.line, &problem);
                Ok(None)
            }
        }
    }
}

fn names_of(name: &str, enums: &EnumTable) -> Result<Rc<[ValueName]>, String> {
    let names = enums.get(name);
    names
        .cloned()
        .ok_or_else(|| format!("{} is not one of the {{ENUMS}}", shown(name)))
}

/// Reads the values of an `Enum` in their parentheses.
pub(super) fn read_names(tokens: &[Token<'_>]) -> Result<Vec<ValueName>, String> {
    let mut names = Vec::new();
    let marks = |token: &&[Token<'_>]| {
        token
            .iter()
            .any(|token| !matches!(token, Token::Mark('(' | ')')))
    };
    let parts = tokens.split(|token| *token == Token::Mark(','));
    for part in parts.filter(marks) {
        let part: Vec<&Token<'_>> = part
            .iter()
            .filter(|token| !matches!(token, Token::Mark('(' | ')')))
            .collect();
        let named = match part[..] {
            [raw, Token::Mark('='), Token::Text(name)] => {
                let raw = raw.text().parse::<Decimal>().ok();
                raw.and_then(Decimal::to_i128).map(|raw| ValueName {
                    raw,
                    name: name.clone(),
                })
            }
            _ => None,
        };
        names.push(named.ok_or("a value is not written as in 1=\"name\"")?);
    }
    Ok(names)
}
