//! The explanation page of every code.

use crate::load_codes::LOAD_CODES;
use crate::rules::rules;

/// The explanation of a code, as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub code: &'static str,
    /// The first line is a heading.
    pub text: &'static str,
}

/// The page of a code, in any case, with or without `CAS-`.
///
/// # Errors
/// If no page has that code; contains the closest code, if there is one.
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

/// All pages, those of rules first.
pub fn pages() -> impl Iterator<Item = Page> {
    let rules = rules().map(|rule| (rule.code, rule.page));
    let load = LOAD_CODES.iter().map(|load| (load.code, load.page));
    rules.chain(load).map(|(code, text)| Page { code, text })
}
