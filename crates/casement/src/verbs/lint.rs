//! `casement lint`.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use casement_diag::{
    Problem, SarifRule, Severity, Sources, Style, json_among, render_among, sarif,
};
use casement_lint::{READING, Report, Text, Texts, last_line, mend, rules};
use clap::Args;

use crate::failure::CommandError;
use crate::whole_file;

/// The file that is meant when none is named.
const USUAL: &str = "cluster.yaml";
/// What in a folder may be linted.
const ENDINGS: [&str; 6] = ["yaml", "yml", "json", "conf", "conflist", "toml"];

/// Say everything that is wrong with the file, and with files beside it.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// The cluster file; ./cluster.yaml where it exists
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Files of other tools, and folders of them: manifests, CNI configurations,
    /// kubelet.yaml, net-conf.json, config.toml
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Mend what can be mended without asking
    #[arg(long)]
    fix: bool,
    /// The form of the findings
    #[arg(short, long, value_parser = ["table", "json", "sarif"], default_value = "table")]
    output: String,
}

/// Runs the verb: 3 when there are errors.
pub fn run_lint(arguments: &LintArgs) -> Result<(), CommandError> {
    let mut texts = gather(arguments)?;
    if arguments.fix {
        let before = texts.clone();
        let done = mend(&mut texts);
        write_changed(&before, &texts)?;
        for (file, what) in &done {
            eprintln!("mended {file}: {what}");
        }
    }
    let report = Report::new(&texts);
    show(&report, &texts, &arguments.output);
    if report.has_errors() {
        return Err(CommandError::told(3));
    }
    Ok(())
}

fn show(report: &Report, texts: &Texts, form: &str) {
    let sources = report.sources();
    let sources = Sources::new(&sources);
    let text = match form {
        "json" => format!("{:#}\n", json_among(&report.findings, sources)),
        "sarif" => {
            let version = env!("CARGO_PKG_VERSION");
            let log = sarif(&report.findings, sources, &described(), version);
            format!("{log:#}\n")
        }
        _ => {
            let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let style = if colour { Style::Colour } else { Style::Plain };
            let shown = render_among(&report.findings, sources, style);
            match last_line(&report.findings) {
                Some(line) => format!("{shown}\n{line}\n"),
                None => format!("No findings in {}.\n", counted(texts)),
            }
        }
    };
    print_data(&text);
}

/// A reader that has seen enough, such as `head`, is no fault.
pub fn print_data(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn counted(texts: &Texts) -> String {
    let files = match texts.files.len() {
        0 => None,
        1 => Some("1 file".to_owned()),
        more => Some(format!("{more} files")),
    };
    let spec = texts.spec.as_ref().map(|spec| spec.name.clone());
    let parts: Vec<_> = spec.into_iter().chain(files).collect();
    parts.join(" and ")
}

fn described() -> Vec<SarifRule<'static>> {
    let rules = rules().map(|rule| SarifRule {
        code: rule.code,
        title: rule.title,
        page: rule.page,
        severity: rule.severity,
    });
    let reading = READING.iter().map(|reading| SarifRule {
        code: reading.code,
        title: reading.title,
        page: reading.page,
        severity: Severity::Error,
    });
    rules.chain(reading).collect()
}

fn gather(arguments: &LintArgs) -> Result<Texts, CommandError> {
    let usual = PathBuf::from(USUAL);
    let spec = match &arguments.file {
        Some(file) => Some(file.clone()),
        None if usual.exists() || arguments.paths.is_empty() => Some(usual),
        None => None,
    };
    let mut paths = Vec::new();
    for path in &arguments.paths {
        walk(path, true, &mut paths)?;
    }
    paths.retain(|path| spec.as_ref() != Some(path));
    let files: Result<Vec<_>, _> = paths.iter().map(|path| read(path)).collect();
    Ok(Texts {
        spec: spec.as_deref().map(read).transpose()?,
        files: files?,
    })
}

fn read(path: &Path) -> Result<Text, CommandError> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    let name = path.display().to_string().replace('\\', "/");
    Ok(Text { name, bytes })
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    let problem = Problem::new(
        "CAS-FILE-001",
        format!("the file `{}` cannot be read", path.display()),
        "name the cluster file with -f FILE, and others behind it: casement lint -f cluster.yaml manifests/",
    );
    CommandError::usage(problem.seen("it says", error))
}

/// The files of a folder in the order of their names; links are not followed.
fn walk(path: &Path, named: bool, into: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    if !path.is_dir() {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if named || ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            into.push(path.to_owned());
        }
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut inside: Vec<_> = entries.flatten().collect();
    inside.sort_by_key(|entry| entry.file_name());
    for entry in inside {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let away = link && entry.path().is_dir();
        if !hidden && !away {
            walk(&entry.path(), false, into)?;
        }
    }
    Ok(())
}

/// Writes what changed, each file as a whole or not at all.
fn write_changed(before: &Texts, after: &Texts) -> Result<(), CommandError> {
    let old = before.spec.iter().chain(&before.files);
    let new = after.spec.iter().chain(&after.files);
    for (old, new) in old.zip(new).filter(|(old, new)| old != new) {
        replace(Path::new(&old.name), &new.bytes).map_err(|error| {
            let problem = Problem::new(
                "CAS-FILE-021",
                format!("the file `{}` cannot be written", old.name),
                "make it and its folder writable, or leave --fix out",
            );
            CommandError::from(problem.seen("it says", error))
        })?;
    }
    Ok(())
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A link stays one: what it names is replaced.
    let path = fs::canonicalize(path)?;
    let file = whole_file::beside(&path, bytes)?;
    file.as_file()
        .set_permissions(fs::metadata(&path)?.permissions())?;
    file.persist(&path)?;
    Ok(())
}
