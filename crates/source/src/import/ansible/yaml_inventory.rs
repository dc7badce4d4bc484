//! YAML inventories.

use super::builder::Builder;
use super::findings::{Findings, Span};
use super::pattern::{self, BadPattern};
use super::tree::{self, Data, Node};
use super::value::Value;
use super::{MAX_HOSTS, codes};
use crate::node::clipped;

struct Reader<'a> {
    text: &'a str,
    builder: &'a mut Builder,
    findings: &'a mut Findings,
    lines: Lines,
    /// A limit was reached and reported.
    full: bool,
}

/// Converts byte positions to line numbers.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    pub(super) fn line(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte).max(1)
    }
}

pub(super) fn read(text: &str, builder: &mut Builder, findings: &mut Findings) {
    let root = match tree::parse(text) {
        Ok(root) => root.filter(|root| !root.is_falsy()),
        Err(error) => {
            let finding = findings.error(Span::main(error.range), codes::SYNTAX, error.message);
            finding.help = Some(error.help);
            return;
        }
    };
    let mut reader = Reader {
        text,
        builder,
        findings,
        lines: Lines::new(text),
        full: false,
    };
    match root {
        None => {
            let message = "the inventory is empty".to_owned();
            reader
                .structure_error(0..0, message)
                .push_str("use a file with a list of hosts");
        }
        Some(root) => reader.root(&root),
    }
}

type Range = std::ops::Range<usize>;

impl Reader<'_> {
    fn structure_error(&mut self, range: Range, message: String) -> &mut String {
        let finding = self
            .findings
            .error(Span::main(range), codes::STRUCTURE, message);
        finding.help.get_or_insert_default()
    }

    fn unread_warning(&mut self, range: Range, message: String, help: &str) {
        let finding = self
            .findings
            .warning(Span::main(range), codes::UNREAD, message);
        finding.help = Some(help.to_owned());
    }

    /// Whether a limit is reached; the first time, adds an error.
    fn is_full(&mut self, key: &Node) -> bool {
        if !self.full && self.builder.is_full() {
            self.full = true;
            let message = "the inventory has too many groups or host entries";
            let at = Span::main(key.range.clone());
            let finding = self.findings.error(at, codes::TOO_LARGE, message);
            finding.help = Some("check that it is the right file".to_owned());
        }
        self.full
    }

    fn root(&mut self, root: &Node) {
        let Data::Map(groups) = &root.data else {
            self.structure_error(
                root.range.clone(),
                "an inventory must be a mapping of groups".to_owned(),
            )
            .push_str("start with `all:` and put `hosts:` below it");
            return;
        };
        let plugin = unique(groups).find(|(key, _)| key.text() == Some("plugin"));
        if let Some((key, _)) = plugin.filter(|(_, value)| !value.is_falsy()) {
            let message =
                "this is the configuration of an inventory plugin, not a list of hosts".to_owned();
            self.structure_error(key.range.clone(), message).push_str(
                "run `ansible-inventory -i FILE --list --yaml --export` and import its output",
            );
            return;
        }
        for (key, value) in unique(groups) {
            self.group(key, value);
        }
    }

    /// Reads a group; `None` if it has no valid name.
    fn group(&mut self, key: &Node, value: &Node) -> Option<usize> {
        let Some(name) = key.text().filter(|name| !name.is_empty()) else {
            self.structure_error(
                key.range.clone(),
                "a group name must be a string".to_owned(),
            )
            .push_str("put the name in quotes");
            return None;
        };
        let sections = match &value.data {
            Data::Map(sections) => sections.as_slice(),
            Data::Scalar(Value::Null) => &[],
            _ => {
                let message = format!(
                    "`{}` is not a group: it is a scalar or a list",
                    clipped(name)
                );
                self.unread_warning(
                    key.range.clone(),
                    message,
                    "write a group as a mapping of `hosts`, `children` and `vars`",
                );
                // It may be declared elsewhere.
                return self.builder.group(name);
            }
        };
        if self.is_full(key) {
            return None;
        }
        let location = self.builder.location(self.lines.line(key.range.start));
        let group = self.builder.add_group(name, Some(location));
        for (key, value) in unique(sections) {
            self.section(name, group, key, value);
        }
        Some(group)
    }

    fn section(&mut self, name: &str, group: usize, key: &Node, value: &Node) {
        let section = key.text().unwrap_or_default();
        let known = matches!(section, "vars" | "children" | "hosts");
        let single;
        let pairs = match &value.data {
            Data::Map(pairs) => pairs.as_slice(),
            Data::Scalar(Value::Null) => return,
            Data::Scalar(Value::Text(_)) if known => {
                let null = Node {
                    range: value.range.clone(),
                    data: Data::Scalar(Value::Null),
                };
                single = [(value.clone(), null)];
                &single
            }
            _ if known => {
                let message = format!("`{section}` of `{}` must be a mapping", clipped(name));
                self.structure_error(value.range.clone(), message)
                    .push_str("write each entry as `name:` on its own line");
                return;
            }
            _ => &[],
        };
        match section {
            "vars" => {
                for (key, value) in unique(pairs) {
                    if let Some((variable, value)) = self.variable(key, value) {
                        let location = self.builder.location(self.lines.line(key.range.start));
                        let set =
                            self.builder
                                .set_group_variable(group, (variable, value), location);
                        self.priority(set, key);
                    }
                }
            }
            "children" => {
                for (key, value) in unique(pairs) {
                    self.child(group, key, value);
                }
            }
            "hosts" => {
                for (key, value) in unique(pairs) {
                    self.hosts(group, key, value);
                }
            }
            _ => {
                let message = format!(
                    "Ansible ignores `{}` in group `{}`",
                    clipped(section),
                    clipped(name)
                );
                let help = "use `hosts`, `children` and `vars`; put variables below `vars`";
                self.unread_warning(key.range.clone(), message, help);
            }
        }
    }

    fn child(&mut self, group: usize, key: &Node, value: &Node) {
        let before = self.findings.has_errors();
        match self.group(key, value) {
            Some(child) => {
                if let Err(error) = self.builder.add_child(group, child) {
                    let at = Span::main(key.range.clone());
                    let finding = self
                        .findings
                        .error(at, codes::GROUP_LOOP, error.to_string());
                    finding.help = Some("remove it from one of the two groups".to_owned());
                }
            }
            None if before == self.findings.has_errors() => {
                self.structure_error(key.range.clone(), "this child is not a group".to_owned())
                    .push_str("write it as `name:` without a value");
            }
            None => {}
        }
    }

    fn hosts(&mut self, group: usize, key: &Node, value: &Node) {
        let Some(pattern) = key.text() else {
            self.structure_error(key.range.clone(), "a host name must be a string".to_owned())
                .push_str("put the name in quotes");
            return;
        };
        if self.is_full(key) {
            return;
        }
        let expanded = match pattern::expand(pattern, MAX_HOSTS) {
            Ok(expanded) if self.builder.has_room(&expanded.hosts) => expanded,
            Ok(_) | Err(BadPattern::TooMany(_)) => {
                self.full = true;
                self.findings.too_many_hosts(Span::main(key.range.clone()));
                return;
            }
            Err(error) => {
                let message = format!("`{}` is not a valid host: {error}", clipped(pattern));
                let at = Span::main(key.range.clone());
                let finding = self.findings.error(at, codes::HOST_PATTERN, message);
                finding.help = Some("use a host name or a range such as `win[01:20]`".to_owned());
                return;
            }
        };
        let variables = match &value.data {
            Data::Map(variables) => variables.as_slice(),
            _ if value.is_falsy() => &[],
            _ => {
                let message = format!("the variables of `{}` must be a mapping", clipped(pattern));
                self.structure_error(value.range.clone(), message)
                    .push_str("write each variable as `name: value` on its own line");
                return;
            }
        };
        self.builder.add_work(expanded.hosts.len(), variables.len());
        for host in &expanded.hosts {
            let location = self.builder.location(self.lines.line(key.range.start));
            self.builder.add_host(host, group, expanded.port, location);
        }
        for (key, value) in unique(variables) {
            let Some((name, value)) = self.variable(key, value) else {
                continue;
            };
            for host in &expanded.hosts {
                let location = self.builder.location(self.lines.line(key.range.start));
                let set = self
                    .builder
                    .set_variable(host, (name, value.clone()), location);
                self.priority(set, key);
            }
        }
    }

    fn priority(&mut self, set: Result<(), Value>, key: &Node) {
        if set.is_err() {
            let message = "`ansible_group_priority` must be an integer".to_owned();
            self.structure_error(key.range.clone(), message)
                .push_str("write `ansible_group_priority: 10`");
        }
    }

    fn variable<'n>(&mut self, key: &'n Node, value: &Node) -> Option<(&'n str, Value)> {
        match variable(key, value) {
            Ok(variable) => Some(variable),
            Err(range) => {
                let key = self.text.get(range.clone()).unwrap_or_default();
                let message = format!(
                    "`{}` is not a valid variable name: it must be a string",
                    clipped(key)
                );
                let finding = self
                    .findings
                    .error(Span::main(range), codes::VALUE, message);
                finding.help = Some("put the name in quotes".to_owned());
                None
            }
        }
    }
}

