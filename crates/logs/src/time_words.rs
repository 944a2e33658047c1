//! Words of dates in the languages and encodings of several countries.

use crate::words::number;

/// The beginnings of the names of the months in English, German, French, Spanish, Italian,
/// Portuguese, Dutch, Polish, Czech, Hungarian, Romanian, Estonian, Finnish, Turkish, Russian,
/// Greek and the languages of Scandinavia: the programs write them in the language of Windows.
const MONTHS: [&[&str]; 12] = [
    &[
        "jan",
        "ene",
        "gen",
        "sty",
        "jaa",
        "ian",
        "led",
        "oca",
        "tam",
        "\u{44f}\u{43d}\u{432}",
        "\u{3b9}\u{3b1}\u{3bd}",
    ],
    &[
        "feb",
        "f\u{e9}v",
        "fev",
        "lut",
        "vee",
        "\u{fa}no",
        "\u{15f}ub",
        "hel",
        "\u{444}\u{435}\u{432}",
        "\u{3c6}\u{3b5}\u{3b2}",
    ],
    &[
        "mar",
        "mrz",
        "m\u{e4}r",
        "mrt",
        "m\u{e1}r",
        "b\u{159}e",
        "maa",
        "\u{43c}\u{430}\u{440}",
        "\u{3bc}\u{3b1}\u{3c1}",
    ],
    &[
        "apr",
        "avr",
        "abr",
        "kwi",
        "\u{e1}pr",
        "dub",
        "nis",
        "huh",
        "\u{430}\u{43f}\u{440}",
        "\u{3b1}\u{3c0}\u{3c1}",
    ],
    &[
        "may",
        "mai",
        "mag",
        "mei",
        "maj",
        "m\u{e1}j",
        "kv\u{11b}",
        "tou",
        "\u{43c}\u{430}\u{439}",
        "\u{43c}\u{430}\u{44f}",
        "\u{3bc}\u{3b1}\u{3ca}",
        "\u{3bc}\u{3ac}\u{3b9}",
    ],
    &[
        "jun",
        "juin",
        "giu",
        "cze",
        "j\u{fa}n",
        "iun",
        "\u{10d}vn",
        "haz",
        "kes",
        "\u{438}\u{44e}\u{43d}",
        "\u{3b9}\u{3bf}\u{3c5}\u{3bd}",
    ],
    &[
        "jul",
        "juil",
        "lug",
        "lip",
        "j\u{fa}l",
        "iul",
        "\u{10d}vc",
        "tem",
        "hei",
        "\u{438}\u{44e}\u{43b}",
        "\u{3b9}\u{3bf}\u{3c5}\u{3bb}",
    ],
    &[
        "aug",
        "ao\u{fb}",
        "aou",
        "ago",
        "sie",
        "avg",
        "a\u{11f}u",
        "elo",
        "\u{430}\u{432}\u{433}",
        "\u{3b1}\u{3c5}\u{3b3}",
    ],
    &[
        "sep",
        "set",
        "wrz",
        "sze",
        "z\u{e1}\u{159}",
        "eyl",
        "syy",
        "\u{441}\u{435}\u{43d}",
        "\u{3c3}\u{3b5}\u{3c0}",
    ],
    &[
        "oct",
        "okt",
        "ott",
        "out",
        "pa\u{17a}",
        "\u{159}\u{ed}j",
        "eki",
        "lok",
        "\u{43e}\u{43a}\u{442}",
        "\u{3bf}\u{3ba}\u{3c4}",
    ],
    &[
        "nov",
        "lis",
        "kas",
        "marr",
        "\u{43d}\u{43e}\u{44f}",
        "\u{3bd}\u{3bf}\u{3b5}",
    ],
    &[
        "dec",
        "dez",
        "d\u{e9}c",
        "dic",
        "gru",
        "des",
        "det",
        "pro",
        "ara",
        "jou",
        "\u{434}\u{435}\u{43a}",
        "\u{3b4}\u{3b5}\u{3ba}",
    ],
];

