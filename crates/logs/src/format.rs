//! The formats of logs.

use std::fmt;

/// The format of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFormat {
    /// The lines of `candump -L` and `candump -l`.
    Log,
    /// The output of `candump -t a` or `-t A`.
    Candump,
    /// The output of `candump -t z`: times count from the first frame.
    CandumpZero,
    /// The output of `candump -t d`: times count from the previous frame.
    CandumpDelta,
    /// Vector ASC.
    Asc,
    /// PEAK TRC, 1.0 to 2.1.
    Trc,
    /// pcapng.
    Pcapng,
    /// pcap, of libpcap and tcpdump.
    Pcap,
    /// Vector BLF.
    Blf,
    /// ASAM MF4: the bus logging of MDF 4.
    Mf4,
}

impl FileFormat {
    /// All formats, with the names that users give them.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("log", Self::Log),
        ("candump", Self::Candump),
        ("candump-zero", Self::CandumpZero),
        ("candump-delta", Self::CandumpDelta),
        ("asc", Self::Asc),
        ("trc", Self::Trc),
        ("pcapng", Self::Pcapng),
        ("pcap", Self::Pcap),
        ("blf", Self::Blf),
        ("mf4", Self::Mf4),
    ];

    /// Returns whether the format consists of lines.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Pcapng | Self::Pcap | Self::Blf | Self::Mf4)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "candump -L",
            Self::Candump => "candump -t a",
            Self::CandumpZero => "candump -t z",
            Self::CandumpDelta => "candump -t d",
            Self::Asc => "Vector ASC",
            Self::Trc => "PEAK TRC",
            Self::Pcapng => "pcapng",
            Self::Pcap => "pcap",
            Self::Blf => "Vector BLF",
            Self::Mf4 => "ASAM MF4",
        })
    }
}
