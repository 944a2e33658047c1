//! What a kind of port is: a keyword, settings, and how a port is made of them.

use crate::opener::Opener;
use crate::queueing::QueueSize;
use crate::{Halves, PortError};
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
use config::Value;
use config::{Diagnostics, Key, Shape, Table};
use frame::Kind;
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest name of a port, in bytes.
pub const LONGEST_NAME: usize = 32;

/// The most frames that a port's queue may hold.
pub const LONGEST_QUEUE: u32 = 65_536;

/// A kind of port. A gateway knows the kinds of its [`Kinds`](crate::Kinds), whoever wrote them.
pub trait PortKind: Send + Sync {
    /// What `kind` says in `gateway.toml`.
    fn keyword(&self) -> &'static str;

    /// Reads the keys of `[ports.NAME]`, all but `kind` and `faults`. What is wrong is added to
    /// `found`; the settings are then only looked at, never opened.
    fn parse(
        &self,
        port: &str,
        table: &mut Table<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn Settings>;

    /// The keys that [`PortKind::parse`] reads and those of its transmit queue, for a schema. A
    /// kind that does not say them is described as a table with any keys.
    fn keys(&self) -> Option<Vec<Key>> {
        None
    }

    /// Checks the ports of this kind against one another: what several of them share, they have to
    /// agree on. They are in the order of the file.
    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let _ = (ports, found);
    }
}

/// A port of a configuration, with its place.
#[derive(Clone, Debug)]
pub struct PlacedPort<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is to be.
    pub settings: &'a dyn Settings,
    /// Where its name stands in the text.
    pub span: Range<usize>,
}

/// What a port of some kind is to be, and all that a gateway asks of it before it is open.
pub trait Settings: Comparable + Debug + Send + Sync {
    /// The keyword of its kind.
    fn kind(&self) -> &'static str;

    /// One line in words, for `cangate check`.
    fn describe(&self) -> String;

    /// Opens the port. What cannot be undone, such as emptying a file, waits for
    /// [`Opener::at_start`].
    ///
    /// # Errors
    /// [`PortError`] says what is wrong or missing and what to do.
    fn open(&self, port: &str, opener: &mut Opener) -> Result<Halves, PortError>;

    /// Is what the port stands on still as these settings say, or has somebody changed it since?
    /// Where it is not, a reload opens the port anew.
    fn is_in_force(&self) -> bool {
        true
    }

    /// The Linux CAN interface that this port is, if it is one. The kernel can run routes between
    /// such ports, and then the port is not opened.
    fn interface(&self) -> Option<&str> {
        None
    }

    /// The bus that it is on, in words, if other ports can be on the same one: what one of them
    /// sends comes in at all the others, but not at itself.
    fn bus(&self) -> Option<String> {
        None
    }

    /// Another port without which it cannot be: of which kind, and its name.
    fn needs(&self) -> Option<(&'static str, &str)> {
        None
    }

    /// Where it reads from. A gateway makes sure that no port empties a file that another one
    /// reads.
    fn reads(&self) -> Option<&Stream> {
        None
    }

    /// What it writes to. A file is emptied when the start of a run has succeeded.
    fn writes(&self) -> Option<&Stream> {
        None
    }

    /// Its transmit queue, if another one can stand in its place that goes by priority, age, or a
    /// rule for when it is full. Its transmitting half must then count as held what it has not yet
    /// passed on, and have a deadline or a descriptor for when it has.
    fn transmit_queue(&self) -> Option<QueueSize> {
        None
    }

    /// Does this kind of frame pass, as far as the settings decide? What an interface or a machine
    /// has to decide is [`Passage::Open`].
    fn passes(&self, kind: Kind) -> Passage {
        let _ = kind;
        Passage::Open
    }

    /// Does its input come to an end by itself, as a file's does? `cangate run --until-end` waits
    /// for these.
    fn input_ends(&self) -> bool {
        false
    }
}

/// Whether frames of a kind pass a port, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// They do: the port is set up for them.
    Yes,
    /// None ever does.
    No,
    /// The settings leave it open.
    Open,
}

impl Passage {
    /// Of a controller that has a data phase or none: XL frames never pass.
    #[must_use]
    pub const fn by_data_phase(kind: Kind, has_data_phase: bool) -> Self {
        match (kind, has_data_phase) {
            (Kind::Classic, _) | (Kind::Fd, true) => Self::Yes,
            (Kind::Fd, false) | (Kind::Xl, _) => Self::No,
        }
    }
}

impl dyn Settings {
    /// The settings of one kind, for those who know it.
    #[must_use]
    pub fn downcast_ref<S: Settings + 'static>(&self) -> Option<&S> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// Two equal settings need no new port after a reload.
impl PartialEq for dyn Settings {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

/// Settings of any kind can be compared. Every type with `PartialEq` is this.
pub trait Comparable: Any {
    /// Is it the same type, and equal?
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<S: Any + PartialEq> Comparable for S {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// A file, or one of the standard streams.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Stream {
    /// `-`: standard input or output.
    Standard,
    /// A file; a relative path starts at the working directory.
    File(PathBuf),
}

/// The key `queue`: how many frames wait where the other side has no room, 1 to
/// [`LONGEST_QUEUE`].
pub fn queue(table: &mut Table<'_>, default: u32, found: &mut Diagnostics) -> u32 {
    table
        .integer("queue", 1..=i64::from(LONGEST_QUEUE), found)
        .map_or(default, |n| n.value as u32)
}

/// The key that [`queue()`] reads.
#[must_use]
pub fn queue_key(about: &'static str) -> Key {
    Key::new("queue", Shape::Integer(1..=i64::from(LONGEST_QUEUE)), about)
}

/// Bit rates and sample points, as several kinds have them; each reads them by itself.
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
pub(crate) fn rate_keys() -> Vec<Key> {
    let point = || Shape::Number(0.001..=0.999);
    vec![
        Key::new(
            "bitrate",
            Shape::Bitrate,
            "Nominal bit rate, such as \"500k\".",
        ),
        Key::new(
            "data_bitrate",
            Shape::Bitrate,
            "Bit rate of the data phase, such as \"2M\"; with it, FD frames are taken and sent.",
        ),
        Key::new(
            "sample_point",
            point(),
            "Where in the bit the bus is sampled, such as 0.875.",
        ),
        Key::new("data_sample_point", point(), "The same for the data phase."),
        Key::new(
            "restart",
            Shape::Any(vec![Shape::Duration, Shape::Words(vec!["never"])]),
            "The time from bus-off to the restart, or \"never\". Default \"100ms\".",
        ),
    ]
}

/// Settings of a controller, as several kinds have them; each reads them by itself.
#[cfg(any(feature = "direct", feature = "chardev"))]
pub(crate) fn controller_keys() -> Vec<Key> {
    vec![
        Key::new(
            "listen_only",
            Shape::Flag,
            "The controller sends nothing, not even acknowledgements.",
        ),
        Key::new("one_shot", Shape::Flag, "Each frame is tried once."),
        Key::new(
            "bus_errors",
            Shape::Flag,
            "Error frames tell of each error on the bus, too.",
        ),
    ]
}

/// Thousandths of a bit, from a number such as 0.875.
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
pub(crate) fn thousandths(value: &Value<'_>, found: &mut Diagnostics) -> Option<u32> {
    let part = value.number(found)?;
    if (0.001..=0.999).contains(&part.value) {
        return Some((part.value * 1000.0).round() as u32);
    }
    let hint = "a part of the bit between 0 and 1, such as 0.875";
    value.wrong("this is no sample point", hint, found);
    None
}
