//! The class of Python for a station. `cangate.can` wraps it.

use crate::clock::{SharedWorld, SliceEnd};
use crate::frames::{self, bits};
use crate::world::{CyclicTask, FrameAnswer, HeardFrame, IdFilter, StationReport};
use bus::{ErrorKind, FaultTime, FrameFault, SendError};
use frame::{Frame, Nanos};
use pyo3::create_exception;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, OnceLock};

create_exception!(
    cangate,
    StationError,
    PyRuntimeError,
    "A station cannot do what it is asked for; the text has the reason and the cure."
);

/// The parts of a frame from Python: number, flags, bytes, length.
type FrameParts = (u32, u8, Vec<u8>, usize);

/// A frame for Python: time in ns, number, flags, length, bytes.
type HeardParts<'py> = (Nanos, u32, u8, usize, Bound<'py, PyBytes>);

/// A node of a bus.
#[pyclass(frozen, module = "cangate._core")]
pub(crate) struct BusStation {
    shared: Arc<SharedWorld>,
    station: usize,
    channel: String,
    /// The last counts and state, after the end of the station.
    closed: OnceLock<StationReport>,
}

/// Cure for calls on a station that is closed.
const CLOSED: &str = "the station is closed: open a new bus object";

impl BusStation {
    /// Creates the class for a station of this index; `channel` is for errors.
    pub(crate) const fn new(shared: Arc<SharedWorld>, station: usize, channel: String) -> Self {
        Self {
            shared,
            station,
            channel,
            closed: OnceLock::new(),
        }
    }

    fn refused(&self, error: SendError, frame: &Frame) -> PyErr {
        let frame = frame.view();
        let why = match error {
            SendError::Full => {
                "the queue is full: give `send` a timeout, or the bus object a longer `queue`"
                    .to_owned()
            }
            SendError::Unsupported => {
                "an FD frame on a classic bus: open the channel with fd=True and data_bitrate"
                    .to_owned()
            }
            SendError::BusOff => {
                "the node is bus-off: it restarts after 0.1 s and 128 times 11 recessive bits"
                    .to_owned()
            }
            SendError::ListenOnly => {
                "the node only listens: open the channel without listen_only".to_owned()
            }
            SendError::NoSuchNode(_) => CLOSED.to_owned(),
            other => other.to_string(),
        };
        StationError::new_err(format!(
            "channel {:?}: {frame} not sent: {why}",
            self.channel
        ))
    }

    fn frames(&self, parts: Vec<FrameParts>) -> PyResult<Vec<Frame>> {
        let made = parts.into_iter().map(|(id, bits, data, len)| {
            let wrong = |why| PyValueError::new_err(format!("channel {:?}: {why}", self.channel));
            frames::from_parts(id, bits, &data, len).map_err(wrong)
        });
        made.collect()
    }

    /// Works in slices, with Python's signals and its changes of periodic frames between them.
    fn slices<T: Send>(
        &self,
        py: Python<'_>,
        mut slice: impl FnMut() -> SliceEnd<T> + Send,
    ) -> PyResult<Option<T>> {
        loop {
            let end = py.detach(&mut slice);
            self.shared.report_skipped(py);
            match end {
                SliceEnd::Done(result) => return Ok(Some(result)),
                SliceEnd::TimedOut => return Ok(None),
                SliceEnd::Again => py.check_signals()?,
                SliceEnd::Asks { task, index } => self.answer(py, task, index)?,
                SliceEnd::AfterLast => {
                    return Err(PyOverflowError::new_err(format!(
                        "channel {:?}: the time of a bus ends 146 years after its start: let less \
                         time pass, or shut down all bus objects that share it to start it again",
                        self.channel
                    )));
                }
                SliceEnd::Reentered => {
                    return Err(StationError::new_err(
                        "modifier_callback lets time pass: change the message only, and wait \
                         elsewhere",
                    ));
                }
            }
        }
    }

    /// Lets Python change a periodic frame, or leave it out. An error stops the task.
    fn answer(&self, py: Python<'_>, task: usize, index: usize) -> PyResult<()> {
        let changed = match self.shared.callback(py, task) {
            None => Ok(FrameAnswer::Stop),
            Some(callback) => callback
                .call1(py, (index,))
                .and_then(|parts| parts.extract::<Option<FrameParts>>(py))
                .and_then(|parts| self.frames(parts.into_iter().collect()))
                .map(|frames| {
                    frames
                        .first()
                        .map_or(FrameAnswer::Skip, |f| FrameAnswer::Send(*f))
                }),
        };
        let answer = changed.as_ref().map_or(FrameAnswer::Stop, |answer| *answer);
        self.shared.with(py, |world| world.answer(task, answer));
        changed.map(drop)
    }

