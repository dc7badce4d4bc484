//! Single values, and what is said when they are not what their field wants.

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

/// A value and where it is.
#[derive(Debug, Clone)]
pub(crate) struct At<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: FieldPath,
}

/// Collects what is wrong. Every `Option` it gives is `None` only after it was
/// told why.
#[derive(Debug)]
pub(crate) struct Reader<'f> {
    pub(crate) findings: &'f mut Findings,
}

impl Reader<'_> {
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.findings.add(finding);
    }

    /// The value is of another type than its field wants; `how` says how to
    /// write it.
    pub(crate) fn wrong_type(&mut self, at: &At<'_>, wanted: &str, how: Option<String>) {
        let name = short_path(&at.path);
        let (found, how) = if at.node.is_nothing() {
            let how = "fill it in; what belongs to it is indented further";
            ("but nothing is there".to_owned(), Some(how.to_owned()))
        } else {
            (format!("not {}", at.node.described()), how)
        };
        let message = format!("`{name}` must be {wanted}, {found}");
        let mut finding = Diagnostic::error(at.path.clone(), message).code(codes::WRONG_TYPE);
        if at.node.is_nothing() {
            finding = finding.at(Part::Key);
        }
        finding.help = how;
        self.add(finding);
    }

    /// A text, whatever YAML would make of it.
    pub(crate) fn text<'n>(&mut self, at: &At<'n>, wanted: &str) -> Option<&'n str> {
        match &at.node.data {
            Data::Scalar(scalar) if !at.node.is_nothing() => Some(&scalar.text),
            _ => {
                self.wrong_type(at, wanted, Some("one value belongs there".to_owned()));
                None
            }
        }
    }

    /// A value that knows itself what it may be.
    pub(crate) fn parse<T>(&mut self, at: &At<'_>, wanted: &str, example: &str) -> Option<T>
    where
        T: FromStr<Err = Invalid>,
    {
        let text = self.text(at, wanted)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.invalid(at, &invalid, example);
                None
            }
        }
    }

    pub(crate) fn invalid(&mut self, at: &At<'_>, invalid: &Invalid, example: &str) {
        let secret = at.node.is_secret();
        let message = if secret {
            format!("this is no {}: {}", invalid.kind, invalid.reason)
        } else {
            invalid.to_string()
        };
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        self.add(match &invalid.suggestion {
            Some(better) if !secret => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better.as_str()),
            _ => finding.help(format!("an example is `{example}`")),
        });
    }

    /// One of several words.
    pub(crate) fn named<T: Named>(&mut self, at: &At<'_>, what: &str) -> Option<T> {
        let text = self.text(at, &format!("one {what}"))?;
        if let Some(value) = T::from_name(text) {
            return Some(value);
        }
        let names = T::ALL.iter().map(|value| value.name());
        let all: Vec<_> = names.clone().map(|name| format!("`{name}`")).collect();
        let message = format!("{} is no {what}", at.node.described());
        let mut finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        finding = match suggest::closest(text, names) {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better),
            None => finding.help(format!("it is one of {}", all.join(", "))),
        };
        self.add(finding);
        None
    }

    pub(crate) fn boolean(&mut self, at: &At<'_>) -> Option<bool> {
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
            let how = format!("write `{name}: {}`", better.unwrap_or("true"));
            self.wrong_type(at, "`true` or `false`", Some(how));
        }
        value
    }

    pub(crate) fn port(&mut self, at: &At<'_>) -> Option<u16> {
        let number = self.number(at, 1..=65535, 22)?;
        u16::try_from(number).ok()
    }

    /// A whole number within bounds.
    pub(crate) fn number(
        &mut self,
        at: &At<'_>,
        bounds: RangeInclusive<u32>,
        example: u32,
    ) -> Option<u32> {
        let name = at.path.last_field().unwrap_or_default();
        if let Data::Scalar(scalar) = &at.node.data
            && let Ok(number) = scalar.text.parse()
            && bounds.contains(&number)
        {
            // YAML's other ways to write one, such as `+1` or `007`, are too odd.
            let usual = scalar.text == number.to_string();
            if scalar.plain && usual {
                return Some(number);
            }
            let how = format!("write `{name}: {number}`");
            self.wrong_type(at, "a number", Some(how));
            return None;
        }
        let (least, most) = bounds.into_inner();
        let how = format!("write `{name}: {example}`");
        self.wrong_type(at, &format!("a number from {least} to {most}"), Some(how));
        None
    }

    /// A list of values that know themselves what they may be.
    pub(crate) fn parse_list<T>(
        &mut self,
        at: &At<'_>,
        wanted: &str,
        example: &str,
    ) -> Option<Vec<T>>
    where
        T: FromStr<Err = Invalid>,
    {
        let items = self.list(at, wanted)?;
        let number = items.len();
        let values: Vec<T> = items
            .iter()
            .filter_map(|at| self.parse(at, "a text", example))
            .collect();
        (values.len() == number).then_some(values)
    }

    /// A mapping whose names and values know themselves what they may be.
    pub(crate) fn parse_pairs<K, V>(
        &mut self,
        at: &At<'_>,
        wanted: &str,
        example: (&str, &str),
    ) -> Option<BTreeMap<K, V>>
    where
        K: FromStr<Err = Invalid> + Ord,
        V: FromStr<Err = Invalid>,
    {
        let read = |reader: &mut Self, at: &At<'_>| reader.parse(at, "a text", example.1);
        self.own_pairs(at, wanted, example.0, read)
    }

    /// A mapping whose names know themselves what they may be.
    pub(crate) fn own_pairs<K, V>(
        &mut self,
        at: &At<'_>,
        wanted: &str,
        example: &str,
        mut read: impl FnMut(&mut Self, &At<'_>) -> Option<V>,
    ) -> Option<BTreeMap<K, V>>
    where
        K: FromStr<Err = Invalid> + Ord,
    {
        let mut whole = true;
        let mut all = BTreeMap::new();
        for (key, at) in self.pairs(at, wanted)? {
            let value = read(self, &at);
            match (key.parse::<K>(), value) {
                (Ok(key), Some(value)) => {
                    all.insert(key, value);
                }
                (Err(invalid), _) => {
                    self.invalid_key(&at, &invalid, example);
                    whole = false;
                }
                _ => whole = false,
            }
        }
        whole.then_some(all)
    }

    fn invalid_key(&mut self, at: &At<'_>, invalid: &Invalid, example: &str) {
        let finding = Diagnostic::error(at.path.clone(), invalid.to_string());
        let finding = finding.code(codes::BAD_VALUE).at(Part::Key);
        self.add(match &invalid.suggestion {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), better.as_str()),
            None => finding.help(format!("an example is `{example}`")),
        });
    }

    /// A mapping whose names are among the words of an enumeration.
    pub(crate) fn named_pairs<K: Named + Ord, V>(
        &mut self,
        at: &At<'_>,
        wanted: &str,
        what: &str,
        mut read: impl FnMut(&mut Self, &At<'_>) -> Option<V>,
    ) -> Option<BTreeMap<K, V>> {
        let mut whole = true;
        let mut all = BTreeMap::new();
        for (key, at) in self.pairs(at, wanted)? {
            match (K::from_name(key), read(self, &at)) {
                (Some(name), Some(value)) => {
                    all.insert(name, value);
                }
                (None, _) => {
                    self.add(unknown_name::<K>(&at, key, what));
                    whole = false;
                }
                _ => whole = false,
            }
        }
        whole.then_some(all)
    }

    /// The path of a file on this machine.
    pub(crate) fn file(&mut self, at: &At<'_>) -> Option<Utf8PathBuf> {
        let text = self.text(at, "the path of a file")?;
        let wrong = |reason: &str| {
            let message = match at.node.short() {
                Some(shown) => format!("`{shown}` is no path of a file: {reason}"),
                None => format!("this is no path of a file: {reason}"),
            };
            Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE)
        };
        let finding = if text.contains("PRIVATE KEY") {
            wrong("it is the key itself")
                .code(codes::SECRET_VALUE)
                .help("save the key to a file that only you can read, and name that file here")
        } else if text.trim().is_empty() || text.contains(char::is_control) {
            wrong("it is empty or has control characters in it").help("name a file")
        } else if text.starts_with('$') {
            wrong("variables are not replaced")
                .help("write it out; `~/` stands for your home folder")
        } else if text.starts_with('~') && !text.starts_with("~/") {
            wrong("only `~/` stands for a home folder").help("write the path out")
        } else {
            return Some(Utf8PathBuf::from(text));
        };
        self.add(finding);
        None
    }

    pub(crate) fn list<'n>(&mut self, at: &At<'n>, wanted: &str) -> Option<Vec<At<'n>>> {
        if let Data::List(items) = &at.node.data {
            let items = items.iter().enumerate().map(|(index, node)| At {
                node,
                path: at.path.index(index),
            });
            return Some(items.collect());
        }
        let name = at.path.last_field().unwrap_or_default();
        let text = at.node.short().unwrap_or("…");
        self.wrong_type(at, wanted, Some(format!("write `{name}: [{text}]`")));
        None
    }

    /// The fields of a mapping whose names are the user's own.
    pub(crate) fn pairs<'n>(
        &mut self,
        at: &At<'n>,
        wanted: &str,
    ) -> Option<Vec<(&'n str, At<'n>)>> {
        if let Data::Mapping(entries) = &at.node.data {
            let pairs = entries.iter().map(|entry| {
                let path = at.path.field(entry.key.as_str());
                let node = &entry.value;
                (entry.key.as_str(), At { node, path })
            });
            return Some(pairs.collect());
        }
        let how = "write it as `name: value`, each in a line of its own";
        self.wrong_type(at, wanted, Some(how.to_owned()));
        None
    }
}

fn unknown_name<K: Named>(at: &At<'_>, key: &str, what: &str) -> Diagnostic {
    let names = K::ALL.iter().map(|value| value.name());
    let all: Vec<_> = names.clone().map(|name| format!("`{name}`")).collect();
    let message = format!("`{}` is no {what}", clipped(key));
    let finding = Diagnostic::error(at.path.clone(), message)
        .code(codes::UNKNOWN_FIELD)
        .at(Part::Key);
    match suggest::closest(key.trim_end_matches(".exe"), names) {
        Some(better) => finding
            .help(format!("did you mean `{better}`?"))
            .replace(format!("rename it to `{better}`"), better),
        None => finding.help(format!("they are {}", all.join(", "))),
    }
}

/// A path as people say it: everything is in `spec`.
pub(crate) fn short_path(path: &FieldPath) -> String {
    let path = path.to_string();
    path.strip_prefix("spec.")
        .map(str::to_owned)
        .unwrap_or(path)
}
