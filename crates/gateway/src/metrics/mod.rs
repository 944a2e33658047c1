//! The counters of `cangate stats`, for Prometheus and what understands its text.
//!
//! * [`render`] writes [`Stats`](crate::stats::Stats) as text, in either of two forms ([`Form`]).
//! * [`Metrics`] serves it by HTTP, on a thread of its own that asks the gateway by its control
//!   socket, as `cangate stats` does. So the gateway answers as often as it is asked. Clients are
//!   served side by side: a slow one holds up no other, and is sent away.

mod families;
mod http;
mod text;

pub use http::{Metrics, MetricsError};
pub use text::{Form, render};
