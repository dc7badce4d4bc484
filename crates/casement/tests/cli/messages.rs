//! Keeps `docs/development/messages.txt` current: every message, help text and table heading
//! of the program, for reading in one go. Fails on words that STYLE.md rules out.
//!
//! `BLESS=1 cargo test -p casement --test cli messages` writes the file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

/// The crates whose texts users see. `sim` and the DLLs of the lab print nothing.
const CRATES: [&str; 18] = [
    "casement", "catalog", "cluster", "diag", "hcn", "lab", "lint", "lock", "net", "node", "plan",
    "remote", "report", "resource", "run", "source", "spec", "verify",
];

/// Files and folders with tests, emulators and their documents.
const NOT_SHOWN: [&str; 6] = [
    "tests",
    "tests.rs",
    "sim",
    "sim.rs",
    "documents",
    "documents.rs",
];

/// Words and phrases that STYLE.md replaces, whatever the context. A phrase matches whole
/// words, in any case.
const REPLACED: &[(&str, &str)] = &[
    ("anew", "again"),
    ("are right", "are in sync"),
    ("are told", "are reported"),
    ("as it should be", "in sync"),
    ("as the file says", "in sync"),
    ("cannot do yet", "not supported"),
    ("do not ask", "skip the confirmation prompt"),
    ("does not let", "authentication failed"),
    ("gone on with", "resumed"),
    ("goes on from there", "resumes"),
    ("heed", "cancel"),
    ("heeded", "canceled"),
    ("heeds", "cancels"),
    ("in vain", "timed out"),
    ("is right", "is in sync"),
    ("is told", "is reported"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("not there yet", "not supported"),
    ("nowhere to be found", "not found"),
    ("put right", "fix"),
    ("refuses the connection", "connection refused"),
    ("right already", "unchanged"),
    ("somebody", "another …"),
    ("stand-in", "fake"),
    ("take back", "remove, restore"),
    ("taken back", "removed, restored"),
    ("takes back", "removes, restores"),
    ("tells", "reports"),
    ("to make or change", "to add, to change"),
    ("told", "reported"),
    ("waited in vain", "timed out"),
    ("was told", "was reported"),
    ("whoever", "who, the user who"),
];

#[test]
fn messages_file_is_current() {
    let text = messages();
    casement_golden::assert_file(root().join("docs/development/messages.txt"), text);
}

#[test]
fn messages_use_the_words_of_the_style_guide() {
    let mut found = replaced_words("messages", &messages());
    for page in files_below(&root().join("docs/codes"), "md") {
        let text = fs::read_to_string(&page).unwrap();
        found.extend(replaced_words(&page.display().to_string(), &text));
    }
    assert!(found.is_empty(), "see STYLE.md:\n{}", found.join("\n"));
}

#[test]
fn replaced_words_are_found() {
    let text = "It was Told\nthe host is right\nbright is fine\nheed-less";
    let found = replaced_words("text", text);
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn texts_of_tests_are_left_out() {
    let source = r#"
        //! A header for developers
        /// Shows the hosts
        #[derive(Args)]
        struct StatusArgs { /// The cluster file
            file: String }
        /// A comment for developers
        struct Other;
        #[error("failed to read `{path}`")]
        struct Failed;
        fn report() { println!("a message {x}", x = "one more"); let id = "dir-base"; }
        #[cfg(test)]
        mod tests { fn f() { panic!("only in a test"); } }
    "#;
    let texts: Vec<String> = texts_of(source.parse().unwrap()).into_iter().collect();
    assert_eq!(
        texts,
        [
            "Shows the hosts",
            "The cluster file",
            "a message {x}",
            "failed to read `{path}`",
            "one more"
        ]
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn replaced_words(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<String> = line
            .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '\'')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let plain = format!(" {} ", words.join(" "));
        for (word, instead) in REPLACED {
            if plain.contains(&format!(" {word} ")) {
                let number = number + 1;
                found.push(format!(
                    "{name}:{number}: `{word}`, write `{instead}`: {line}"
                ));
            }
        }
    }
    found
}

/// All texts, by crate and file.
fn messages() -> String {
    let mut text = String::from(
        "Every message, help text and table heading of casement, by source file. Generated; see\n\
         crates/casement/tests/cli/messages.rs.\n",
    );
    for name in CRATES {
        let folder = root().join("crates").join(name).join("src");
        for file in files_below(&folder, "rs") {
            let relative = file.strip_prefix(&folder).unwrap();
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            if parts.iter().any(|part| NOT_SHOWN.contains(&&**part)) {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            let texts = texts_of(source.parse().unwrap());
            if texts.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n== {name}/{}", parts.join("/"));
            for one in texts {
                let _ = writeln!(text, "{}", one.replace('\n', "\n    "));
            }
        }
    }
    text
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn texts_of(tokens: TokenStream) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    collect(tokens, false, &mut texts);
    texts
}

/// `help`: whether doc comments are help texts here, as in types that derive from clap.
fn collect(tokens: TokenStream, help: bool, texts: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut attributes: Vec<TokenStream> = Vec::new();
    while let Some(token) = tokens.next() {
        let next_is_bang =
            matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '!');
        if matches!(&token, TokenTree::Punct(hash) if hash.as_char() == '#') && next_is_bang {
            // An inner attribute: headers of modules are not shown to users.
            tokens.next();
            tokens.next();
            continue;
        }
        if let (TokenTree::Punct(hash), Some(TokenTree::Group(group))) = (&token, tokens.peek())
            && hash.as_char() == '#'
            && group.delimiter() == Delimiter::Bracket
        {
            attributes.push(group.stream());
            tokens.next();
            continue;
        }
        if attributes.is_empty() {
            visit(token, help, texts);
            continue;
        }
        let attributes = std::mem::take(&mut attributes);
        let written: Vec<String> = attributes.iter().map(ToString::to_string).collect();
        if written
            .iter()
            .any(|it| it.starts_with("cfg (test") || it.starts_with("cfg(test"))
        {
            skip_item(token, &mut tokens);
            continue;
        }
        let derives = ["Args", "Parser", "Subcommand", "ValueEnum"];
        let clap = written
            .iter()
            .any(|it| it.starts_with("derive") && derives.iter().any(|derive| it.contains(derive)));
        for attribute in attributes {
            attribute_texts(attribute, help || clap, texts);
        }
        visit_item(token, &mut tokens, help || clap, texts);
    }
}

/// Passes `help` on to the body of the item that follows the attributes.
fn visit_item(
    first: TokenTree,
    rest: &mut impl Iterator<Item = TokenTree>,
    help: bool,
    texts: &mut BTreeSet<String>,
) {
    let mut next = Some(first);
    while let Some(token) = next {
        let ends = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => matches!(punct.as_char(), ';' | ','),
            _ => false,
        };
        visit(token, help, texts);
        next = if ends { None } else { rest.next() };
    }
}

fn skip_item(first: TokenTree, rest: &mut impl Iterator<Item = TokenTree>) {
    let mut next = Some(first);
    while let Some(token) = next {
        let ends = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        next = if ends { None } else { rest.next() };
    }
}

fn attribute_texts(attribute: TokenStream, help: bool, texts: &mut BTreeSet<String>) {
    let name = attribute
        .clone()
        .into_iter()
        .next()
        .map(|it| it.to_string());
    match name.as_deref() {
        Some("doc") if help => collect(attribute, false, texts),
        Some("error" | "arg" | "command" | "value") => collect(attribute, false, texts),
        _ => {}
    }
}

fn visit(token: TokenTree, help: bool, texts: &mut BTreeSet<String>) {
    match token {
        TokenTree::Group(group) => collect(group.stream(), help, texts),
        TokenTree::Literal(literal) => texts.extend(prose(&literal)),
        _ => {}
    }
}

/// The value of a string literal that a person reads: with a space between words, or a table
/// heading.
fn prose(literal: &Literal) -> Option<String> {
    let text = value(&literal.to_string())?;
    let text = text.trim().to_owned();
    let heading = text.len() > 2 && text.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
    let words = text
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphabetic));
    (heading || words.count() > 1).then_some(text)
}

/// The value of a string literal; `None` for other literals.
fn value(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw.get(hashes + 1..raw.len() - hashes - 1)?;
        return Some(inner.to_owned());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            // A line that goes on: the indentation of the next one is not part of it.
            '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            'u' => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                text.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
            }
            'r' | '0' | 'x' => {}
            other => text.push(other),
        }
    }
    Some(text)
}