    /// Returns the counts and the state: the last ones of a closed station.
    fn report(&self, py: Python<'_>) -> Option<StationReport> {
        let open = self.shared.with(py, |world| world.report(self.station));
        open.or_else(|| self.closed.get().copied())
    }
}

fn heard_parts<'py>(py: Python<'py>, heard: &HeardFrame) -> HeardParts<'py> {
    let (id, flags, len, data) = frames::to_parts(&heard.frame);
    let own = if heard.own { bits::OWN } else { 0 };
    (heard.at, id, flags | own, len, PyBytes::new(py, data))
}

#[pymethods]
impl BusStation {
    /// Checks the parts of a frame; an error has the reason why there is no such frame.
    fn check(&self, parts: FrameParts) -> PyResult<()> {
        self.frames(vec![parts]).map(drop)
    }

    /// Sends a frame; waits up to `timeout` ns for a place in the queue.
    fn send(
        &self,
        py: Python<'_>,
        parts: FrameParts,
        timeout: Option<Nanos>,
        drives: bool,
    ) -> PyResult<()> {
        let frame = self.frames(vec![parts])?;
        let Some(frame) = frame.first() else {
            return Ok(());
        };
        let answer = match timeout {
            None | Some(0) => self
                .shared
                .with(py, |world| world.send(self.station, frame)),
            Some(_) => {
                let limit = self.shared.limit(py, timeout, drives);
                self.slices(py, || self.shared.send(self.station, frame, limit))?
                    .unwrap_or(Err(SendError::Full))
            }
        };
        answer.map_err(|error| self.refused(error, frame))
    }

