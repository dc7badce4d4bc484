//! Inventories that are YAML.

use super::builder::Builder;
use super::findings::{At, Findings};
use super::tree::{self, Data, Node};
use super::value::Value;
use super::{codes, pattern};
use crate::node::clipped;

struct Reader<'a> {
    text: &'a str,
    builder: &'a mut Builder,
    findings: &'a mut Findings,
    lines: Lines,
}

/// Lines by byte, without counting from the start each time.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    pub(super) fn line(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte).max(1)
    }
}

/// Reads an inventory.
pub(super) fn read(text: &str, builder: &mut Builder, findings: &mut Findings) {
    let root = match tree::parse(text) {
        Ok(root) => root.filter(|root| !root.is_falsy()),
        Err(stop) => {
            let finding = findings.error(At::main(stop.range), codes::SYNTAX, stop.message);
            finding.help = Some(stop.help);
            return;
        }
    };
    let mut reader = Reader {
        text,
        builder,
        findings,
        lines: Lines::of(text),
    };
    match root {
        None => {
            let message = "the inventory is empty".to_owned();
            reader
                .wrong(0..0, message)
                .push_str("name a file that lists hosts");
        }
        Some(root) => reader.root(&root),
    }
}

type Range = std::ops::Range<usize>;

impl Reader<'_> {
    fn wrong(&mut self, range: Range, message: String) -> &mut String {
        let finding = self
            .findings
            .error(At::main(range), codes::STRUCTURE, message);
        finding.help.get_or_insert_default()
    }

    fn unread(&mut self, range: Range, message: String, help: &str) {
        let finding = self
            .findings
            .warning(At::main(range), codes::UNREAD, message);
        finding.help = Some(help.to_owned());
    }

    /// Whether no more is taken, which is said.
    fn is_full(&mut self, key: &Node) -> bool {
        let full = self.builder.is_full();
        if full {
            let message = "the inventory has more groups, or names hosts more often, than is read";
            let at = At::main(key.range.clone());
            let finding = self.findings.error(at, codes::TOO_LARGE, message);
            finding.help = Some("is it the right file?".to_owned());
        }
        full
    }

    fn root(&mut self, root: &Node) {
        let Data::Map(groups) = &root.data else {
            self.wrong(
                root.range.clone(),
                "an inventory is a mapping of groups".to_owned(),
            )
            .push_str("begin with `all:` and, below it, `hosts:`");
            return;
        };
        let plugin = unique(groups).find(|(key, _)| key.text() == Some("plugin"));
        if let Some((key, _)) = plugin.filter(|(_, value)| !value.is_falsy()) {
            let message =
                "this configures an inventory plugin; it lists no hosts itself".to_owned();
            self.wrong(key.range.clone(), message)
                .push_str("`ansible-inventory -i FILE --list --yaml --export` writes an inventory that can be read");
            return;
        }
        for (key, value) in unique(groups) {
            self.group(key, value);
        }
    }

    /// A group and what is in it; `None` if it has no name.
    fn group(&mut self, key: &Node, value: &Node) -> Option<usize> {
        let Some(name) = key.text().filter(|name| !name.is_empty()) else {
            self.wrong(
                key.range.clone(),
                "the name of a group must be a text".to_owned(),
            )
            .push_str("put it in quotes");
            return None;
        };
        let sections = match &value.data {
            Data::Map(sections) => sections.as_slice(),
            Data::Scalar(Value::Null) => &[],
            _ => {
                let message = format!(
                    "`{}` is no group: it holds a single value or a list",
                    clipped(name)
                );
                self.unread(
                    key.range.clone(),
                    message,
                    "a group is a mapping of `hosts`, `children` and `vars`",
                );
                // A group all the same where its parent lists it.
                return self.builder.group(name);
            }
        };
        if self.is_full(key) {
            return None;
        }
        let place = self.builder.place(self.lines.line(key.range.start));
        let group = self.builder.add_group(name, Some(place));
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
                let nothing = Node {
                    range: value.range.clone(),
                    data: Data::Scalar(Value::Null),
                };
                single = [(value.clone(), nothing)];
                &single
            }
            _ if known => {
                let message = format!("`{section}` of `{}` must be a mapping", clipped(name));
                self.wrong(value.range.clone(), message)
                    .push_str("write each in a line of its own, as `name:`");
                return;
            }
            _ => &[],
        };
        match section {
            "vars" => {
                for (key, value) in unique(pairs) {
                    if let Some((variable, value)) = self.variable(key, value) {
                        let place = self.builder.place(self.lines.line(key.range.start));
                        let set = self
                            .builder
                            .set_group_variable(group, (variable, value), place);
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
                    "`{}` in the group `{}` is not read",
                    clipped(section),
                    clipped(name)
                );
                let help = "a group has `hosts`, `children` and `vars`; variables go below `vars`";
                self.unread(key.range.clone(), message, help);
            }
        }
    }

    fn child(&mut self, group: usize, key: &Node, value: &Node) {
        let before = self.findings.has_errors();
        match self.group(key, value) {
            Some(child) => {
                if let Err(error) = self.builder.add_child(group, child) {
                    let at = At::main(key.range.clone());
                    let finding = self
                        .findings
                        .error(at, codes::GROUP_LOOP, error.to_string());
                    finding.help = Some("take it out of one of the two".to_owned());
                }
            }
            None if before == self.findings.has_errors() => {
                self.wrong(key.range.clone(), "this child is no group".to_owned())
                    .push_str("write it as `name:` with nothing behind it");
            }
            None => {}
        }
    }

    fn hosts(&mut self, group: usize, key: &Node, value: &Node) {
        let Some(pattern) = key.text() else {
            self.wrong(
                key.range.clone(),
                "the name of a host must be a text".to_owned(),
            )
            .push_str("put it in quotes");
            return;
        };
        let named = match pattern::expand(pattern, self.builder.room()) {
            Ok(named) => named,
            Err(error) => {
                let message = format!("`{}` is no host: {error}", clipped(pattern));
                let at = At::main(key.range.clone());
                let finding = self.findings.error(at, codes::HOST_PATTERN, message);
                finding.help = Some("a host is a name or a range such as `win[01:20]`".to_owned());
                return;
            }
        };
        let variables = match &value.data {
            Data::Map(variables) => variables.as_slice(),
            _ if value.is_falsy() => &[],
            _ => {
                let message = format!("the variables of `{}` must be a mapping", clipped(pattern));
                self.wrong(value.range.clone(), message)
                    .push_str("write each in a line of its own, as `variable: value`");
                return;
            }
        };
        if self.is_full(key) {
            return;
        }
        self.builder.charge(named.hosts.len(), variables.len());
        for host in &named.hosts {
            let place = self.builder.place(self.lines.line(key.range.start));
            self.builder.add_host(host, group, named.port, place);
        }
        for (key, value) in unique(variables) {
            let Some((name, value)) = self.variable(key, value) else {
                continue;
            };
            for host in &named.hosts {
                let place = self.builder.place(self.lines.line(key.range.start));
                let set = self
                    .builder
                    .set_variable(host, (name, value.clone()), place);
                self.priority(set, key);
            }
        }
    }

    fn priority(&mut self, set: Result<(), Value>, key: &Node) {
        if set.is_err() {
            let message = "`ansible_group_priority` must be a whole number".to_owned();
            self.wrong(key.range.clone(), message)
                .push_str("write `ansible_group_priority: 10`");
        }
    }

    fn variable<'n>(&mut self, key: &'n Node, value: &Node) -> Option<(&'n str, Value)> {
        match variable(key, value) {
            Ok(variable) => Some(variable),
            Err(range) => {
                let said = self.text.get(range.clone()).unwrap_or_default();
                let message = format!("`{}` is no name: names are texts", clipped(said));
                let finding = self.findings.error(At::main(range), codes::VALUE, message);
                finding.help = Some("put it in quotes".to_owned());
                None
            }
        }
    }
}

/// Name and value of a variable, or the bytes of a name that is none.
pub(super) fn variable<'n>(key: &'n Node, value: &Node) -> Result<(&'n str, Value), Range> {
    let name = key.text().ok_or_else(|| key.range.clone())?;
    Ok((name, plain(value)?))
}

fn plain(node: &Node) -> Result<Value, Range> {
    Ok(match &node.data {
        Data::Scalar(value) => value.clone(),
        Data::List(items) => Value::List(items.iter().map(plain).collect::<Result<_, _>>()?),
        Data::Map(pairs) => {
            let mut all = Vec::new();
            for (key, value) in unique(pairs) {
                let name = match &key.data {
                    Data::Scalar(Value::Text(text)) => text.clone(),
                    Data::Scalar(Value::Int(number)) => number.to_string(),
                    _ => return Err(key.range.clone()),
                };
                all.push((name, plain(value)?));
            }
            Value::Map(all)
        }
    })
}

/// Each name once, with its last value, in the order of their first.
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
