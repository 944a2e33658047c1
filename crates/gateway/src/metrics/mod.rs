//! The counters of `cangate stats`, for Prometheus and other programs that read its text format.
//!
//! * [`render`] writes [`Stats`](crate::stats::GatewayStats) as text, in either of two formats
//!   ([`TextForm`]).
//! * [`MetricsServer`] serves it by HTTP, on a thread of its own that queries the gateway over its
//!   control socket, as `cangate stats` does. So the gateway answers one query per scrape. Clients
//!   are served concurrently: a slow client does not delay the others, and is disconnected.

mod families;
mod http;
mod text;

pub use http::{MetricsError, MetricsServer};
pub use text::{TextForm, render};
