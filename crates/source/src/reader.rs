//! Typed access to single values, with a diagnostic for each invalid one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use camino::Utf8PathBuf;
use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::{Invalid, Named};

use crate::codes;
use crate::findings::Findings;
use crate::node::{Data, Node, clipped};
use crate::suggest;

/// A node of the tree and its field path.
#[derive(Debug, Clone)]
pub(crate) struct FieldNode<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: FieldPath,
}

/// Reads values and collects findings. A method returns `None` only after it has
/// added a finding.
#[derive(Debug)]
pub(crate) struct Reader<'f> {
    pub(crate) findings: &'f mut Findings,
}

impl Reader<'_> {
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.findings.add(finding);
    }

    /// Reports a value of the wrong type; `help` shows the correct form.
    pub(crate) fn wrong_type(&mut self, at: &FieldNode<'_>, expected: &str, help: Option<String>) {
        let name = short_path(&at.path);
        let (found, help) = if at.node.is_null() {
            let help = "add a value; nested fields are indented further";
            ("but it is empty".to_owned(), Some(help.to_owned()))
        } else {
            (format!("not {}", at.node.described()), help)
        };
        let message = format!("`{name}` must be {expected}, {found}");
        let mut finding = Diagnostic::error(at.path.clone(), message).code(codes::WRONG_TYPE);
        if at.node.is_null() {
            finding = finding.at(Part::Key);
        }
        finding.help = help;
        self.add(finding);
    }

    /// A scalar as a string, whatever type YAML would assign to it.
    pub(crate) fn text<'n>(&mut self, at: &FieldNode<'n>, expected: &str) -> Option<&'n str> {
        match &at.node.data {
            Data::Scalar(scalar) if !at.node.is_null() => Some(&scalar.text),
            _ => {
                self.wrong_type(at, expected, Some("write a single value".to_owned()));
                None
            }
        }
    }

    pub(crate) fn parse<T>(
        &mut self,
        at: &FieldNode<'_>,
        expected: &str,
        example: &str,
    ) -> Option<T>
    where
        T: FromStr<Err = Invalid>,
    {
        let text = self.text(at, expected)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.invalid(at, &invalid, example);
                None
            }
        }
    }

    pub(crate) fn invalid(&mut self, at: &FieldNode<'_>, invalid: &Invalid, example: &str) {
        let secret = at.node.is_secret();
        let message = if secret {
            format!("this is not a valid {}: {}", invalid.kind, invalid.reason)
        } else {
            invalid.to_string()
        };
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        self.add(match &invalid.suggestion {
            Some(better) if !secret => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better.as_str()),
            _ => finding.help(format!("use a value such as `{example}`")),
        });
    }

    /// A variant of an enumeration.
    pub(crate) fn named<T: Named>(&mut self, at: &FieldNode<'_>, what: &str) -> Option<T> {
        let text = self.text(at, &format!("a single {what}"))?;
        if let Some(value) = T::from_name(text) {
            return Some(value);
        }
        let names = T::ALL.iter().map(|value| value.name());
        let all: Vec<_> = names.clone().map(|name| format!("`{name}`")).collect();
        let message = format!("{} is not a valid {what}", at.node.described());
        let mut finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        finding = match suggest::closest(text, names) {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better),
            None => finding.help(format!("use one of {}", all.join(", "))),
        };
        self.add(finding);
        None
    }

    pub(crate) fn boolean(&mut self, at: &FieldNode<'_>) -> Option<bool> {
        let (value, better) = match &at.node.data {
            Data::Scalar(scalar) => match scalar.text.to_ascii_lowercase().as_str() {
                "true" if scalar.plain => (Some(true), None),
                "false" if scalar.plain => (Some(false), None),
                "true" | "yes" | "on" | "y" | "1" => (None, Some("true")),
                "false" | "no" | "off" | "n" | "0" => (None, Some("false")),
                _ => (None, None),
            },
            _ => (None, None),
        };
        if value.is_none() {
            let name = at.path.last_field().unwrap_or_default();
            let help = format!("write `{name}: {}`", better.unwrap_or("true"));
            self.wrong_type(at, "`true` or `false`", Some(help));
        }
        value
    }

    pub(crate) fn port(&mut self, at: &FieldNode<'_>) -> Option<u16> {
        let number = self.number(at, 1..=65535, 22)?;
        u16::try_from(number).ok()
    }

    pub(crate) fn number(
        &mut self,
        at: &FieldNode<'_>,
        bounds: RangeInclusive<u32>,
        example: u32,
    ) -> Option<u32> {
        let name = at.path.last_field().unwrap_or_default();
        if let Data::Scalar(scalar) = &at.node.data
            && let Ok(number) = scalar.text.parse()
            && bounds.contains(&number)
        {
            // Other YAML notations, such as `+1` or `007`, are rejected.
            let canonical = scalar.text == number.to_string();
            if scalar.plain && canonical {
                return Some(number);
            }
            let help = format!("write `{name}: {number}`");
            self.wrong_type(at, "a number", Some(help));
            return None;
        }
        let (min, max) = bounds.into_inner();
        let help = format!("write `{name}: {example}`");
        self.wrong_type(at, &format!("a number from {min} to {max}"), Some(help));
        None
    }

    pub(crate) fn parse_list<T>(
        &mut self,
        at: &FieldNode<'_>,
        expected: &str,
        example: &str,
    ) -> Option<Vec<T>>
    where
        T: FromStr<Err = Invalid>,
    {
        let items = self.list(at, expected)?;
        let number = items.len();
        let values: Vec<T> = items
            .iter()
            .filter_map(|at| self.parse(at, "a string", example))
            .collect();
        (values.len() == number).then_some(values)
    }

    pub(crate) fn parse_pairs<K, V>(
        &mut self,
        at: &FieldNode<'_>,
        expected: &str,
        example: (&str, &str),
    ) -> Option<BTreeMap<K, V>>
    where
        K: FromStr<Err = Invalid> + Ord,
        V: FromStr<Err = Invalid>,
    {
        let read = |reader: &mut Self, at: &FieldNode<'_>| reader.parse(at, "a string", example.1);
        self.parse_keys(at, expected, example.0, read)
    }

    /// A mapping with user-defined keys of one type.
    pub(crate) fn parse_keys<K, V>(
        &mut self,
        at: &FieldNode<'_>,
        expected: &str,
        example: &str,
        mut read: impl FnMut(&mut Self, &FieldNode<'_>) -> Option<V>,
    ) -> Option<BTreeMap<K, V>>
    where
        K: FromStr<Err = Invalid> + Ord,
    {
        let mut valid = true;
        let mut all = BTreeMap::new();
        for (key, at) in self.pairs(at, expected)? {
            let value = read(self, &at);
            match (key.parse::<K>(), value) {
                (Ok(key), Some(value)) => {
                    all.insert(key, value);
                }
                (Err(invalid), _) => {
                    self.invalid_key(&at, &invalid, example);
                    valid = false;
                }
                _ => valid = false,
            }
        }
        valid.then_some(all)
    }

    fn invalid_key(&mut self, at: &FieldNode<'_>, invalid: &Invalid, example: &str) {
        let finding = Diagnostic::error(at.path.clone(), invalid.to_string());
        let finding = finding.code(codes::BAD_VALUE).at(Part::Key);
        self.add(match &invalid.suggestion {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better.as_str()),
            None => finding.help(format!("use a value such as `{example}`")),
        });
    }

    /// A mapping whose keys are variants of an enumeration.
    pub(crate) fn named_pairs<K: Named + Ord, V>(
        &mut self,
        at: &FieldNode<'_>,
        expected: &str,
        what: &str,
        mut read: impl FnMut(&mut Self, &FieldNode<'_>) -> Option<V>,
    ) -> Option<BTreeMap<K, V>> {
        let mut valid = true;
        let mut all = BTreeMap::new();
        for (key, at) in self.pairs(at, expected)? {
            match (K::from_name(key), read(self, &at)) {
                (Some(name), Some(value)) => {
                    all.insert(name, value);
                }
                (None, _) => {
                    self.add(unknown_name::<K>(&at, key, what));
                    valid = false;
                }
                _ => valid = false,
            }
        }
        valid.then_some(all)
    }

    /// A path on the local machine.
    pub(crate) fn file(&mut self, at: &FieldNode<'_>) -> Option<Utf8PathBuf> {
        let text = self.text(at, "a file path")?;
        let invalid = |reason: &str| {
            let message = match at.node.short() {
                Some(shown) => format!("`{shown}` is not a valid file path: {reason}"),
                None => format!("this is not a valid file path: {reason}"),
            };
            Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE)
        };
        let finding = if text.contains("PRIVATE KEY") {
            invalid("it contains the key itself")
                .code(codes::SECRET_VALUE)
                .help("save the key to a file that only you can read, and set its path here")
        } else if text.trim().is_empty() || text.contains(char::is_control) {
            invalid("it is empty or contains control characters").help("set a file path")
        } else if text.starts_with('$') {
            invalid("variables are not expanded")
                .help("write the full path; `~/` is your home directory")
        } else if text.starts_with('~') && !text.starts_with("~/") {
            invalid("only `~/` is expanded").help("write the full path")
        } else {
            return Some(Utf8PathBuf::from(text));
        };
        self.add(finding);
        None
    }

    pub(crate) fn list<'n>(
        &mut self,
        at: &FieldNode<'n>,
        expected: &str,
    ) -> Option<Vec<FieldNode<'n>>> {
        if let Data::List(items) = &at.node.data {
            let items = items.iter().enumerate().map(|(index, node)| FieldNode {
                node,
                path: at.path.index(index),
            });
            return Some(items.collect());
        }
        let name = at.path.last_field().unwrap_or_default();
        let text = at.node.short().unwrap_or("…");
        self.wrong_type(at, expected, Some(format!("write `{name}: [{text}]`")));
        None
    }

    /// The entries of a mapping with user-defined keys.
    pub(crate) fn pairs<'n>(
        &mut self,
        at: &FieldNode<'n>,
        expected: &str,
    ) -> Option<Vec<(&'n str, FieldNode<'n>)>> {
        if let Data::Mapping(entries) = &at.node.data {
            let pairs = entries.iter().map(|entry| {
                let path = at.path.field(entry.key.as_str());
                let node = &entry.value;
                (entry.key.as_str(), FieldNode { node, path })
            });
            return Some(pairs.collect());
        }
        let help = "write each entry as `name: value` on its own line";
        self.wrong_type(at, expected, Some(help.to_owned()));
        None
    }
}

fn unknown_name<K: Named>(at: &FieldNode<'_>, key: &str, what: &str) -> Diagnostic {
    let names = K::ALL.iter().map(|value| value.name());
    let all: Vec<_> = names.clone().map(|name| format!("`{name}`")).collect();
    let message = format!("`{}` is not a valid {what}", clipped(key));
    let finding = Diagnostic::error(at.path.clone(), message)
        .code(codes::UNKNOWN_FIELD)
        .at(Part::Key);
    match suggest::closest(key.trim_end_matches(".exe"), names) {
        Some(better) => finding
            .help(format!("did you mean `{better}`?"))
            .replace(format!("rename it to `{better}`"), better),
        None => finding.help(format!("use one of {}", all.join(", "))),
    }
}

/// A field path for messages, without the leading `spec.`.
pub(crate) fn short_path(path: &FieldPath) -> String {
    let path = path.to_string();
    path.strip_prefix("spec.")
        .map(str::to_owned)
        .unwrap_or(path)
}
