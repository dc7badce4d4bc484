//! Scripts that prepare Windows hosts.
//!
//! Findings redact the lines, because they may contain passwords: a message names
//! only what was recognized.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-SCR-001", Error, Files, "L082", key_location),
    rule!("CAS-SCR-002", Error, Files, "L083", length),
    rule!("CAS-SCR-003", Warning, Files, "L084", english_account),
];

/// Lines, except comments, of files with one of these extensions.
fn lines<'c, 'a>(
    context: &'c Context<'a>,
    endings: &'c [&str],
) -> impl Iterator<Item = (&'c Value<'a>, String)> {
    context.commands.iter().filter_map(|line| {
        let file = line.file().to_ascii_lowercase();
        let text = line.text()?.to_ascii_lowercase();
        let comment = ["rem ", "::", "#"];
        let counts = endings.iter().any(|ending| file.ends_with(ending))
            && !comment.iter().any(|mark| text.starts_with(mark));
        counts.then_some((line, text))
    })
}

const WINDOWS: &[&str] = &[".cmd", ".bat", ".ps1"];

fn key_location(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (line, text) in lines(context, WINDOWS) {
        if !text
            .replace('/', r"\")
            .contains(r"\administrator\.ssh\authorized_keys")
        {
            continue;
        }
        findings.push(
            line.error(
                "the key is written to the profile of `Administrator`, where sshd does not look for keys of administrators",
            )
            .note("because of the `Match Group administrators` block in sshd_config, authentication fails")
            .help(
                r"write it to `C:\ProgramData\ssh\administrators_authorized_keys`, accessible only to SYSTEM and Administrators",
            ),
        );
    }
    findings
}

/// Maximum length of a line in `cmd.exe`, in UTF-16 code units.
const MAX_LENGTH: usize = 8191;

fn length(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (line, text) in lines(context, &[".cmd", ".bat"]) {
        let length = text.encode_utf16().count();
        if length <= MAX_LENGTH {
            continue;
        }
        findings.push(
            line.error(format!(
                "the line has {length} characters, but `cmd.exe` supports only {MAX_LENGTH}"
            ))
            .note("depending on the version, it rejects or truncates the line")
            .help("upload the content as a file, and refer to the file"),
        );
    }
    findings
}

/// Built-in accounts, whose names depend on the language of Windows.
const ACCOUNTS: &[(&str, &str)] = &[
    (r"builtin\administrators", "S-1-5-32-544"),
    (r"builtin\users", "S-1-5-32-545"),
    ("authenticated users", "S-1-5-11"),
    (r"nt authority\system", "S-1-5-18"),
    (r"nt authority\network service", "S-1-5-20"),
    ("administrators", "S-1-5-32-544"),
    ("everyone", "S-1-1-0"),
];

/// Commands with an account name as argument.
const ACCOUNT_COMMANDS: &[&str] = &[
    "icacls",
    "takeown",
    "net localgroup",
    "-localgroupmember",
    "filesystemaccessrule",
    "registryaccessrule",
    "set-smbshareaccess",
    "grant-smbshareaccess",
];

fn english_account(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (line, text) in lines(context, WINDOWS) {
        if !ACCOUNT_COMMANDS
            .iter()
            .any(|command| text.contains(command))
        {
            continue;
        }
        let found = ACCOUNTS.iter().find_map(|(name, sid)| {
            let at = find_word(&text, name)?;
            Some((line.text()?.get(at..at + name.len())?, sid))
        });
        let Some((name, sid)) = found else {
            continue;
        };
        findings.push(
            line.warning(format!(
                "`{name}` exists only on English Windows; the SID `{sid}` is the same in every language"
            ))
            .help(format!(
                "use the SID: `*{sid}` with icacls, `-SID {sid}` or a `SecurityIdentifier` in PowerShell"
            )),
        );
    }
    findings
}

/// The position of the name as a whole word.
fn find_word(text: &str, name: &str) -> Option<usize> {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\\' | '.');
    let mut positions = text.match_indices(name).map(|(at, _)| at);
    positions.find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}
