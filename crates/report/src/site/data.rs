//! Data as scripts.

use super::claims::Shown;
use super::digest::{COSTS, Line};
use super::failed::Failed;
use super::settings::KNOWN;
use super::write::LeftOut;
use serde::Serialize;

#[derive(Serialize)]
struct Index<'a> {
    cangate: &'static str,
    settings: &'static [&'static str],
    costs: [u32; 3],
    experiments: &'a [Line],
    left_out: &'a [LeftOut],
    failed: &'a [Failed],
    claims: &'a [Shown],
}

/// The index as a script.
pub(super) fn index(
    lines: &[Line],
    left_out: &[LeftOut],
    failed: &[Failed],
    claims: &[Shown],
) -> String {
    let index = Index {
        cangate: env!("CARGO_PKG_VERSION"),
        settings: &KNOWN,
        costs: COSTS,
        experiments: lines,
        left_out,
        failed,
        claims,
    };
    format!("cangateIndex({});\n", json(&index))
}

/// An experiment's details, JSON already, as a script.
pub(super) fn details(index: usize, json: &str) -> String {
    format!("cangateDetails({index}, {json});\n")
}

/// JSON that is an expression of JavaScript as well, and that ends no script wherever it is put.
pub(super) fn json(value: &impl Serialize) -> String {
    // Only maps with other keys than text and failing writers make this an error.
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
