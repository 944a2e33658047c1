//! Kinds of port: a keyword, settings, and the way to make a port from them.

use crate::opener::PortOpener;
use crate::queueing::QueueSize;
use crate::{Halves, PortError};
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
use config::TomlValue;
use config::{Diagnostics, KeySpec, TomlTable, ValueShape};
use frame::Kind;
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum length of a port's name, in bytes.
pub const LONGEST_NAME: usize = 32;

/// Maximum number of frames that a port's queue may hold.
pub const LONGEST_QUEUE: u32 = 65_536;

/// A kind of port. A gateway knows the kinds in its [`Kinds`](crate::PortKinds), from whichever
/// crate they come.
pub trait PortKind: Send + Sync {
    /// Returns the value of `kind` in `gateway.toml`.
    fn keyword(&self) -> &'static str;

    /// Reads the keys of `[ports.NAME]`, all but `kind` and `faults`. Errors are added to `found`;
    /// the caller then only inspects the settings and never opens them.
    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings>;

    /// Returns the keys that [`PortKind::parse`] reads and those of its transmit queue, for a
    /// schema. A kind that returns `None` is described as a table with any keys.
    fn keys(&self) -> Option<Vec<KeySpec>> {
        None
    }

    /// Checks the ports of this kind against one another: they have to agree on anything that
    /// several of them share. They are in the order of the file.
    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let _ = (ports, found);
    }
}

/// A port of a configuration, with its place.
#[derive(Clone, Debug)]
pub struct PlacedPort<'a> {
    /// The port's name.
    pub name: &'a str,
    /// The port's settings.
    pub settings: &'a dyn PortSettings,
    /// Position of its name in the text.
    pub span: Range<usize>,
}

/// The settings of a port of some kind, and everything that a gateway has to know of it before it
/// is open.
pub trait PortSettings: ComparableSettings + Debug + Send + Sync {
    /// Returns the keyword of its kind.
    fn kind(&self) -> &'static str;

    /// Returns a description in one line, for `cangate check`.
    fn describe(&self) -> String;

    /// Opens the port. Actions that cannot be undone, such as emptying a file, are deferred with
    /// [`PortOpener::at_start`].
    ///
    /// # Errors
    /// [`PortError`] names what is wrong or missing, and the remedy.
    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError>;

    /// Returns whether the resource under the port (such as its interface) is still set up as these
    /// settings specify, or another program has changed it since. If false, a reload opens the port
    /// anew.
    fn is_in_force(&self) -> bool {
        true
    }

    /// Returns the Linux CAN interface of this port, if it has one. The kernel can run routes
    /// between such ports, and then the port is not opened.
    fn interface(&self) -> Option<&str> {
        None
    }

    /// Returns a description of the bus that the port is on, if other ports can be on the same one:
    /// a frame that one of them sends comes in at all the others, but not at itself.
    fn bus(&self) -> Option<String> {
        None
    }

    /// Returns the kind and the name of another port that this one depends on.
    fn needs(&self) -> Option<(&'static str, &str)> {
        None
    }

    /// Returns the stream that it reads from. A gateway makes sure that no port empties a file that
    /// another one reads.
    fn reads(&self) -> Option<&FileOrStream> {
        None
    }

    /// Returns the stream that it writes to. A file is emptied when the start of a run has
    /// succeeded.
    fn writes(&self) -> Option<&FileOrStream> {
        None
    }

    /// Returns the size of its transmit queue, if it can be replaced by a queue with an order by
    /// priority, a maximum age, or a rule for when it is full. Its transmitting half must then
    /// count the frames that it has not yet passed on as held, and have a deadline or a descriptor
    /// for the time when it has passed them on.
    fn transmit_queue(&self) -> Option<QueueSize> {
        None
    }

    /// Returns whether this kind of frame passes, as far as the settings decide:
    /// [`FramePassage::Open`] where an interface or a machine decides.
    fn passes(&self, kind: Kind) -> FramePassage {
        let _ = kind;
        FramePassage::Open
    }

    /// Returns whether its input comes to an end on its own, as a file's does.
    /// `cangate run --until-end` waits for such ports.
    fn input_ends(&self) -> bool {
        false
    }
}

