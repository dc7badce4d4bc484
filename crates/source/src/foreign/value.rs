//! A value of a foreign file with its path.

use casement_diag::{Diagnostic, FieldPath, Severity};

use crate::node::{Data, Entry, Node};

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

    pub fn file(&self) -> &'a str {
        self.file
    }

    pub fn path(&self) -> &FieldPath {
        &self.path
    }

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

    /// Case-insensitive, as Go decodes JSON.
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

    /// A nested field; `names` are separated by dots.
    pub fn at(&self, names: &str) -> Option<Self> {
        names
            .split('.')
            .try_fold(self.clone(), |value, name| value.get(name))
    }

    /// The items of a list, otherwise empty.
    pub fn items(&self) -> Vec<Self> {
        let Data::List(items) = &self.node.data else {
            return Vec::new();
        };
        let item = |(index, node)| Self::new(self.file, self.path.index(index), node);
        items.iter().enumerate().map(item).collect()
    }

    /// The fields of a mapping in file order, otherwise empty.
    pub fn entries(&self) -> Vec<(&'a str, Self)> {
        let Data::Mapping(entries) = &self.node.data else {
            return Vec::new();
        };
        let entry = |entry: &'a Entry| (entry.key.as_str(), self.value_of(entry));
        entries.iter().map(entry).collect()
    }

    pub fn is_mapping(&self) -> bool {
        matches!(self.node.data, Data::Mapping(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.node.data, Data::List(_))
    }

    /// Missing, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.node.is_null()
    }

    /// A scalar as written; `None` if it is null.
    pub fn text(&self) -> Option<&'a str> {
        match &self.node.data {
            Data::Scalar(scalar) if !self.node.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        self.text()?.parse().ok()
    }

    pub fn boolean(&self) -> Option<bool> {
        match self.text()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    pub fn finding(&self, severity: Severity, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(severity, self.path.clone(), message).in_file(self.file)
    }

    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.finding(Severity::Error, message)
    }

    pub fn warning(&self, message: impl Into<String>) -> Diagnostic {
        self.finding(Severity::Warning, message)
    }
}
