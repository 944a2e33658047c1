//! Charts and pages from results.
//!
//! [`write()`] makes, from [`Data`], a page that works without a network, the results file beside
//! it, and every chart as SVG and PNG. The same data gives the same bytes on every machine: no
//! system font, clock or locale is used.
//!
//! [`site::write`] makes a site of a whole folder of results.
//!
//! One chart has one clock ([`model::Clock`]) and says which; times of the embedded bus or a
//! virtual machine and real time never share a chart.

#![forbid(unsafe_code)]

mod charts;
mod data;
mod draw;
mod labels;
pub mod model;
mod page;
mod png;
pub mod site;
pub mod text;
mod thin;
mod ticks;
mod write;

pub use charts::charts;
pub use data::{Account, BusRow, Data, RouteRow};
pub use draw::{DrawError, PHONE, Size, WIDE, svg};
pub use model::Clock;
pub use page::html;
pub use png::{PngError, Renderer};
pub use thin::{cloud, extremes};
pub use write::{Error, Written, write};
