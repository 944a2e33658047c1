//! The definition of a counter: everything that reads counters follows from it.
//!
//! A counter of a port is one entry of a list, in [`RxCounters`](crate::RxCounters) or
//! [`TxCounters`](crate::TxCounters). The entry gives the field, its key in JSON, its sums and
//! differences, its place in the balance of the port, its place among the losses, its metric, its
//! column, and its row in docs/guide.md. So a new counter is one entry, and the statement that
//! counts.

use crate::counters::PortCount;

/// The definition of a counter of ports.
#[derive(Clone, Copy, Debug)]
pub struct CounterDefinition {
    /// Its place in the JSON of a port, such as `tx.sent`. It never changes: programs read it.
    pub key: &'static str,
    /// Its metric, without `_total`; `None` if it has no metric of its own.
    pub metric: Option<&'static str>,
    /// The head of its column in tables; `None` if tables do not show it.
    pub column: Option<&'static str>,
    /// A phrase that follows the number in lists of outcomes and losses.
    pub words: &'static str,
    /// The common property of the counted frames.
    pub role: CounterRole,
    /// Whether it counts errors: error frames, and input that is not a frame.
    pub is_error: bool,
    help: &'static str,
    read: fn(&PortCount) -> u64,
    on_purpose: fn(&PortCount) -> u64,
}

/// The common property of the frames of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterRole {
    /// An event, or frames of which other counters have the outcome.
    Other,
    /// Copies that the port took: the sum of the outcomes.
    Taken,
    /// Copies that left.
    Sent,
    /// Copies that wait. This number can become smaller, all others only grow.
    Held,
    /// Frames that did not arrive.
    Lost,
    /// A measured time, ns, and no number of frames; 0: it is not known. It has no sum.
    Measured,
}

impl CounterDefinition {
    /// Begins a definition. `words`: see [`CounterDefinition::words`]; empty if no list has it.
    pub(crate) const fn new(role: CounterRole, words: &'static str) -> Self {
        Self {
            key: "",
            metric: None,
            column: None,
            words,
            role,
            is_error: false,
            help: "",
            read: |_| 0,
            on_purpose: |_| 0,
        }
    }

    pub(crate) const fn of_errors(mut self) -> Self {
        self.is_error = true;
        self
    }

    pub(crate) const fn metric(mut self, name: &'static str) -> Self {
        self.metric = Some(name);
        self
    }

    pub(crate) const fn column(mut self, head: &'static str) -> Self {
        self.column = Some(head);
        self
    }

    /// Frames of this counter that an injected fault took: they are not losses.
    pub(crate) const fn on_purpose(mut self, number: fn(&PortCount) -> u64) -> Self {
        self.on_purpose = number;
        self
    }

    pub(crate) const fn at(
        mut self,
        key: &'static str,
        help: &'static str,
        read: fn(&PortCount) -> u64,
    ) -> Self {
        self.key = key;
        self.help = help;
        self.read = read;
        self
    }

    /// Returns its meaning, in sentences: the documentation of its field.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        self.help.trim_ascii()
    }

    /// Returns its name among the counters of its half, such as `sent`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// Returns whether its frames have this as their outcome.
    #[must_use]
    pub const fn is_outcome(&self) -> bool {
        matches!(
            self.role,
            CounterRole::Sent | CounterRole::Held | CounterRole::Lost
        )
    }

    /// Returns its number at this port.
    #[must_use]
    pub fn get(&self, port: &PortCount) -> u64 {
        (self.read)(port)
    }

    /// Returns the number of frames at this port that were lost and not dropped on purpose; 0 if it
    /// is not a loss.
    #[must_use]
    pub fn losses(&self, port: &PortCount) -> u64 {
        if self.role == CounterRole::Lost {
            self.get(port).saturating_sub((self.on_purpose)(port))
        } else {
            0
        }
    }
}

/// Makes a struct of counters from a list: its fields, [`Default`], JSON, sums and differences.
///
/// `[…]` after a field are its attributes for serde. With `in HALF` and a [`CounterDefinition`] for
/// each field, they are counters of that half of a port, together with those of injected faults,
/// and `DEFINITIONS` lists them. The documentation of a field is then its help text, so it
/// has no links.
macro_rules! counters {
    (
        $(#[$meta:meta])*
        $name:ident in $half:ident {
            $($(#[doc = $doc:literal])+ $field:ident $([$($serde:tt)+])? = $definition:expr;)+
        }
    ) => {
        $crate::definition::counters! {
            $(#[$meta])*
            $name {
                $($(#[doc = $doc])+ $field $([$($serde)+])? = $definition;)+
            }
            + faults
        }

        impl $name {
            /// The definitions of these counters, in the order of the fields.
            pub const DEFINITIONS: &'static [$crate::CounterDefinition] = &[$(
                $definition.at(
                    concat!(stringify!($half), ".", stringify!($field)),
                    concat!($($doc),+),
                    |port| port.$half.$field,
                )
            ),+];
        }
    };
    (
        $(#[$meta:meta])*
        $name:ident {
            $($(#[doc = $doc:literal])+ $field:ident $([$($serde:tt)+])? $(= $definition:expr)?;)+
        }
        $(+ $faults:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $field: u64,)+
            $(
                /// Faults that were injected on purpose.
                #[serde(default, skip_serializing_if = "crate::FaultCounters::is_none")]
                pub $faults: $crate::FaultCounters,
            )?
        }

        impl $name {
            /// Returns each counter with its key in JSON, in the order of the fields.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($field), self.$field)),+].into_iter()
            }

            /// Returns the counts since these counters were at `base`; 0 where they were higher.
            /// Measured values stay as they are: they have no differences.
            #[must_use]
            pub const fn minus(&self, base: &Self) -> Self {
                let mut more = *self;
                $(if $crate::definition::is_counted(&[$($definition)?]) {
                    more.$field = self.$field.saturating_sub(base.$field);
                })+
                $(more.$faults = self.$faults.minus(&base.$faults);)?
                more
            }

            /// Adds the counts of others. Measured values stay as they are: they have no sums.
            pub(crate) const fn add(&mut self, other: &Self) {
                $(if $crate::definition::is_counted(&[$($definition)?]) {
                    self.$field += other.$field;
                })+
                $(self.$faults.add(&other.$faults);)?
            }
        }
    };
}

pub(crate) use counters;

/// Returns whether a field with this definition is a number of events: differences and sums of it
/// have a meaning. A field without a definition is one.
pub(crate) const fn is_counted(definition: &[CounterDefinition]) -> bool {
    !matches!(definition, [one] if matches!(one.role, CounterRole::Measured))
}

/// Returns whether the number is left out of JSON.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A copied entry keeps no name of another one, and help texts have no links of rustdoc.
    #[test]
    fn each_counter_has_its_own_names() {
        let mut names = BTreeSet::new();
        for counter in PortCount::definitions() {
            let own = [Some(counter.key), counter.metric, counter.column];
            for (i, name) in own.into_iter().enumerate() {
                assert!(name.is_none_or(|name| names.insert((i, name))), "{name:?}");
            }
            assert!(counter.help().ends_with('.') && !counter.help().contains("[`"));
            assert!(
                !counter.is_outcome() || !counter.words.is_empty(),
                "{own:?}"
            );
        }
    }
}
