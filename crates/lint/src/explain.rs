//! The long form of every code.

use crate::rules::rules;

/// The long form of a code, as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// The text; its first line is a heading.
    pub text: &'static str,
}

/// The page of a code, whatever the case of its letters; or the code that was
/// probably meant.
///
/// # Errors
/// When no page has that code; with one that is close, if there is one.
pub fn explain(code: &str) -> Result<Page, Option<&'static str>> {
    let code = code.trim().to_ascii_uppercase();
    let pages: Vec<_> = pages().collect();
    if let Some(page) = pages.iter().find(|page| page.code == code) {
        return Ok(*page);
    }
    let codes = pages.iter().map(|page| page.code);
    Err(casement_source::closest(&code, codes))
}

/// Every page, rules first.
pub fn pages() -> impl Iterator<Item = Page> {
    rules().map(|rule| Page {
        code: rule.code,
        text: rule.page,
    })
}
