//! The long form of every code.

use crate::reading::READING;
use crate::rules::rules;

/// The long form of a code, as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// The text; its first line is a heading.
    pub text: &'static str,
}

/// The page of a code, whatever the case of its letters, with or without `CAS-`;
/// or the code that was probably meant.
///
/// # Errors
/// When no page has that code; with one that is close, if there is one.
pub fn explain(code: &str) -> Result<Page, Option<&'static str>> {
    let code = code.trim().to_ascii_uppercase();
    let pages: Vec<_> = pages().collect();
    let is = |page: &&Page| page.code == code || page.code.strip_prefix("CAS-") == Some(&code);
    if let Some(page) = pages.iter().find(is) {
        return Ok(*page);
    }
    let codes = pages.iter().map(|page| page.code);
    let digits = code.replace('O', "0").replace(['I', 'L'], "1");
    let number = digits.rsplit('-').next().unwrap_or_default();
    let same_number = codes.clone().filter(|known| known.ends_with(number));
    let close = casement_source::closest(&code, same_number);
    Err(close.or_else(|| casement_source::closest(&code, codes)))
}

/// Every page, rules first.
pub fn pages() -> impl Iterator<Item = Page> {
    let rules = rules().map(|rule| (rule.code, rule.page));
    let reading = READING.iter().map(|reading| (reading.code, reading.page));
    rules.chain(reading).map(|(code, text)| Page { code, text })
}
