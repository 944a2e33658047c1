//! The list of the kinds of port.

use crate::{PortFaults, PortKind};
use config::{Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlValue, ValueShape, did_you_mean};
use std::env::consts::ARCH;
use std::fmt;
use std::sync::Arc;

/// Other tools' words for kinds of port, in lower case: drivers and adapters that Linux has as
/// CAN interfaces, the interfaces of python-can, formats of logs.
const OTHER_WORDS: [(&str, &[&str]); 5] = [
    (
        "socketcan",
        &[
            "can",
            "vcan",
            "vxcan",
            "slcan",
            "pcan",
            "kvaser",
            "ixxat",
            "vector",
            "canalystii",
            "gs_usb",
            "socket",
            "raw",
            "linux",
            "native",
            "interface",
            "socketcan_native",
        ],
    ),
    (
        "bus",
        &["virtual", "simulated", "sim", "embedded", "memory"],
    ),
    (
        "virtio",
        &[
            "vm",
            "qemu",
            "vhost",
            "vhost-user",
            "virtio-can",
            "virtio_can",
        ],
    ),
    (
        "shm",
        &["ivshmem", "shared_memory", "shared-memory", "ring"],
    ),
    ("log", &["file", "candump", "trace", "replay", "logfile"]),
];

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
        Self(crate::built_in())
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
        // `[controllers.NAME]` is a table of its own.
        let kinds = self.iter().filter(|kind| kind.keyword() != CONTROLLER);
        let of = |kind: &dyn PortKind| {
            let name = KeySpec::new(
                "kind",
                ValueShape::Words(vec![kind.keyword()]),
                "What the port is.",
            );
            match kind.keys() {
                Some(keys) => with_faults([vec![name.needed()], keys].concat()),
                None => ValueShape::Anything,
            }
        };
        ValueShape::Any(kinds.map(of).collect())
    }

    /// Returns the shape of a table `[controllers.NAME]`; `None` where there is no such kind.
    #[must_use]
    pub fn controller_shape(&self) -> Option<ValueShape> {
        let kind = self.iter().find(|kind| kind.keyword() == CONTROLLER)?;
        Some(kind.keys().map_or(ValueShape::Anything, with_faults))
    }

    /// Returns all kinds in the list.
    pub fn iter(&self) -> impl Iterator<Item = &dyn PortKind> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Returns the kinds of this crate that are neither in this build nor in this list.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> {
        let missing = crate::LEFT_OUT.iter().copied();
        missing.filter(|kind| self.keywords().all(|known| known != kind.keyword))
    }

    /// Returns the keyword that a word means, also if it is another tool's word.
    pub(crate) fn keyword_like(&self, word: &str) -> Option<&'static str> {
        let keyword = meant(word);
        self.keywords().find(|known| *known == keyword)
    }

    /// Returns the keywords of `[ports.NAME]`, quoted and separated by commas.
    pub(crate) fn list(&self) -> String {
        let ports = self.keywords().filter(|keyword| *keyword != CONTROLLER);
        let each: Vec<String> = ports.map(|keyword| format!("\"{keyword}\"")).collect();
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
            let means = meant(word);
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
fn meant(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let mut others = OTHER_WORDS.iter();
    let known = others.find(|(_, words)| words.contains(&word.as_str()));
    known.map_or(word, |(keyword, _)| (*keyword).to_owned())
}

/// A kind of port that this build does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The value of `kind` in `gateway.toml`; `"controller"` for a table of `[controllers]`.
    pub keyword: &'static str,
    /// The cargo feature that includes it.
    pub feature: &'static str,
    /// True if a build for this processor can include it.
    pub(crate) fits: bool,
    /// The processors that it supports; empty if it supports all.
    pub(crate) processors: &'static [&'static str],
}

impl LeftOut {
    /// Returns the reason why it is missing, as a sentence.
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

/// The kind whose tables are `[controllers.NAME]`.
const CONTROLLER: &str = "controller";

/// Adds the key for faults, which any port can have.
fn with_faults(mut keys: Vec<KeySpec>) -> ValueShape {
    keys.push(PortFaults::key());
    ValueShape::Table(keys)
}

impl fmt::Debug for PortKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keywords()).finish()
    }
}

/// Declares the folder of each kind, and lists the kinds: `"keyword" by "feature" => folder::Type`,
/// with `where condition, "processors"` where it supports some processors only.
macro_rules! kinds {
    ($(
        $keyword:literal by $feature:literal $(where $target:meta, $processors:literal)?
            => $folder:ident::$kind:ident,
    )*) => {
        $(
            #[cfg(all(feature = $feature $(, $target)?))]
            pub mod $folder;
        )*

        /// The kinds whose feature is chosen, in this order.
        fn built_in() -> Vec<std::sync::Arc<dyn PortKind>> {
            Vec::from([$(
                #[cfg(all(feature = $feature $(, $target)?))]
                {
                    let kind: std::sync::Arc<dyn PortKind> = std::sync::Arc::new($folder::$kind);
                    debug_assert_eq!(kind.keyword(), $keyword);
                    kind
                },
            )*])
        }

        /// The kinds that are not in this build.
        pub(crate) const LEFT_OUT: &[LeftOut] = &[$(
            #[cfg(not(all(feature = $feature $(, $target)?)))]
            LeftOut {
                keyword: $keyword,
                feature: $feature,
                fits: true $(&& cfg!($target))?,
                processors: &[$($processors)?],
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

    const EACH: [&str; 8] = [
        "socketcan",
        "bus",
        "log",
        "direct",
        "chardev",
        "virtio",
        "shm",
        "controller",
    ];

    #[test]
    fn each_kind_is_built_in_or_left_out_with_its_reason() {
        let kinds = PortKinds::standard();
        for keyword in EACH {
            let built_in = kinds.keywords().any(|known| known == keyword);
            let left_out = kinds.left_out().find(|kind| kind.keyword == keyword);
            assert_ne!(built_in, left_out.is_some(), "{keyword}");
            if let Some(kind) = left_out {
                let why = kind.why();
                assert!(why.contains(kind.feature) || why.contains(ARCH), "{why}");
            }
        }
        let count = kinds.iter().count() + kinds.left_out().count();
        assert_eq!(count, EACH.len());
    }

    #[test]
    fn a_kind_for_other_processors_says_so() {
        let kind = LeftOut {
            keyword: "virtio",
            feature: "virtio",
            fits: false,
            processors: &["64-bit"],
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
                CONTROLLER => (
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
            let spec = if missing.keyword == CONTROLLER {
                PortSpec::parse_as(CONTROLLER, &name, document.root(), &kinds, &mut found)
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
                missing.keyword == CONTROLLER || hint.ends_with(&kinds.list()),
                "{hint}"
            );
        }
    }
}
