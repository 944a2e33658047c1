//! `kind = "socketcan"`: a Linux CAN interface.

use super::config::{Io, SocketCanConfig};
use super::open::open;
use crate::kind::{PortKind, Settings, queue};
use crate::{Halves, Opener, PortError};
use config::{Diagnostic, Diagnostics, Misnomer, Table};
use std::sync::Arc;

/// Linux CAN interfaces.
#[derive(Clone, Copy, Debug)]
pub struct SocketCan;

impl PortKind for SocketCan {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn parse(
        &self,
        port: &str,
        table: &mut Table<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn Settings> {
        Arc::new(SocketCanSettings::parse(port, table, found))
    }
}

const KEYWORD: &str = "socketcan";

/// The longest name of a Linux interface, in bytes (`IFNAMSIZ` of `uapi/linux/if.h` less the
/// final zero).
const LONGEST_INTERFACE: usize = 15;

const IO: [(&str, Io); 2] = [("mmsg", Io::Mmsg), ("read-write", Io::ReadWrite)];

/// What SocketCAN's tools and python-can call these settings.
const MISNOMERS: &[Misnomer] = &[
    Misnomer::of(
        "interface",
        &[
            "channel", "device", "dev", "iface", "ifname", "netdev", "link", "can",
        ],
    ),
    Misnomer::elsewhere(
        &[
            "bitrate",
            "rate",
            "speed",
            "baud",
            "baudrate",
            "dbitrate",
            "data_bitrate",
            "sample_point",
        ],
        "Linux sets the bit rate: `ip link set can0 type can bitrate 500000`",
    ),
    Misnomer::elsewhere(
        &["can_filters", "filter", "filters"],
        "a route says which frames it takes: `id` or `filter` under [[routes]]",
    ),
    Misnomer::of(
        "queue",
        &["txqueuelen", "tx_queue_len", "queue_length", "queue_size"],
    ),
    Misnomer::of(
        "receive_buffer",
        &["rcvbuf", "so_rcvbuf", "rx_buffer", "buffer"],
    ),
    Misnomer::of("fd", &["canfd", "can_fd", "fd_frames", "flexible_datarate"]),
    Misnomer::of("xl", &["canxl", "can_xl", "xl_frames"]),
];

/// A Linux CAN interface, by a raw socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanSettings {
    /// The interface's name; by default the port's.
    pub interface: String,
    /// Take and send FD frames, where the interface can; default true.
    pub fd: bool,
    /// Take and send XL frames, where the kernel and the interface can; default false.
    pub xl: bool,
    /// Frames that are kept while the interface's own queue is full; 1 to 65536, default 128.
    pub queue: u32,
    /// The socket's receive buffer in bytes (`SO_RCVBUF`); the kernel's default where absent.
    pub receive_buffer: Option<u32>,
    /// The system calls that move frames: `"mmsg"` (default) or `"read-write"`.
    pub io: Io,
}

impl SocketCanSettings {
    fn parse(port: &str, table: &mut Table<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let interface = match table.get("interface") {
            Some(value) => value.string(found),
            None if table.is_misnamed("interface") => None,
            None => {
                if let Err(why) = check_interface(port) {
                    let hint = format!("the port's name is no name of an interface: {why}");
                    table.missing("interface", &hint, found);
                }
                None
            }
        };
        if let Some(name) = &interface
            && let Err(why) = check_interface(name.value)
        {
            let d = Diagnostic::error(name.span.clone(), "this is no name of an interface");
            found.push(d.hint(why));
        }
        let fd = table.flag("fd", true, found);
        let xl = table.flag("xl", false, found);
        let queue = queue(table, 128, found);
        let receive_buffer = table
            .integer("receive_buffer", 4096..=1 << 30, found)
            .map(|n| n.value as u32);
        let io = table
            .one_of("io", &IO, found)
            .map_or(Io::Mmsg, |io| io.value);
        Self {
            interface: interface.map_or(port, |i| i.value).to_owned(),
            fd,
            xl,
            queue,
            receive_buffer,
            io,
        }
    }
}

impl Settings for SocketCanSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut kinds = String::from("classic");
        if self.fd {
            kinds.push_str(", FD");
        }
        if self.xl {
            kinds.push_str(", XL");
        }
        let by = match self.io {
            Io::Mmsg => "",
            Io::ReadWrite => ", by read and write",
        };
        format!(
            "Linux interface {}, {kinds}{by}; up to {} frames wait",
            self.interface, self.queue
        )
    }

    fn open(&self, port: &str, _: &mut Opener) -> Result<Halves, PortError> {
        let config = SocketCanConfig {
            interface: self.interface.clone(),
            fd: self.fd,
            xl: self.xl,
            queue: self.queue as usize,
            receive_buffer: self.receive_buffer,
            hardware_stamps: false,
            io: self.io,
        };
        open(port, &config)
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }
}

/// As `dev_valid_name` of Linux's `net/core/dev.c`: not empty, not `.` or `..`, no slash, colon
/// or white space.
fn check_interface(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a name is needed, such as \"can0\"".to_owned());
    }
    if name.len() > LONGEST_INTERFACE {
        return Err(format!(
            "it has {} bytes, Linux allows {LONGEST_INTERFACE}",
            name.len()
        ));
    }
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name == "." || name == ".." || name.contains(bad) {
        return Err("Linux allows no `/`, no `:` and no white space in it".to_owned());
    }
    Ok(())
}
