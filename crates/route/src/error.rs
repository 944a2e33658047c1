//! Why routes cannot be compiled.

use crate::RouteId;
use alloc::string::String;
use core::fmt;

/// Something in the routes that has no meaning, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// The route, or `None` where the table as a whole is meant.
    pub route: Option<RouteId>,
    /// The route's name; empty where the table is meant.
    pub name: String,
    /// What is wrong and what to do, one sentence.
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
