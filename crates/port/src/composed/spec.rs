//! The port as the gateway file has it, before its databases are known.

use config::SpannedValue;
use frame::Nanos;
use signals::Decimal;

/// A value of a signal as the file has it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ValueSpec {
    /// A physical value.
    Number(Decimal),
    /// The name of a value.
    Name(String),
}

/// Substitute for a value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FallbackSpec {
    /// One of the key's words.
    Word(&'static str),
    /// A value.
    Substitute(SpannedValue<ValueSpec>),
}

/// A signal with a source.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SourceSpec {
    pub(super) from: SpannedValue<String>,
    pub(super) overflow: Option<FallbackSpec>,
    pub(super) timeout: Option<SpannedValue<Nanos>>,
    pub(super) silent: Option<FallbackSpec>,
    pub(super) status: Option<SpannedValue<String>>,
}

/// The value of a signal of a made message.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum SignalSpec {
    Constant(SpannedValue<ValueSpec>),
    Source(SourceSpec),
}

/// A message that is made.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MakeSpec {
    pub(super) name: SpannedValue<String>,
    pub(super) every: Option<Nanos>,
    pub(super) on_change: bool,
    pub(super) min_distance: Nanos,
    pub(super) answer_remote: bool,
    pub(super) counter: Option<SpannedValue<String>>,
    pub(super) signals: Vec<(SpannedValue<String>, SignalSpec)>,
}

/// The settings before the databases are known.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct UnboundSettings {
    /// The name of the port's database, and its place.
    pub(super) database: Option<SpannedValue<String>>,
    pub(super) makes: Vec<MakeSpec>,
}
