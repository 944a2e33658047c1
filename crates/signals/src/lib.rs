//! Signals: the values that the bytes of a frame mean, by a database of messages.
//!
//! * [`MessageDatabase`], [`MessageDefinition`], [`SignalDefinition`]: the contents of a database,
//!   whatever its format.
//! * [`read()`]: reads a database whose format it recognises: DBC (feature `dbc`), KCD (`kcd`),
//!   ARXML (`arxml`), PEAK's symbol files (`sym`); [`read_messages`]: a file without messages is a
//!   mistake.
//! * [`SignalField`]: the place of a signal in a payload: one load of eight bytes, one shift.
//! * [`FieldTest`], [`FieldWrite`]: a comparison of a signal with a range, and an assignment to it,
//!   in integers only.
//! * [`SignalDefinition::compare`], [`SignalDefinition::copy_of`]: comparisons and copies of
//!   physical values as tests and assignments of raw ones, exactly.
//! * [`Decimal`]: exact decimal numbers. Databases write factors and offsets as decimal text;
//!   binary floating point would round them.
//! * [`SignalScale`]: values as binary floating point, for many raw values of a signal.
//! * [`MessageIndex`]: finds the message of a frame, those of J1939 by their parameter group;
//!   [`DecodedFrame`]: a frame with its message, as a line of text.
//!
//! ```
//! # #[cfg(feature = "dbc")] {
//! use signals::{MessageIndex, SignalState};
//!
//! let text = "BU_: Engine\nBO_ 256 EngineData: 8 Engine\n \
//!     SG_ Speed : 7|16@0+ (0.25,0) [0|8000] \"rpm\" Engine\n";
//! let database = signals::dbc::read(text.as_bytes()).unwrap();
//! let index = MessageIndex::new(&database);
//! let frame: frame::Frame = "100#1F40000000000000".parse().unwrap();
//! let message = index.find(frame.id()).unwrap();
//! let speed = &message.signals[0];
//! let SignalState::Value(raw) = message.read(0, frame.data()) else { panic!() };
//! assert_eq!(speed.physical(raw).to_string(), "2000");
//! # }
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(any(
    test,
    feature = "dbc",
    feature = "kcd",
    feature = "arxml",
    feature = "sym"
))]
extern crate std;

#[cfg(feature = "arxml")]
pub mod arxml;
mod check;
mod compare;
#[cfg(feature = "dbc")]
pub mod dbc;
mod decimal;
mod decoded;
#[cfg(any(feature = "dbc", feature = "kcd", feature = "arxml", feature = "sym"))]
mod define;
#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
mod define_signal;
#[cfg(any(feature = "dbc", feature = "kcd", feature = "arxml", feature = "sym"))]
mod doubles;
#[cfg(any(feature = "dbc", feature = "kcd", feature = "arxml", feature = "sym"))]
mod encoding;
mod field;
mod float;
mod index;
mod j1939;
#[cfg(feature = "kcd")]
pub mod kcd;
mod message;
mod quotient;
mod read;
mod rescale;
#[cfg(any(feature = "dbc", feature = "kcd", feature = "arxml", feature = "sym"))]
mod room;
mod scale;
mod sending;
mod shown;
mod signal;
mod statements;
mod switch;
#[cfg(feature = "sym")]
pub mod sym;
mod test;
mod text;
mod unit;
mod write;
#[cfg(any(feature = "kcd", feature = "arxml"))]
mod xml;

pub use compare::{CompareError, CompareOperator, CompareReason, CompareResult};
pub use decimal::{Decimal, DecimalError};
pub use decoded::DecodedFrame;
pub use field::{ByteOrder, FieldError, FieldLayout, SignalField};
pub use index::{IndexedDatabase, MessageIndex};
pub use j1939::{LARGEST_GROUP, group_id_mask, is_broadcast_group, parameter_group};
pub use message::{
    DatabaseWarning, FdMessage, ImpossibleMessage, MessageDatabase, MessageDefinition, WholePdu,
    WholePduKind,
};
pub use read::{DatabaseFormat, MAX_FILE, ReadError, read, read_messages};
pub use rescale::{AssignError, SignalCopy};
pub use scale::SignalScale;
pub use signal::{
    PhysicalValue, RawValue, SignalDefinition, SignalKind, SignalPresence, SignalState, ValueName,
};
pub use statements::{E2eAttributes, ReceiveTimeout, SubstituteValues};
pub use switch::SignalSwitch;
pub use test::{BitMeaning, FieldTest};
pub use unit::UnitRelation;
pub use write::{
    FieldSource, FieldWrite, LinearMap, MAX_WRITES, OutOfRange, RangePolicy, WriteRefusal,
    write_fields,
};

/// A place in a database file, and what is wrong there.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("line {line}, column {column}: {problem}")]
pub struct DatabaseError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The mistake.
    pub problem: alloc::string::String,
}
