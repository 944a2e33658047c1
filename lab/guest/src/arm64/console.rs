//! The console output of an arm64 guest, and how it is split into parts.

/// The prefix of a line that names the part which follows.
pub(super) const SECTION: &str = "@@section ";
/// The prefix of the line with the script's exit status.
pub(super) const STATUS: &str = "@@status ";

/// The result of an arm64 guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm64Outcome {
    /// All console output of the guest, and the error messages of QEMU itself.
    pub console: String,
    /// The exit status of the script; `None` if the guest did not reach the script's end.
    pub status: Option<u8>,
    sections: Vec<(String, String)>,
}

impl Arm64Outcome {
    /// Parses a console's output.
    pub(super) fn new(console: &str) -> Self {
        let mut sections: Vec<(String, String)> = Vec::new();
        let mut status = None;
        for line in console.lines() {
            if let Some(name) = line.strip_prefix(SECTION) {
                sections.push((name.to_owned(), String::new()));
            } else if let Some(text) = line.strip_prefix(STATUS) {
                // The rest is output of the machine's shutdown.
                status = text.parse().ok();
                break;
            } else if let Some((_, text)) = sections.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        }
        Self {
            console: console.to_owned(),
            status,
            sections,
        }
    }

    /// Returns the output of the script after `section NAME` and before the next section, standard
    /// error included.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&str> {
        let mut found = self.sections.iter().filter(|(this, _)| this == name);
        found.next().map(|(_, text)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_distinguished() {
        // A serial console ends lines with a carriage return and a line feed.
        let outcome = Arm64Outcome::new(
            "booting\r\n@@section a\r\n1\r\n2\r\n@@section b\r\n@@status 3\r\nx\r\n",
        );
        assert_eq!(outcome.section("a"), Some("1\n2\n"));
        assert_eq!(outcome.section("b"), Some(""));
        assert_eq!(outcome.section("c"), None);
        assert_eq!(outcome.status, Some(3));
    }

    #[test]
    fn a_guest_that_did_not_come_to_its_end_has_no_status() {
        let outcome = Arm64Outcome::new("@@section a\n1\nKernel panic");
        assert_eq!(outcome.section("a"), Some("1\nKernel panic\n"));
        assert_eq!(outcome.status, None);
    }
}
