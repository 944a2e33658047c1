//! Signals as lines on standard output: text or CSV.

use crate::SelectedMessage;
use logs::LoggedFrame;
use signals::{MessageDefinition, RawValue, SignalDefinition, SignalState};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufWriter, Read, StdoutLock, Write as _};
use std::rc::Rc;

/// The columns of CSV.
const COLUMNS: &str = "time,port,message,signal,raw,value,unit";

/// The form of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineForm {
    /// `(1.500000) can0 EngineData: Speed=12.5 km/h, Gear=Drive (3)`: a line for each frame.
    Text,
    /// A row for each signal, with the columns `time,port,message,signal,raw,value,unit`.
    Csv,
}

/// A writer of lines to standard output.
#[derive(Debug)]
pub struct SignalLines {
    out: Rc<RefCell<LineOutput>>,
    form: LineForm,
    /// The texts of each message, by its index in the selection.
    texts: Vec<MessageTexts>,
    /// The lines of one frame.
    text: String,
    /// The columns of CSV that all signals of a frame share.
    start: String,
    has_begun: bool,
}

/// The parts of lines that all frames of a message share.
#[derive(Debug)]
struct MessageTexts {
    /// After the interface: the separator, the name, and for CSV a comma.
    name: String,
    /// For each selected signal the text before its value, and the text after it.
    signals: Vec<(String, String)>,
}

impl MessageTexts {
    fn new(form: LineForm, message: &SelectedMessage<'_>) -> Self {
        let MessageDefinition { name, signals, .. } = message.definition;
        let chosen = message
            .signals
            .iter()
            .filter_map(|&index| signals.get(index));
        match form {
            LineForm::Text => Self {
                name: format!(" {name}"),
                signals: chosen
                    .map(|signal| (format!("{}=", signal.name), spaced(&signal.unit)))
                    .collect(),
            },
            LineForm::Csv => Self {
                name: format!(",{},", field(name)),
                signals: chosen
                    .map(|signal| {
                        let before = format!("{},", field(&signal.name));
                        (before, format!(",{}\n", field(&signal.unit)))
                    })
                    .collect(),
            },
        }
    }
}

/// Standard output, and the first error of writing to it while input was read.
#[derive(Debug)]
struct LineOutput {
    out: BufWriter<StdoutLock<'static>>,
    error: Option<io::Error>,
}

/// Input that is still being produced: before each piece is awaited, the lines so far are shown.
#[derive(Debug)]
pub struct LiveInput<R> {
    input: R,
    out: Rc<RefCell<LineOutput>>,
}

impl<R: Read> Read for LiveInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut output = self.out.borrow_mut();
        if let Err(error) = output.out.flush() {
            // It is an error of the output, which ends the input.
            output.error = Some(error);
            return Ok(0);
        }
        drop(output);
        self.input.read(buffer)
    }
}

impl SignalLines {
    /// Returns a writer of these messages. Nothing is written before the first frame.
    #[must_use]
    pub fn new(form: LineForm, messages: &[SelectedMessage<'_>]) -> Self {
        let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Self {
            out: Rc::new(RefCell::new(LineOutput { out, error: None })),
            form,
            texts: messages
                .iter()
                .map(|message| MessageTexts::new(form, message))
                .collect(),
            text: String::new(),
            start: String::new(),
            has_begun: false,
        }
    }

    /// Returns the input such that lines are shown before it waits for more.
    pub fn attend<R: Read>(&self, input: R) -> LiveInput<R> {
        let out = Rc::clone(&self.out);
        LiveInput { input, out }
    }

    /// Writes the signals of a frame; returns the number of signals that it is too short for.
    /// `number`: the index of its message in the selection.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn write(
        &mut self,
        logged: &LoggedFrame,
        number: usize,
        message: &SelectedMessage<'_>,
        payload: &[u8],
    ) -> io::Result<u64> {
        self.begin()?;
        let Some(texts) = self.texts.get(number) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let text = &mut self.text;
        text.clear();
        let too_short = match self.form {
            LineForm::Text => add_line(text, texts, logged, message, payload),
            LineForm::Csv => add_rows(text, &mut self.start, texts, logged, message, payload),
        };
        let mut output = self.out.borrow_mut();
        output.out.write_all(self.text.as_bytes())?;
        Ok(too_short)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Those of standard output, also when it was written while input was awaited.
    pub fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        let mut output = self.out.borrow_mut();
        match output.error.take() {
            Some(error) => Err(error),
            None => output.out.flush(),
        }
    }

