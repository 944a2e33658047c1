//! The routes that a user requests: those of `gateway.toml`, resolved but not compiled.

use crate::matching::FrameMatch;
use crate::number::{PortId, RouteMode};
use crate::operations::Action;
use crate::protected::{RouteProtection, RouteVerification};
use alloc::{string::String, vec::Vec};
use frame::Nanos;

/// All routes and the mode of their search.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Routes {
    /// Number of routes that a frame may take.
    pub mode: RouteMode,
    /// Number of gateways after which a frame is dropped (can-gw's module parameter `max_hops`); 1
    /// to 6, can-gw's default is 1.
    pub max_hops: u8,
    /// The routes in the order in which they are tried.
    pub routes: Vec<Route>,
}

impl Default for Routes {
    /// No routes, mode [`RouteMode::All`], can-gw's default of one hop.
    fn default() -> Self {
        Self {
            mode: RouteMode::default(),
            max_hops: 1,
            routes: Vec::new(),
        }
    }
}

/// A route: source ports, conditions, changes and destination ports.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Route {
    /// Its name, unique in the file; counters and messages use it.
    pub name: String,
    /// The ports where frames come in.
    pub from: Vec<PortId>,
    /// The ports to which frames are sent; empty for a route that drops.
    pub to: Vec<PortId>,
    /// The conditions on the frames that it takes.
    pub matching: FrameMatch,
    /// The changes of the frames, in this order. can-gw's order is AND, OR, XOR, SET, CRC8, XOR
    /// checksum.
    pub actions: Vec<Action>,
    /// The route takes the frame and sends it nowhere.
    pub drop: bool,
    /// The rate limit; frames that exceed it are dropped and counted.
    pub limit: Option<RateLimit>,
    /// can-gw's `limit_hops`: the maximum number of gateways that the frame may pass from here on.
    pub hop_limit: Option<u8>,
    /// A frame may go back to the port that it came from (can-gw's `-i`).
    pub allow_same_port: bool,
    /// can-gw's `-e`: local listeners on the outgoing interface see the frame too.
    pub echo: bool,
    /// can-gw's `-t`: the outgoing frame keeps the receive time stamp.
    pub keep_stamp: bool,
    /// The end-to-end protection that the frames must have.
    pub verify: Option<RouteVerification>,
    /// The end-to-end protection that the frames get after all actions.
    pub protect: Option<RouteProtection>,
}

impl Route {
    /// Returns a route that takes every frame except error frames and changes nothing; the caller
    /// can set its fields.
    #[must_use]
    pub fn new(name: impl Into<String>, from: Vec<PortId>, to: Vec<PortId>) -> Self {
        Self {
            name: name.into(),
            from,
            to,
            matching: FrameMatch::default(),
            actions: Vec::new(),
            drop: false,
            limit: None,
            hop_limit: None,
            allow_same_port: false,
            echo: false,
            keep_stamp: false,
            verify: None,
            protect: None,
        }
    }
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateLimit {
    /// Number of frames in `per`.
    pub frames: u32,
    /// The time in which that number of frames is allowed, in ns.
    pub per: Nanos,
    /// Number of frames that may come at once after a pause; at least 1.
    pub burst: u32,
    /// With a value, each ID has a bucket, instead of one bucket for the route. The value is the
    /// maximum number of such buckets (`max_ids`); further IDs share one bucket, so that memory
    /// stays bounded.
    pub per_id: Option<u32>,
}
