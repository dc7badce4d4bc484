//! The environment file of a service, read at each start.

use std::collections::BTreeMap;

/// One `NAME=value` per line. Everything after the first `=` is the value.
pub fn parse(text: &str) -> BTreeMap<String, String> {
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
    fn value_is_everything_after_the_first_equals_sign() {
        let text = "HTTP_PROXY=http://me:a%3Db=@10.3.0.9:3128\r\n\n=x\nEMPTY=\n";
        let parse = parse(text);
        assert_eq!(parse["HTTP_PROXY"], "http://me:a%3Db=@10.3.0.9:3128");
        assert_eq!(parse["EMPTY"], "");
        assert_eq!(parse.len(), 2);
    }
}
