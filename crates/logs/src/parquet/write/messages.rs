//! The columns of messages and their signals.

use super::ColumnWriter;
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use ::parquet::errors::ParquetError;
use signals::DecodedFrame;
use std::collections::HashMap;

/// A map that is there, without entries (definition level).
const EMPTY: i16 = 1;
/// An entry of a map (definition level).
const ENTRY: i16 = 2;

/// The message of each row, and its signals as a map from names to physical values.
#[derive(Default)]
pub(super) struct MessageColumns {
    /// The names of the messages, of rows that have one.
    message: Vec<ByteArray>,
    /// 1: the row has a message, 0: it has none (definition levels).
    message_known: Vec<i16>,
    key: Vec<ByteArray>,
    value: Vec<f64>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// The text of each name, which its rows share.
    texts: HashMap<String, ByteArray>,
}

impl MessageColumns {
    /// Begins a row, without a message so far.
    pub(super) fn begin_row(&mut self) {
        self.message_known.push(0);
        self.definition.push(0);
        self.repetition.push(0);
    }

    /// Sets the message of the last row.
    pub(super) fn set(&mut self, decoded: &DecodedFrame<'_>) {
        let (Some(known), Some(_), Some(_)) = (
            self.message_known.last_mut(),
            self.definition.pop(),
            self.repetition.pop(),
        ) else {
            return;
        };
        *known = 1;
        let name = self.text(&decoded.message.name);
        self.message.push(name);
        let mut repetition = 0;
        for (signal, _, physical) in decoded.values() {
            let key = self.text(&signal.name);
            self.key.push(key);
            self.value.push(physical.to_f64());
            self.definition.push(ENTRY);
            self.repetition.push(repetition);
            repetition = 1;
        }
        if repetition == 0 {
            self.definition.push(EMPTY);
            self.repetition.push(0);
        }
    }

    fn text(&mut self, name: &str) -> ByteArray {
        if let Some(text) = self.texts.get(name) {
            return text.clone();
        }
        let text = ByteArray::from(name);
        self.texts.insert(name.to_owned(), text.clone());
        text
    }

    /// Returns the number of values of signals.
    pub(super) const fn values(&self) -> usize {
        self.value.len()
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        *self = Self {
            texts: std::mem::take(&mut self.texts),
            ..Self::default()
        };
    }

    pub(super) fn write(&self, columns: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        columns.put_known::<ByteArrayType>(&self.message, &self.message_known)?;
        let (definition, repetition) = (&self.definition, &self.repetition);
        columns.put_listed::<ByteArrayType>(&self.key, definition, repetition)?;
        columns.put_listed::<DoubleType>(&self.value, definition, repetition)
    }
}
