//! Pages from results.
//!
//! [`run::write`] makes one page of one run: a single file that opens from the disk in any browser,
//! without a network; [`bound::write`] one of computed worst cases, with measured values next to
//! them. [`site::write`] makes a site of a folder of results. All draw with the same scripts
//! (`assets/`), in the browser, and offer each chart as SVG and PNG. The same data gives the same
//! bytes on every machine: no clock or locale is used.
//!
//! One chart has one clock ([`TimeBase`]) and names it; times of the embedded bus or a virtual
//! machine and real time never share a chart.

#![forbid(unsafe_code)]

mod assets;
pub mod bound;
mod cloud;
mod curve;
mod json;
pub mod run;
mod settings;
pub mod site;
mod tile;
mod words;

pub use settings::TimeBase;

use std::path::Path;

/// Returns the name of a file without its folders, for a page: pages are shown to other people.
#[must_use]
pub fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
