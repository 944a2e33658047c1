//! Which kinds of port there are.

use crate::{Faults, PortKind};
use config::{Diagnostics, Key, Shape, Value, did_you_mean};
use std::fmt;
use std::sync::Arc;

/// Other tools' words for kinds of port, in small letters: drivers and adapters that Linux has as CAN
/// interfaces, the interfaces of python-can, formats of logs.
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

/// The kinds of port that a gateway knows. It is a value: whoever has another kind adds it by
/// [`Kinds::with`], and hands the list to `gateway::config::load` and `gateway::run::run`.
#[derive(Clone, Default)]
pub struct Kinds(Vec<Arc<dyn PortKind>>);

impl Kinds {
    /// No kind.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The kinds of this crate, as far as they are built in: each is a cargo feature.
    #[must_use]
    pub fn standard() -> Self {
        Self(crate::built_in())
    }

    /// One more. It takes the place of a kind with the same keyword.
    #[must_use]
    pub fn with(mut self, kind: impl PortKind + 'static) -> Self {
        self.0.retain(|known| known.keyword() != kind.keyword());
        self.0.push(Arc::new(kind));
        self
    }

    /// What `kind` can say in `gateway.toml`.
    pub fn keywords(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.iter().map(|kind| kind.keyword())
    }

    /// What a table `[ports.NAME]` can be, for a schema.
    #[must_use]
    pub fn shape(&self) -> Shape {
        // `[controllers.NAME]` is a table of its own.
        let kinds = self.iter().filter(|kind| kind.keyword() != CONTROLLER);
        let of = |kind: &dyn PortKind| {
            let name = Key::new(
                "kind",
                Shape::Words(vec![kind.keyword()]),
                "What the port is.",
            );
            match kind.keys() {
                Some(keys) => with_faults([vec![name.needed()], keys].concat()),
                None => Shape::Anything,
            }
        };
        Shape::Any(kinds.map(of).collect())
    }

    /// What a table `[controllers.NAME]` can be; `None` where there is no such kind.
    #[must_use]
    pub fn controller_shape(&self) -> Option<Shape> {
        let kind = self.iter().find(|kind| kind.keyword() == CONTROLLER)?;
        Some(kind.keys().map_or(Shape::Anything, with_faults))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn PortKind> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// The kind that a word stands for, also if it is another tool's word.
    pub(crate) fn keyword_like(&self, word: &str) -> Option<&'static str> {
        let word = word.to_ascii_lowercase();
        let meant = OTHER_WORDS
            .iter()
            .find(|(_, words)| words.contains(&word.as_str()));
        let keyword = meant.map_or(word.as_str(), |(keyword, _)| keyword);
        self.keywords().find(|known| *known == keyword)
    }

    /// The kind that a value names; reports one that nobody knows.
    pub(crate) fn named(
        &self,
        value: &Value<'_>,
        found: &mut Diagnostics,
    ) -> Option<&dyn PortKind> {
        let word = value.string(found)?.value;
        let kind = self.iter().find(|kind| kind.keyword() == word);
        if kind.is_none() {
            let hint = match self.keyword_like(word) {
                Some(keyword) => format!("did you mean `{keyword}`?"),
                None => did_you_mean(word, self.keywords()),
            };
            value.wrong(format!("`kind` cannot be `{word}`"), hint, found);
        }
        kind
    }
}

/// The kind whose tables are `[controllers.NAME]`.
const CONTROLLER: &str = "controller";

/// Any port can have faults.
fn with_faults(mut keys: Vec<Key>) -> Shape {
    keys.push(Faults::key());
    Shape::Table(keys)
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keywords()).finish()
    }
}

/// Declares the folder of each kind, and lists the kinds: `"feature" => folder::Type`.
macro_rules! kinds {
    ($($feature:literal => $folder:ident::$kind:ident,)*) => {
        $(
            #[cfg(feature = $feature)]
            pub mod $folder;
        )*

        /// The kinds whose feature is chosen, in this order.
        fn built_in() -> Vec<std::sync::Arc<dyn PortKind>> {
            Vec::from([$(
                #[cfg(feature = $feature)]
                {
                    let kind: std::sync::Arc<dyn PortKind> = std::sync::Arc::new($folder::$kind);
                    kind
                },
            )*])
        }
    };
}
pub(crate) use kinds;
