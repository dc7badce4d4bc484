//! Checksum files of publishers.

use casement_resource::Sha256;

/// The hash of `name` in a checksum file: a bare hash, or lines in `sha256sum`
/// format.
pub(crate) fn sum_of(name: &str, text: &str) -> Option<Sha256> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut named = lines().filter_map(|line| line.split_once(char::is_whitespace));
    let ours = named.find(|(_, file)| {
        let file = file.trim_start().trim_start_matches('*');
        file.rsplit('/').next() == Some(name)
    });
    if let Some((hash, _)) = ours {
        return hash.parse().ok();
    }
    let mut lines = lines();
    match (lines.next(), lines.next()) {
        (Some(only), None) => only.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_bare_hashes_and_sha256sum_lines() {
        let (one, two) = (Sha256::of(b"1"), Sha256::of(b"2"));
        assert_eq!(sum_of("a", &format!("{one}\n")), Some(one));
        assert_eq!(sum_of("a", &one.to_string().to_uppercase()), Some(one));
        let list = format!("{one}  ./out/a.tgz\n{two} *b.tgz\n");
        assert_eq!(sum_of("a.tgz", &list), Some(one));
        assert_eq!(sum_of("b.tgz", &list), Some(two));
        assert_eq!(sum_of("c.tgz", &list), None);
        assert_eq!(sum_of("a", &format!("{one}\n{two}\n")), None, "ambiguous");
        assert_eq!(sum_of("a", "<html>not found</html>"), None);
        assert_eq!(sum_of("a", ""), None);
        let other = format!("{one}  other.tgz\n");
        assert_eq!(sum_of("a.tgz", &other), None, "a hash of another file");
    }
}
