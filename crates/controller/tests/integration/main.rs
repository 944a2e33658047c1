//! The controller model: accounting, filters, bit timing, and the mapped register layouts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounting;
mod filters;
mod mapped;
mod model;
mod timing;
