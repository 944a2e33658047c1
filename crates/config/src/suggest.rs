//! Suggestions for misspelt words.

/// Returns the candidate that is most similar to `word`, if there is one that is similar enough.
/// `-` and `_`, and lower and upper case, count as the same.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // The rest is compiled once, and not for each type of iterator.
    nearest_of(word, &candidates.into_iter().collect::<Vec<_>>())
}

fn nearest_of<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let word = plain(word);
    let mut best: Option<(&str, f64)> = None;
    for &candidate in candidates {
        let other = plain(candidate);
        let likeness = if word == other {
            1.0
        } else {
            strsim::normalized_damerau_levenshtein(&word, &other)
                .max(strsim::jaro_winkler(&word, &other) - 0.25)
        };
        // More than half: `rate` is not `name`.
        if likeness > 0.5 && best.is_none_or(|(_, b)| likeness > b) {
            best = Some((candidate, likeness));
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// Returns a hint: the name that may have been meant, or the names that there are.
#[must_use]
pub fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    hint_for(word, &candidates.into_iter().collect::<Vec<_>>())
}

fn hint_for(word: &str, all: &[&str]) -> String {
    if let Some(best) = nearest_of(word, all) {
        return format!("did you mean `{best}`?");
    }
    const SHOWN: usize = 24;
    let mut text = String::from("there is ");
    for (i, candidate) in all.iter().take(SHOWN).enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(candidate);
        text.push('`');
    }
    match all.len() {
        0 => String::new(),
        n if n > SHOWN => format!("{text} and {} more", n - SHOWN),
        _ => text,
    }
}

/// Normalises a word for comparison. Long words are cut: a comparison costs the product of the
/// lengths.
pub(crate) fn plain(word: &str) -> String {
    word.chars()
        .take(64)
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_recognized() {
        let keys = ["bitrate", "data_bitrate", "interface", "kind"];
        assert_eq!(nearest("bitrat", keys), Some("bitrate"));
        assert_eq!(nearest("Bit-Rate", keys), Some("bitrate"));
        assert_eq!(nearest("data-bitrate", keys), Some("data_bitrate"));
        assert_eq!(nearest("iface", keys), Some("interface"));
        assert_eq!(nearest("zzz", keys), None);
        assert_eq!(nearest("rate", ["name", "limit"]), None);
    }

    #[test]
    fn without_a_likely_one_all_are_named() {
        assert_eq!(did_you_mean("zzz", ["a", "b"]), "there is `a`, `b`");
        assert_eq!(did_you_mean("zzz", []), "");
    }
}
