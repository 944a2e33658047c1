//! The rows of one signal in a number of frames.

use super::frames::FrameBuffer;
use super::message::{DatasetMessage, DatasetSignal};
use parquet::data_type::ByteArray;
use signals::{RawValue, SignalState};

/// The rows of a signal, as columns.
pub(crate) struct SignalRows<'a> {
    pub(crate) signal: &'a DatasetSignal<'a>,
    /// Microseconds since 1970.
    pub(crate) time: Vec<i64>,
    /// The nanoseconds after that, 0 to 999.
    pub(crate) nanos: Vec<i32>,
    /// The numbers of the ports.
    pub(crate) port: Vec<u16>,
    pub(crate) raw: OptionalColumn<i64>,
    pub(crate) raw_text: OptionalColumn<ByteArray>,
    pub(crate) value: Vec<f64>,
    pub(crate) value_name: OptionalColumn<ByteArray>,
}

/// A column in which a row can have no value.
#[derive(Default)]
pub(crate) struct OptionalColumn<T> {
    pub(crate) values: Vec<T>,
    /// 1 for each row with a value, 0 for the others (definition levels).
    pub(crate) levels: Vec<i16>,
}

impl<T> OptionalColumn<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(value.is_some().into());
        self.values.extend(value);
    }
}

impl<'a> SignalRows<'a> {
    /// Decodes a signal in all frames that contain it; also returns the number of frames that are
    /// too short for it.
    pub(crate) fn decode(
        message: &'a DatasetMessage<'a>,
        signal: &'a DatasetSignal<'a>,
        frames: &FrameBuffer,
    ) -> (Self, u64) {
        let mut rows = Self {
            signal,
            time: Vec::with_capacity(frames.len()),
            nanos: Vec::with_capacity(frames.len()),
            port: Vec::with_capacity(frames.len()),
            raw: OptionalColumn::default(),
            raw_text: OptionalColumn::default(),
            value: Vec::with_capacity(frames.len()),
            value_name: OptionalColumn::default(),
        };
        let mut too_short = 0;
        for (stamp, port, payload) in frames.iter() {
            match message.definition.read(signal.index, payload) {
                SignalState::Value(raw) => {
                    // At most 2^64 / 1000.
                    rows.time.push((stamp / 1000).cast_signed());
                    rows.nanos.push((stamp % 1000) as i32);
                    rows.port.push(port);
                    rows.push_value(raw);
                }
                SignalState::Switched => {}
                SignalState::TooShort => too_short += 1,
            }
        }
        (rows, too_short)
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.value.len()
    }

    fn push_value(&mut self, raw: RawValue) {
        let signal = self.signal;
        self.value.push(signal.scale.value(raw));
        let integer = match raw {
            RawValue::Unsigned(raw) => Some(i128::from(raw)),
            RawValue::Signed(raw) => Some(i128::from(raw)),
            RawValue::Float(_) => None,
        };
        let short = integer.and_then(|integer| i64::try_from(integer).ok());
        let text = short
            .is_none()
            .then(|| ByteArray::from(raw.to_string().into_bytes()));
        self.raw.push(short);
        self.raw_text.push(text);
        let name = integer.filter(|_| signal.has_names());
        let name = name.and_then(|raw| signal.name_of(raw));
        self.value_name.push(name.cloned());
    }
}
