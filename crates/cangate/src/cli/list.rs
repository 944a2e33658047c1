//! The options of `cangate list`.

use clap::Args;

#[derive(Args, Debug)]
#[command(
    after_help = "A serial number and a USB path are those of the USB device; other buses state none."
)]
pub(crate) struct List {
    /// Only these interfaces; an alternative name is possible, too.
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Print JSON: an array of objects.
    #[arg(long)]
    pub(crate) json: bool,
}
