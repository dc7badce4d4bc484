//! Suggestions for misspelled words.

/// Terms of other tools.
const SYNONYMS: &[(&str, &str)] = &[
    ("cluster", "Cluster"),
    ("clustercidr", "podCidr"),
    ("host", "hosts"),
    ("identityfile", "key"),
    ("ip", "address"),
    ("ipaddress", "address"),
    ("k8s", "kubernetes"),
    ("keyfile", "key"),
    ("master", "control-plane"),
    ("node", "worker"),
    ("nodes", "hosts"),
    ("operatingsystem", "os"),
    ("podnetwork", "podCidr"),
    ("podsubnet", "podCidr"),
    ("privatekey", "key"),
    ("role", "roles"),
    ("servicesubnet", "serviceCidr"),
    ("username", "user"),
];

/// Longer words are not compared.
const MAX_LENGTH: usize = 40;

/// The most similar known word, if one is similar enough.
pub fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let plain = plain(word);
    let mut words = known.clone();
    if let Some(same) = words.find(|known| self::plain(known) == plain) {
        return Some(same);
    }
    let synonym = SYNONYMS.iter().find(|(from, _)| *from == plain);
    if let Some((_, to)) = synonym
        && let Some(word) = known.clone().find(|word| word == to)
    {
        return Some(word);
    }
    let max_distance = (plain.chars().count() / 3).clamp(1, 3);
    known
        .map(|word| (distance(&self::plain(word), &plain), word))
        .filter(|(distance, word)| *distance <= max_distance && *distance < word.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Ignores case and separators.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Edit distance; an upper bound for words of very different length.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    if one.len().max(other.len()) > MAX_LENGTH {
        return usize::MAX;
    }
    match one.len().abs_diff(other.len()) {
        0..=6 => strsim::damerau_levenshtein(one, other),
        more => more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_synonyms_and_case_are_recognized() {
        let fields = ["podCidr", "serviceCidr", "version", "hosts", "roles", "os"];
        let closest = |word| closest(word, fields.into_iter());
        assert_eq!(closest("podCIDR"), Some("podCidr"));
        assert_eq!(closest("pod_cidr"), Some("podCidr"));
        assert_eq!(closest("verison"), Some("version"));
        assert_eq!(closest("nodes"), Some("hosts"));
        assert_eq!(closest("role"), Some("roles"));
        assert_eq!(closest("colour"), None);
        assert_eq!(closest(""), None);
        assert_eq!(closest(&"a".repeat(100_000)), None);
    }
}
