//! Data for scripts.

use serde::Serialize;

/// Returns JSON that is also a JavaScript expression, and that does not end a script wherever it is
/// put.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Serialization fails only for maps with keys other than text and for failing writers.
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    text.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn no_text_ends_the_script() {
        let text = "</script><!--\"\\\u{2028}\u{1b}é";
        let made = json(&text);
        assert!(
            !made.contains('<') && !made.contains('\u{2028}') && !made.contains('\u{1b}'),
            "{made}"
        );
        assert_eq!(serde_json::from_str::<String>(&made).unwrap(), text);
    }
}
