//! The output formats of diagnostics.

use std::ops::Range;

use casement_diag::{
    Code, Diagnostic, FieldPath, Part, Position, SarifRule, Source, Sources, Style, has_errors,
    json, json_with_sources, render, render_all, render_with_sources, sarif, summary,
};

/// A path is located at the first occurrence of its last field.
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
fn labels_are_shown_below_their_lines() {
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
fn without_a_source_the_path_is_shown() {
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
fn color_is_opt_in() {
    let plain = render(&overlap(), Some(&Words(TEXT)), Style::Plain);
    let color = render(&overlap(), Some(&Words(TEXT)), Style::Color);
    assert!(!plain.contains('\u{1b}'));
    assert!(color.contains('\u{1b}'));
}

#[test]
fn json_has_all_fields_and_the_location() {
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
fn any_byte_range_renders() {
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
fn summary_counts_by_severity() {
    let all = [overlap(), overlap(), Diagnostic::warning(path("a"), "long")];
    assert_eq!(summary(&all), "2 errors, 1 warning");
    assert_eq!(summary(&[]), "");
    assert!(has_errors(&all));
    assert!(!has_errors(&all[2..]));
    assert_eq!(render_all(&[], None, Style::Plain), "");
}

#[test]
fn escape_sequences_in_values_are_neutralized() {
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

struct Named(&'static str, Words);

impl Source for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn text(&self) -> &str {
        self.1.text()
    }

    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        self.1.range(path, part)
    }
}

fn across() -> Diagnostic {
    Diagnostic::error(path("10.244.0.0/16"), "two pod networks")
        .code(Code::new("CAS-NET-013"))
        .in_file("net conf.json")
        .here("here")
        .label_in("cluster.yaml", path("10.10.0.0/16"), "and here")
        .help("write one of them")
        .replace("write `10.10.0.0/16`", "\"10.10.0.0/16\"")
}

#[test]
fn diagnostic_across_files_shows_both() {
    let first = Words("spec:\n  podCidr: 10.10.0.0/16\n");
    let second = Named("net conf.json", Words("{\"Network\": \"10.244.0.0/16\"}\n"));
    let sources: [&dyn Source; 2] = [&first, &second];
    assert_eq!(
        render_with_sources(&[across()], Sources::new(&sources), Style::Plain),
        "\
error[CAS-NET-013]: two pod networks
 --> net conf.json:1:14
  |
1 | {\"Network\": \"10.244.0.0/16\"}
  |              ^^^^^^^^^^^^^ here
  |
 ::: cluster.yaml:2:12
  |
2 |   podCidr: 10.10.0.0/16
  |            ------------ and here
  |
  = help: write one of them
"
    );
    let value = json_with_sources(&[across()], Sources::new(&sources));
    assert_eq!(value[0]["location"]["file"], "net conf.json");
    assert_eq!(value[0]["labels"][1]["location"]["line"], 2);
}

#[test]
fn label_in_the_same_file_shares_the_window() {
    let source = Words(TEXT);
    let sources: [&dyn Source; 1] = [&source];
    let finding = Diagnostic::error(path("10.244.0.0/16"), "x").label_in(
        "cluster.yaml",
        path("10.244.8.0/24"),
        "this",
    );
    let text = render_with_sources(&[finding], Sources::new(&sources), Style::Plain);
    assert_eq!(text.matches("cluster.yaml").count(), 1, "{text}");
    assert!(text.contains("------------- this"), "{text}");
}

#[test]
fn sarif_has_rules_locations_and_fixes() {
    let first = Words("spec:\n  podCidr: 10.10.0.0/16\n");
    let second = Named("net conf.json", Words("{\"Network\": \"10.244.0.0/16\"}\n"));
    let sources: [&dyn Source; 2] = [&first, &second];
    let rules = [SarifRule {
        code: "CAS-NET-013",
        title: "files name different pod networks",
        page: "# page",
        severity: casement_diag::Severity::Error,
    }];
    let log = sarif(&[across()], Sources::new(&sources), &rules, "0.1.0");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "CAS-NET-013");
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "CAS-NET-013");
    assert_eq!(result["ruleIndex"], 0);
    assert_eq!(result["level"], "error");
    assert_eq!(
        result["message"]["text"],
        "two pod networks\nwrite one of them"
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "net%20conf.json");
    assert_eq!(place["region"]["startLine"], 1);
    assert_eq!(place["region"]["startColumn"], 14);
    assert_eq!(place["region"]["endColumn"], 27);
    let related = &result["relatedLocations"][1]["physicalLocation"];
    assert_eq!(related["artifactLocation"]["uri"], "cluster.yaml");
    let change = &result["fixes"][0]["artifactChanges"][0];
    assert_eq!(
        change["replacements"][0]["insertedContent"]["text"],
        "\"10.10.0.0/16\""
    );
}