    /// Returns the next frame that passes the filters; waits up to `timeout` ns. `drives`: the
    /// wait moves the time of a test.
    fn receive<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Nanos>,
        drives: bool,
    ) -> PyResult<Option<HeardParts<'py>>> {
        let limit = self.shared.limit(py, timeout, drives);
        let heard = self.slices(py, || self.shared.receive(self.station, limit))?;
        Ok(heard.flatten().map(|heard| heard_parts(py, &heard)))
    }

    /// Sets the filters: ID, mask, and whether IDs have 29 bits.
    fn set_filters(&self, py: Python<'_>, filters: Option<Vec<(u32, u32, Option<bool>)>>) {
        let filters = filters.map(|all| {
            let each = all
                .into_iter()
                .map(|(id, mask, extended)| IdFilter { id, mask, extended });
            each.collect()
        });
        self.shared.with(py, |world| {
            if let Some(station) = world.station_mut(self.station) {
                station.set_filters(filters);
            }
        });
    }

    /// Adds a periodic task, which does not run yet; returns its number. `callback` returns the
    /// parts of the frame with this index before it is sent.
    #[pyo3(signature = (parts, period, duration, callback))]
    fn add_cyclic(
        &self,
        py: Python<'_>,
        parts: Vec<FrameParts>,
        period: Nanos,
        duration: Option<Nanos>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        let (frames, asks) = (self.frames(parts)?, callback.is_some());
        let task = CyclicTask::new(self.station, frames, period, duration, asks);
        let task = self.shared.with(py, |world| world.cyclic_mut().add(task));
        self.shared.drop_callbacks(py);
        if let Some(callback) = callback {
            self.shared.keep_callback(task, self.station, callback);
        }
        Ok(task)
    }

    /// Starts a periodic task: its first frame is sent now.
    fn start_cyclic(&self, py: Python<'_>, task: usize) {
        self.shared.with(py, |world| {
            let now = world.now();
            world.cyclic_mut().start(task, now);
        });
    }

    /// Stops a periodic task.
    fn stop_cyclic(&self, py: Python<'_>, task: usize) {
        self.shared.with(py, |world| world.cyclic_mut().stop(task));
    }

    /// Removes a periodic task that is not used any more. One that runs goes on to its end.
    fn forget_cyclic(&self, py: Python<'_>, task: usize) {
        self.shared
            .with(py, |world| world.cyclic_mut().forget(task));
        self.shared.drop_callbacks(py);
    }

    /// Replaces the frames of a periodic task.
    fn modify_cyclic(&self, py: Python<'_>, task: usize, parts: Vec<FrameParts>) -> PyResult<()> {
        let frames = self.frames(parts)?;
        self.shared
            .with(py, |world| world.cyclic_mut().set_frames(task, frames));
        Ok(())
    }

    /// Returns whether a periodic task runs, how many frames it has handed to the node, and how
    /// many found no place.
    fn cyclic_state(&self, py: Python<'_>, task: usize) -> Option<(bool, u64, u64)> {
        self.shared.with(py, |world| {
            let task = world.cyclic_mut().task(task)?;
            let (sent, missed) = task.counts();
            Some((task.is_running(), sent, missed))
        })
    }

    /// Returns the time, ns.
    fn now(&self, py: Python<'_>) -> Nanos {
        self.shared.with(py, |world| world.now())
    }

    /// Lets this time pass, ns.
    fn advance(&self, py: Python<'_>, time: Nanos) -> PyResult<()> {
        let end = self.now(py).saturating_add(time);
        self.slices(py, || self.shared.advance(end))?;
        Ok(())
    }

    /// Returns the error state, 0 (active) to 3 (bus-off), and the two error counters.
    fn state(&self, py: Python<'_>) -> Option<(u8, u16, u16)> {
        let node = self.report(py)?.node;
        Some((node.state as u8, node.tec, node.rec))
    }

    /// Returns the counts of the station and of its bus; those of its end for a closed station.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        let Some(report) = self.report(py) else {
            return Ok(found);
        };
        let (counts, bus) = (report.counts, report.bus);
        found.set_item("sent", counts.sent)?;
        found.set_item("received", counts.received)?;
        found.set_item("dropped", counts.dropped)?;
        found.set_item("overruns", counts.overruns)?;
        found.set_item("bus_frames", bus.frames)?;
        found.set_item("bus_errors", bus.errors)?;
        found.set_item("bus_time_ns", bus.elapsed())?;
        found.set_item("bus_busy_ns", bus.busy())?;
        found.set_item("bus_skipped_ns", report.skipped)?;
        Ok(found)
    }

    /// Takes back all frames that are not on the wire; returns their number.
    fn cancel(&self, py: Python<'_>) -> usize {
        self.shared.with(py, |world| world.cancel_all(self.station))
    }

    /// Disturbs the next frame on the bus.
    fn inject(&self, py: Python<'_>, kind: &str, bit: Option<u16>) -> PyResult<()> {
        const KINDS: [(&str, ErrorKind); 5] = [
            ("bit", ErrorKind::Bit),
            ("stuff", ErrorKind::Stuff),
            ("form", ErrorKind::Form),
            ("crc", ErrorKind::Crc),
            ("ack", ErrorKind::Ack),
        ];
        let Some((_, kind)) = KINDS.iter().find(|(word, _)| *word == kind) else {
            let words = KINDS.map(|(word, _)| word).join(", ");
            return Err(PyValueError::new_err(format!(
                "kind {kind:?}: write one of {words}"
            )));
        };
        let fault = FrameFault {
            bit,
            ..FrameFault::new(*kind)
        };
        let injected = self.shared.with(py, |world| {
            let bus = world.bus_of_mut(self.station)?;
            let stats = bus.stats();
            let is_busy = bus.nodes().any(|(node, _)| bus.sending(node).is_some());
            let starts = stats.frames + stats.errors + u64::from(is_busy);
            bus.inject(FaultTime::Start(starts + 1), fault);
            Some(())
        });
        injected.ok_or_else(|| StationError::new_err(CLOSED))
    }

    /// Closes the station: it hears and sends nothing more.
    fn close(&self, py: Python<'_>) {
        // In one step: another thread lets no time pass between the report and the end.
        let report = self.shared.with(py, |world| {
            let report = world.report(self.station);
            world.detach(self.station);
            report
        });
        if let Some(report) = report {
            // A second call has no report, and the first one's stays.
            let _ = self.closed.set(report);
        }
        drop(self.shared.take_callbacks(self.station));
    }
}

/// Registers the class and the exception of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("StationError", module.py().get_type::<StationError>())?;
    module.add_class::<BusStation>()
}
