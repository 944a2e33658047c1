//! Settings read from TOML, with every mistake collected: place, caret and hint.
//!
//! `gateway.toml` is read by several crates, each of which knows its own part: routes by `route`,
//! ports by `port`, the rest by `gateway`. This crate is what they share: a [`Diagnostic`], and a
//! reader that walks a TOML table with typed getters, remembers which keys were requested, and
//! reports all mistakes instead of only the first one.
//!
//! ```
//! use cangate_config::{Diagnostics, TomlDocument, SourceText, render};
//!
//! let source = SourceText::new("gateway.toml", "speed = \"500q\"\nlenght = 3\n");
//! let mut found = Diagnostics::new();
//! let document = TomlDocument::parse(&source, &mut found);
//! let mut table = document.root();
//! assert_eq!(table.bitrate("speed", &mut found), None);
//! assert_eq!(table.integer("length", 0..=8, &mut found), None);
//! table.finish(&mut found);
//! let text = render(&source, found.list(), false);
//! assert!(text.contains("gateway.toml:1:9"));
//! assert!(text.contains("did you mean `length`?"));
//! ```
//!
//! A table whose keys are known beforehand is defined by [`settings!`]: each key once, with its
//! field, type, default, reader, schema, misnomers, and row in a document.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod diagnostic;
mod diagnostics;
mod document;
mod foreign;
mod misnomer;
pub mod read;
mod render;
mod settings;
mod shape;
mod source;
mod suggest;
mod table;
mod units;
mod value;

pub use diagnostic::{Diagnostic, Severity};
pub use diagnostics::Diagnostics;
pub use document::TomlDocument;
pub use misnomer::KeyMisnomer;
pub use render::render;
pub use settings::{CheckText, DefaultText, plain_key};
pub use shape::{KeySpec, ValueShape};
pub use source::{LARGEST_FILE, SourceText};
pub use suggest::{did_you_mean, nearest};
pub use table::TomlTable;
pub use units::{UnitError, bitrate, duration, hex_bytes, rate, size};
pub use value::{SpannedValue, TomlValue, word_of};

/// Names for the code that [`settings!`] makes, also in crates without the standard library.
#[doc(hidden)]
pub mod private {
    pub use std::string::String;
    pub use std::vec::Vec;
}
