//! Generates the types that hold any operation from the list of all operations.

/// `operations! { folder::Type, … }` declares the folders and generates `Action`, `Compiled` and
/// their dispatch. A folder's module must contain the operation's type, which derives `Clone`,
/// `Eq`, `Hash` and `Debug`, and implements [`Operation`](super::operation::Operation) and, with
/// the feature `config`, [`Toml`](super::toml::Toml) and [`CanGw`](super::cangw::CanGw); with the
/// feature `serde`, it derives serde's traits.
macro_rules! operations {
    ($($folder:ident :: $Type:ident),+ $(,)?) => {
        $crate::operations::registry::operations! { ($) $($folder::$Type),+ }
    };
    // `$d` is a dollar sign, for the macro that is defined here.
    (($d:tt) $($folder:ident :: $Type:ident),+) => {
        $(
            mod $folder;
            pub use $folder::*;
        )+

        /// One change of a frame.
        // Read once, when a table is compiled; a box would only make it harder to construct.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Action {
            $(
                #[doc = concat!("See [`", stringify!($Type), "`].")]
                $Type($Type),
            )+
        }

        $(
            impl From<$Type> for Action {
                fn from(operation: $Type) -> Self {
                    Self::$Type(operation)
                }
            }
        )+

        /// Defines methods of `Action` that are those of a trait of its operation.
        macro_rules! forward {
            ($d Trait:path: $d($d(#[$d meta:meta])* $d vis:vis fn $d name:ident(
                &$d this:ident $d(, $d arg:ident: $d Arg:ty)*
            ) $d(-> $d Out:ty)?;)+) => {$d(
                $d(#[$d meta])*
                $d vis fn $d name(&$d this $d(, $d arg: $d Arg)*) $d(-> $d Out)? {
                    match $d this {
                        $(Self::$Type(it) => <$Type as $d Trait>::$d name(it $d(, $d arg)*),)+
                    }
                }
            )+};
        }

        impl Action {
            forward! { $crate::operations::operation::Operation:
                /// See `Operation::check`.
                pub(crate) fn check(
                    &self,
                    longest: usize,
                    report: &mut dyn FnMut(alloc::string::String)
                );
                /// See `Operation::rtr_of`.
                pub(crate) fn rtr_of(&self, had: bool) -> bool;
                /// See `Operation::id_bits`.
                pub(crate) fn id_bits(&self) -> Option<(u32, u32)>;
                /// See `Operation::gives_xl_a_flag`.
                pub(crate) fn gives_xl_a_flag(&self) -> bool;
                /// Adds the instructions that BPF needs for it to a program.
                ///
                /// # Errors
                /// The reason why BPF cannot do it.
                pub fn to_bpf(
                    &self,
                    program: &mut $crate::operations::bpf::BpfProgram
                ) -> Result<(), alloc::string::String>;
            }

            /// See `Operation::compile`.
            pub(crate) fn compile(&self) -> Compiled {
                match self {
                    $(Self::$Type(it) => Compiled::$Type(
                        $crate::operations::operation::Operation::compile(it)
                    ),)+
                }
            }
        }

        /// A compiled [`Action`].
        #[derive(Clone, Debug)]
        pub(crate) enum Compiled {
            $($Type(<$Type as $crate::operations::operation::Operation>::Compiled),)+
        }

        impl $crate::operations::apply::ApplyOperation for Compiled {
            fn is_header_only(&self) -> bool {
                match self {
                    $(Self::$Type(it) => it.is_header_only(),)+
                }
            }

            #[inline]
            fn apply(
                &self,
                draft: &mut $crate::operations::draft::FrameDraft<'_>,
            ) -> Result<(), $crate::StopReason> {
                match self {
                    $(Self::$Type(it) => it.apply(draft),)+
                }
            }
        }

        /// Applies `operations` to a copy of `frame` in `buf` and returns the result.
        pub(crate) fn apply<'b>(
            operations: &[Compiled],
            frame: frame::FrameRef<'_>,
            buf: &'b mut frame::FrameBuf,
        ) -> Result<frame::FrameRef<'b>, $crate::StopReason> {
            $crate::operations::apply::apply(operations, frame, buf)
        }

        /// Applies operations that do not touch the payload: without a copy, unless the payload has
        /// to grow.
        #[inline]
        pub(crate) fn apply_to_header<'b>(
            operations: &[Compiled],
            frame: frame::FrameRef<'b>,
            buf: &'b mut frame::FrameBuf,
        ) -> Result<frame::FrameRef<'b>, $crate::StopReason> {
            let header = $crate::operations::apply::run(operations, frame.header(), &mut [])?;
            match frame::FrameRef::new(header, frame.data()) {
                Ok(changed) => Ok(changed),
                Err(_) => apply(operations, frame, buf),
            }
        }

        #[cfg(feature = "config")]
        impl Action {
            forward! { $crate::operations::operation::Operation:
                /// See `Operation::reach`.
                pub(crate) fn reach(&self) -> usize;
            }

            forward! { $crate::operations::toml::Toml:
                /// See `Toml::write`.
                pub(crate) fn write(&self) -> (&'static str, alloc::string::String);
                /// See `Toml::describe`.
                pub(crate) fn describe(&self) -> alloc::string::String;
            }

            forward! { $crate::operations::cangw::CanGw:
                /// See `CanGw::rule_part`.
                pub(crate) fn rule_part(
                    &self
                ) -> Result<$crate::operations::cangw::RulePart, alloc::string::String>;
                /// See `CanGw::options`.
                pub(crate) fn options(&self, fd: bool) -> alloc::string::String;
                /// Returns the attribute that specifies this action to the kernel, as part of a
                /// can-gw rule for FD or classic frames.
                #[must_use]
                pub fn to_attribute(
                    &self,
                    fd: bool
                ) -> Option<$crate::operations::cangw::RuleAttribute>;
            }

            /// Calls `visit` for each key that an action can have in `gateway.toml`, with the
            /// function that reads its value.
            pub(crate) fn each_key(
                mut visit: impl FnMut(&'static str, $crate::operations::toml::Read<Self>),
            ) {
                $(
                    for key in <$Type as $crate::operations::toml::Toml>::KEYS {
                        visit(key, |key, value, limits, found| {
                            $crate::operations::toml::Toml::parse(key, value, limits, found)
                                .map(Self::$Type)
                        });
                    }
                )+
            }

            /// See `Toml::keys`.
            pub(crate) fn keys() -> alloc::vec::Vec<config::KeySpec> {
                let mut all = alloc::vec::Vec::new();
                $(all.extend(<$Type as $crate::operations::toml::Toml>::keys());)+
                all
            }

            /// Returns whether an operation has this option of `cangw`.
            pub(crate) fn has_option(letter: char) -> bool {
                $(<$Type as $crate::operations::cangw::CanGw>::OPTIONS.contains(letter))||+
            }

            /// See `CanGw::from_options`.
            pub(crate) fn from_options(
                given: &[$crate::operations::cangw::GivenOption<'_>],
                command: $crate::operations::cangw::OptionSource,
                found: &mut config::Diagnostics,
            ) -> alloc::vec::Vec<(Self, core::ops::Range<usize>)> {
                use $crate::operations::cangw::{CanGw, GivenOption};
                let of = |letters: &str| -> alloc::vec::Vec<&GivenOption<'_>> {
                    given.iter().filter(|it| letters.contains(it.letter)).collect()
                };
                let mut all = alloc::vec::Vec::new();
                $(
                    let its = of(<$Type as CanGw>::OPTIONS);
                    let read = <$Type as CanGw>::from_options(&its, command, found);
                    all.extend(read.into_iter().map(|(it, at)| (Self::$Type(it), at)));
                )+
                all
            }

            /// See `CanGw::for_rule`.
            pub(crate) fn for_rule(
                &self,
                fd: bool,
            ) -> Result<Option<Self>, alloc::string::String> {
                Ok(match self {
                    $(Self::$Type(it) => {
                        $crate::operations::cangw::CanGw::for_rule(it, fd)?.map(Self::$Type)
                    })+
                })
            }

            /// Returns the kinds of the can-gw attributes that specify operations, in the order in
            /// which they are sent.
            pub fn attributes() -> impl Iterator<Item = u16> {
                [$(<$Type as $crate::operations::cangw::CanGw>::ATTRIBUTES),+]
                    .into_iter()
                    .flatten()
                    .copied()
            }

            /// Returns the attribute with zeros where the kernel ignores it; `None` if it does not
            /// belong to an operation, or if its size is not the one that the kernel sends.
            #[must_use]
            pub fn normal(
                attribute: &$crate::operations::cangw::RuleAttribute,
            ) -> Option<$crate::operations::cangw::RuleAttribute> {
                use $crate::operations::cangw::CanGw;
                $(
                    if <$Type as CanGw>::ATTRIBUTES.contains(&attribute.kind) {
                        return <$Type as CanGw>::normal(attribute);
                    }
                )+
                None
            }

            /// Returns the action that an attribute of a can-gw rule for FD or classic frames
            /// specifies; `None` if the kernel does nothing.
            #[must_use]
            pub fn from_attribute(
                attribute: &$crate::operations::cangw::RuleAttribute,
                fd: bool,
            ) -> Option<Self> {
                use $crate::operations::cangw::CanGw;
                $(
                    if <$Type as CanGw>::ATTRIBUTES.contains(&attribute.kind) {
                        return <$Type as CanGw>::from_attribute(attribute, fd).map(Self::$Type);
                    }
                )+
                None
            }

            /// Returns the kernel features that a can-gw rule with these changes, for FD or classic
            /// frames, needs.
            #[must_use]
            pub(crate) fn needs(
                changes: &[Self],
                fd: bool,
            ) -> alloc::vec::Vec<$crate::operations::cangw::KernelNeed> {
                let mut all = alloc::vec::Vec::new();
                $(
                    let its: alloc::vec::Vec<&$Type> = changes
                        .iter()
                        .filter_map(|change| match change {
                            Self::$Type(it) => Some(it),
                            #[allow(unreachable_patterns)]
                            _ => None,
                        })
                        .collect();
                    all.extend(<$Type as $crate::operations::cangw::CanGw>::needs(&its, fd));
                )+
                all
            }
        }
    };
}

pub(crate) use operations;
