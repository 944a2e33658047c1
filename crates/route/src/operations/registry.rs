//! Makes the types that hold any operation from the list of all.

/// `operations! { folder::Type, … }`: declares the folders and makes `Action`, `Compiled` and their
/// dispatch. A folder's file must have the operation's type, which implements
/// [`Operation`](super::operation::Operation) and, with the feature `config`,
/// [`Toml`](super::toml::Toml) and [`CanGw`](super::cangw::CanGw).
macro_rules! operations {
    ($($folder:ident :: $Type:ident),+ $(,)?) => {
        $(
            mod $folder;
            pub use $folder::*;
        )+

        /// One change of a frame.
        // Read once when a table is compiled; a box would only be in the way of whoever writes one.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, PartialEq, Debug)]
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

        impl Action {
            /// See `Operation::check`.
            pub(crate) fn check(
                &self,
                longest: usize,
                report: &mut dyn FnMut(alloc::string::String),
            ) {
                match self {
                    $(Self::$Type(it) => $crate::operations::operation::Operation::check(it, longest, report),)+
                }
            }

            /// See `Operation::compile`.
            pub(crate) fn compile(&self) -> Compiled {
                match self {
                    $(Self::$Type(it) => Compiled::$Type(
                        $crate::operations::operation::Operation::compile(it)
                    ),)+
                }
            }

            /// Adds what BPF has to do for it to a program.
            ///
            /// # Errors
            /// Why BPF cannot do it, and what to do about it.
            pub fn to_bpf(
                &self,
                program: &mut $crate::operations::bpf::Program,
            ) -> Result<(), alloc::string::String> {
                match self {
                    $(Self::$Type(it) => $crate::operations::operation::Operation::to_bpf(it, program),)+
                }
            }
        }

        /// A compiled [`Action`].
        #[derive(Clone, Debug)]
        pub(crate) enum Compiled {
            $($Type(<$Type as $crate::operations::operation::Operation>::Compiled),)+
        }

        impl $crate::operations::operation::Apply for Compiled {
            fn is_header_only(&self) -> bool {
                match self {
                    $(Self::$Type(it) => it.is_header_only(),)+
                }
            }

            #[inline]
            fn apply(
                &self,
                draft: &mut $crate::operations::draft::Draft<'_>,
            ) -> Result<(), $crate::Stop> {
                match self {
                    $(Self::$Type(it) => it.apply(draft),)+
                }
            }
        }

        /// Does `operations` to a copy of `frame` in `buf` and gives the result.
        pub(crate) fn apply<'b>(
            operations: &[Compiled],
            frame: frame::FrameRef<'_>,
            buf: &'b mut frame::FrameBuf,
        ) -> Result<frame::FrameRef<'b>, $crate::Stop> {
            $crate::operations::draft::apply(operations, frame, buf)
        }

        /// The same for operations that touch no payload: without a copy, unless the payload has to
        /// grow.
        #[inline]
        pub(crate) fn apply_to_header<'b>(
            operations: &[Compiled],
            frame: frame::FrameRef<'b>,
            buf: &'b mut frame::FrameBuf,
        ) -> Result<frame::FrameRef<'b>, $crate::Stop> {
            match $crate::operations::draft::apply_to_header(operations, frame)? {
                Some(changed) => Ok(changed),
                None => apply(operations, frame, buf),
            }
        }

        #[cfg(feature = "config")]
        impl Action {
            /// See `Operation::reach`.
            pub(crate) fn reach(&self) -> usize {
                match self {
                    $(Self::$Type(it) => $crate::operations::operation::Operation::reach(it),)+
                }
            }

            /// Visits the keys that an action can have in `gateway.toml`, each with what reads it.
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

            /// See `Toml::write`.
            pub(crate) fn write(&self) -> (&'static str, alloc::string::String) {
                match self {
                    $(Self::$Type(it) => $crate::operations::toml::Toml::write(it),)+
                }
            }

            /// See `Toml::describe`.
            pub(crate) fn describe(&self) -> alloc::string::String {
                match self {
                    $(Self::$Type(it) => $crate::operations::toml::Toml::describe(it),)+
                }
            }
        }
    };
}

pub(crate) use operations;
