use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

#[test]
fn equal_texts_pass() {
    let dir = folder(&[("a.txt", "one\n"), ("deep/b.txt", "two\n")]);
    let mut goldens = Goldens::in_folder(dir.path());
    goldens.add("a.txt", "one\n");
    goldens.add("deep/b.txt", "two\n");
    goldens.compare().unwrap();
}

#[test]
fn every_difference_is_reported() {
    let dir = folder(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let mut goldens = Goldens::in_folder(dir.path());
    goldens.add("a.txt", "1\n");
    goldens.add("b.txt", "2\n");
    goldens.add("c.txt", "3\n");
    let report = goldens.compare().unwrap_err();
    for part in [
        "-one\n+1",
        "-two\n+2",
        "c.txt does not exist",
        "+3",
        "BLESS=1",
    ] {
        assert!(report.contains(part), "`{part}` is not in: {report}");
    }
}

#[test]
fn unused_golden_file_is_an_error() {
    let dir = folder(&[("a.txt", "one\n"), ("old.txt", "")]);
    let mut goldens = Goldens::in_folder(dir.path());
    goldens.add("a.txt", "one\n");
    let report = goldens.compare().unwrap_err();
    assert!(report.contains("old.txt belongs to no test"), "{report}");
}

#[test]
fn input_files_next_to_golden_files_are_not_unused() {
    let dir = folder(&[("x/in.yaml", ""), ("x/out.txt", "1"), ("y/out.txt", "2")]);
    let mut goldens = Goldens::named(dir.path(), ["out.txt"]);
    goldens.add("x/out.txt", "1");
    let report = goldens.compare().unwrap_err();
    assert!(report.contains("y/out.txt belongs to no test"), "{report}");
    assert!(!report.contains("in.yaml"), "{report}");
}

#[test]
fn blessing_writes_and_removes_files() {
    let dir = folder(&[("a.txt", "one\n"), ("old.txt", "")]);
    let mut goldens = Goldens::in_folder(dir.path());
    goldens.add("a.txt", "1\n");
    goldens.add("deep/b.txt", "2\n");
    goldens.write().unwrap();
    goldens.compare().unwrap();
    assert!(!dir.path().join("old.txt").exists());
}

#[test]
#[should_panic(expected = "a.txt was added twice")]
fn text_is_added_once() {
    let mut goldens = Goldens::in_folder("anywhere");
    goldens.add("a.txt", "1");
    goldens.add("a.txt", "2");
}

#[test]
fn diff_shows_separate_changes_with_context() {
    let old: String = (1..=20).map(|number| format!("{number}\n")).collect();
    let new = old.replace("\n3\n", "\nthree\n").replace("\n15\n", "\n");
    let expected = "@@ line 1\n 1\n 2\n-3\n+three\n 4\n 5\n@@ line 13\n 13\n 14\n-15\n 16\n 17\n";
    assert_eq!(diff::diff(&old, &new), expected);
}

#[test]
fn diff_shows_what_a_terminal_hides() {
    let text = diff::diff("a\r\nb \nc\n", "a\nb\nc");
    for line in [
        "-a\\r",
        "+a",
        "-b·",
        "+b",
        "-c",
        "+c (no newline at the end)",
    ] {
        assert!(
            text.lines().any(|it| it == line),
            "`{line}` is not in: {text}"
        );
    }
}

#[test]
fn long_diff_is_cut() {
    let many: String = (0..1000).map(|number| format!("{number}\n")).collect();
    let text = diff::diff("", &many);
    assert!(text.lines().count() < 50, "{text}");
    assert!(text.ends_with("… and 960 more changed lines\n"), "{text}");
    let other = many.replace('1', "x");
    // Too large for the exact comparison.
    let (many, other) = (many.repeat(3), other.repeat(3));
    assert!(diff::diff(&many, &other).contains("more changed lines"));
}