/// Names of the halves of the day, with whether it is the second one, in English, Spanish, Greek,
/// Japanese, Chinese, Korean, Czech, Hungarian, Turkish, Swedish, Finnish and Afrikaans. `a. m.` is
/// two words, or one with a space that does not break.
const HALVES: [(&str, bool); 28] = [
    ("am", false),
    ("pm", true),
    ("a.m.", false),
    ("p.m.", true),
    ("a.", false),
    ("p.", true),
    ("\u{3c0}\u{3bc}", false),
    ("\u{3bc}\u{3bc}", true),
    ("\u{3c0}.\u{3bc}.", false),
    ("\u{3bc}.\u{3bc}.", true),
    ("\u{5348}\u{524d}", false),
    ("\u{5348}\u{5f8c}", true),
    ("\u{4e0a}\u{5348}", false),
    ("\u{4e0b}\u{5348}", true),
    ("\u{c624}\u{c804}", false),
    ("\u{c624}\u{d6c4}", true),
    ("dop", false),
    ("odp", true),
    ("de.", false),
    ("du.", true),
    ("\u{f6}\u{f6}", false),
    ("\u{f6}s", true),
    ("fm", false),
    ("em", true),
    ("ap.", false),
    ("ip.", true),
    ("vm.", false),
    ("nm.", true),
];

/// The same in encodings of East Asia and Greece that are not UTF-8.
const ENCODED_HALVES: [(&[u8], bool); 10] = [
    (b"\x8C\xDF\x91\x4F", false),
    (b"\x8C\xDF\x8C\xE3", true),
    (b"\xC9\xCF\xCE\xE7", false),
    (b"\xCF\xC2\xCE\xE7", true),
    (b"\xA4\x57\xA4\xC8", false),
    (b"\xA4\x55\xA4\xC8", true),
    (b"\xBF\xC0\xC0\xFC", false),
    (b"\xBF\xC0\xC8\xC4", true),
    (b"\xF0\xEC", false),
    (b"\xEC\xEC", true),
];

/// The word for a month after its number, in UTF-8 (Chinese and Japanese, Korean), Shift JIS, GBK,
/// Big5 and Windows-949.
const NUMBERED_MONTH: [&[u8]; 6] = [
    b"\xE6\x9C\x88",
    b"\xEC\x9B\x94",
    b"\x8C\x8E",
    b"\xD4\xC2",
    b"\xA4\xEB",
    b"\xBF\xF9",
];

/// Words of a date without a meaning.
const FILLERS: [&str; 8] = ["m.", "de", "del", "utc", "uhr", "h", "kl.", "klo"];

/// Returns whether a word means the second half of the day; `None` if it means neither.
pub(crate) fn half_of(bytes: &[u8], text: &str) -> Option<bool> {
    let encoded = ENCODED_HALVES.iter().find(|(name, _)| *name == bytes);
    let closed = text.replace(['\u{a0}', '\u{202f}'], "");
    let is = |(name, _): &&(&str, bool)| closed == *name || closed.strip_suffix('.') == Some(*name);
    let named = HALVES.iter().find(is).map(|(_, second)| *second);
    encoded.map(|(_, second)| *second).or(named)
}

/// Returns whether a word of a date has no meaning.
pub(crate) fn is_filler(text: &str) -> bool {
    FILLERS.contains(&text)
}

/// Returns whether a word, of which `text` is the form in lower case, is the name of a time zone,
/// as in `CEST` or `GMT+1`: it has no meaning here.
pub(crate) fn is_zone(word: &[u8], text: &str) -> bool {
    let is_name = (3..=5).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase);
    let has_offset = word.starts_with(b"GMT") || word.starts_with(b"UTC");
    (is_name || has_offset) && month_of(text).is_none()
}

/// Parses the number of a month with the word for a month behind it.
pub(crate) fn numbered_month(word: &[u8]) -> Option<u32> {
    let digits = NUMBERED_MONTH
        .iter()
        .find_map(|month| word.strip_suffix(*month));
    number(digits?, 10)
}

/// Returns the text in lower case: decoded from UTF-8, or Latin-1.
pub(crate) fn in_words(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec())
        .unwrap_or_else(|_| text.iter().copied().map(char::from).collect());
    text.to_lowercase()
}

/// Returns the month, from 1, whose name begins in this way in one of the languages.
pub(crate) fn month_of(name: &str) -> Option<u32> {
    let begins = |begin: &&str| name.starts_with(*begin);
    // The longer beginning decides: in French, `juin` and `juil`.
    let found = MONTHS.iter().enumerate().filter_map(|(at, begins_with)| {
        let longest = begins_with.iter().filter(|begin| begins(begin));
        longest.map(|begin| begin.len()).max().map(|len| (len, at))
    });
    found.max().map(|(_, at)| at as u32 + 1)
}
