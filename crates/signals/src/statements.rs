//! Statements of databases about what receivers do with a message or signal. They do not change the
//! meaning of a payload.

use crate::decimal::Decimal;
use alloc::string::String;
use frame::Nanos;

/// Raw values of a signal for times without a received value. In a DBC file they are attributes of
/// the signal; for a float, the raw value is the number itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SubstituteValues {
    /// The value before the first frame (`GenSigStartValue`).
    pub start: Option<Decimal>,
    /// The value while the signal is inactive (`GenSigInactiveValue`).
    pub inactive: Option<Decimal>,
    /// The value after a timeout (`GenSigTimeoutValue`).
    pub timeout: Option<Decimal>,
    /// The value by which a sender says that it has none (`INVALID-VALUE` of an ARXML).
    pub invalid: Option<Decimal>,
}

/// The time after which a node regards a signal as lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiveTimeout {
    /// The receiving node; `None` if the time is that of all receivers without one of their own.
    pub node: Option<String>,
    /// The time since the last frame, ns.
    pub after: Nanos,
}

/// The end-to-end protection of a message, as its attributes state it. Texts are as in the file:
/// whether a profile and a signal of such names exist is not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct E2eAttributes {
    /// The line of the first of these attributes, from 1.
    pub line: usize,
    /// The profile (`E2EProfile`).
    pub profile: Option<String>,
    /// The Data ID, or a list of them (`E2EDataId`).
    pub data_id: Option<String>,
    /// The name of the signal that counts the frames (`E2ECounterSignal`).
    pub counter_signal: Option<String>,
    /// The name of the signal with the checksum (`E2ECrcSignal`).
    pub crc_signal: Option<String>,
    /// The time after which a receiver regards the message as lost (`E2ETimeout`, in ms), ns.
    pub timeout: Option<Nanos>,
}
