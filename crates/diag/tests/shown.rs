//! How findings look.

use std::ops::Range;

use casement_diag::{
    Code, Diagnostic, FieldPath, Part, Position, Source, Style, has_errors, json, render,
    render_all, summary,
};

/// A text in which every path `a` lies where the word `a` first stands.
struct Words(&'static str);

impl Source for Words {
    fn name(&self) -> &str {
        "cluster.yaml"
    }

    fn text(&self) -> &str {
        self.0
    }

    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        if let Part::Bytes(range) = part {
            return Some(range.clone());
        }
        let word = path.last_field()?;
        let start = self.0.find(word)?;
        Some(start..start + word.len())
    }
}

fn path(name: &str) -> FieldPath {
    FieldPath::root().field(name)
}

fn overlap() -> Diagnostic {
    Diagnostic::error(
        path("10.244.0.0/16"),
        "the pod and service networks overlap",
    )
    .code(Code::new("CAS-NET-003"))
    .here("contains …")
    .label(path("10.244.8.0/24"), "… this")
    .help("10.96.0.0/12 is free: `serviceCidr: 10.96.0.0/12`")
}

const TEXT: &str =
    "spec:\n  kubernetes:\n    podCidr: 10.244.0.0/16\n    serviceCidr: 10.244.8.0/24\n";

#[test]
fn several_labels_stand_under_their_lines() {
    assert_eq!(
        render(&overlap(), Some(&Words(TEXT)), Style::Plain),
        "\
error[CAS-NET-003]: the pod and service networks overlap
 --> cluster.yaml:3:14
  |
3 |     podCidr: 10.244.0.0/16
  |              ^^^^^^^^^^^^^ contains …
4 |     serviceCidr: 10.244.8.0/24
  |                  ------------- … this
  |
  = help: 10.96.0.0/12 is free: `serviceCidr: 10.96.0.0/12`
"
    );
}

#[test]
fn without_a_text_the_path_says_where() {
    let text = render(&overlap().note("why"), None, Style::Plain);
    assert_eq!(
        text,
        "\
error[CAS-NET-003]: the pod and service networks overlap
--> [\"10.244.0.0/16\"]
 = note: why
 = help: 10.96.0.0/12 is free: `serviceCidr: 10.96.0.0/12`
"
    );
}

#[test]
fn colour_comes_only_when_asked() {
    let plain = render(&overlap(), Some(&Words(TEXT)), Style::Plain);
    let colour = render(&overlap(), Some(&Words(TEXT)), Style::Colour);
    assert!(!plain.contains('\u{1b}'));
    assert!(colour.contains('\u{1b}'));
}

#[test]
fn json_has_the_same_and_the_location() {
    let value = json(&[overlap()], Some(&Words(TEXT)));
    assert_eq!(value[0]["code"], "CAS-NET-003");
    assert_eq!(value[0]["severity"], "error");
    assert_eq!(value[0]["location"]["line"], 3);
    assert_eq!(value[0]["location"]["column"], 14);
    assert_eq!(value[0]["location"]["endColumn"], 27);
    assert_eq!(value[0]["labels"][1]["location"]["line"], 4);
    let back: Vec<Diagnostic> = serde_json::from_value(value).unwrap();
    assert_eq!(back, [overlap()]);
}

#[test]
fn any_bytes_can_be_pointed_at() {
    for text in ["", "\n", "a", "ä\r\nß\n", "\u{feff}a:\tb"] {
        let source = Words(Box::leak(text.to_owned().into_boxed_str()));
        for start in 0..text.len() + 2 {
            for end in 0..text.len() + 2 {
                let finding = Diagnostic::error(FieldPath::root(), "x").at(Part::Bytes(start..end));
                render(&finding, Some(&source), Style::Plain);
                json(&[finding], Some(&source));
            }
        }
    }
}

#[test]
fn columns_count_characters() {
    assert_eq!(Position::of("ä\nßb", 5), Position { line: 2, column: 2 });
    assert_eq!(Position::of("a", 9), Position { line: 1, column: 2 });
}

#[test]
fn the_summary_counts() {
    let all = [overlap(), overlap(), Diagnostic::warning(path("a"), "long")];
    assert_eq!(summary(&all), "2 errors, 1 warning");
    assert_eq!(summary(&[]), "");
    assert!(has_errors(&all));
    assert!(!has_errors(&all[2..]));
    assert_eq!(render_all(&[], None, Style::Plain), "");
}

#[test]
fn no_escape_of_a_value_reaches_the_terminal() {
    let bad = "\u{1b}[31mred";
    let finding = Diagnostic::error(path(bad), bad)
        .here(bad)
        .label(path("b"), bad)
        .note(bad)
        .help(bad);
    let text = render(&finding, None, Style::Plain);
    assert!(!text.contains('\u{1b}'), "{text}");
    let source = Words("a: \u{1b}[31mred\nb: 1\n");
    let text = render(&finding, Some(&source), Style::Plain);
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn long_help_is_wrapped_but_not_inside_backticks() {
    let example = "`- {name: windows01, address: 10.3.0.4, os: windows-2022, roles: [worker]}`";
    let finding = Diagnostic::error(path("a"), "x").help(format!("add one to the list: {example}"));
    let text = render(&finding, None, Style::Plain);
    let last = text.lines().last().map(str::trim);
    assert_eq!(last, Some(example));
}
