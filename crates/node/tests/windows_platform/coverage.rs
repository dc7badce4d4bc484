//! `docs/windows-coverage.md`: which function of the platform was shown where,
//! written from what was called and not from what somebody believes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use casement_node::recorded::FUNCTIONS;

/// Functions that nothing calls under Wine, and why not. One that is not
/// reached on the simulated host either cannot be excused.
const ONLY_SIMULATED: &[(&str, &str)] = &[];

/// Each function with the checks that called it, and the DLLs of the lab that
/// answered.
type Calls = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Compares the table with what was called; `BLESS=1` writes it.
pub fn compare(output: &str) {
    let windows = implemented();
    let calls = calls(output);
    let simulated = simulated();
    let mut missing = Vec::new();
    for function in &windows {
        let reason = ONLY_SIMULATED.iter().find(|(name, _)| name == function);
        let excused = reason.is_some() && simulated.contains(function);
        if !calls.contains_key(function) && !excused {
            missing.push(function);
        }
        assert!(
            reason.is_none() || !calls.contains_key(function),
            "`{function}` was called under Wine: take its excuse away"
        );
    }
    assert!(
        missing.is_empty(),
        "no check calls {missing:?}: add one to examples/platformcheck, or, where Wine cannot \
         serve, a reason to ONLY_SIMULATED"
    );
    let table = table(&windows, &calls, &simulated);
    let path = repository().join("docs/windows-coverage.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == table,
        "{} is not what was called; BLESS=1 writes it:\n{table}",
        path.display()
    );
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The functions that Windows has an answer of its own to.
fn implemented() -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/windows")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(path).unwrap();
            let mut inside = false;
            for line in source.lines() {
                if line.starts_with("impl ") {
                    inside = line.ends_with(" for Windows {");
                } else if let (true, Some(rest)) = (inside, line.strip_prefix("    fn ")) {
                    functions.insert(rest.split('(').next().unwrap().to_owned());
                }
            }
        }
    }
    let known = |name: &String| {
        FUNCTIONS
            .iter()
            .any(|(_, all)| all.contains(&name.as_str()))
    };
    functions.retain(known);
    functions
}

/// What the program said that it called.
fn calls(output: &str) -> Calls {
    let mut calls = Calls::new();
    for line in output.lines() {
        let Some(line) = line.strip_prefix("called ") else {
            continue;
        };
        let mut parts = line.split('|').map(str::trim);
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (function, check, through) = (part(), part(), part());
        let through = through.split(", ").filter(|name| !name.is_empty());
        let through = through.map(str::to_owned).collect();
        calls.entry(function).or_default().insert(check, through);
    }
    calls
}

/// What the engine's tests reach on the simulated host: they keep this list.
fn simulated() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/simulated.txt");
    let list = fs::read_to_string(path).unwrap();
    list.lines().map(str::to_owned).collect()
}

const HEAD: &str = "\
# The Windows platform: what was called where

Written by the test `windows_platform` from the calls that it made; do not edit.
`BLESS=1 cargo test -p casement-node --test windows_platform -- --ignored` writes
it anew.

`platformcheck` runs on a Windows host of the lab and calls the agent's Windows
code, as it is shipped. The names in the columns are its checks:

- **Wine**: Wine's own libraries answered;
- **stand-in**: a DLL of the lab had a part in the answer, which says how Windows
  is understood, not how it is; `iphlpapi.dll` adds to Wine's own, the others are
  whole;
- **simulated**: the engine's tests reach it on the simulated host as well.

`crates/node/WINDOWS.md` says what only a real Windows can show.
";

fn table(windows: &BTreeSet<String>, calls: &Calls, simulated: &BTreeSet<String>) -> String {
    let mut text = HEAD.to_owned();
    let mut defaults = Vec::new();
    for (concern, functions) in FUNCTIONS {
        let (own, others): (Vec<&str>, Vec<&str>) =
            functions.iter().partition(|name| windows.contains(**name));
        defaults.extend(others);
        if own.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n## {concern}\n\n| function | Wine | stand-in | simulated |\n| --- | --- | --- | --- |\n"
        );
        for name in own {
            let (wine, stand_in) = cells(name, calls);
            let also = if simulated.contains(name) { "yes" } else { "" };
            let _ = writeln!(text, "| `{name}` | {wine} | {stand_in} | {also} |");
        }
    }
    let names: Vec<_> = defaults.iter().map(|name| format!("`{name}`")).collect();
    let _ = write!(
        text,
        "\n## Not of Windows\n\nThese keep the answer that every system has, which for most is \
         `CAS-NODE-001`:\n{}.\n",
        names.join(", ")
    );
    text
}

/// The checks that Wine answered, and those that a stand-in did.
fn cells(function: &str, calls: &Calls) -> (String, String) {
    let Some(checks) = calls.get(function) else {
        let excuse = ONLY_SIMULATED.iter().find(|(name, _)| *name == function);
        let reason = excuse.map_or("", |(_, reason)| reason);
        return (format!("simulated only: {reason}"), String::new());
    };
    let mut wine = Vec::new();
    let mut stand_ins: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (check, through) in checks {
        if through.is_empty() {
            wine.push(check.as_str());
        } else {
            let names = format!("`{}`", through.join("`, `"));
            stand_ins.entry(names).or_default().push(check);
        }
    }
    let stand_ins = stand_ins.iter();
    let stand_ins = stand_ins.map(|(names, checks)| format!("{names}: {}", checks.join("; ")));
    (wine.join("; "), stand_ins.collect::<Vec<_>>().join(". "))
}
