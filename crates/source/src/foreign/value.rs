//! A value of a foreign file, and the way to it.

use casement_diag::{Diagnostic, FieldPath, Severity};

use crate::node::{Data, Entry, Node};

/// A value, the file it is in, and where in it.
#[derive(Debug, Clone)]
pub struct Value<'a> {
    file: &'a str,
    path: FieldPath,
    node: &'a Node,
}

impl<'a> Value<'a> {
    pub(crate) fn new(file: &'a str, path: FieldPath, node: &'a Node) -> Self {
        Self { file, path, node }
    }

    /// The file it is in.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// Where in the file it is.
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// A field of this mapping.
    pub fn get(&self, name: &str) -> Option<Self> {
        let Data::Mapping(entries) = &self.node.data else {
            return None;
        };
        Some(self.value_of(entries.get(name)?))
    }

    fn value_of(&self, entry: &'a Entry) -> Self {
        let path = self.path.field(entry.key.as_str());
        Self::new(self.file, path, &entry.value)
    }

    /// The same, whatever the case of the letters: Go reads JSON like that.
    pub fn get_any_case(&self, name: &str) -> Option<Self> {
        self.get(name)
            .or_else(|| self.entry(|key| key.eq_ignore_ascii_case(name)))
    }

    fn entry(&self, is: impl Fn(&str) -> bool) -> Option<Self> {
        let Data::Mapping(entries) = &self.node.data else {
            return None;
        };
        let entry = entries.iter().find(|entry| is(&entry.key))?;
        Some(self.value_of(entry))
    }

    /// A field of a field, names separated by dots.
    pub fn at(&self, names: &str) -> Option<Self> {
        names
            .split('.')
            .try_fold(self.clone(), |value, name| value.get(name))
    }

    /// The items of this list; none where it is no list.
    pub fn items(&self) -> Vec<Self> {
        let Data::List(items) = &self.node.data else {
            return Vec::new();
        };
        let item = |(index, node)| Self::new(self.file, self.path.index(index), node);
        items.iter().enumerate().map(item).collect()
    }

    /// The fields of this mapping, in the file's order; none where it is none.
    pub fn entries(&self) -> Vec<(&'a str, Self)> {
        let Data::Mapping(entries) = &self.node.data else {
            return Vec::new();
        };
        let entry = |entry: &'a Entry| (entry.key.as_str(), self.value_of(entry));
        entries.iter().map(entry).collect()
    }

    /// Whether it is a mapping.
    pub fn is_mapping(&self) -> bool {
        matches!(self.node.data, Data::Mapping(_))
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.node.data, Data::List(_))
    }

    /// Whether nothing is there, or a word for nothing.
    pub fn is_nothing(&self) -> bool {
        self.node.is_nothing()
    }

    /// A single value, as written.
    pub fn text(&self) -> Option<&'a str> {
        match &self.node.data {
            Data::Scalar(scalar) if !self.node.is_nothing() => Some(&scalar.text),
            _ => None,
        }
    }

    /// A whole number.
    pub fn integer(&self) -> Option<i64> {
        self.text()?.parse().ok()
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        match self.text()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// A finding at this value.
    pub fn finding(&self, severity: Severity, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(severity, self.path.clone(), message).within(self.file)
    }

    /// An error at this value.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.finding(Severity::Error, message)
    }

    /// A warning at this value.
    pub fn warning(&self, message: impl Into<String>) -> Diagnostic {
        self.finding(Severity::Warning, message)
    }
}
