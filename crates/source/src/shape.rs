//! The fields of each mapping and their types.
//!
//! The reader and the JSON Schema share these tables.

use casement_spec::Named;

#[derive(Debug)]
pub(crate) struct Shape {
    /// Name in the JSON Schema.
    pub(crate) id: &'static str,
    /// Name in messages.
    pub(crate) title: &'static str,
    pub(crate) fields: &'static [Field],
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) kind: Kind,
    /// Description in the JSON Schema, shown by editors.
    pub(crate) about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// With an example.
    Required(&'static str),
    Optional,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A scalar, taken as a string.
    Text,
    /// One of these strings.
    Word(fn() -> Vec<&'static str>),
    Boolean,
    /// Minimum and maximum.
    Number(u32, u32),
    Mapping(&'static Shape),
    List(&'static Kind),
    /// A value or a list of values.
    OneOrList(&'static Kind),
    /// A mapping with user-defined keys.
    UserKeys(&'static Kind),
    /// A mapping with a fixed set of keys, all of one type.
    KnownKeys(fn() -> Vec<&'static str>, &'static Kind),
    /// A mapping with exactly one field set.
    OneOf(&'static Shape),
    Either(&'static Kind, &'static Kind),
}

impl Shape {
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.fields.iter().map(|field| field.name)
    }
}

#[cfg(test)]
impl Kind {
    pub(crate) fn shapes(&self) -> Vec<&'static Shape> {
        match self {
            Self::Text | Self::Word(_) | Self::Boolean | Self::Number(..) => Vec::new(),
            Self::Mapping(shape) | Self::OneOf(shape) => vec![shape],
            Self::List(kind)
            | Self::OneOrList(kind)
            | Self::UserKeys(kind)
            | Self::KnownKeys(_, kind) => kind.shapes(),
            Self::Either(one, other) => {
                let mut shapes = one.shapes();
                shapes.extend(other.shapes());
                shapes
            }
        }
    }
}

pub(crate) fn words<T: Named>() -> Vec<&'static str> {
    T::ALL.iter().map(|value| value.name()).collect()
}

pub(crate) const fn required(
    name: &'static str,
    kind: Kind,
    example: &'static str,
    about: &'static str,
) -> Field {
    Field {
        name,
        need: Need::Required(example),
        kind,
        about,
    }
}

pub(crate) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        need: Need::Optional,
        kind,
        about,
    }
}
