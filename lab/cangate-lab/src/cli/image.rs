//! The options of `cangate image`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(
    after_help = "The image starts on a PC by its PVH entry: `qemu-system-x86_64 -kernel gateway.elf -serial stdio` \
    with the cards that the file names. On the serial line (115200 bit/s), the letter s asks for the counters, q ends \
    it. It is built with cargo, once for each version of cangate: `rustup target add x86_64-unknown-none`."
)]
pub(crate) struct Image {
    /// The gateway file; its ports are of kind "direct", on PCI cards.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
    /// The image that is written.
    #[arg(long, value_name = "FILE", default_value = "gateway.elf")]
    pub(crate) out: PathBuf,
}
