//! Parameters for the guest's kernel.

use super::word::{WordError, WordKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Parameters for the guest's kernel (Documentation/admin-guide/kernel-parameters.txt), such as
/// `nohz=off`; usually none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Boot(pub Vec<String>);

/// Parameters that the lab sets itself, or that would break its control over guests.
const RESERVED: [&str; 9] = [
    "cangate.", "console", "init", "rdinit", "root", "quiet", "panic", "PATH", "HOME",
];

impl WordKind for Boot {
    const KIND: &'static str = "parameter of the kernel";
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for Boot {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        if text == "none" {
            return Ok(Self::default());
        }
        let mut all = Vec::new();
        for word in text.split('+') {
            let name = word.split('=').next().unwrap_or_default();
            if RESERVED
                .iter()
                .any(|&n| name == n || (n.ends_with('.') && name.starts_with(n)))
            {
                return Err(WordError::new(
                    format!("`{name}` is set by the lab"),
                    "leave it out: the lab's guests need their own value",
                ));
            }
            // Only characters that are allowed in the names of results, so that different words
            // have different names.
            let fit = |c: char| c.is_ascii_alphanumeric() || "_.=".contains(c);
            let lettered = word.starts_with(|c: char| c.is_ascii_alphabetic());
            let once = word.matches('=').count() <= 1;
            if !lettered || !once || !word.chars().all(fit) {
                return Err(WordError::new(
                    format!("`{word}` is not a {}", Self::KIND),
                    "write nohz=off, or several as nohz=off+threadirqs; `none` for none",
                ));
            }
            all.push(word.to_owned());
        }
        if text.len() > MAX_BOOT {
            return Err(WordError::new(
                format!("`{text}` is too long"),
                format!(
                    "give at most {MAX_BOOT} characters: the files of results have them in their names"
                ),
            ));
        }
        Ok(Self(all))
    }
}

/// The longest list of kernel parameters, characters.
const MAX_BOOT: usize = 50;
