//! The report of a machine's plugin.

use std::path::PathBuf;
use std::time::Duration;

/// A machine's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineReport {
    /// The actions of its cards, for each link of the plan.
    pub links: Vec<LinkCounts>,
    /// Whether the run has ended it: it is in the background, or did not end within the limit.
    pub is_ended: bool,
    /// The common time of its last meeting.
    pub end: Duration,
    /// The number of its meetings. Each was held at its time: else the run ends with an error.
    pub meetings: u64,
}

/// What a machine's card on a link did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames or packets that the card sent.
    pub sent: u64,
    /// Of these, the ones that were lost on the link; of Ethernet, before the switch.
    pub lost: u64,
    /// Frames or packets that reached the card, at exactly their times: else the run ends with an
    /// error.
    pub received: u64,
    /// Those that reached the card, which did not take them: the interface is down; an Ethernet
    /// card takes none in the second after its driver has changed what it receives.
    pub refused: u64,
}

/// A report that cannot be read or parsed.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file cannot be read.
    #[error("the plugin's report {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file has no complete report.
    #[error("the plugin's report {} is not complete", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
    },
}

/// Parses a report.
pub(super) fn parse(text: &str) -> Option<MachineReport> {
    let mut links = Vec::new();
    for line in text.lines() {
        let (word, numbers) = line.split_once(' ')?;
        let numbers: Vec<u64> = numbers
            .split(' ')
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        match (word, numbers.as_slice()) {
            ("link", &[sent, lost, received, refused]) => links.push(LinkCounts {
                sent,
                lost,
                received,
                refused,
            }),
            ("end", &[is_ended, end, meetings]) => {
                return Some(MachineReport {
                    links,
                    is_ended: is_ended != 0,
                    end: Duration::from_nanos(end),
                    meetings,
                });
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_complete_or_none() {
        let text = "link 1 2 3 4\nlink 0 0 0 0\nend 1 2500 77\n";
        let report = parse(text).unwrap();
        assert_eq!(report.links.len(), 2);
        assert_eq!(report.links[0].refused, 4);
        assert!(report.is_ended);
        assert_eq!(report.end, Duration::from_nanos(2500));
        assert_eq!(report.meetings, 77);
        for broken in [
            "",
            "link 1 2 3 4\n",
            "link 1 2 3\nend 1 2 3\n",
            "end 1 x 3\n",
            "end\n",
        ] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
