//! What fields a mapping may have, and what each of them holds.
//!
//! One table serves the reader and the JSON Schema, so the two say the same.

use casement_spec::Named;

/// A mapping's fields.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What the schema calls it.
    pub(crate) id: &'static str,
    /// Where such a mapping stands, as a person would say it.
    pub(crate) place: &'static str,
    pub(crate) fields: &'static [Field],
}

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) kind: Kind,
    /// A sentence for whoever points at it in an editor.
    pub(crate) about: &'static str,
}

/// Whether a field has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It has to; the text says how to write it.
    Required(&'static str),
    /// It may be left out.
    Optional,
}

/// What a field holds.
#[derive(Debug)]
pub(crate) enum Kind {
    /// One value that is a text, whatever YAML makes of it.
    Text,
    /// One of several words.
    Word(fn() -> Vec<&'static str>),
    /// `true` or `false`.
    Boolean,
    /// A whole number within bounds.
    Number(u32, u32),
    /// A mapping.
    Mapping(&'static Shape),
    /// A list.
    List(&'static Kind),
    /// A value, or a list of such values.
    OneOrList(&'static Kind),
    /// A mapping whose names are the user's own.
    Own(&'static Kind),
    /// A mapping whose names are among these words.
    Known(fn() -> Vec<&'static str>, &'static Kind),
    /// A mapping of which exactly one field is there.
    OneOf(&'static Shape),
    /// One or the other.
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
    /// The mappings that are part of it.
    pub(crate) fn shapes(&self) -> Vec<&'static Shape> {
        match self {
            Self::Text | Self::Word(_) | Self::Boolean | Self::Number(..) => Vec::new(),
            Self::Mapping(shape) | Self::OneOf(shape) => vec![shape],
            Self::List(kind) | Self::OneOrList(kind) | Self::Own(kind) | Self::Known(_, kind) => {
                kind.shapes()
            }
            Self::Either(one, other) => {
                let mut shapes = one.shapes();
                shapes.extend(other.shapes());
                shapes
            }
        }
    }
}

/// The names of an enumeration.
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
