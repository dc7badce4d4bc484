//! The string literals and names in the source of product crates, without tests.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The crates of the product; `sim` and `lab` are emulators and tools for tests.
pub const PRODUCT: [&str; 17] = [
    "casement", "catalog", "cluster", "diag", "hcn", "lint", "lock", "net", "node", "plan",
    "remote", "report", "resource", "run", "source", "spec", "verify",
];

pub struct SourceFile {
    /// Relative to the repository: `crates/plan/src/steps.rs`.
    pub path: String,
    pub literals: Vec<StringLiteral>,
    pub names: Vec<String>,
}

pub struct StringLiteral {
    pub text: String,
    /// Whether it is compared with, or assigned to, something that is called an id, a step
    /// or drifted: `step.id == "cni"`, `host.drifted("cni")`.
    pub is_id: bool,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of a crate that are compiled into the product.
pub fn of_crate(name: &str) -> Vec<SourceFile> {
    let folder = root().join("crates").join(name).join("src");
    let mut roots: Vec<PathBuf> = ["lib.rs", "main.rs"].map(|it| folder.join(it)).into();
    roots.retain(|it| it.exists());
    assert!(!roots.is_empty(), "{name} has no source");
    let mut files = Vec::new();
    for file in roots {
        module(&file, &folder, &mut files);
    }
    files
}

/// Adds a file and the modules that it declares, which are in `folder`.
fn module(file: &Path, folder: &Path, files: &mut Vec<SourceFile>) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let mut content = Content::default();
    content.read(text.parse().unwrap(), false);
    let path = file.strip_prefix(root()).unwrap();
    files.push(SourceFile {
        path: path.display().to_string(),
        literals: content.literals,
        names: content.names,
    });
    for name in content.modules {
        let below = folder.join(&name);
        module(&below.with_extension("rs"), &below, files);
    }
}

#[derive(Default)]
struct Content {
    literals: Vec<StringLiteral>,
    names: Vec<String>,
    /// In files of their own.
    modules: Vec<String>,
}

impl Content {
    /// `is_id`: whether what comes before the tokens is called an id.
    fn read(&mut self, tokens: TokenStream, is_id: bool) {
        let mut tokens = tokens.into_iter().peekable();
        let mut for_tests = false;
        let mut is_id = is_id;
        while let Some(token) = tokens.next() {
            let is_hash = matches!(&token, TokenTree::Punct(it) if it.as_char() == '#');
            if is_hash {
                let bang =
                    |it: &TokenTree| matches!(it, TokenTree::Punct(it) if it.as_char() == '!');
                tokens.next_if(bang);
                if let Some(TokenTree::Group(attribute)) = tokens.next() {
                    for_tests |= self.attribute(attribute.stream());
                }
                continue;
            }
            if std::mem::take(&mut for_tests) {
                skip_item(token, &mut tokens);
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    let is_block = group.delimiter() == Delimiter::Brace;
                    self.read(group.stream(), is_id && !is_block);
                    is_id &= !is_block;
                }
                TokenTree::Literal(literal) => {
                    let text = text(&literal.to_string());
                    self.literals
                        .extend(text.map(|text| StringLiteral { text, is_id }));
                }
                TokenTree::Ident(word) if word == "mod" => {
                    let Some(TokenTree::Ident(name)) = tokens.next() else {
                        continue;
                    };
                    if matches!(tokens.peek(), Some(TokenTree::Punct(it)) if it.as_char() == ';') {
                        self.modules.push(name.to_string());
                    }
                }
                TokenTree::Ident(word) => {
                    let name = word.to_string();
                    is_id |= name == "id" || name.contains("step") || name.contains("drifted");
                    self.names.push(name);
                }
                TokenTree::Punct(it) => is_id &= !matches!(it.as_char(), ',' | ';' | '&' | '|'),
            }
        }
    }

    /// Returns whether the item is compiled for tests only.
    fn attribute(&mut self, attribute: TokenStream) -> bool {
        let written = attribute.to_string().replace(' ', "");
        if written.starts_with("cfg(") && !written.starts_with("cfg(not(") {
            let test = ["(test)", "(test,", "feature=\"testing\""];
            // Also compiled into the product.
            let product = written.contains("windows") && written.contains("any(");
            return test.iter().any(|it| written.contains(it)) && !product;
        }
        if !written.starts_with("doc=") {
            self.read(attribute, false);
        }
        false
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

/// The value of a string literal, without its escapes; `None` for other literals.
fn text(literal: &str) -> Option<String> {
    let plain = literal.trim_start_matches(['r', 'b', 'c']);
    let plain = plain.trim_matches('#');
    let inner = plain.strip_prefix('"')?.strip_suffix('"')?;
    match literal.starts_with('r') || literal.starts_with("br") {
        true => Some(inner.to_owned()),
        false => Some(inner.replace("\\\"", "\"").replace("\\\\", "\\")),
    }
}

#[test]
fn tests_and_comments_are_left_out() {
    let source = r##"
        //! "a header"
        mod child;
        #[cfg(test)]
        mod tests;
        /// "a comment"
        #[serde(rename = "attribute")]
        fn product() { json!({"key": [r"C:\k", "a \"quoted\" word"]}) }
        #[cfg(any(windows, test))]
        fn on_windows() { "windows" }
        #[cfg(any(test, feature = "testing"))]
        mod sim { const NAME: &str = "simulated"; }
        #[cfg(test)]
        mod inline { fn only_here() { "test" } }
        #[cfg(not(test))]
        const LAST: &str = "last";
    "##;
    let mut content = Content::default();
    content.read(source.parse().unwrap(), false);
    let texts: Vec<_> = content.literals.iter().map(|it| &it.text).collect();
    let expected = [
        "attribute",
        "key",
        r"C:\k",
        "a \"quoted\" word",
        "windows",
        "last",
    ];
    assert_eq!(texts, expected);
    assert_eq!(content.modules, ["child"]);
    assert!(content.names.contains(&"on_windows".to_owned()));
    assert!(!content.names.contains(&"only_here".to_owned()));
}

#[test]
fn literals_for_ids_are_marked() {
    let source = r#"fn f() {
        let plain = ["a", json!({"id": "b"})];
        if step.id.as_str() == "c" && kind == "d" || host.drifted("e") { g("f") }
        Step { id: "g".parse(), name: "h" }
    }"#;
    let mut content = Content::default();
    content.read(source.parse().unwrap(), false);
    let marked = content.literals.iter().filter(|it| it.is_id);
    let marked: Vec<_> = marked.map(|it| &it.text).collect();
    assert_eq!(marked, ["c", "e", "g"]);
}
