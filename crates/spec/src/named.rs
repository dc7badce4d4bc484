//! Enumerations whose values have a name in the cluster file.

/// An enumeration whose values have a name in the cluster file.
pub trait Named: Copy + Eq + 'static {
    /// In display order.
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Declares an enumeration together with its names.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize,
        )]
        $vis enum $type {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant,)+
        }

        impl $crate::Named for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::Named::name(*self))
            }
        }
    };
}

pub(crate) use named;
