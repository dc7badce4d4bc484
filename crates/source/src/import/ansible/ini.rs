//! Inventories that look like INI files.

use std::ops::Range;

use super::builder::{BadChild, Builder, UNGROUPED};
use super::findings::{At, Findings};
use super::literal::{self, Literal};
use super::value::Value;
use super::{MOST_GROUPS, codes, pattern, python, words};
use crate::node::clipped;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hosts,
    Children,
    Vars,
}

/// A group that was used and not declared yet.
enum Pending {
    /// By its variables.
    Vars(Range<usize>),
    /// By these groups, which it is to be in.
    Child(Range<usize>, Vec<usize>),
}

struct Reader<'a> {
    builder: &'a mut Builder,
    findings: &'a mut Findings,
    /// In the order in which they were used.
    pending: Vec<(String, Pending)>,
    group: usize,
    kind: Kind,
    /// Whether the rest is not read.
    full: bool,
}

/// One line without the space around it.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    start: usize,
    number: usize,
}

impl Line<'_> {
    fn at(&self) -> At {
        At::main(self.range())
    }

    fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    fn part(&self, range: Range<usize>) -> At {
        At::main(self.start + range.start..self.start + range.end)
    }
}

/// Reads an inventory.
pub(super) fn read(text: &str, builder: &mut Builder, findings: &mut Findings) {
    let mut reader = Reader {
        builder,
        findings,
        pending: Vec::new(),
        group: UNGROUPED,
        kind: Kind::Hosts,
        full: false,
    };
    let (mut number, mut counted) = (1, 0);
    for (start, line) in python::lines(text) {
        let before = text.get(counted..start).unwrap_or_default();
        number += before.matches('\n').count();
        counted = start;
        let text = python::strip(line);
        let indent = line.len() - line.trim_start_matches(python::is_space).len();
        if !text.is_empty() && !text.starts_with([';', '#']) {
            let start = start + indent;
            reader.line(Line {
                text,
                start,
                number,
            });
        }
    }
    reader.finish();
}

