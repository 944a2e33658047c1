//! The formats of logs.

use std::fmt;

/// What a log is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The lines of `candump -L` and `candump -l`.
    Log,
    /// What `candump -t a` or `-t A` shows.
    Candump,
    /// What `candump -t z` shows: times count from the first frame.
    CandumpZero,
    /// What `candump -t d` shows: times count from the frame before.
    CandumpDelta,
    /// Vector ASC.
    Asc,
    /// PEAK TRC, 1.0 to 2.1.
    Trc,
    /// pcapng.
    Pcapng,
    /// pcap, of libpcap and tcpdump.
    Pcap,
}

impl Format {
    /// All of them, with the names that users give them.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("log", Self::Log),
        ("candump", Self::Candump),
        ("candump-zero", Self::CandumpZero),
        ("candump-delta", Self::CandumpDelta),
        ("asc", Self::Asc),
        ("trc", Self::Trc),
        ("pcapng", Self::Pcapng),
        ("pcap", Self::Pcap),
    ];

    /// Is it made of lines?
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Pcapng | Self::Pcap)
    }
}

impl fmt::Display for Format {
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
        })
    }
}
