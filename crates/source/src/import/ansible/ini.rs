//! INI inventories.

use std::ops::Range;

use super::builder::{BadChild, Builder, UNGROUPED};
use super::findings::{Findings, Span};
use super::literal::{self, Literal};
use super::pattern::{self, BadPattern};
use super::value::Value;
use super::{MAX_GROUPS, MAX_HOSTS, codes, python, shlex};
use crate::node::clipped;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hosts,
    Children,
    Vars,
}

/// A group that is used but not declared yet.
enum Pending {
    /// Used in a `:vars` section.
    Vars(Range<usize>),
    /// Used as a child of these groups.
    Child(Range<usize>, Vec<usize>),
}

struct Reader<'a> {
    builder: &'a mut Builder,
    findings: &'a mut Findings,
    /// In order of first use.
    pending: Vec<(String, Pending)>,
    group: usize,
    kind: Kind,
    /// A limit was reached; the rest is skipped.
    full: bool,
}

/// A trimmed line.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    start: usize,
    number: usize,
}

impl Line<'_> {
    fn at(&self) -> Span {
        Span::main(self.range())
    }

    fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    fn part(&self, range: Range<usize>) -> Span {
        Span::main(self.start + range.start..self.start + range.end)
    }
}

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
        if self.builder.is_full() || self.pending.len() >= MAX_GROUPS {
            self.full = true;
            let message = "the inventory has too many groups or host entries";
            let finding = self.findings.error(line.at(), codes::TOO_LARGE, message);
            finding.help = Some("check that it is the right file".to_owned());
            return;
        }
        if let Some((name, kind)) = section(line.text) {
            self.section(line, name, kind);
        } else if line.text.starts_with('[') && line.text.ends_with(']') {
            let message = format!("`{}` is not a valid section", clipped(line.text));
            self.line_error(line.at(), message)
                .push_str("use `[group]`, `[group:children]` or `[group:vars]`, without spaces");
        } else {
            match self.kind {
                Kind::Hosts => self.hosts(line),
                Kind::Vars => self.variable(line),
                Kind::Children => self.child(line),
            }
        }
    }

    /// Adds an error; the caller fills in the returned help.
    fn line_error(&mut self, at: Span, message: String) -> &mut String {
        let finding = self.findings.error(at, codes::LINE, message);
        finding.help.get_or_insert_default()
    }

    fn section(&mut self, line: Line<'_>, name: &str, kind: Option<&str>) {
        self.kind = match kind {
            None | Some("hosts") => Kind::Hosts,
            Some("children") => Kind::Children,
            Some("vars") => Kind::Vars,
            Some(other) => {
                let message = format!("`{}` is not a valid section type", clipped(other));
                self.line_error(line.at(), message)
                    .push_str("use `:children` or `:vars`, or nothing for hosts");
                Kind::Hosts
            }
        };
        let location = self.builder.location(line.number);
        let pending = self.pending.iter().position(|(pending, _)| pending == name);
        if self.kind == Kind::Vars && self.builder.group(name).is_none() && pending.is_none() {
            let pending = Pending::Vars(line.range());
            self.pending.push((name.to_owned(), pending));
        }
        self.group = self.builder.add_group(name, Some(location));
        if self.kind != Kind::Vars {
            self.resolve_pending(name, &line);
        }
    }

    /// Adds a newly declared group to the groups that wait for it.
    fn resolve_pending(&mut self, name: &str, line: &Line<'_>) {
        let Some(index) = self.pending.iter().position(|(pending, _)| pending == name) else {
            return;
        };
        let (name, pending) = self.pending.remove(index);
        let (Pending::Child(_, parents), Some(child)) = (pending, self.builder.group(&name)) else {
            return;
        };
        for parent in parents {
            let added = self.builder.add_child(parent, child);
            self.check_child(added, line);
        }
    }

    fn check_child(&mut self, added: Result<(), BadChild>, line: &Line<'_>) {
        if let Err(error) = added {
            let finding = self
                .findings
                .error(line.at(), codes::GROUP_LOOP, error.to_string());
            finding.help = Some("remove it from one of the two groups".to_owned());
        }
    }

    fn hosts(&mut self, line: Line<'_>) {
        let words = match shlex::split(line.text) {
            Ok(words) => words,
            Err(error) => {
                self.line_error(line.at(), error.to_string())
                    .push_str("use the other type of quotes");
                return;
            }
        };
        let Some((first, variables)) = words.split_first() else {
            return;
        };
        let expanded = match pattern::expand_in_ini(&first.text, MAX_HOSTS) {
            Ok(expanded) if self.builder.has_room(&expanded.hosts) => expanded,
            Ok(_) | Err(BadPattern::TooMany(_)) => {
                self.full = true;
                let at = line.part(first.range.clone());
                self.findings.too_many_hosts(at);
                return;
            }
            Err(error) => {
                let message = format!("`{}` is not a valid host: {error}", clipped(&first.text));
                let at = line.part(first.range.clone());
                let finding = self.findings.error(at, codes::HOST_PATTERN, message);
                finding.help = Some(
                    "write `name variable=value …`, with ranges such as `win[01:20]`".to_owned(),
                );
                return;
            }
        };
        if expanded.hosts.is_empty() {
            let message = format!(
                "`{}` matches no hosts: the range is empty",
                clipped(&first.text)
            );
            let at = line.part(first.range.clone());
            let finding = self.findings.warning(at, codes::HOST_PATTERN, message);
            finding.help = Some("use an ascending range such as `win[01:20]`".to_owned());
        }
        let mut values = Vec::new();
        for word in variables {
            let at = line.part(word.range.clone());
            let Some((name, text)) = word.text.split_once('=') else {
                let message = "missing `=` after a host variable".to_owned();
                self.line_error(at, message)
                    .push_str("write `name variable=value …`; quote values with spaces");
                continue;
            };
            if let Some(value) = self.value(text, name, at) {
                values.push((name, value));
            }
        }
        self.builder.add_work(expanded.hosts.len(), values.len());
        for host in &expanded.hosts {
            let location = self.builder.location(line.number);
            self.builder
                .add_host(host, self.group, expanded.port, location);
            for (name, value) in &values {
                let location = self.builder.location(line.number);
                let variable = (*name, value.clone());
                let set = self.builder.set_variable(host, variable, location);
                self.priority(set, line.at());
            }
        }
    }

    fn variable(&mut self, line: Line<'_>) {
        let Some((name, text)) = line.text.split_once('=') else {
            self.line_error(line.at(), "missing `=` after a group variable".to_owned())
                .push_str("write `variable=value` in `[group:vars]`");
            return;
        };
        let (name, text) = (python::strip(name), python::strip(text));
        if let Some(value) = self.value(text, name, line.at()) {
            let location = self.builder.location(line.number);
            let set = self
                .builder
                .set_group_variable(self.group, (name, value), location);
            self.priority(set, line.at());
        }
    }

    fn priority(&mut self, set: Result<(), Value>, at: Span) {
        if set.is_err() {
            let message = "`ansible_group_priority` must be an integer".to_owned();
            self.line_error(at, message)
                .push_str("write `ansible_group_priority=10`");
        }
    }

    fn value(&mut self, text: &str, name: &str, at: Span) -> Option<Value> {
        match literal::evaluate(text) {
            Literal::Value(value) => Some(value),
            Literal::PlainText => Some(Value::Text(text.to_owned())),
            Literal::Unsupported(reason) => {
                let message = format!(
                    "the value of `{}` is not supported: {reason}",
                    clipped(name)
                );
                let finding = self.findings.error(at, codes::VALUE, message);
                finding.help = Some("use a string, number, list or mapping".to_owned());
                None
            }
        }
    }

    fn child(&mut self, line: Line<'_>) {
        let Some(name) = group_name(line.text) else {
            let message = format!("`{}` is not a valid group name", clipped(line.text));
            self.line_error(line.at(), message)
                .push_str("write only a group name on each line of `[group:children]`");
            return;
        };
        if let Some(child) = self.builder.group(name) {
            let added = self.builder.add_child(self.group, child);
            self.check_child(added, &line);
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
                    format!("group `{name}` has variables, but is not declared"),
                ),
                Pending::Child(range, _) => (range, format!("group `{name}` is not declared")),
            };
            let finding = self
                .findings
                .error(Span::main(range), codes::UNDEFINED_GROUP, message);
            finding.help = Some(format!("add a section `[{name}]`; it may be empty"));
        }
    }
}

fn section(line: &str) -> Option<(&str, Option<&str>)> {
    let (inner, after) = line.strip_prefix('[')?.split_once(']')?;
    is_comment(after).then_some(())?;
    let (name, kind) = match inner.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (inner, None),
    };
    let word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let valid = is_group_name(name) && kind.is_none_or(word);
    valid.then_some((name, kind))
}

/// A group name, followed only by an optional comment.
fn group_name(line: &str) -> Option<&str> {
    // The name may contain `#`, so the longest name is tried first.
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
