//! Lengths and durations of frames on the wire.

use crate::frames;
use frame::wire::{BitRate, WireLength, length};
use frame::{Frame, Kind, Nanos};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The exact length of a frame on the wire.
#[pyclass(frozen, eq, module = "cangate")]
#[derive(Clone, PartialEq)]
pub(crate) struct FrameTiming {
    text: String,
    length: WireLength,
    rate: BitRate,
    crc_bits: u32,
}

#[pymethods]
impl FrameTiming {
    /// All bits from the start of frame to the end of the intermission, stuff bits included.
    #[getter]
    fn bits(&self) -> u32 {
        self.length.bits()
    }

    /// The number of dynamic stuff bits.
    #[getter]
    fn stuff_bits(&self) -> u32 {
        self.length.stuff_bits()
    }

    /// The number of bits at the data bit rate.
    #[getter]
    fn data_phase_bits(&self) -> u32 {
        self.length.data_phase_bits()
    }

    /// The checksum.
    #[getter]
    fn crc(&self) -> u32 {
        self.length.crc()
    }

    /// The number of bits of the checksum: 15, 17 or 21.
    #[getter]
    fn crc_bits(&self) -> u32 {
        self.crc_bits
    }

    /// The time from the start to the end of the frame, ns, without the intermission.
    #[getter]
    fn duration_ns(&self) -> Nanos {
        self.length.duration(self.rate, false)
    }

    /// The time from the start of the frame to that of the next one at the earliest, ns.
    #[getter]
    fn occupied_ns(&self) -> Nanos {
        self.length.duration(self.rate, true)
    }

    fn __repr__(&self) -> String {
        format!(
            "<FrameTiming {} at {}: {} bits, {} of them stuff bits, {} ns>",
            self.text,
            self.rate,
            self.bits(),
            self.stuff_bits(),
            self.duration_ns()
        )
    }
}

/// Reads bit rates; `data` is that of the data phase.
pub(crate) fn bit_rate(nominal: i64, data: Option<i64>) -> PyResult<BitRate> {
    // A number that is no u32 is out of range, too.
    let number = |rate: i64| u32::try_from(rate).unwrap_or_default();
    BitRate::new(number(nominal), data.map(number)).map_err(|error| {
        let data = data.map_or_else(String::new, |data| format!(", data_bitrate={data}"));
        PyValueError::new_err(format!("bitrate={nominal}{data}: {error}"))
    })
}

fn wire_length(frame: &Frame) -> PyResult<WireLength> {
    length(frame.view()).ok_or_else(|| {
        PyValueError::new_err(
            "an error frame has no length of its own: the controller reports it; give a data or \
             remote frame",
        )
    })
}

fn time(frame: &Frame, rate: BitRate) -> PyResult<FrameTiming> {
    let frame = frame.padded();
    Ok(FrameTiming {
        text: frame.view().to_string(),
        length: wire_length(&frame)?,
        rate,
        crc_bits: match (frame.kind(), frame.len()) {
            (Kind::Fd, 17..) => 21,
            (Kind::Fd, _) => 17,
            _ => 15,
        },
    })
}

/// Returns the timing of a frame in candump's text.
#[pyfunction]
fn timing_of_text(text: &str, bitrate: i64, data_bitrate: Option<i64>) -> PyResult<FrameTiming> {
    time(&frames::from_text(text)?, bit_rate(bitrate, data_bitrate)?)
}

/// Returns the timing of a frame in parts.
#[pyfunction]
fn timing_of_parts(
    parts: (u32, u8, Vec<u8>, usize),
    bitrate: i64,
    data_bitrate: Option<i64>,
) -> PyResult<FrameTiming> {
    let (id, bits, data, len) = parts;
    let frame = frames::from_parts(id, bits, &data, len).map_err(PyValueError::new_err)?;
    time(&frame, bit_rate(bitrate, data_bitrate)?)
}

/// Returns the parts of a frame in candump's text: number, flags, bytes, length.
#[pyfunction]
fn parse_frame<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<(u32, u8, Bound<'py, PyBytes>, usize)> {
    let frame = frames::from_text(text)?;
    let (id, bits, len, data) = frames::to_parts(&frame);
    Ok((id, bits, PyBytes::new(py, data), len))
}

/// Returns the durations of many frames as `uint64` in this machine's byte order. `ids` are
/// `uint32`, `flags` and `lengths` have a byte for each frame, and `data` has `width` bytes for
/// each.
#[pyfunction]
#[pyo3(signature = (ids, flags, lengths, data, width, bitrate, data_bitrate, occupied))]
#[allow(clippy::too_many_arguments, reason = "columns of one table")]
fn durations_of_columns<'py>(
    py: Python<'py>,
    ids: &[u8],
    flags: &[u8],
    lengths: &[u8],
    data: &[u8],
    width: usize,
    bitrate: i64,
    data_bitrate: Option<i64>,
    occupied: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let rate = bit_rate(bitrate, data_bitrate)?;
    let count = ids.len() / 4;
    if flags.len() != count || lengths.len() != count || data.len() != count * width {
        return Err(PyValueError::new_err(format!(
            "{count} IDs, {} flags, {} lengths and {} bytes of data in rows of {width}: give each \
             frame one of each",
            flags.len(),
            lengths.len(),
            data.len()
        )));
    }
    let mut all = Vec::with_capacity(count * 8);
    for (n, id) in ids.chunks_exact(4).enumerate() {
        let id = id.try_into().map_or(0, u32::from_ne_bytes);
        let bits = flags.get(n).copied().unwrap_or_default();
        let len = lengths.get(n).copied().map_or(0, usize::from);
        let wrong = |why: String| PyValueError::new_err(format!("frame {n}: {why}"));
        let payload = match bits & frames::bits::REMOTE {
            0 => data.get(n * width..n * width + len.min(width)),
            _ => Some([].as_slice()),
        };
        let payload = payload.filter(|p| p.len() == len || bits & frames::bits::REMOTE != 0);
        let payload = payload.ok_or_else(|| {
            wrong(format!(
                "a length of {len}, but `data` has {width} columns: give it more columns"
            ))
        })?;
        let frame = frames::from_parts(id, bits, payload, len).map_err(wrong)?;
        let time = wire_length(&frame.padded())?.duration(rate, occupied);
        all.extend_from_slice(&time.to_ne_bytes());
    }
    Ok(PyBytes::new(py, &all))
}

/// Registers the classes and functions of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FrameTiming>()?;
    module.add_function(wrap_pyfunction!(timing_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(timing_of_parts, module)?)?;
    module.add_function(wrap_pyfunction!(parse_frame, module)?)?;
    module.add_function(wrap_pyfunction!(durations_of_columns, module)?)
}
