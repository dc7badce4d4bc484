//! What fields a mapping may have.

/// A mapping's fields.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Where such a mapping stands, as a person would say it.
    pub(crate) place: &'static str,
    pub(crate) fields: &'static [Field],
}

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
}

/// What becomes of a field.
#[derive(Debug)]
pub(crate) enum Need {
    /// It has to be there; the text says how to write it.
    Required(&'static str),
    /// It may be there.
    Optional,
    /// It is part of the design, but nothing acts on it yet; the text says what
    /// holds instead.
    NotYet(&'static str),
    /// The same for a mapping of which each field is refused by itself.
    NotYetWithin(&'static Shape),
}

impl Shape {
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What a person is told of: the fields that do something.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &'static str> + Clone {
        let usable = |field: &&Field| matches!(field.need, Need::Required(_) | Need::Optional);
        self.fields.iter().filter(usable).map(|field| field.name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.fields.iter().map(|field| field.name)
    }
}

pub(crate) const fn required(name: &'static str, example: &'static str) -> Field {
    Field {
        name,
        need: Need::Required(example),
    }
}

pub(crate) const fn optional(name: &'static str) -> Field {
    Field {
        name,
        need: Need::Optional,
    }
}

pub(crate) const fn not_yet(name: &'static str, instead: &'static str) -> Field {
    Field {
        name,
        need: Need::NotYet(instead),
    }
}

pub(crate) const fn not_yet_within(name: &'static str, shape: &'static Shape) -> Field {
    Field {
        name,
        need: Need::NotYetWithin(shape),
    }
}
