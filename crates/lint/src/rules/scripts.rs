//! Scripts that prepare Windows hosts.
//!
//! Their lines are hidden in findings, for they hold passwords: a message says
//! what was recognised, and nothing else of the line.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-SCR-001",
        Error,
        Files,
        "L082",
        "a key is put where sshd does not look for administrators",
        key_place
    ),
    rule!(
        "CAS-SCR-002",
        Error,
        Files,
        "L083",
        "a line is longer than `cmd.exe` takes",
        length
    ),
    rule!(
        "CAS-SCR-003",
        Warning,
        Files,
        "L084",
        "an account is given by its English name",
        english
    ),
];

/// Lines of files with one of these endings that are no comments.
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

fn key_place(context: &Context<'_>) -> Vec<Diagnostic> {
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
                "the key goes to the profile of `Administrator`, where sshd does not look for administrators",
            )
            .note("the `Match Group administrators` block of sshd_config says so: the login is refused")
            .help(
                r"write it to `C:\ProgramData\ssh\administrators_authorized_keys`, which only SYSTEM and Administrators may have access to",
            ),
        );
    }
    findings
}

/// What `cmd.exe` reads of one line.
const LONGEST: usize = 8191;

fn length(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (line, text) in lines(context, &[".cmd", ".bat"]) {
        let length = text.encode_utf16().count();
        if length <= LONGEST {
            continue;
        }
        findings.push(
            line.error(format!(
                "the line has {length} characters, `cmd.exe` takes {LONGEST}"
            ))
            .note("it refuses the line, or cuts it, by version")
            .help("upload what the line carries as a file, and name the file"),
        );
    }
    findings
}

/// Accounts that every Windows has, with names that differ by language.
const ACCOUNTS: &[(&str, &str)] = &[
    (r"builtin\administrators", "S-1-5-32-544"),
    (r"builtin\users", "S-1-5-32-545"),
    ("authenticated users", "S-1-5-11"),
    (r"nt authority\system", "S-1-5-18"),
    (r"nt authority\network service", "S-1-5-20"),
    ("administrators", "S-1-5-32-544"),
    ("everyone", "S-1-1-0"),
];

/// Commands that take the name of an account.
const TAKERS: &[&str] = &[
    "icacls",
    "takeown",
    "net localgroup",
    "-localgroupmember",
    "filesystemaccessrule",
    "registryaccessrule",
    "set-smbshareaccess",
    "grant-smbshareaccess",
];

fn english(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (line, text) in lines(context, WINDOWS) {
        if !TAKERS.iter().any(|taker| text.contains(taker)) {
            continue;
        }
        let found = ACCOUNTS.iter().find_map(|(name, sid)| {
            let at = word(&text, name)?;
            Some((line.text()?.get(at..at + name.len())?, sid))
        });
        let Some((name, sid)) = found else {
            continue;
        };
        findings.push(
            line.warning(format!(
                "`{name}` is English; `{sid}` is the same in every language of Windows"
            ))
            .help(format!(
                "give the SID: `*{sid}` to icacls; `-SID {sid}` or a `SecurityIdentifier` in PowerShell"
            )),
        );
    }
    findings
}

/// Where the name stands alone in the text.
fn word(text: &str, name: &str) -> Option<usize> {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\\' | '.');
    let mut places = text.match_indices(name).map(|(at, _)| at);
    places.find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}
