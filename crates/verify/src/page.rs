//! The explanation page of each finding.

/// Pairs of code and page.
macro_rules! pages {
    ($($code:literal)*) => {
        &[$(($code, include_str!(concat!("../../../docs/codes/", $code, ".md")))),*]
    };
}

const PAGES: &[(&str, &str)] = pages! {
    "CAS-DOC-001"
    "CAS-DOC-002"
    "CAS-DOC-003"
    "CAS-DOC-004"
    "CAS-DOC-005"
    "CAS-DOC-006"
    "CAS-DOC-007"
    "CAS-DOC-008"
    "CAS-DOC-009"
    "CAS-DOC-010"
    "CAS-DOC-011"
    "CAS-DOC-012"
    "CAS-DOC-013"
    "CAS-DOC-014"
    "CAS-DOC-015"
};

/// The page of a code, ignoring case.
#[must_use]
pub fn explain(code: &str) -> Option<&'static str> {
    let mut pages = PAGES.iter();
    let page = pages.find(|(known, _)| known.eq_ignore_ascii_case(code));
    page.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_heading_a_fix_and_an_index_entry() {
        let index = include_str!("../../../docs/doctor/README.md");
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code}: ")), "{code}");
            assert!(page.contains("## How to fix"), "{code}");
            let link = format!("[{code}](../codes/{code}.md)");
            assert!(index.contains(&link), "{code}");
        }
        assert!(explain("cas-doc-006").is_some());
        assert!(explain("CAS-DOC-999").is_none());
    }

    #[test]
    fn every_code_has_a_page() {
        for source in [
            include_str!("doctor.rs"),
            include_str!("host.rs"),
            include_str!("pods.rs"),
        ] {
            let codes = source
                .split('"')
                .filter(|word| word.starts_with("CAS-DOC-"));
            for code in codes {
                assert!(explain(code).is_some(), "{code}");
            }
        }
    }
}
