//! Kinds of port: a keyword, settings, and the way to make a port from them.

use crate::network_link::NetworkLink;
use crate::opener::PortOpener;
use crate::queueing::QueueSize;
use crate::stand_in::{SimulatedPlace, StandIn};
use crate::tunnel_end::TunnelEnd;
use crate::{Halves, PortError};
use config::{Diagnostics, KeySpec, TomlTable};
use frame::{CanId, Kind};
use signals::MessageDatabase;
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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

    /// Returns the name of the table of such ports: `ports`, in which `kind` is the keyword, or a
    /// table of its own.
    fn table(&self) -> &'static str {
        "ports"
    }

    /// Reads the keys of `[ports.NAME]`, all but `kind` and `faults`. Errors are added to `found`;
    /// the caller then only inspects the settings and never opens them.
    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings>;

    /// Returns the keys that [`PortKind::parse`] reads, for a schema. A kind that returns `None` is
    /// described as a table with any keys.
    fn keys(&self) -> Option<Vec<KeySpec>> {
        None
    }

    /// Returns whether its ports have a [transmit queue](PortSettings::transmit_queue), and so the
    /// keys of [`QueueSettings`](crate::QueueSettings).
    fn has_transmit_queue(&self) -> bool {
        false
    }

    /// Checks the ports of this kind against one another: they have to agree on anything that
    /// several of them share. They are in the order of the file.
    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let _ = (ports, found);
    }
}

/// Declares a kind of port: its type, its keyword, its keys, and the function that reads them; then
/// the methods of [`PortKind`] that differ from the defaults.
#[allow(unused_macros, reason = "a build without kinds of port has none")]
macro_rules! port_kind {
    ($(#[$doc:meta])* $Kind:ident = $keyword:literal, $keys:expr, $parse:expr; $($methods:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Kind;

        const KEYWORD: &str = $keyword;

        impl $crate::kind::PortKind for $Kind {
            fn keyword(&self) -> &'static str {
                KEYWORD
            }

            fn parse(
                &self,
                port: &str,
                table: &mut ::config::TomlTable<'_>,
                found: &mut ::config::Diagnostics,
            ) -> ::std::sync::Arc<dyn $crate::kind::PortSettings> {
                ::std::sync::Arc::new($parse(port, table, found))
            }

            fn keys(&self) -> Option<Vec<::config::KeySpec>> {
                Some($keys)
            }

            $($methods)*
        }
    };
}
#[allow(unused_imports, reason = "a build without kinds of port has none")]
pub(crate) use port_kind;

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

    /// Returns the settings with what they need of the gateway file's databases; `None` if they
    /// need nothing, or if there are mistakes, which are added to `found`.
    fn bind(
        &self,
        databases: &DatabasesByName<'_>,
        found: &mut Diagnostics,
    ) -> Option<Arc<dyn PortSettings>> {
        let _ = (databases, found);
        None
    }

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

    /// Returns a finder of the interface, if the port chooses it by its device: its name can change
    /// while the port is open.
    fn interface_finder(&self) -> Option<InterfaceFinder> {
        None
    }

    /// Returns the device, socket or other resource that no two ports can have; by default the
    /// interface.
    fn exclusive(&self) -> Option<ExclusiveResource> {
        let hint = "use one port: a port both receives and sends";
        self.interface()
            .map(|name| ExclusiveResource::new(format!("interface {name}"), hint))
    }

    /// Returns a description of the bus that the port is on, if other ports can be on the same one:
    /// a frame that one of them sends comes in at all the others, but not at itself.
    fn bus(&self) -> Option<String> {
        None
    }

    /// Returns the ends of its connection, if it is on a network: another port of the same gateway
    /// may be its other side.
    fn network_link(&self) -> Option<NetworkLink> {
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

    /// Returns what the protocol of the other side cannot express.
    fn peer_limits(&self) -> PeerLimits {
        PeerLimits::default()
    }

    /// Returns whether the port hands frames on by the time stamps of its other side, which then
    /// probably does the same with the stamps of frames that leave here.
    fn plays_out(&self) -> bool {
        false
    }

    /// Returns the port as an end of a tunnel over datagrams; `None` if it is none.
    fn tunnel_end(&self) -> Option<&dyn TunnelEnd> {
        None
    }

    /// Returns the IDs of the messages that the port makes itself; `None` for a port whose frames
    /// come from elsewhere.
    fn made_ids(&self) -> Option<Vec<CanId>> {
        None
    }

    /// Returns the IDs of the FD frames that the port splits, and of their parts.
    fn split_ids(&self) -> Vec<SplitIds> {
        Vec::new()
    }

    /// Returns whether its input comes to an end on its own, as a file's does.
    /// `cangate run --until-end` waits for such ports.
    fn input_ends(&self) -> bool {
        false
    }

    /// Returns the stand-in of the port in a simulation.
    fn stand_in(&self, place: SimulatedPlace<'_>) -> StandIn {
        let _ = place;
        StandIn::Nothing("whose other side is another program or machine")
    }
}

