//! The results of a run as a Parquet file: a row for every frame, and in the file's key-value
//! metadata everything needed to repeat the run ([`crate::RunDescription`]).
//!
//! | column | type | what |
//! |---|---|---|
//! | `tag` | u64 | the frame's number |
//! | `route`, `route_name` | u16, string; optional | the route that took it |
//! | `source_port`, `source_name` | u16, string; optional | where it came in |
//! | `destination_port`, `destination_name` | u16, string; optional | where it went out |
//! | `id_in`, `id_out` | u32; optional | identifiers with SocketCAN's flag bits |
//! | `length_in`, `length_out` | u16; optional | payload bytes |
//! | `end_in_ns`, `end_out_ns` | u64; optional | ends of frame, in the run's time base |
//! | `duration_out_ns` | u64; optional | the outgoing frame's duration without intermission |
//! | `latency_ns` | i64; optional | `end_out_ns − end_in_ns − duration_out_ns` |
//! | `status` | string | what became of it ([`crate::Status`]) |
//! | `processing_ns` | u64; optional | real time of the CPU; another clock than the others |
//! | `register_accesses` | u32; optional | accesses to CAN controllers between the two stamps |
//! | `kind_in`, `kind_out` | string; optional | kinds of frame: `classic`, `fd`, `xl` |
//! | `data_in`, `data_out` | binary; optional | payloads |
//!
//! docs/report.md has the same table with units, for users who open such a file.
//!
//! The names and `latency_ns` repeat information of the other columns, for users who open the file
//! with a data frame library. Between data and footer, where Parquet readers never look, are the
//! checksums of both, so that a damaged file is distinguished from a good one before anything in it
//! is decoded. A file that another program has rewritten has no checksums, and is refused.

mod read;
mod write;

use frame::Kind;

pub use read::{ReadError, read, read_bytes};
pub use write::{WriteError, write, write_to};

/// Version of the file's layout that is written. Layout 1 had no `register_accesses`, and layout 2
/// had no `kind_in`, `kind_out`, `data_in` and `data_out`. They can be read as well; a reader
/// refuses other layouts.
const LAYOUT: &str = "3";

/// The columns of layout 1.
const COLUMNS: &str = "
    required int64 tag (INTEGER(64, false));
    optional int32 route (INTEGER(16, false));
    optional binary route_name (STRING);
    optional int32 source_port (INTEGER(16, false));
    optional binary source_name (STRING);
    optional int32 destination_port (INTEGER(16, false));
    optional binary destination_name (STRING);
    optional int32 id_in (INTEGER(32, false));
    optional int32 id_out (INTEGER(32, false));
    optional int32 length_in (INTEGER(16, false));
    optional int32 length_out (INTEGER(16, false));
    optional int64 end_in_ns (INTEGER(64, false));
    optional int64 end_out_ns (INTEGER(64, false));
    optional int64 duration_out_ns (INTEGER(64, false));
    optional int64 latency_ns;
    required binary status (STRING);
    optional int64 processing_ns (INTEGER(64, false));
";

/// The columns that layout 2 adds.
const COLUMNS_2: &str = "    optional int32 register_accesses (INTEGER(32, false));
";

/// The columns that layout 3 adds.
const COLUMNS_3: &str = "    optional binary kind_in (STRING);
    optional binary kind_out (STRING);
    optional binary data_in;
    optional binary data_out;
";

/// The names of the kinds of frame, as in `gateway.toml`.
const KINDS: [(Kind, &str); 3] = [
    (Kind::Classic, "classic"),
    (Kind::Fd, "fd"),
    (Kind::Xl, "xl"),
];

/// Returns the schema of a layout; `None` for one that this version does not know.
fn schema(layout: &str) -> Option<String> {
    let added = match layout {
        "1" => ["", ""],
        "2" => [COLUMNS_2, ""],
        LAYOUT => [COLUMNS_2, COLUMNS_3],
        _ => return None,
    };
    Some(format!("message cangate {{{COLUMNS}{}}}", added.concat()))
}

/// FNV-1a, 64 bits: it detects damage, and does not protect against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileChecksum(u64);

impl FileChecksum {
    const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

/// The 24 bytes between data and footer: a mark, the data's checksum, the footer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileSeal {
    data: FileChecksum,
    footer: FileChecksum,
}

impl FileSeal {
    const MARK: &[u8; 8] = b"cangate\x01";
    const LEN: usize = 24;

    /// Creates a seal. `footer` is everything after the seal: metadata, its length, Parquet's mark.
    fn new(data: FileChecksum, footer: &[u8]) -> Self {
        let mut sum = FileChecksum::new();
        sum.add(footer);
        Self { data, footer: sum }
    }

    fn bytes(self) -> Vec<u8> {
        let sums = [self.data.0.to_le_bytes(), self.footer.0.to_le_bytes()];
        [&Self::MARK[..], &sums[0], &sums[1]].concat()
    }

    /// Checks that this file is as it was written; the error is the mistake.
    fn check(file: &[u8]) -> Result<(), &'static str> {
        if !file.starts_with(b"PAR1") {
            return Err("not a Parquet file: it does not begin with PAR1");
        }
        let Some((rest, b"PAR1")) = file.split_last_chunk::<4>() else {
            return Err("the file is damaged or cut off: it does not end with PAR1");
        };
        let split = rest.split_last_chunk::<4>().and_then(|(rest, len)| {
            let footer = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            let start = rest.len().checked_sub(footer)?;
            let (before, footer) = file.split_at_checked(start)?;
            let (data, seal) = before.split_at_checked(start.checked_sub(Self::LEN)?)?;
            Some((data, seal, footer))
        });
        let Some((data, seal, footer)) = split else {
            return Err("the file is damaged or cut off: its footer does not fit into it");
        };
        if !seal.starts_with(Self::MARK) {
            return Err(
                "a Parquet file, but damaged or not as cangate writes its results: their seal \
                 is missing",
            );
        }
        let mut sum = FileChecksum::new();
        sum.add(data);
        if Self::new(sum, footer).bytes() == seal {
            Ok(())
        } else {
            Err(
                "the file is damaged or was changed: its checksum is not the one it was \
                 written with",
            )
        }
    }
}

/// Keys of the metadata.
mod keys {
    pub(super) const LAYOUT: &str = "cangate.layout";
    pub(super) const ROUTE: &str = "cangate.route.";
    pub(super) const PORT: &str = "cangate.port.";
    pub(super) const MORE: &str = "cangate.more.";
    pub(super) const TITLE: &str = "cangate.title";
    pub(super) const VERSION: &str = "cangate.version";
    pub(super) const COMMAND: &str = "cangate.command";
    pub(super) const SEED: &str = "cangate.seed";
    pub(super) const CONFIG: &str = "cangate.config";
    pub(super) const TRAFFIC: &str = "cangate.traffic";
    pub(super) const BIT_RATES: &str = "cangate.bit_rates";
    pub(super) const TIME_BASE: &str = "cangate.time_base";
    pub(super) const STAMP: &str = "cangate.stamp";
    pub(super) const BLIND_SPOTS: &str = "cangate.blind_spots";
}
