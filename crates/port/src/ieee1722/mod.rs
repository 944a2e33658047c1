//! IEEE 1722 (AVTP) over UDP: CAN frames as ACF messages, as Open1722 and Zephyr have them.

mod play_out;
mod presentation;
mod settings;
mod tunnel_end;
mod values;

pub use settings::{AvtpPorts, AvtpSettings};
