//! The options of `cangate report`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// The folder with the results: `*.parquet` in it and in its subfolders.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Write the site into this folder instead of DIR/site.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