impl Reader<'_> {
    fn line(&mut self, line: Line<'_>) {
        if self.full {
            return;
        }
        if self.builder.is_full() || self.pending.len() >= MOST_GROUPS {
            self.full = true;
            let message = "the inventory has more groups, or names hosts more often, than is read";
            let finding = self.findings.error(line.at(), codes::TOO_LARGE, message);
            finding.help = Some("is it the right file?".to_owned());
            return;
        }
        if let Some((name, kind)) = section(line.text) {
            self.section(line, name, kind);
        } else if line.text.starts_with('[') && line.text.ends_with(']') {
            let message = format!("`{}` is no section", clipped(line.text));
            self.wrong(line.at(), message).push_str(
                "a section is `[group]`, `[group:children]` or `[group:vars]`, without spaces",
            );
        } else {
            match self.kind {
                Kind::Hosts => self.hosts(line),
                Kind::Vars => self.variable(line),
                Kind::Children => self.child(line),
            }
        }
    }

    /// A line that is not what it should be; gives the help to fill in.
    fn wrong(&mut self, at: At, message: String) -> &mut String {
        let finding = self.findings.error(at, codes::LINE, message);
        finding.help.get_or_insert_default()
    }

    fn section(&mut self, line: Line<'_>, name: &str, kind: Option<&str>) {
        self.kind = match kind {
            None | Some("hosts") => Kind::Hosts,
            Some("children") => Kind::Children,
            Some("vars") => Kind::Vars,
            Some(other) => {
                let message = format!("`{}` is no kind of section", clipped(other));
                self.wrong(line.at(), message)
                    .push_str("it is `:children`, `:vars`, or nothing for hosts");
                Kind::Hosts
            }
        };
        let place = self.builder.place(line.number);
        let pending = self.pending.iter().position(|(pending, _)| pending == name);
        if self.kind == Kind::Vars && self.builder.group(name).is_none() && pending.is_none() {
            let pending = Pending::Vars(line.range());
            self.pending.push((name.to_owned(), pending));
        }
        self.group = self.builder.add_group(name, Some(place));
        if self.kind != Kind::Vars {
            self.declared(name, &line);
        }
    }

    /// What was waited for is there.
    fn declared(&mut self, name: &str, line: &Line<'_>) {
        let Some(index) = self.pending.iter().position(|(pending, _)| pending == name) else {
            return;
        };
        let (name, pending) = self.pending.remove(index);
        let (Pending::Child(_, parents), Some(child)) = (pending, self.builder.group(&name)) else {
            return;
        };
        for parent in parents {
            let added = self.builder.add_child(parent, child);
            self.joined(added, line);
        }
    }

    fn joined(&mut self, added: Result<(), BadChild>, line: &Line<'_>) {
        if let Err(error) = added {
            let finding = self
                .findings
                .error(line.at(), codes::GROUP_LOOP, error.to_string());
            finding.help = Some("take it out of one of the two".to_owned());
        }
    }

    fn hosts(&mut self, line: Line<'_>) {
        let words = match words::split(line.text) {
            Ok(words) => words,
            Err(error) => {
                self.wrong(line.at(), error.to_string())
                    .push_str("put the value in quotes of the other kind");
                return;
            }
        };
        let Some((first, variables)) = words.split_first() else {
            return;
        };
        let named = match pattern::expand_in_ini(&first.text, self.builder.room()) {
            Ok(named) => named,
            Err(error) => {
                let message = format!("`{}` is no host: {error}", clipped(&first.text));
                let at = line.part(first.range.clone());
                let finding = self.findings.error(at, codes::HOST_PATTERN, message);
                finding.help =
                    Some("a line is `name variable=value …`; a range is `win[01:20]`".to_owned());
                return;
            }
        };
        if named.hosts.is_empty() {
            let message = format!(
                "`{}` names no host: its range is empty",
                clipped(&first.text)
            );
            let at = line.part(first.range.clone());
            let finding = self.findings.warning(at, codes::HOST_PATTERN, message);
            finding.help = Some("a range runs upwards: `win[01:20]`".to_owned());
        }
        let mut values = Vec::new();
        for word in variables {
            let at = line.part(word.range.clone());
            let Some((name, text)) = word.text.split_once('=') else {
                let message = "a host's variable lacks its `=`".to_owned();
                self.wrong(at, message).push_str(
                    "a line is `name variable=value …`; a value with spaces needs quotes",
                );
                continue;
            };
            if let Some(value) = self.value(text, name, at) {
                values.push((name, value));
            }
        }
        self.builder.charge(named.hosts.len(), values.len());
        for host in &named.hosts {
            let place = self.builder.place(line.number);
            self.builder.add_host(host, self.group, named.port, place);
            for (name, value) in &values {
                let place = self.builder.place(line.number);
                let variable = (*name, value.clone());
                let set = self.builder.set_variable(host, variable, place);
                self.priority(set, line.at());
            }
        }
    }

    fn variable(&mut self, line: Line<'_>) {
        let Some((name, text)) = line.text.split_once('=') else {
            self.wrong(line.at(), "a group's variable lacks its `=`".to_owned())
                .push_str("a line of `[group:vars]` is `variable=value`");
            return;
        };
        let (name, text) = (python::strip(name), python::strip(text));
        if let Some(value) = self.value(text, name, line.at()) {
            let place = self.builder.place(line.number);
            let set = self
                .builder
                .set_group_variable(self.group, (name, value), place);
            self.priority(set, line.at());
        }
    }

    fn priority(&mut self, set: Result<(), Value>, at: At) {
        if set.is_err() {
            let message = "`ansible_group_priority` must be a whole number".to_owned();
            self.wrong(at, message)
                .push_str("write `ansible_group_priority=10`");
        }
    }

    fn value(&mut self, text: &str, name: &str, at: At) -> Option<Value> {
        match literal::evaluate(text) {
            Literal::Value(value) => Some(value),
            Literal::None => Some(Value::Text(text.to_owned())),
            Literal::Refused(reason) => {
                let message = format!("the value of `{}` is not read: {reason}", clipped(name));
                let finding = self.findings.error(at, codes::VALUE, message);
                finding.help = Some("write it as a text, a number, a list or a mapping".to_owned());
                None
            }
        }
    }

    fn child(&mut self, line: Line<'_>) {
        let Some(name) = group_name(line.text) else {
            let message = format!("`{}` is no name of a group", clipped(line.text));
            self.wrong(line.at(), message)
                .push_str("a line of `[group:children]` is the name of a group, nothing else");
            return;
        };
        if let Some(child) = self.builder.group(name) {
            let added = self.builder.add_child(self.group, child);
            self.joined(added, &line);
            return;
        }
        let known = self.pending.iter_mut().find(|(pending, _)| pending == name);
        match known {
            Some((_, Pending::Child(_, parents))) => parents.push(self.group),
            Some((_, Pending::Vars(_))) => {}
            None => {
                let pending = Pending::Child(line.range(), vec![self.group]);
                self.pending.push((name.to_owned(), pending));
            }
        }
    }

    fn finish(&mut self) {
        for (name, pending) in std::mem::take(&mut self.pending) {
            let (range, message) = match pending {
                Pending::Vars(range) => (
                    range,
                    format!("`{name}` has variables, but there is no such group"),
                ),
                Pending::Child(range, _) => (range, format!("there is no group `{name}`")),
            };
            let finding = self
                .findings
                .error(At::main(range), codes::UNDEFINED_GROUP, message);
            finding.help = Some(format!(
                "declare it with a section `[{name}]`, which may be empty"
            ));
        }
    }
}

/// Name and kind of a section.
fn section(line: &str) -> Option<(&str, Option<&str>)> {
    let (inner, after) = line.strip_prefix('[')?.split_once(']')?;
    is_comment(after).then_some(())?;
    let (name, kind) = match inner.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (inner, None),
    };
    let word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let good = is_group_name(name) && kind.is_none_or(word);
    good.then_some((name, kind))
}

/// A group's name, with nothing but a comment behind it.
fn group_name(line: &str) -> Option<&str> {
    // A `#` may belong to the name, so the longest name is tried first.
    let end = |c: char| matches!(c, ':' | ']') || python::is_space(c);
    let length = line.find(end).unwrap_or(line.len());
    let (name, after) = line.split_at(length);
    if !name.is_empty() && is_comment(after) {
        return Some(name);
    }
    let (name, _) = name.rsplit_once('#')?;
    (!name.is_empty()).then_some(name)
}

fn is_group_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(python::is_space)
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start_matches(python::is_space);
    text.is_empty() || text.starts_with('#')
}
