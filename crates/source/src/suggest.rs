//! What a person probably meant.

/// What people write who come from other tools.
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

/// Longer words are not compared letter by letter.
const LONGEST: usize = 40;

/// The known word that is closest to what was written, if one is close.
pub fn closest<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let plain = plain(written);
    let mut words = known.clone();
    if let Some(same) = words.find(|word| self::plain(word) == plain) {
        return Some(same);
    }
    let synonym = SYNONYMS.iter().find(|(from, _)| *from == plain);
    if let Some((_, to)) = synonym
        && let Some(word) = known.clone().find(|word| word == to)
    {
        return Some(word);
    }
    let far = (plain.chars().count() / 3).clamp(1, 3);
    known
        .map(|word| (distance(&self::plain(word), &plain), word))
        .filter(|(distance, word)| *distance <= far && *distance < word.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Case and the signs between words do not count.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// How many letters two words differ in; very many where that is clear.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    if one.len().max(other.len()) > LONGEST {
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
    fn slips_other_tools_words_and_case_are_understood() {
        let fields = ["podCidr", "serviceCidr", "version", "hosts", "roles", "os"];
        let closest = |written| closest(written, fields.into_iter());
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
