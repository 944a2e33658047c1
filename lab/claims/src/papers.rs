//! The papers, by short keys; docs/papers.md cites them in the same words.

use std::fmt;

/// A paper that makes claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paper {
    /// `gateway-2011`.
    Gateway2011,
    /// `gateway-2010-draft`.
    Gateway2010Draft,
    /// `drivers-2009`.
    Drivers2009,
    /// `syscalls-2014`.
    Syscalls2014,
    /// `virtualization-2015`.
    Virtualization2015,
}

impl Paper {
    /// All papers.
    pub const ALL: [Self; 5] = [
        Self::Gateway2011,
        Self::Gateway2010Draft,
        Self::Drivers2009,
        Self::Syscalls2014,
        Self::Virtualization2015,
    ];

    /// Returns the short key by which claims name it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gateway2011 => "gateway-2011",
            Self::Gateway2010Draft => "gateway-2010-draft",
            Self::Drivers2009 => "drivers-2009",
            Self::Syscalls2014 => "syscalls-2014",
            Self::Virtualization2015 => "virtualization-2015",
        }
    }

    /// Returns authors, title, place and date of publication.
    #[must_use]
    pub const fn citation(self) -> &'static str {
        match self {
            Self::Gateway2011 => {
                "M. Sojka, P. Píša, O. Špinka, O. Hartkopp, Z. Hanzálek: Timing Analysis of a \
                 Linux-Based CAN-to-CAN Gateway. Thirteenth Real-Time Linux Workshop, Open Source \
                 Automation Development Lab, 2011, pp. 165–172."
            }
            Self::Gateway2010Draft => {
                "M. Sojka, P. Píša, O. Hartkopp, O. Špinka, Z. Hanzálek: Timing Analysis of a \
                 Linux-Based CAN-to-CAN Gateway. Manuscript, received December 31, 2010."
            }
            Self::Drivers2009 => {
                "M. Sojka, P. Píša: Timing Analysis of Linux CAN Drivers. Czech Technical University in \
                 Prague, 2009."
            }
            Self::Syscalls2014 => {
                "M. Sojka, P. Píša: Performance evaluation of Linux CAN-related system calls. Czech \
                 Technical University in Prague, version 1.0, October 29, 2014."
            }
            Self::Virtualization2015 => {
                "A paper of 2015 that compares two ways to share a CAN controller among virtual machines: \
                 paravirtualization by a privileged software component, and a controller with virtual functions. The text \
                 that was worked from names neither authors, title nor publisher."
            }
        }
    }
}

/// The origin of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOrigin {
    /// Papers, in these sections.
    Papers(&'static [(Paper, &'static str)]),
    /// This program: a bound that it must keep.
    Bound(&'static str),
}

impl ClaimOrigin {
    /// Returns the papers.
    pub fn papers(self) -> impl Iterator<Item = Paper> {
        let all = match self {
            Self::Papers(all) => all,
            Self::Bound(_) => &[],
        };
        all.iter().map(|(paper, _)| *paper)
    }
}

impl fmt::Display for ClaimOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Papers(all) => {
                for (n, (paper, sections)) in all.iter().enumerate() {
                    let comma = if n == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {sections}", paper.key())?;
                }
                Ok(())
            }
            Self::Bound(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text with its line breaks as blanks.
    fn flat(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_document_cites_each_paper_in_the_same_words() {
        let document = flat(include_str!("../../../docs/papers.md"));
        for paper in Paper::ALL {
            let line = format!("`{}`", paper.key());
            assert!(document.contains(&line), "{line}");
            assert!(document.contains(paper.citation()), "{}", paper.citation());
        }
    }

    #[test]
    fn an_origin_names_papers_and_sections() {
        let two = ClaimOrigin::Papers(&[
            (Paper::Gateway2011, "§3.4"),
            (Paper::Gateway2010Draft, "§IV-C1"),
        ]);
        assert_eq!(
            two.to_string(),
            "gateway-2011 §3.4, gateway-2010-draft §IV-C1"
        );
        assert_eq!(two.papers().count(), 2);
        assert_eq!(ClaimOrigin::Bound("a bound").papers().count(), 0);
    }
}