    /// Writes the columns of CSV.
    fn begin(&mut self) -> io::Result<()> {
        if !self.has_begun && self.form == LineForm::Csv {
            writeln!(self.out.borrow_mut().out, "{COLUMNS}")?;
        }
        self.has_begun = true;
        Ok(())
    }
}

/// Adds a line such as `(1.500000) can0 EngineData: Speed=12.5 km/h, Gear=Drive (3)`. Where some
/// signals are not selected and the frame has none of the others, there is no line.
fn add_line(
    text: &mut String,
    texts: &MessageTexts,
    logged: &LoggedFrame,
    message: &SelectedMessage<'_>,
    payload: &[u8],
) -> u64 {
    text.push('(');
    add_time::<6>(text, logged.ns / 1000);
    text.push_str(") ");
    text.push_str(logged.interface.as_str());
    text.push_str(&texts.name);
    let (mut too_short, mut separator) = (0, ": ");
    for ((before, unit), signal, raw) in values(texts, message, payload, &mut too_short) {
        text.push_str(separator);
        separator = ", ";
        text.push_str(before);
        match signal.name_of(raw) {
            Some(name) => {
                text.push_str(&plain(name));
                text.push_str(" (");
                raw.append_to(text);
                text.push(')');
            }
            None => {
                signal.physical(raw).append_to(text);
                text.push_str(unit);
            }
        }
    }
    if separator == ": " && message.is_partial {
        text.clear();
    } else {
        text.push('\n');
    }
    too_short
}

/// Adds a row of CSV for each signal. `start` is memory for the columns that they share.
fn add_rows(
    text: &mut String,
    start: &mut String,
    texts: &MessageTexts,
    logged: &LoggedFrame,
    message: &SelectedMessage<'_>,
    payload: &[u8],
) -> u64 {
    start.clear();
    add_time::<9>(start, logged.ns);
    start.push(',');
    start.push_str(&field(logged.interface.as_str()));
    start.push_str(&texts.name);
    let mut too_short = 0;
    for ((before, after), signal, raw) in values(texts, message, payload, &mut too_short) {
        text.push_str(start);
        text.push_str(before);
        raw.append_to(text);
        text.push(',');
        signal.physical(raw).append_to(text);
        text.push_str(after);
    }
    too_short
}

/// Returns the selected signals that a payload contains, with their texts and raw values; counts
/// those that it is too short for.
fn values<'m>(
    texts: &'m MessageTexts,
    message: &'m SelectedMessage<'_>,
    payload: &'m [u8],
    too_short: &'m mut u64,
) -> impl Iterator<Item = (&'m (String, String), &'m SignalDefinition, RawValue)> {
    let signals = message.signals.iter().zip(&texts.signals);
    signals.filter_map(
        |(&index, texts)| match message.definition.read(index, payload) {
            SignalState::Value(raw) => Some((texts, message.definition.signals.get(index)?, raw)),
            SignalState::Switched => None,
            SignalState::TooShort => {
                *too_short += 1;
                None
            }
        },
    )
}

/// Adds a time as seconds with `PLACES` decimal places; it is a multiple of the last one.
fn add_time<const PLACES: u32>(text: &mut String, time: u64) {
    let second = const { 10_u64.pow(PLACES) };
    RawValue::Unsigned(time / second).append_to(text);
    text.push('.');
    let mut divisor = second;
    while divisor > 1 {
        divisor /= 10;
        text.push(char::from(b'0' + (time / divisor % 10) as u8));
    }
}

/// Returns text from a database without control characters, which would break the lines.
fn plain(text: &str) -> Cow<'_, str> {
    match text.chars().any(char::is_control) {
        true => text.replace(char::is_control, " ").into(),
        false => text.into(),
    }
}

/// Returns a unit with a space before it; nothing if there is none.
fn spaced(unit: &str) -> String {
    match unit {
        "" => String::new(),
        unit => format!(" {}", plain(unit)),
    }
}

/// Returns a field of CSV (RFC 4180).
fn field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}
