//! Counters of a program: each is defined once, with its meaning.

/// Defines types of counters with their meanings, which the program's page has, too. The program
/// depends on `serde`.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $field:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ::serde::Deserialize, ::serde::Serialize)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: u64,)+
        }

        impl $name {
            /// The counters with their meanings.
            pub const ABOUT: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), concat!($($doc),+)),)+];

            /// Returns the counters with their names.
            #[must_use]
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field),)+]
            }
        }
    };
}