/// The identifiers of an FD frame and of the classic frames in which its parts are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SplitIds {
    /// The identifier of the FD frame.
    pub whole: CanId,
    /// The identifier of its parts.
    pub parts: CanId,
}

/// The databases of a gateway file, by their names, and which of them were used.
#[derive(Debug)]
pub struct DatabasesByName<'a> {
    all: BTreeMap<&'a str, &'a MessageDatabase>,
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> DatabasesByName<'a> {
    /// Creates the list of these databases.
    pub fn new(all: impl IntoIterator<Item = (&'a str, &'a MessageDatabase)>) -> Self {
        Self {
            all: all.into_iter().collect(),
            used: RefCell::default(),
        }
    }

    /// Finds a database, and notes that it is used.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(&'a str, &'a MessageDatabase)> {
        let (name, database) = self.all.get_key_value(name)?;
        self.used.borrow_mut().insert(name);
        Some((name, database))
    }

    /// Returns the names of all databases.
    #[must_use]
    pub fn names(&self) -> Vec<&'a str> {
        self.all.keys().copied().collect()
    }

    /// Returns the names of the databases that were used.
    #[must_use]
    pub fn into_used(self) -> BTreeSet<&'a str> {
        self.used.into_inner()
    }
}

/// A resource that only one port can have, or several ports that have different parts of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExclusiveResource {
    /// Its name in messages.
    pub name: String,
    /// The part that the port has; `None` for the whole resource.
    pub part: Option<String>,
    /// A range of parts that must all have the same use, and the port's use of it.
    pub range: Option<(String, &'static str)>,
    /// The cure if two ports have it.
    pub hint: &'static str,
}

impl ExclusiveResource {
    /// Creates the resource of this name; see the fields.
    #[must_use]
    pub fn new(name: impl Into<String>, hint: &'static str) -> Self {
        Self {
            name: name.into(),
            part: None,
            range: None,
            hint,
        }
    }

    /// Returns the same for a port that has only this part.
    #[must_use]
    pub fn only(mut self, part: impl Into<String>) -> Self {
        self.part = Some(part.into());
        self
    }

    /// Returns the same with a range of parts and the port's use of it.
    #[must_use]
    pub fn within(mut self, range: impl Into<String>, usage: &'static str) -> Self {
        self.range = Some((range.into(), usage));
        self
    }

    /// Returns the name of what two ports both need; `None` if they can have their resources at the
    /// same time.
    #[must_use]
    pub fn conflict(&self, other: &Self) -> Option<String> {
        let name = (self.name == other.name).then_some(&self.name)?;
        if let (Some((range, usage)), Some((same, other))) = (&self.range, &other.range)
            && range == same
            && usage != other
        {
            return Some(format!("{range} at {name}"));
        }
        match (&self.part, &other.part) {
            (Some(part), Some(same)) if part == same => Some(format!("{part} at {name}")),
            (Some(_), Some(_)) => None,
            _ => Some(name.clone()),
        }
    }
}

/// A function that finds the present name of a port's interface; it returns `None` while there is
/// none.
#[derive(Clone)]
pub struct InterfaceFinder(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl InterfaceFinder {
    /// Creates it of a function.
    #[must_use]
    pub fn new(find: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Returns the present name.
    #[must_use]
    pub fn find(&self) -> Option<String> {
        (self.0)()
    }
}

impl Debug for InterfaceFinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InterfaceFinder")
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

/// Limits of the protocol of a port's other side, apart from kinds of frame: each field states
/// whether the protocol can express it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerLimits {
    /// Remote frames.
    pub remote: bool,
    /// The time stamps of frames that leave.
    pub stamps: bool,
}

/// Everything.
impl Default for PeerLimits {
    fn default() -> Self {
        Self {
            remote: true,
            stamps: true,
        }
    }
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
