//! Worst-case response times of a message set, with keys of `cangate bound --json`.

use analysis::set::{self, MessageSet, ReceiverTimeout};
use analysis::{Assessment, BusSpec, LengthSearch, Network, NetworkFound};
use config::{SourceText, render};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns the bounds of a message set.
#[pyfunction]
fn bounds_of_text<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let source = SourceText::new(name, text);
    let assess = || {
        let set = set::load(&source).map_err(|found| render(&source, &found, false))?;
        let network = Network {
            buses: set.buses.clone(),
            hops: Vec::new(),
            tunnels: Vec::new(),
        };
        let found = network.assess(&mut LengthSearch::new());
        Ok((set, found.map_err(|error| format!("{name}: {error}"))?))
    };
    let assessed: Result<(MessageSet, NetworkFound), String> = py.detach(assess);
    let wrong = |text: String| PyValueError::new_err(text.trim_end().to_owned());
    let (set, found) = assessed.map_err(wrong)?;
    let buses = PyList::empty(py);
    for (spec, assessment) in set.buses.iter().zip(&found.buses) {
        buses.append(bus(py, spec, assessment)?)?;
    }
    let timeouts = PyList::empty(py);
    for each in &set.timeouts {
        timeouts.append(timeout(py, &set, &found, each)?)?;
    }
    let report = PyDict::new(py);
    report.set_item("buses", buses)?;
    report.set_item("timeouts", timeouts)?;
    Ok(report)
}

fn bus<'py>(
    py: Python<'py>,
    spec: &BusSpec,
    assessment: &Assessment,
) -> PyResult<Bound<'py, PyDict>> {
    let nodes = PyList::empty(py);
    for (node, found) in spec.nodes.iter().zip(&assessment.nodes) {
        let entry = PyDict::new(py);
        entry.set_item("name", &node.name)?;
        entry.set_item("service", found.service.name())?;
        entry.set_item("backlog", found.backlog)?;
        nodes.append(entry)?;
    }
    let messages = PyList::empty(py);
    for index in 0..spec.messages.len() {
        messages.append(message(py, spec, assessment, index)?)?;
    }
    let entry = PyDict::new(py);
    entry.set_item("name", &spec.name)?;
    entry.set_item("bitrate", spec.rate.nominal())?;
    entry.set_item("data_bitrate", spec.rate.data())?;
    entry.set_item("load", assessment.load)?;
    entry.set_item("nodes", nodes)?;
    entry.set_item("messages", messages)?;
    Ok(entry)
}

fn message<'py>(
    py: Python<'py>,
    spec: &BusSpec,
    assessment: &Assessment,
    index: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let both = spec.messages.get(index).zip(assessment.messages.get(index));
    let Some((message, found)) = both else {
        return Ok(entry);
    };
    entry.set_item("id", message.id().to_string())?;
    entry.set_item("name", &message.name)?;
    let node = spec.nodes.get(message.node).map_or("", |node| &node.name);
    entry.set_item("node", node)?;
    entry.set_item("bits", found.bits.all())?;
    entry.set_item("data_phase_bits", found.bits.data)?;
    entry.set_item("frame_ns", found.frame)?;
    entry.set_item("period_ns", message.arrival.period())?;
    entry.set_item("offset_ns", message.offset)?;
    entry.set_item("deadline_ns", message.deadline)?;
    let bound = found.bound.as_ref().ok();
    let is_met = bound.is_some_and(|bound| bound.response <= message.deadline);
    entry.set_item("can_miss", !is_met)?;
    let parts = bound.map(|bound| {
        let of = bound.parts;
        let parts = PyDict::new(py);
        for (key, value) in [
            ("response_ns", bound.response),
            ("latency_ns", bound.latency),
            ("jitter_ns", of.jitter),
            ("blocking_ns", of.blocking),
            ("ahead_ns", of.ahead),
            ("pauses_ns", of.pauses),
            ("interference_ns", of.interference),
            ("errors_ns", of.errors),
            ("frame_ns", of.frame),
            ("since_ns", of.since),
            ("instance", bound.instance),
        ] {
            parts.set_item(key, value)?;
        }
        Ok::<_, PyErr>(parts)
    });
    entry.set_item("bound", parts.transpose()?)?;
    let why = found
        .bound
        .as_ref()
        .err()
        .map(|why| why.describe(Some(spec)));
    entry.set_item("no_bound", why)?;
    Ok(entry)
}

fn timeout<'py>(
    py: Python<'py>,
    set: &MessageSet,
    found: &NetworkFound,
    timeout: &ReceiverTimeout,
) -> PyResult<Bound<'py, PyDict>> {
    let place = timeout.message;
    let spec = set.buses.get(place.bus);
    let message = spec.and_then(|spec| spec.messages.get(place.message));
    let periods = set.longest_periods.get(place.bus);
    let period = periods.and_then(|all| all.get(place.message).copied().flatten());
    let longest = match (period, place.bus == timeout.bus) {
        (_, false) => Err(
            "the message is of another bus: `cangate bound --gateway FILE` follows it".to_owned(),
        ),
        (None, _) => Err("it is not periodic: its events have no longest distance".to_owned()),
        (Some(period), _) => found
            .reception_distance(place, period, timeout.losses)
            .map(|distance| distance.longest())
            .map_err(|why| format!("the message has no bound: {}", why.describe(spec))),
    };
    let entry = PyDict::new(py);
    entry.set_item("id", message.map(|message| message.id().to_string()))?;
    entry.set_item("name", message.map(|message| message.name.as_str()))?;
    entry.set_item(
        "bus",
        set.buses.get(timeout.bus).map(|bus| bus.name.as_str()),
    )?;
    entry.set_item("node", &timeout.node)?;
    entry.set_item("timeout_ns", timeout.time)?;
    entry.set_item("losses", timeout.losses)?;
    let can_expire = longest
        .as_ref()
        .map_or(true, |longest| *longest >= timeout.time);
    entry.set_item("can_expire", can_expire)?;
    entry.set_item("longest_ns", longest.as_ref().ok())?;
    entry.set_item("no_bound", longest.as_ref().err())?;
    Ok(entry)
}

/// Registers the function of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bounds_of_text, module)?)
}
