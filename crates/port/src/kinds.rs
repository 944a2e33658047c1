//! The list of the kinds of port.

use crate::{ClientSettings, MessageSettings, PortFaults, PortKind, QueueSettings};
use config::{Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlValue, ValueShape, did_you_mean};
use std::env::consts::ARCH;
use std::fmt;
use std::sync::Arc;

/// The kinds of port that a gateway knows. It is a value: a crate with another kind adds it with
/// [`PortKinds::with`], and passes the list to `gateway::config::load` and `gateway::run::run`.
#[derive(Clone, Default)]
pub struct PortKinds(Vec<Arc<dyn PortKind>>);

impl PortKinds {
    /// Returns an empty list.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the kinds of this crate, as far as they are built in: each is a cargo feature.
    #[must_use]
    pub fn standard() -> Self {
        let built_in = crate::KINDS.iter().filter_map(|known| known.make);
        Self(built_in.map(|make| make()).collect())
    }

    /// Adds a kind. It replaces a kind with the same keyword.
    #[must_use]
    pub fn with(mut self, kind: impl PortKind + 'static) -> Self {
        self.0.retain(|known| known.keyword() != kind.keyword());
        self.0.push(Arc::new(kind));
        self
    }

    /// Returns the values that `kind` can have in `gateway.toml`.
    pub fn keywords(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.iter().map(|kind| kind.keyword())
    }

    /// Returns the shape of a table `[ports.NAME]`, for a schema.
    #[must_use]
    pub fn shape(&self) -> ValueShape {
        let of = |kind: &dyn PortKind| {
            let about = "The kind of the port.";
            let name = KeySpec::new("kind", ValueShape::Words(vec![kind.keyword()]), about);
            kind_shape(kind, vec![name.needed()])
        };
        ValueShape::Any(self.of_table("ports").map(of).collect())
    }

    /// Returns the shape of a table `[controllers.NAME]`; `None` where there is no such kind.
    #[must_use]
    pub fn controller_shape(&self) -> Option<ValueShape> {
        let kind = self.of_table("controllers").next()?;
        Some(kind_shape(kind, Vec::new()))
    }

    /// Returns the kinds whose ports are in this table.
    fn of_table(&self, table: &'static str) -> impl Iterator<Item = &dyn PortKind> {
        self.iter().filter(move |kind| kind.table() == table)
    }

    /// Returns all kinds in the list.
    pub fn iter(&self) -> impl Iterator<Item = &dyn PortKind> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Returns the kinds of this crate that are neither in this build nor in this list.
    pub fn left_out(&self) -> impl Iterator<Item = &'static KnownKind> {
        let missing = crate::KINDS.iter().filter(|known| known.make.is_none());
        missing.filter(|kind| self.keywords().all(|known| known != kind.keyword))
    }

    /// Returns the keyword that a word means, also if it is another tool's word.
    pub(crate) fn keyword_like(&self, word: &str) -> Option<&'static str> {
        let keyword = suggest(word);
        self.keywords().find(|known| *known == keyword)
    }

    /// Returns the keywords of `[ports.NAME]`, quoted and separated by commas.
    pub(crate) fn list(&self) -> String {
        let ports = self.of_table("ports");
        let each: Vec<String> = ports
            .map(|kind| format!("\"{}\"", kind.keyword()))
            .collect();
        each.join(", ")
    }

    /// Returns the kind that a value names; reports an unknown one.
    pub(crate) fn named(
        &self,
        value: &TomlValue<'_>,
        found: &mut Diagnostics,
    ) -> Option<&dyn PortKind> {
        let word = value.string(found)?.value;
        let kind = self.iter().find(|kind| kind.keyword() == word);
        if kind.is_none() {
            let means = suggest(word);
            let missing = self.left_out().find(|kind| kind.keyword == means);
            let (message, hint) = match (missing, self.keyword_like(word)) {
                (Some(missing), _) => (
                    format!("kind \"{}\" is not in this build", missing.keyword),
                    format!("{}; this build has {}", missing.why(), self.list()),
                ),
                (None, Some(keyword)) => (
                    format!("`kind` cannot be `{word}`"),
                    format!("did you mean `{keyword}`?"),
                ),
                (None, None) => (
                    format!("`kind` cannot be `{word}`"),
                    did_you_mean(word, self.keywords()),
                ),
            };
            value.wrong(message, hint, found);
        }
        kind
    }

    /// Returns the kind that a table of this name (`[controllers.NAME]`) has by its place; reports
    /// an error if this list lacks it.
    pub(crate) fn placed(
        &self,
        keyword: &str,
        name: &SpannedValue<&str>,
        found: &mut Diagnostics,
    ) -> Option<&dyn PortKind> {
        let kind = self.iter().find(|kind| kind.keyword() == keyword);
        if kind.is_none() {
            let message = format!("{keyword} `{}` cannot be in this build", name.value);
            let error = Diagnostic::error(name.span.clone(), message);
            let missing = self.left_out().find(|kind| kind.keyword == keyword);
            found.push(match missing {
                Some(missing) => error.hint(missing.why()),
                None => error,
            });
        }
        kind
    }
}

