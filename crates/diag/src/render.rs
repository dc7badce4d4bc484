//! Diagnostics for the terminal, with the source lines they refer to.

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

use crate::diagnostic::{Diagnostic, Label, Severity};
use crate::path::{FieldPath, Part};
use crate::source::{Position, Source, Sources, clamp};

/// Together with the margin and `= help: ` this fills 80 columns.
const NOTE_WIDTH: usize = 68;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Color,
}

/// Separated by empty lines.
pub fn render_all(diagnostics: &[Diagnostic], source: Option<&dyn Source>, style: Style) -> String {
    render_with_sources(diagnostics, Sources::new(source.as_slice()), style)
}

pub fn render_with_sources(
    diagnostics: &[Diagnostic],
    sources: Sources<'_>,
    style: Style,
) -> String {
    let shown: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| render_one(diagnostic, sources, style))
        .collect();
    shown.join("\n")
}

/// Ends with a line break. Without a source the path is shown instead of file, line
/// and column.
pub fn render(diagnostic: &Diagnostic, source: Option<&dyn Source>, style: Style) -> String {
    render_one(diagnostic, Sources::new(source.as_slice()), style)
}

fn render_one(diagnostic: &Diagnostic, sources: Sources<'_>, style: Style) -> String {
    let source = sources.get(diagnostic.file.as_deref());
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Color => Renderer::styled(),
    };
    let window = source.and_then(|source| Window::new(diagnostic, source));
    let mut title = level(diagnostic.severity).primary_title(&diagnostic.message);
    if let Some(code) = &diagnostic.code {
        title = title.id(code.as_str());
    }
    let mut group = match (&window, source) {
        (Some(window), _) => title.element(window.snippet()),
        (None, _) if !diagnostic.path.is_root() => title.element(Origin::path(
            normalize_untrusted_str(&diagnostic.path.to_string()),
        )),
        (None, Some(source)) => title.element(Origin::path(normalize_untrusted_str(source.name()))),
        (None, None) => Group::with_title(title),
    };
    let other_files = windows_in_other_files(diagnostic, sources);
    for window in &other_files {
        group = group.element(window.snippet());
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(wrapped(note)));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(wrapped(help)));
    }
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// Text in backticks is kept on one line so that it can be copied.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in words(text) {
        // Values come from untrusted files: escape sequences must not reach the terminal.
        let word = normalize_untrusted_str(word);
        let length = word.chars().count();
        if width > 0 && width + 1 + length > NOTE_WIDTH {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(&word);
        width += length;
    }
    lines
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '`';
        c == ' ' && !quoted
    })
}

/// One window for each other file that has labels.
fn windows_in_other_files<'a>(diagnostic: &'a Diagnostic, sources: Sources<'a>) -> Vec<Window<'a>> {
    let mut texts: Vec<(&str, Vec<Mark<'a>>)> = Vec::new();
    let own = sources.get(diagnostic.file.as_deref());
    for label in &diagnostic.labels {
        let Some(file) = other_file(own, label) else {
            continue;
        };
        let Some(source) = sources.get(Some(file)) else {
            continue;
        };
        let Some(range) = source.range(&label.path, &label.part) else {
            continue;
        };
        let mark = Mark {
            range: one_line(source.text(), range),
            kind: AnnotationKind::Context,
            text: Some(&label.text),
        };
        match texts.iter_mut().find(|(name, _)| *name == file) {
            Some((_, marks)) => marks.push(mark),
            None => texts.push((file, vec![mark])),
        }
    }
    let windows = texts
        .into_iter()
        .filter_map(|(file, marks)| Some(Window::around(sources.get(Some(file))?, marks)));
    windows.collect()
}

/// The file of a label that is not in the file of the diagnostic.
fn other_file<'a>(own: Option<&dyn Source>, label: &'a Label) -> Option<&'a str> {
    let file = label.file.as_deref()?;
    own.is_none_or(|own| own.name() != file).then_some(file)
}

/// The source lines of a diagnostic and what to underline in them.
struct Window<'a> {
    name: &'a str,
    text: String,
    first_line: usize,
    marks: Vec<Mark<'a>>,
}

struct Mark<'a> {
    range: Range<usize>,
    kind: AnnotationKind,
    text: Option<&'a str>,
}

impl<'a> Window<'a> {
    fn new(diagnostic: &'a Diagnostic, source: &'a dyn Source) -> Option<Self> {
        let range = |path: &FieldPath, part: &Part| {
            Some(one_line(source.text(), source.range(path, part)?))
        };
        let own = range(&diagnostic.path, &diagnostic.part)?;
        let mut primary = Mark {
            range: own.clone(),
            kind: AnnotationKind::Primary,
            text: None,
        };
        let mut marks = Vec::new();
        let own_labels = diagnostic.labels.iter();
        for label in own_labels.filter(|label| other_file(Some(source), label).is_none()) {
            let here = label.path == diagnostic.path && label.part == diagnostic.part;
            if here && primary.text.is_none() {
                primary.text = Some(&label.text);
            } else if let Some(range) = range(&label.path, &label.part) {
                marks.push(Mark {
                    range,
                    kind: AnnotationKind::Context,
                    text: Some(&label.text),
                });
            }
        }
        marks.push(primary);
        Some(Self::around(source, marks))
    }

    /// Cuts out the relevant lines: the renderer processes every line it gets.
    fn around(source: &'a dyn Source, mut marks: Vec<Mark<'a>>) -> Self {
        let text = source.text();
        let start = marks.iter().map(|mark| mark.range.start).min();
        let end = marks.iter().map(|mark| mark.range.end).max();
        let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
        let line_start = text
            .get(..start)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let line_end = text
            .get(end..)
            .and_then(|after| after.find('\n'))
            .map_or(text.len(), |at| end + at);
        let lines = text.get(line_start..line_end).unwrap_or_default();
        // Keep the length; a carriage return would be printed.
        let lines = lines.trim_end_matches('\r').replace("\r\n", " \n");
        for mark in &mut marks {
            mark.range = mark.range.start - line_start..mark.range.end - line_start;
        }
        Self {
            name: source.name(),
            text: lines,
            first_line: Position::of(text, line_start).line,
            marks,
        }
    }

    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let annotations = self.marks.iter().map(|mark| {
            let annotation = mark.kind.span(mark.range.clone());
            annotation.label(mark.text.map(normalize_untrusted_str))
        });
        Snippet::source(self.text.as_str())
            .line_start(self.first_line)
            .path(normalize_untrusted_str(self.name))
            .annotations(annotations)
    }
}

/// Only the first line of a range: underlining a whole block is noise.
fn one_line(text: &str, range: Range<usize>) -> Range<usize> {
    let range = clamp(text, range);
    let part = text.get(range.clone()).unwrap_or_default();
    let line = part.lines().next().unwrap_or_default().trim_end();
    range.start..range.start + line.len()
}
