//! The reasons why routes cannot be compiled.

use crate::RouteId;
use alloc::string::String;
use core::fmt;

/// A part of the routes that has no meaning, and its remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// The route, or `None` if the error concerns the table as a whole.
    pub route: Option<RouteId>,
    /// The route's name; empty if the error concerns the table.
    pub name: String,
    /// The mistake and its remedy, in one sentence.
    pub what: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.route {
            Some(id) if self.name.is_empty() => {
                write!(f, "route {}: {}", u64::from(id.0) + 1, self.what)
            }
            Some(_) => write!(f, "route {:?}: {}", self.name, self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl core::error::Error for CompileError {}
