//! What a user asks for: the routes as they stand in `gateway.toml`, resolved but not compiled.

use crate::matching::Match;
use crate::number::{Mode, PortId};
use crate::operations::Action;
use alloc::{string::String, vec::Vec};
use frame::Nanos;

/// All routes and how they are searched.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Routes {
    /// How many routes a frame may take.
    pub mode: Mode,
    /// A frame that has passed this many gateways is dropped (can-gw's module parameter
    /// `max_hops`); 1 to 6, can-gw's default is 1.
    pub max_hops: u8,
    /// The routes in the order in which they are tried.
    pub routes: Vec<Route>,
}

impl Default for Routes {
    /// No routes, every match taken, can-gw's default of one hop.
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            max_hops: 1,
            routes: Vec::new(),
        }
    }
}

/// From which ports, matching what, changed how, to which ports.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Route {
    /// Its name, unique in the file; counters and messages use it.
    pub name: String,
    /// Where frames come from.
    pub from: Vec<PortId>,
    /// Where they go; empty for a route that drops.
    pub to: Vec<PortId>,
    /// Which frames it takes.
    pub matching: Match,
    /// What is done to them, in this order. can-gw's order is AND, OR, XOR, SET, CRC8, XOR
    /// checksum.
    pub actions: Vec<Action>,
    /// Takes the frame and sends it nowhere.
    pub drop: bool,
    /// At most so many frames; those above are dropped and counted.
    pub limit: Option<RateLimit>,
    /// can-gw's `limit_hops`: the frame may pass at most so many gateways from here.
    pub hop_limit: Option<u8>,
    /// A frame may go back to the port that it came from (can-gw's `-i`).
    pub allow_same_port: bool,
    /// can-gw's `-e`: local listeners on the outgoing interface see the frame too.
    pub echo: bool,
    /// can-gw's `-t`: the outgoing frame keeps the receive time stamp.
    pub keep_stamp: bool,
}

impl Route {
    /// A route that takes every frame but error frames and changes nothing; its fields say the
    /// rest.
    #[must_use]
    pub fn new(name: impl Into<String>, from: Vec<PortId>, to: Vec<PortId>) -> Self {
        Self {
            name: name.into(),
            from,
            to,
            matching: Match::default(),
            actions: Vec::new(),
            drop: false,
            limit: None,
            hop_limit: None,
            allow_same_port: false,
            echo: false,
            keep_stamp: false,
        }
    }
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateLimit {
    /// Frames in `per`.
    pub frames: u32,
    /// The time in which they are allowed, ns.
    pub per: Nanos,
    /// How many may come at once after a pause; at least 1.
    pub burst: u32,
    /// A bucket for each ID instead of one for the route. At most `max_ids` are kept; IDs above
    /// that share one bucket, so that memory stays bounded.
    pub per_id: Option<u32>,
}
