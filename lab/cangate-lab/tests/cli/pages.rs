//! The reading time of pages that promise to be short.

use super::documents::{root, typed};

/// A reader reads 200 words of a technical text and types 150 characters in a minute: slower than
/// most (Brysbaert 2019 has 238 words for English; 190 characters are an average typist's).
const WORDS: usize = 200;
const CHARACTERS: usize = 150;

#[test]
fn the_first_ten_minutes_are_ten() {
    let page = "first-ten-minutes.md";
    let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
    let blocks = typed(page);
    assert!(blocks.len() >= 7, "{blocks:?}");
    let typed: usize = blocks.iter().map(|block| block.chars().count()).sum();
    let shown: usize = blocks
        .iter()
        .map(|block| block.split_whitespace().count())
        .sum();
    // Typed text is not read once more.
    let words = text.split_whitespace().count() - shown;
    let minutes = words as f64 / WORDS as f64 + typed as f64 / CHARACTERS as f64;
    println!("{words} words to read, {typed} characters to type: {minutes:.1} minutes");
    assert!(
        minutes < 10.0,
        "{words} words, {typed} characters: {minutes:.1} minutes"
    );
}
