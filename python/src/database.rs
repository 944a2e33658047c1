//! Databases of messages: the signals of frames.

use crate::frames;
use frame::CanId;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use signals::{
    IndexedDatabase, MessageDefinition, PhysicalValue, RawValue, ReadError, SignalDefinition,
    SignalKind, SignalScale, SignalState,
};

/// A column of values for Python: the signal's name, `float64` values, and for each a byte that is
/// 1 if the value is there.
type SignalColumn<'py> = (String, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A message for Python: name, number, whether the ID has 29 bits, length, and the names of its
/// signals with their units.
type MessageParts = (String, u32, bool, usize, Vec<(String, String)>);

/// The messages of a bus with their signals.
#[pyclass(frozen, module = "cangate._core")]
pub(crate) struct SignalDatabase {
    indexed: IndexedDatabase,
}

#[pymethods]
impl SignalDatabase {
    /// Reads a database; `name` is for errors.
    #[new]
    fn new(py: Python<'_>, name: &str, bytes: &[u8]) -> PyResult<Self> {
        let wrong = |error: ReadError| {
            let hint = error.hint().map(|hint| format!(": {hint}"));
            PyValueError::new_err(format!("{name}: {error}{}", hint.unwrap_or_default()))
        };
        let database = py.detach(|| signals::read_messages(bytes)).map_err(wrong)?;
        Ok(Self {
            indexed: IndexedDatabase::new(database),
        })
    }

    /// Returns the names of all messages with number, whether the ID has 29 bits, length, and the
    /// names of their signals with the units.
    fn messages(&self) -> Vec<MessageParts> {
        let signals = |m: &MessageDefinition| {
            let all = m.signals.iter();
            all.map(|s| (s.name.clone(), s.unit.clone())).collect()
        };
        let all = self.indexed.database().messages.iter();
        let each = all.map(|m| {
            let id = (m.id.number(), m.id.is_eff());
            (m.name.clone(), id.0, id.1, m.len, signals(m))
        });
        each.collect()
    }

    /// Returns the name of the message of a frame; `None` for an unknown ID.
    fn message_of(&self, parts: (u32, u8, Vec<u8>, usize)) -> Option<&str> {
        Some(&self.of_frame(parts.0, parts.1)?.name)
    }

    /// Returns the lines of doubtful statements and what is doubtful.
    fn warnings(&self) -> Vec<(usize, String)> {
        let all = self.indexed.database().warnings.iter();
        all.map(|w| (w.line, w.problem.clone())).collect()
    }

    /// Returns the values of a frame by the names of the signals; `None` for an unknown ID.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        parts: (u32, u8, Vec<u8>, usize),
        names: bool,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (id, flags, data, _) = parts;
        let Some(message) = self.of_frame(id, flags) else {
            return Ok(None);
        };
        let values = PyDict::new(py);
        for (signal, raw) in message.decode(&data) {
            match signal.name_of(raw).filter(|_| names) {
                Some(name) => values.set_item(&signal.name, name)?,
                None => values.set_item(&signal.name, value(py, signal, raw)?)?,
            }
        }
        Ok(Some(values))
    }

    /// Returns a column of `float64` for each signal of a message, in this machine's byte order,
    /// and a byte for each value: 1 if the payload has it. `id` chooses one of several messages of
    /// the name, as in [`SignalDatabase::messages`]. `data` has `width` bytes for each frame.
    #[pyo3(signature = (message, id, data, lengths, width))]
    fn columns<'py>(
        &self,
        py: Python<'py>,
        message: &str,
        id: Option<(u32, bool)>,
        data: &[u8],
        lengths: &[u8],
        width: usize,
    ) -> PyResult<Vec<SignalColumn<'py>>> {
        if data.len() != lengths.len() * width {
            return Err(PyValueError::new_err(format!(
                "{} lengths and {} bytes of data in rows of {width}: give each frame one of each",
                lengths.len(),
                data.len()
            )));
        }
        let message = self.named(message, id)?;
        let mut columns = Vec::with_capacity(message.signals.len());
        for (index, signal) in message.signals.iter().enumerate() {
            let scale = SignalScale::new(signal);
            let mut values = Vec::with_capacity(lengths.len() * 8);
            let mut present = Vec::with_capacity(lengths.len());
            for (row, len) in lengths.iter().enumerate() {
                let len = usize::from(*len).min(width);
                let payload = data.get(row * width..row * width + len).unwrap_or_default();
                let found = match message.read(index, payload) {
                    SignalState::Value(raw) => Some(scale.value(raw)),
                    SignalState::Switched | SignalState::TooShort => None,
                };
                present.push(u8::from(found.is_some()));
                values.extend_from_slice(&found.unwrap_or(f64::NAN).to_ne_bytes());
            }
            columns.push((
                signal.name.clone(),
                PyBytes::new(py, &values),
                PyBytes::new(py, &present),
            ));
        }
        Ok(columns)
    }
}

impl SignalDatabase {
    /// Returns the message of frames with this ID and these flags.
    fn of_frame(&self, id: u32, flags: u8) -> Option<&MessageDefinition> {
        let flag = |bit| flags & bit != 0;
        if flag(frames::bits::ERROR) {
            return None;
        }
        let id = match flag(frames::bits::EXTENDED) {
            true => CanId::eff(id),
            false => CanId::sff(id),
        };
        self.indexed.find(id.ok()?)
    }

    /// Returns the message of this name, and of this ID if there is one.
    fn named(&self, name: &str, id: Option<(u32, bool)>) -> PyResult<&MessageDefinition> {
        let messages = &self.indexed.database().messages;
        let is = |m: &&MessageDefinition| {
            m.name == name && id.is_none_or(|id| id == (m.id.number(), m.id.is_eff()))
        };
        let mut found = messages.iter().filter(is);
        let Some(first) = found.next() else {
            let hint = config::did_you_mean(name, messages.iter().map(|m| m.name.as_str()));
            return Err(PyKeyError::new_err(format!(
                "there is no message {name:?}: {hint}"
            )));
        };
        // Of several messages with one ID, the first one counts, as for frames.
        match found.find(|other| other.id != first.id) {
            None => Ok(first),
            Some(other) => Err(PyKeyError::new_err(format!(
                "{name:?} is the name of messages {} and {}: give one of `messages` of the \
                 database instead of the name",
                first.id, other.id
            ))),
        }
    }
}

/// Returns a value for Python: an integer if all values of the signal are.
fn value<'py>(
    py: Python<'py>,
    signal: &SignalDefinition,
    raw: RawValue,
) -> PyResult<Bound<'py, PyAny>> {
    let is_float = matches!(signal.kind, SignalKind::Float32 | SignalKind::Float64);
    let has_integers = signal.factor.to_i128().is_some() && signal.offset.to_i128().is_some();
    let physical = signal.physical(raw);
    if !is_float
        && has_integers
        && let PhysicalValue::Exact(value) = physical
        && let Some(value) = value.to_i128()
    {
        return Ok(value.into_pyobject(py)?.into_any());
    }
    Ok(physical.to_f64().into_pyobject(py)?.into_any())
}

/// Registers the class of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SignalDatabase>()
}