/// Returns the keyword that a word means: the word itself, if it is not another tool's.
fn suggest(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let known = crate::KINDS
        .iter()
        .find(|known| known.words.contains(&word.as_str()));
    known.map_or(word, |known| known.keyword.to_owned())
}

/// A kind of port of this crate, which this build may lack.
#[derive(Clone, Copy, Debug)]
pub struct KnownKind {
    /// The value of `kind` in `gateway.toml`; `"controller"` for a table of `[controllers]`.
    pub keyword: &'static str,
    /// The cargo feature that includes it.
    pub feature: &'static str,
    /// True if a build for this processor can include it.
    pub(crate) fits: bool,
    /// The processors that it supports; empty if it supports all.
    pub(crate) processors: &'static [&'static str],
    /// Other tools' words for it, in lower case: drivers and adapters that Linux has as CAN
    /// interfaces, the interfaces of python-can, formats of logs.
    pub(crate) words: &'static [&'static str],
    /// The function that returns it, in a build that has it.
    pub(crate) make: Option<fn() -> Arc<dyn PortKind>>,
}

impl KnownKind {
    /// Returns the reason why a build lacks it, as a sentence.
    #[must_use]
    pub fn why(&self) -> String {
        if self.fits {
            let feature = self.feature;
            return format!("this program was built without the feature `{feature}`");
        }
        let processors = self.processors.join(" and ");
        format!("it is for {processors} processors, and this program was built for {ARCH}")
    }
}

/// Returns the shape of the table of a port: these keys, those of the kind, and those of any port.
fn kind_shape(kind: &dyn PortKind, mut keys: Vec<KeySpec>) -> ValueShape {
    let Some(own) = kind.keys() else {
        return ValueShape::Anything;
    };
    keys.extend(own);
    if kind.has_transmit_queue() {
        keys.extend(QueueSettings::key_specs());
    }
    keys.extend(MessageSettings::key_specs());
    keys.extend(ClientSettings::key_specs());
    keys.push(PortFaults::key());
    ValueShape::Table(keys)
}

impl fmt::Debug for PortKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keywords()).finish()
    }
}

