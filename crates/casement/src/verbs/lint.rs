//! `casement lint`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use casement_diag::{
    Problem, SarifRule, Severity, Sources, json_with_sources, render_with_sources, sarif,
};
use casement_lint::{LOAD_CODES, Report, Text, Texts, fix_all, rules, summary_line};
use clap::Args;

use crate::atomic_file;
use crate::failure::CommandError;
use crate::json;
use crate::output;

const DEFAULT_FILE: &str = "cluster.yaml";
/// Files with other extensions are skipped in directories.
const EXTENSIONS: [&str; 6] = ["yaml", "yml", "json", "conf", "conflist", "toml"];

/// Check the cluster file and related files for errors.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Cluster file; ./cluster.yaml by default, if it exists
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Related files and directories: manifests, CNI configurations, kubelet.yaml,
    /// net-conf.json, config.toml
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Fix what can be fixed automatically
    #[arg(long)]
    fix: bool,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json", "sarif"], default_value = "table")]
    output: String,
}

/// Exit code 3 if there are errors.
pub fn run_lint(arguments: &LintArgs) -> Result<(), CommandError> {
    let mut texts = read_all(arguments)?;
    if arguments.fix {
        let before = texts.clone();
        let fixed = fix_all(&mut texts);
        write_changed(&before, &texts)?;
        for (file, fix) in &fixed {
            eprintln!("fixed {file}: {fix}");
        }
    }
    let report = Report::new(&texts);
    print(&report, &texts, &arguments.output);
    if report.has_errors() {
        return Err(CommandError::reported(3));
    }
    Ok(())
}

fn print(report: &Report, texts: &Texts, format: &str) {
    let sources = report.sources();
    let sources = Sources::new(&sources);
    let text = match format {
        "json" => json::text(&json::Lint {
            files: names(texts),
            findings: json_with_sources(&report.findings, sources),
        }),
        "sarif" => {
            let version = env!("CARGO_PKG_VERSION");
            let log = sarif(&report.findings, sources, &sarif_rules(), version);
            format!("{log:#}\n")
        }
        _ => {
            let style = output::style(&std::io::stdout());
            let findings = render_with_sources(&report.findings, sources, style);
            match summary_line(&report.findings) {
                Some(line) => output::encode(&format!("{findings}\n{line}\n")).into_owned(),
                None => format!("No findings in {}.\n", checked(texts)),
            }
        }
    };
    print_data(&text);
}

/// Ignores errors: a reader such as `head` may close the pipe.
fn print_data(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn names(texts: &Texts) -> Vec<String> {
    let texts = texts.spec.iter().chain(&texts.files);
    texts.map(|text| text.name.clone()).collect()
}

fn checked(texts: &Texts) -> String {
    let files = match texts.files.len() {
        0 => None,
        count => Some(output::count(count, "file")),
    };
    let spec = texts.spec.as_ref().map(|spec| spec.name.clone());
    let parts: Vec<_> = spec.into_iter().chain(files).collect();
    parts.join(" and ")
}

fn sarif_rules() -> Vec<SarifRule<'static>> {
    let rules = rules().map(|rule| SarifRule {
        code: rule.code,
        title: rule.entry.title,
        page: rule.entry.page,
        severity: rule.severity,
    });
    let load = LOAD_CODES.iter().map(|load| SarifRule {
        code: load.entry.code,
        title: load.entry.title,
        page: load.entry.page,
        severity: Severity::Error,
    });
    rules.chain(load).collect()
}

fn read_all(arguments: &LintArgs) -> Result<Texts, CommandError> {
    let default = PathBuf::from(DEFAULT_FILE);
    let spec = match &arguments.file {
        Some(file) => Some(file.clone()),
        None if default.exists() || arguments.paths.is_empty() => Some(default),
        None => None,
    };
    let mut paths = Vec::new();
    for path in &arguments.paths {
        find_files(path, true, &mut paths)?;
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
        format!("failed to read `{}`", path.display()),
        "set the cluster file with `-f FILE`, followed by other files: `casement lint -f cluster.yaml manifests/`",
    );
    CommandError::usage(problem.detail("cause", error))
}

/// Sorted by name. Symlinks to directories are not followed. `explicit` paths may have any
/// extension.
fn find_files(path: &Path, explicit: bool, found: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    if !path.is_dir() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if explicit || extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let symlink = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let linked_dir = symlink && entry.path().is_dir();
        if !hidden && !linked_dir {
            find_files(&entry.path(), false, found)?;
        }
    }
    Ok(())
}

/// Replaces each changed file atomically.
fn write_changed(before: &Texts, after: &Texts) -> Result<(), CommandError> {
    let old = before.spec.iter().chain(&before.files);
    let new = after.spec.iter().chain(&after.files);
    for (old, new) in old.zip(new).filter(|(old, new)| old != new) {
        replace(Path::new(&old.name), &new.bytes).map_err(|error| {
            let problem = Problem::new(
                "CAS-FILE-021",
                format!("failed to write `{}`", old.name),
                "make the file and its directory writable, or omit `--fix`",
            );
            CommandError::from(problem.detail("cause", error))
        })?;
    }
    Ok(())
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Replaces the target of a symlink.
    let path = fs::canonicalize(path)?;
    let file = atomic_file::write_temporary(&path, bytes)?;
    file.as_file()
        .set_permissions(fs::metadata(&path)?.permissions())?;
    file.persist(&path)?;
    Ok(())
}
