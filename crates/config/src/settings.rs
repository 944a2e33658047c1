//! `settings!`: a table of a file, each key of which is defined once.

use std::fmt::Display;

/// Defines a struct of settings and its keys in a table. Each key has one definition:
///
/// ```text
/// /// What it means, for users: one paragraph of Markdown.
/// ///
/// /// More for programmers, such as the unit of the field.
/// pub FIELD: TYPE = DEFAULT => READER,
///     value "VALUE", default "DEFAULT",
///     needed "HINT", check "WORDS", not "WORD" "WORD" => "ADVICE", not "WORD";
/// ```
///
/// * The key has the field's name; `r#match` is the key `match`.
/// * READER is a type of value from [`read`](crate::read): its shape, and how it is read. A value
///   that is wrong is reported, and the field keeps its default.
/// * `value` and `default` replace what a document would say of the shape and of DEFAULT.
/// * `needed`: the file must have the key; the hint is what to do, or empty.
/// * `check`: the words of `cangate check` ([`CheckText`]).
/// * `not`: words that users write for this key, because other tools use them, and advice that
///   follows "did you mean …?".
///
/// All parts after READER are optional, and have this order. Fields that are not keys follow in
/// `and { … }`; words that users write for something that is not a key of this table, in
/// `elsewhere { "WORD" "WORD" => "ADVICE"; }`. With `struct NAME(port: &str)`, the defaults can
/// use `port`.
///
/// The struct gets `NAMES`, `MISNOMERS`, `key_specs()` for schemas and documents, `defaults()`,
/// `read()`, and `check_words()`.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? $(($($context:ident : $kind:ty),+))? {
            $(
                $(#[doc = $doc:literal])+
                $key_vis:vis $key:ident : $type:ty = $default:expr => $reader:expr
                $(, value $value:literal)?
                $(, default $text:literal)?
                $(, needed $needed:literal)?
                $(, check $check:literal)?
                $(, not $($word:literal)+ $(=> $hint:literal)?)*;
            )*
        }
        $(and {
            $(
                $(#[doc = $and_doc:literal])+
                $and_vis:vis $and:ident : $and_type:ty = $and_default:expr;
            )*
        })?
        $(elsewhere { $($($other:literal)+ => $advice:literal;)* })?
    ) => {
        $(#[$meta])*
        $vis struct $name $(<$life>)? {
            $($(#[doc = $doc])+ $key_vis $key: $type,)*
            $($($(#[doc = $and_doc])+ $and_vis $and: $and_type,)*)?
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Words that users write for these keys, because other tools use them.
            $vis const MISNOMERS: &'static [$crate::KeyMisnomer] = &[
                $($(
                    $crate::KeyMisnomer::new($crate::plain_key(stringify!($key)), &[$($word),+])
                        $(.hint($hint))?,
                )*)*
                $($($crate::KeyMisnomer::elsewhere(&[$($other),+], $advice),)*)?
            ];

            /// The keys.
            $vis const NAMES: &'static [&'static str] =
                &[$($crate::plain_key(stringify!($key))),*];

            /// Returns the keys, for a schema or a document.
            #[must_use]
            $vis fn key_specs() -> $crate::private::Vec<$crate::KeySpec> {
                $crate::private::Vec::from([$(
                    $crate::KeySpec::new(
                        $crate::plain_key(stringify!($key)),
                        $crate::read::ReadKey::shape(&$reader),
                        concat!($($doc, "\n"),+),
                    )
                    $(.value($value))?
                    .default($crate::default_text!($type, $default $(, $text)?))
                    $(.needed_with($needed))?,
                )*])
            }

            /// Returns the settings of a table without keys.
            #[must_use]
            $vis fn defaults($($($context: $kind),+)?) -> Self {
                Self {
                    $($key: $default,)*
                    $($($and: $and_default,)*)?
                }
            }

            /// Reads the keys of a table. What is wrong is reported, and has its default.
            $vis fn read(
                table: &mut $crate::TomlTable<$($life)?>,
                $($($context: $kind,)+)?
                found: &mut $crate::Diagnostics,
            ) -> Self {
                table.misnomers(Self::MISNOMERS);
                let mut settings = Self::defaults($($($context),+)?);
                $(
                    let key = $crate::plain_key(stringify!($key));
                    match table.get(key) {
                        Some(value) => {
                            let place = table.place();
                            let read = $crate::read::ReadKey::read(&$reader, &value, place, found);
                            if let Some(read) = read {
                                settings.$key = read.into();
                            }
                        }
                        None => { $(table.missing(key, $needed, found);)? }
                    }
                )*
                settings
            }

            /// Returns the words of `cangate check` for these settings, in the order of the keys.
            #[must_use]
            $vis fn check_words(&self) -> $crate::private::String {
                let words: &[$crate::private::String] = &[
                    $($($crate::CheckText::words(&self.$key, $check),)?)*
                ];
                words.concat()
            }
        }
    };
}

/// Returns the default of a key for documents: the given text, or that of the value.
#[doc(hidden)]
#[macro_export]
macro_rules! default_text {
    ($type:ty, $default:expr) => {{
        let default: $type = $default;
        $crate::DefaultText::default_text(&default)
    }};
    ($type:ty, $default:expr, $text:literal) => {
        $text
    };
}

/// Returns the key that a field's identifier stands for.
#[doc(hidden)]
#[must_use]
pub const fn plain_key(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// A default that documents show as it is.
pub trait DefaultText {
    /// Returns the default as Markdown.
    fn default_text(&self) -> String;
}

impl DefaultText for bool {
    fn default_text(&self) -> String {
        format!("`{self}`")
    }
}

impl<T: DefaultText> DefaultText for Option<T> {
    fn default_text(&self) -> String {
        self.as_ref()
            .map_or_else(|| "none".to_owned(), DefaultText::default_text)
    }
}

macro_rules! plain_defaults {
    ($($type:ty),*) => {$(
        impl DefaultText for $type {
            fn default_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
plain_defaults!(u8, u16, u32, u64, String);

/// A setting that has words in `cangate check`.
pub trait CheckText {
    /// Returns `words` with the setting in place of `{}`: for a flag if it is set, for an optional
    /// value if there is one, else always.
    fn words(&self, words: &str) -> String;
}

impl CheckText for bool {
    fn words(&self, words: &str) -> String {
        if *self {
            words.to_owned()
        } else {
            String::new()
        }
    }
}

impl<T: Display> CheckText for Option<T> {
    fn words(&self, words: &str) -> String {
        self.as_ref()
            .map_or_else(String::new, |value| filled(words, value))
    }
}

macro_rules! plain_words {
    ($($type:ty),*) => {$(
        impl CheckText for $type {
            fn words(&self, words: &str) -> String {
                filled(words, self)
            }
        }
    )*};
}
plain_words!(u8, u16, u32, u64, String);

fn filled(words: &str, value: &impl Display) -> String {
    words.replace("{}", &value.to_string())
}