/// Declares the folder of each kind, and lists the kinds: `"keyword" by "feature" => folder::Type`,
/// with `where condition, "processors"` where it supports some processors only, and other tools'
/// words for it after `not`.
macro_rules! kinds {
    ($(
        $keyword:literal by $feature:literal $(where $target:meta, $processors:literal)?
            => $folder:ident::$kind:ident $(, not $($word:literal)+)?;
    )*) => {
        $(
            #[cfg(all(feature = $feature $(, $target)?))]
            pub mod $folder;
        )*

        /// All kinds of this crate, in this order, whether this build has them or not.
        pub(crate) const KINDS: &[KnownKind] = &[$(
            KnownKind {
                keyword: $keyword,
                feature: $feature,
                fits: true $(&& cfg!($target))?,
                processors: &[$($processors)?],
                words: &[$($($word),+)?],
                make: {
                    #[cfg(all(feature = $feature $(, $target)?))]
                    let make: Option<fn() -> std::sync::Arc<dyn PortKind>> =
                        Some(|| std::sync::Arc::new($folder::$kind));
                    #[cfg(not(all(feature = $feature $(, $target)?)))]
                    let make = None;
                    make
                },
            },
        )*];
    };
}
pub(crate) use kinds;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortSpec;
    use config::{SourceText, TomlDocument};

    const EACH: [&str; 15] = [
        "socketcan",
        "bus",
        "log",
        "direct",
        "chardev",
        "virtio",
        "shm",
        "messages",
        "split",
        "cannelloni",
        "socketcand",
        "slcan",
        "multicast",
        "ieee1722",
        "controller",
    ];

    #[test]
    fn each_kind_is_built_in_or_left_out_with_its_reason() {
        let kinds = PortKinds::standard();
        for keyword in EACH {
            let built_in = kinds.keywords().any(|known| known == keyword);
            let left_out = kinds.left_out().find(|kind| kind.keyword == keyword);
            assert_ne!(built_in, left_out.is_some(), "{keyword}");
            let known = crate::KINDS
                .iter()
                .find(|known| known.keyword == keyword)
                .unwrap();
            let made = known.make.map(|make| make().keyword());
            assert_eq!(made.is_some(), built_in);
            assert_eq!(made.unwrap_or(keyword), keyword);
            if let Some(kind) = left_out {
                let why = kind.why();
                assert!(why.contains(kind.feature) || why.contains(ARCH), "{why}");
            }
        }
        let count = kinds.iter().count() + kinds.left_out().count();
        assert_eq!(count, EACH.len());
    }

    #[test]
    fn a_kind_for_other_processors_gives_the_reason() {
        let kind = KnownKind {
            keyword: "virtio",
            feature: "virtio",
            fits: false,
            processors: &["64-bit"],
            words: &[],
            make: None,
        };
        let why = format!("it is for 64-bit processors, and this program was built for {ARCH}");
        assert_eq!(kind.why(), why);
    }

    /// Passes in a build with any features: `cargo test -p cangate-port --no-default-features`
    /// leaves out all kinds.
    #[test]
    fn a_kind_that_is_left_out_is_refused_with_the_reason_at_its_place() {
        let kinds = PortKinds::standard();
        for missing in kinds.left_out() {
            let (text, message) = match missing.keyword {
                "controller" => (
                    String::new(),
                    "controller `p` cannot be in this build".to_owned(),
                ),
                keyword => (
                    format!("kind = \"{keyword}\""),
                    format!("kind \"{keyword}\" is not in this build"),
                ),
            };
            let source = SourceText::new("t", &text);
            let mut found = Diagnostics::new();
            let document = TomlDocument::parse(&source, &mut found);
            let name = SpannedValue {
                value: "p",
                span: 0..0,
            };
            let spec = if missing.keyword == "controller" {
                PortSpec::parse_as("controller", &name, document.root(), &kinds, &mut found)
            } else {
                PortSpec::parse(&name, document.root(), &kinds, &mut found)
            };
            assert_eq!(spec, None);
            let [error] = found.list() else {
                panic!("{:?}", found.list());
            };
            assert_eq!(error.message, message);
            let hint = &error.hint;
            assert!(hint.starts_with(&missing.why()), "{hint}");
            assert!(
                missing.keyword == "controller" || hint.ends_with(&kinds.list()),
                "{hint}"
            );
        }
    }
}
