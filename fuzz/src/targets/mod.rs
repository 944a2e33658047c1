//! The targets, one per file.

#[cfg(feature = "xml")]
pub mod arxml;
pub mod bus_operations;
pub mod cangw;
pub mod chardev_area;
pub mod configuration;
pub mod control;
pub mod controller;
pub mod dbc;
#[cfg(feature = "xml")]
pub mod kcd;
pub mod log_formats;
pub mod log_packed;
pub mod log_text;
pub mod machine_plan;
pub mod mapped_page;
pub mod matrix;
pub mod monitor;
pub mod network;
pub mod protection;
pub mod ring_block;
pub mod shm_rings;
pub mod sym;
pub mod vcontroller;
pub mod virtio_rings;
pub mod wire;

use config::{Diagnostic, SourceText};

/// Checks that the errors of a text can be displayed: each has a message, and a position within the
/// text.
fn shown(source: &SourceText, found: &[Diagnostic]) {
    for diagnostic in found {
        let span = &diagnostic.span;
        assert!(span.start <= span.end && span.end <= source.text.len());
        assert!(source.text.is_char_boundary(span.start), "{diagnostic:?}");
        assert!(source.text.is_char_boundary(span.end), "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
    assert_eq!(
        config::render(source, found, false).is_empty(),
        found.is_empty()
    );
}
