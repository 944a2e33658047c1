//! The extension module `cangate._core`: the pure crates of cangate for Python.
//!
//! Python's own part is in `python/cangate`: it has the names that users see, python-can's
//! interface among them. This crate has what needs cangate: [`timing`], buses ([`clock`],
//! [`world`]) with the gateway between them ([`gateway`]), [`bounds`], and databases of messages
//! ([`database`]).

#![deny(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used)]

mod bounds;
mod bus_world;
mod clock;
mod database;
mod frames;
mod gateway;
mod station;
mod timing;
mod world;

use pyo3::prelude::*;

/// Registers the classes and functions of the extension module.
#[pymodule]
#[pyo3(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    timing::register(module)?;
    bounds::register(module)?;
    bus_world::register(module)?;
    database::register(module)?;
    station::register(module)
}
