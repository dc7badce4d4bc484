//! Masks secrets in logs and support bundles.
//!
//! Known values are replaced wherever they occur; unknown ones are recognized by their usual
//! forms, in the output of other programs.

use casement_resource::Secret;

const MASK: &str = "********";

/// For the output of other programs.
pub fn masked(text: &str, secrets: &[Secret]) -> String {
    own(text, secrets)
        .split_inclusive('\n')
        .map(mask_values)
        .collect()
}

/// For casement's own output, which may quote other programs. A value after `password:` is
/// kept: it is the location of the password.
pub fn own(text: &str, secrets: &[Secret]) -> String {
    let mut text = text.to_owned();
    let mut secrets: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    // Longest first: one may be the prefix of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, MASK);
    }
    let mut out = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        if line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----") {
            // A key may be on one line, with escaped newlines.
            in_key = !line.contains("-----END");
            out.push_str(&mask_key(line));
        } else if in_key {
            in_key = !line.contains("-----END");
        } else {
            out.push_str(&mask_tokens(&mask_url_password(line)));
        }
    }
    out
}

fn mask_key(line: &str) -> String {
    let start = line.find("-----BEGIN").unwrap_or_default();
    let end = line.rfind("-----END").and_then(|end| {
        let rest = line.get(end + 8..)?;
        Some(end + 8 + rest.find("-----")? + 5)
    });
    let tail = match end {
        Some(end) => line.get(end..).unwrap_or_default(),
        None => "\n",
    };
    format!("{}{MASK}{tail}", line.get(..start).unwrap_or_default())
}

/// `scheme://user:password@host`.
fn mask_url_password(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(|it: char| it.is_whitespace() || "/?#\"'".contains(it));
        let (authority, tail) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            Some((user, host)) if user.contains(':') => {
                let user = user.split(':').next().unwrap_or_default();
                out.push_str(&format!("{user}:{MASK}@{host}"));
            }
            _ => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Values after `password:`, `token=` and similar names.
fn mask_values(line: &str) -> String {
    const NAMES: [&str; 7] = [
        "password",
        "passwd",
        "passphrase",
        "token",
        "secret",
        "bearer",
        "basic",
    ];
    let lower = line.to_ascii_lowercase();
    let mut ends: Vec<usize> = NAMES
        .iter()
        .flat_map(|name| lower.match_indices(name).map(|(at, _)| at + name.len()))
        .collect();
    ends.sort_unstable();
    let mut out = String::new();
    let mut done = 0;
    for end in ends {
        let rest = line.get(end..).unwrap_or_default();
        let lead = rest.len()
            - rest
                .trim_start_matches(['"', '\'', ':', '=', ' ', '\t'])
                .len();
        let separated = rest.get(..lead).is_some_and(|it| it.contains([':', '=']))
            || (lead > 0
                && lower
                    .get(..end)
                    .is_some_and(|it| it.ends_with("bearer") || it.ends_with("basic")));
        let value = rest.get(lead..).unwrap_or_default();
        let length = value.find(|it: char| it.is_whitespace() || "\"',}]&".contains(it));
        let length = length.unwrap_or(value.len());
        if !separated || length == 0 || end < done {
            continue;
        }
        out.push_str(line.get(done..end + lead).unwrap_or_default());
        out.push_str(MASK);
        done = end + lead + length;
    }
    out.push_str(line.get(done..).unwrap_or_default());
    out
}

/// Bootstrap tokens: six characters, a dot, sixteen characters.
fn mask_tokens(line: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = line.as_bytes();
    let run = |from: usize| bytes.iter().skip(from).take_while(|it| plain(it)).count();
    let mut out = String::new();
    let (mut at, mut done) = (0, 0);
    while at < bytes.len() {
        let first = run(at);
        let dot = bytes.get(at + first) == Some(&b'.');
        if first == 6 && dot && run(at + 7) == 16 {
            out.push_str(line.get(done..at).unwrap_or_default());
            out.push_str(MASK);
            at += 23;
            done = at;
        } else {
            at += first.max(1);
        }
    }
    out.push_str(line.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_masked() {
        let secrets = [Secret::new("hunter2".to_owned())];
        for (text, expected) in [
            ("started in 3 s\n", "started in 3 s\n"),
            ("login hunter2 ok", "login ******** ok"),
            (
                "join with abcdef.0123456789abcdef now",
                "join with ******** now",
            ),
            (
                "not abcdefg.0123456789abcdef",
                "not abcdefg.0123456789abcdef",
            ),
            (
                "proxy http://anna:geheim@proxy:3128/x",
                "proxy http://anna:********@proxy:3128/x",
            ),
            (
                "see https://example.org/a:b@c",
                "see https://example.org/a:b@c",
            ),
            ("  password: geheim\n", "  password: ********\n"),
            (
                r#"{"token": "abc", "n": 1}"#,
                r#"{"token": "********", "n": 1}"#,
            ),
            (
                "Authorization: Bearer eyJhbGciOi",
                "Authorization: Bearer ********",
            ),
            ("the token was made", "the token was made"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nb\n",
                "a\n********\nb\n",
            ),
            (
                r#"{"k": "-----BEGIN PRIVATE KEY-----\nMI\n-----END PRIVATE KEY-----\n"}"#,
                r#"{"k": "********\n"}"#,
            ),
        ] {
            assert_eq!(masked(text, &secrets), expected, "{text}");
        }
    }
}
