//! The blocks of README.md, and the comparison of shown with real output.
//!
//! In a shown output, a line `…` stands for any number of omitted lines. These differ from
//! run to run, so they are equal to any other of their kind:
//!
//! - durations: `1.4 s`, and from ten seconds on `0:14`
//! - the third number of a pod address: `10.244.2.0/24`

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A fenced or an indented block.
#[derive(Debug)]
pub struct Block {
    /// Of its first line in the file, from 1.
    pub line: usize,
    pub language: String,
    pub lines: Vec<String>,
}

/// A command, and the output that is shown below it.
#[derive(Debug)]
pub struct Shown {
    pub command: String,
    pub output: Vec<String>,
}

impl Block {
    pub fn all() -> Vec<Self> {
        let text = fs::read_to_string(root().join("README.md")).unwrap();
        let mut blocks: Vec<Self> = Vec::new();
        let (mut fenced, mut blank) = (false, true);
        for (number, line) in text.lines().enumerate() {
            let begin = |language: &str, lines: Vec<String>| Self {
                line: number + 1,
                language: language.to_owned(),
                lines,
            };
            if let Some(language) = line.strip_prefix("```") {
                fenced = !fenced;
                if fenced {
                    blocks.push(begin(language, Vec::new()));
                }
            } else if fenced {
                blocks.last_mut().unwrap().lines.push(line.to_owned());
            } else if let Some(code) = line.strip_prefix("    ") {
                // Otherwise it continues a paragraph or an item of a list.
                if blank {
                    blocks.push(begin("indented", vec![code.to_owned()]));
                } else if let Some(block) = blocks.last_mut()
                    && block.language == "indented"
                    && block.line + block.lines.len() == number + 1
                {
                    block.lines.push(code.to_owned());
                }
            }
            blank = line.is_empty();
        }
        assert!(!fenced, "a block does not end");
        blocks
    }

    /// The commands of a block that starts with a prompt. Everything below a demo is its output,
    /// the commands that it prints included.
    pub fn commands(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = Vec::new();
        for line in &self.lines {
            let command = line.strip_prefix("$ ").or(line.strip_prefix("# "));
            let in_demo = shown.last().is_some_and(|it| it.command.ends_with(" demo"));
            match (command, shown.last_mut()) {
                (Some(command), _) if !in_demo => shown.push(Shown {
                    command: command.to_owned(),
                    output: Vec::new(),
                }),
                (_, Some(last)) => last.output.push(line.clone()),
                (_, None) => {}
            }
        }
        shown
    }
}

impl Shown {
    /// The arguments of a casement command, built by cargo or installed.
    pub fn arguments(&self) -> Option<Vec<&str>> {
        let words: Vec<&str> = self.command.split(' ').collect();
        let prefixes: [&[&str]; 2] = [&["cargo", "run", "--release", "--"], &["casement"]];
        let rest = prefixes.iter().find_map(|it| words.strip_prefix(*it));
        rest.map(<[&str]>::to_vec)
    }
}

/// Asserts that the output is what is shown.
#[track_caller]
pub fn assert_shows(shown: &[String], output: &[String]) {
    if let Err(missing) = find(shown, output) {
        panic!(
            "not in this order in the output: {missing:#?}\noutput:\n{}",
            output.join("\n")
        );
    }
}

/// The first lines that were not found.
pub fn find(shown: &[String], output: &[String]) -> Result<(), Vec<String>> {
    let output: Vec<String> = output.iter().map(|line| normalized(line)).collect();
    let parts: Vec<Vec<String>> = shown
        .split(|line| line.trim() == "…")
        .map(|part| part.iter().map(|line| normalized(line)).collect())
        .collect();
    let (mut rest, last) = (output.as_slice(), parts.len() - 1);
    for (index, part) in parts.iter().enumerate() {
        let position = match index {
            0 => rest.starts_with(part).then_some(0),
            _ if index == last && !part.is_empty() => {
                let start = rest.len().checked_sub(part.len());
                start.filter(|_| rest.ends_with(part))
            }
            _ => (0..=rest.len()).find(|start| rest[*start..].starts_with(part)),
        };
        let position = position.ok_or_else(|| part.clone())?;
        rest = &rest[position + part.len()..];
    }
    match last == 0 && !rest.is_empty() {
        true => Err(vec!["the end of the block".to_owned()]),
        false => Ok(()),
    }
}

/// A line with placeholders for what differs from run to run.
pub fn normalized(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.trim_end().split(' ') {
        let value = word.trim_end_matches([':', ',', '.']);
        let follows_number = words.last().is_some_and(|it| it.parse::<f64>().is_ok());
        if value == "s" && follows_number {
            words.pop();
            words.push(word.replacen('s', "TIME", 1));
        } else if is_minutes(value) {
            words.push(word.replacen(value, "TIME", 1));
        } else {
            words.push(without_pod_network(word));
        }
    }
    words.join(" ")
}

/// Such as `0:14`.
fn is_minutes(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let parts = text.split_once(':');
    parts.is_some_and(|(minutes, seconds)| digits(minutes) && digits(seconds) && seconds.len() == 2)
}

fn without_pod_network(word: &str) -> String {
    const PODS: &str = "10.244.";
    let Some((before, rest)) = word.split_once(PODS) else {
        return word.to_owned();
    };
    let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}{PODS}N{rest}")
}

#[test]
fn shown_lines_are_found_in_order() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let output = lines("a\nb\nc\nd 0:14\ne 10.244.7.0/24 in 1.5 s:\nf");
    for shown in [
        "a\nb\nc\nd 0:01\ne 10.244.1.0/24 in 0:20:\nf",
        "a\n…",
        "…\nf",
        "a\n…\nc\n  …\ne 10.244.7.0/24 in 1.5 s:\n…",
        "…",
    ] {
        assert_eq!(find(&lines(shown), &output), Ok(()), "{shown}");
    }
    for shown in [
        "a",
        "b\n…",
        "…\ne",
        "a\n…\nc\nb\n…",
        "a\n…\nd 0:014\n…",
        "x\n…",
    ] {
        assert!(find(&lines(shown), &output).is_err(), "{shown}");
    }
}
