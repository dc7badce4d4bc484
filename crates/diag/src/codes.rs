//! The registry of codes: one entry per page in `docs/codes`.
//!
//! `build.rs` lists the pages, so an entry exists if and only if its page does. Tests compare
//! the entries with the codes in the source of all crates.
//!
//! ```
//! use casement_diag::codes;
//!
//! let entry = codes::entry("net-003").unwrap();
//! assert_eq!(entry.code, "CAS-NET-003");
//! assert_eq!(entry.title, "the pod and service networks overlap");
//! assert_eq!(codes::closest("CAS-NTE-003"), Some("CAS-NET-003"));
//! ```

/// An error or a finding that `casement explain` describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Stable, for example `CAS-NET-003`.
    pub code: &'static str,
    /// The heading of the page without the code.
    pub title: &'static str,
    /// The whole page, as Markdown.
    pub page: &'static str,
}

/// The heading between cause and help.
const HELP_HEADING: &str = "\n## How to fix\n";

impl Entry {
    /// Why it happens: the paragraphs below the heading.
    pub fn cause(&self) -> &'static str {
        let body = self.page.split_once('\n').map_or("", |(_, body)| body);
        body.split_once(HELP_HEADING)
            .map_or(body, |(cause, _)| cause)
            .trim()
    }

    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        let help = self.page.split_once(HELP_HEADING);
        help.map_or("", |(_, help)| help).trim()
    }
}

const ENTRIES: &[Entry] = &include!(concat!(env!("OUT_DIR"), "/codes.rs"));

/// All entries, ordered by code.
pub const fn entries() -> &'static [Entry] {
    ENTRIES
}

/// The entry of a code in any case, with or without `CAS-`.
pub fn entry(code: &str) -> Option<&'static Entry> {
    let code = normalized(code);
    ENTRIES.iter().find(|entry| entry.code == code)
}

/// The entry of a code in a table of constants, where a missing page fails the build.
pub const fn constant(code: &str) -> &'static Entry {
    let mut index = 0;
    while index < ENTRIES.len() {
        if equal(ENTRIES[index].code.as_bytes(), code.as_bytes()) {
            return &ENTRIES[index];
        }
        index += 1;
    }
    panic!("this code has no page in docs/codes")
}

/// `==` is not available in constants.
const fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Longer words are not compared.
const MAX_LENGTH: usize = 40;

/// The code that is probably meant by one that has no entry: a similar one, preferably with
/// the same number. Letters that look like digits count as digits in the number.
pub fn closest(code: &str) -> Option<&'static str> {
    if code.len() > MAX_LENGTH {
        return None;
    }
    let code = normalized(code);
    let digits = code.replace('O', "0").replace(['I', 'L'], "1");
    let number = digits.rsplit('-').next().unwrap_or_default();
    let letters = letters(&code);
    let max_distance = (letters.len() / 3).clamp(1, 3);
    let distance = |known| strsim::damerau_levenshtein(&self::letters(known), &letters);
    ENTRIES
        .iter()
        .map(|entry| (distance(entry.code), entry.code))
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, known)| (!known.ends_with(number), *distance))
        .map(|(_, known)| known)
}

fn normalized(code: &str) -> String {
    let code = code.trim().to_ascii_uppercase();
    match code.starts_with("CAS") {
        true => code,
        false => format!("CAS-{code}"),
    }
}

/// Without separators, so that `CASNET003` is similar to `CAS-NET-003`.
fn letters(code: &str) -> String {
    code.chars().filter(|c| c.is_alphanumeric()).collect()
}