/// Name and value of a variable, or the range of an invalid name.
pub(super) fn variable<'n>(key: &'n Node, value: &Node) -> Result<(&'n str, Value), Range> {
    let name = key.text().ok_or_else(|| key.range.clone())?;
    Ok((name, to_value(value)?))
}

fn to_value(node: &Node) -> Result<Value, Range> {
    Ok(match &node.data {
        Data::Scalar(value) => value.clone(),
        Data::List(items) => Value::List(items.iter().map(to_value).collect::<Result<_, _>>()?),
        Data::Map(pairs) => {
            let mut all = Vec::new();
            for (key, value) in unique(pairs) {
                let name = match &key.data {
                    Data::Scalar(Value::Text(text)) => text.clone(),
                    Data::Scalar(Value::Int(number)) => number.to_string(),
                    _ => return Err(key.range.clone()),
                };
                all.push((name, to_value(value)?));
            }
            Value::Map(all)
        }
    })
}

/// Removes duplicate keys: the last value wins, at the position of the first.
pub(super) fn unique(pairs: &[(Node, Node)]) -> impl Iterator<Item = (&Node, &Node)> {
    let mut last = std::collections::HashMap::new();
    for (index, (key, _)) in pairs.iter().enumerate() {
        last.entry(name(key))
            .and_modify(|(_, at)| *at = index)
            .or_insert((index, index));
    }
    let mut order: Vec<_> = last.into_values().collect();
    order.sort_unstable();
    order
        .into_iter()
        .filter_map(|(_, at)| pairs.get(at))
        .map(|(key, value)| (key, value))
}

fn name(key: &Node) -> Option<String> {
    match &key.data {
        Data::Scalar(Value::Text(text)) => Some(text.clone()),
        Data::Scalar(Value::Int(number)) => Some(format!("\0{number}")),
        Data::Scalar(Value::Bool(truth)) => Some(format!("\0{truth}")),
        _ => None,
    }
}