/// Whether frames of a kind pass a port, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FramePassage {
    /// All pass: the port is set up for them.
    Yes,
    /// None ever passes.
    No,
    /// The settings do not decide it.
    Open,
}

impl FramePassage {
    /// Returns the passage through a controller with or without a data phase: XL frames never pass.
    #[must_use]
    pub const fn by_data_phase(kind: Kind, has_data_phase: bool) -> Self {
        match (kind, has_data_phase) {
            (Kind::Classic, _) | (Kind::Fd, true) => Self::Yes,
            (Kind::Fd, false) | (Kind::Xl, _) => Self::No,
        }
    }
}

impl dyn PortSettings {
    /// Returns the settings of one kind, for callers that know it.
    #[must_use]
    pub fn downcast_ref<S: PortSettings + 'static>(&self) -> Option<&S> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// Two equal settings need no new port after a reload.
impl PartialEq for dyn PortSettings {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

/// Comparison of settings of any kind. Every type with `PartialEq` implements it.
pub trait ComparableSettings: Any {
    /// Returns whether the other value has the same type and is equal.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<S: Any + PartialEq> ComparableSettings for S {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// A file, or one of the standard streams.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FileOrStream {
    /// `-`: standard input or output.
    Standard,
    /// A file; a relative path starts at the working directory.
    File(PathBuf),
}

/// Reads the key `queue`: the number of frames that can wait while the other side has no room, 1
/// to [`LONGEST_QUEUE`].
pub fn queue(table: &mut TomlTable<'_>, default: u32, found: &mut Diagnostics) -> u32 {
    table
        .integer("queue", 1..=i64::from(LONGEST_QUEUE), found)
        .map_or(default, |n| n.value as u32)
}

/// Returns the key that [`queue()`] reads.
#[must_use]
pub fn queue_key(about: &'static str) -> KeySpec {
    KeySpec::new(
        "queue",
        ValueShape::Integer(1..=i64::from(LONGEST_QUEUE)),
        about,
    )
}

/// Returns the keys of bit rates and sample points, which several kinds have; each kind reads them
/// itself.
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
pub(crate) fn rate_keys() -> Vec<KeySpec> {
    let point = || ValueShape::Number(0.001..=0.999);
    vec![
        KeySpec::new(
            "bitrate",
            ValueShape::Bitrate,
            "Nominal bit rate, such as \"500k\".",
        ),
        KeySpec::new(
            "data_bitrate",
            ValueShape::Bitrate,
            "Bit rate of the data phase, such as \"2M\"; with it, FD frames are taken and sent.",
        ),
        KeySpec::new(
            "sample_point",
            point(),
            "Where in the bit the bus is sampled, such as 0.875.",
        ),
        KeySpec::new("data_sample_point", point(), "The same for the data phase."),
        KeySpec::new(
            "restart",
            ValueShape::Any(vec![ValueShape::Duration, ValueShape::Words(vec!["never"])]),
            "The time from bus-off to the restart, or \"never\". Default \"100ms\".",
        ),
    ]
}

/// Returns the keys of a controller's settings, which several kinds have; each kind reads them
/// itself.
#[cfg(any(feature = "direct", feature = "chardev"))]
pub(crate) fn controller_keys() -> Vec<KeySpec> {
    vec![
        KeySpec::new(
            "listen_only",
            ValueShape::Flag,
            "The controller sends nothing, not even acknowledgements.",
        ),
        KeySpec::new("one_shot", ValueShape::Flag, "Each frame is tried once."),
        KeySpec::new(
            "bus_errors",
            ValueShape::Flag,
            "Error frames tell of each error on the bus, too.",
        ),
    ]
}

/// Converts a number such as 0.875 to thousandths of a bit.
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
pub(crate) fn thousandths(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u32> {
    let part = value.number(found)?;
    if (0.001..=0.999).contains(&part.value) {
        return Some((part.value * 1000.0).round() as u32);
    }
    let hint = "a part of the bit between 0 and 1, such as 0.875";
    value.wrong("this is no sample point", hint, found);
    None
}
