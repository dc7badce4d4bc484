//! Finds the codes in the string literals of the product's source.
//!
//! Attributes count, because serde gives codes from the wire their names; doc comments and
//! tests do not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Each code with one of the files that contain it.
pub fn of_all_crates(root: &Path) -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    for krate in fs::read_dir(root.join("crates")).unwrap() {
        let source = krate.unwrap().path().join("src");
        for file in rust_files(&source) {
            let tokens: TokenStream = fs::read_to_string(&file).unwrap().parse().unwrap();
            let name = file.strip_prefix(root).unwrap().display().to_string();
            let mut found = Vec::new();
            collect(tokens, &mut found);
            codes.extend(found.into_iter().map(|code| (code, name.clone())));
        }
    }
    codes
}

/// `CAS-<AREA>-<NNN>`.
pub fn is_well_formed(code: &str) -> bool {
    let parts: Vec<_> = code.split('-').collect();
    let ["CAS", area, number] = parts.as_slice() else {
        return false;
    };
    let area_is_valid = !area.is_empty() && area.chars().all(|c| c.is_ascii_alphanumeric());
    area_is_valid && number.len() == 3 && number.chars().all(|c| c.is_ascii_digit())
}

/// Without files that are test modules.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|it| it == "rs") && !is_test {
            files.push(path);
        }
    }
    files
}

fn collect(tokens: TokenStream, codes: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let mut attribute = String::new();
        if is_punct(&token, '#') {
            let inner = tokens.next_if(|next| is_punct(next, '!')).is_some();
            if let Some(TokenTree::Group(group)) = tokens.peek() {
                attribute = group.stream().to_string().replace(' ', "");
            }
            if inner {
                tokens.next();
                continue;
            }
        }
        match token {
            _ if attribute.starts_with("doc=") => drop(tokens.next()),
            _ if attribute.starts_with("cfg(test)") => skip_item(&mut tokens),
            TokenTree::Group(group) => collect(group.stream(), codes),
            TokenTree::Literal(literal) => codes.extend(codes_in(&literal.to_string())),
            _ => {}
        }
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Up to the body of the item, or its semicolon.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    for token in tokens {
        let ends = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        if ends {
            return;
        }
    }
}

/// Not only valid ones: an invalid code has no page either. The word may begin with an
/// escaped character, as in `\nCAS-NET-003`.
fn codes_in(literal: &str) -> impl Iterator<Item = String> {
    let words = literal.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let codes = words.filter_map(|word| word.get(word.find("CAS-")?..));
    codes
        .filter(|code| code.ends_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

#[test]
fn literals_and_attributes_count_but_tests_and_comments_do_not() {
    let source = r#"
        //! Such as "CAS-A-001".
        /// Like `CAS-A-002`.
        enum Code {
            #[serde(rename = "CAS-A-003")]
            One,
        }
        #[doc = "CAS-A-004"]
        fn report() { problem("CAS-A-005", "what"); eprintln!("{x}\nCAS-A-006"); }
        #[cfg(test)]
        use crate::{other};
        const LAST: &str = "CAS-A-007";
        #[cfg(test)]
        #[allow(clippy::unwrap_used)]
        mod tests { fn f() { assert_eq!(code, "CAS-A-008"); } }
        const OTHER: [&str; 3] = ["CAS-A-9", "CAS-", "CAS-SSH-…"];
    "#;
    let mut found = Vec::new();
    collect(source.parse().unwrap(), &mut found);
    let expected = ["003", "005", "006", "007", "9"].map(|number| format!("CAS-A-{number}"));
    assert_eq!(found, expected);
}
