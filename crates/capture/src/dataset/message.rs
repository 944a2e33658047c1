//! The messages of a dataset.

use parquet::data_type::ByteArray;
use signals::{MessageDefinition, SignalDefinition, SignalScale};

/// A message, and those of its signals that are written.
pub struct DatasetMessage<'a> {
    pub(crate) definition: &'a MessageDefinition,
    /// Sorted by name, so that the range of names in a row group is short.
    pub(crate) signals: Vec<DatasetSignal<'a>>,
}

/// A signal that is written, with what all of its rows share.
pub(crate) struct DatasetSignal<'a> {
    /// The index in the message's signals.
    pub(crate) index: usize,
    pub(crate) scale: SignalScale<'a>,
    pub(crate) name: ByteArray,
    pub(crate) unit: ByteArray,
    /// The names of raw values, sorted by raw value.
    value_names: Vec<(i128, ByteArray)>,
}

impl<'a> DatasetMessage<'a> {
    /// Returns the message with those of its signals that have these indices. Indices that the
    /// message does not have are ignored.
    #[must_use]
    pub fn new(definition: &'a MessageDefinition, signals: &[usize]) -> Self {
        let chosen = signals.iter().filter_map(|&index| {
            let signal = definition.signals.get(index)?;
            Some(DatasetSignal::new(index, signal))
        });
        let mut signals: Vec<_> = chosen.collect();
        signals.sort_by(|one, other| one.name.data().cmp(other.name.data()));
        Self {
            definition,
            signals,
        }
    }
}

impl<'a> DatasetSignal<'a> {
    fn new(index: usize, signal: &'a SignalDefinition) -> Self {
        let named = signal.value_names.iter();
        let mut value_names: Vec<_> = named
            .map(|named| (named.raw, ByteArray::from(named.name.as_str())))
            .collect();
        // The sort is stable: of two names of a value, the first one counts, as in the definition.
        value_names.sort_by_key(|(raw, _)| *raw);
        value_names.dedup_by_key(|(raw, _)| *raw);
        Self {
            index,
            scale: SignalScale::new(signal),
            name: ByteArray::from(signal.name.as_str()),
            unit: ByteArray::from(signal.unit.as_str()),
            value_names,
        }
    }

    /// Returns whether raw values have names.
    pub(crate) fn has_names(&self) -> bool {
        !self.value_names.is_empty()
    }

    /// Returns the name of a raw value, if it has one.
    pub(crate) fn name_of(&self, raw: i128) -> Option<&ByteArray> {
        let place = self
            .value_names
            .binary_search_by_key(&raw, |(raw, _)| *raw)
            .ok()?;
        Some(&self.value_names.get(place)?.1)
    }
}
