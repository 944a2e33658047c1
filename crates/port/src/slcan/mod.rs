//! slcan over TCP: a server for programs such as python-can, or a client of a network adapter.
//!
//! `can.Bus(interface="slcan", channel="socket://HOST:PORT")` of python-can connects to a port that
//! listens. It is python-can's only client over TCP with CAN FD.

mod settings;

pub use settings::{SlcanPorts, SlcanSettings};
