//! `cangate bench`: what can be typed.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// The interface that sends.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: Option<String>,
    /// The interface beside it on the same bus, which stamps what goes into the gateway.
    #[arg(long, value_name = "IFACE")]
    pub(crate) reference: Option<String>,
    /// The interface on the gateway's other bus, which stamps what comes out.
    #[arg(long, value_name = "IFACE")]
    pub(crate) receive: Option<String>,
    /// Write every frame's stamps into this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
