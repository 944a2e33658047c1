//! `cangate report`: what can be typed.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// The folder with results (`*.parquet`, searched with its subfolders).
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Write the site here instead of into DIR/site.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
