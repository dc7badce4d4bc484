//! Variables that a service has from a file, read anew at each start.

use std::collections::BTreeMap;

/// Those in a file's text, a line `NAME=value` each. Everything after the first
/// `=` is the value, as it stands.
pub fn read(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let named = lines.filter(|(name, _)| !name.is_empty());
    named
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_all_after_the_first_sign() {
        let text = "HTTP_PROXY=http://me:a%3Db=@10.3.0.9:3128\r\n\n=x\nEMPTY=\n";
        let read = read(text);
        assert_eq!(read["HTTP_PROXY"], "http://me:a%3Db=@10.3.0.9:3128");
        assert_eq!(read["EMPTY"], "");
        assert_eq!(read.len(), 2);
    }
}
