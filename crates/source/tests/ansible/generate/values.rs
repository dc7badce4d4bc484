//! Common and uncommon values.

use super::super::random::Random;

/// After `=` in a host line of an INI inventory, with shell quoting.
const WORDS: [&str; 34] = [
    "10.3.0.1",
    "5",
    "'5'",
    "\"'5'\"",
    "0644",
    "0x1f",
    "1_000",
    "1.5",
    "-1",
    "+2",
    "True",
    "true",
    "None",
    "null",
    "'a b'",
    "\"a b\"",
    "a#b",
    "'a#b'",
    "a\\ b",
    "C:\\k",
    "'C:\\k'",
    "\"C:\\k\\new\"",
    "[1,2]",
    "\"['a', 'b']\"",
    "\"{'a': 1, 'b': [2, 3]}\"",
    "1,2",
    "a,b",
    "\"{{ x }}\"",
    "''",
    "a=b",
    "ä",
    "\"'it\\'s'\"",
    "v1.36.3",
    "yes",
];
/// After `=` in a `:vars` section: the rest of the line.
const REST: [&str; 34] = [
    "10.3.0.1",
    "5",
    "'5'",
    "\"5\"",
    "0644",
    "0x1f",
    "1e3",
    "1.5 # comment",
    "word # comment",
    "True",
    "true",
    "None",
    "'a b'",
    "a b",
    "\"C:\\k\\new\"",
    "C:\\k",
    "[1, 2, 'x']",
    "{'a': {'b': None}}",
    "(1, 2)",
    "(1)",
    "1,",
    "'a' 'b'",
    "r'\\n'",
    "{{ lookup('env', 'X') }}",
    "",
    "=",
    "a=b=c",
    "...",
    "b'x'",
    "-(5)",
    "--5",
    "[1, a]",
    "set()",
    "\"\\u00e4\\x41\"",
];
/// YAML scalars as written.
const SCALARS: [&str; 44] = [
    "10.3.0.1",
    "5",
    "'5'",
    "\"5\"",
    "0644",
    "0o17",
    "0x1f",
    "1_000",
    "1.5",
    "1.5e3",
    "1.5e+3",
    "-1",
    "+2",
    "true",
    "True",
    "yes",
    "'yes'",
    "no",
    "on",
    "off",
    "null",
    "~",
    "''",
    "a b",
    "a#b",
    "C:\\k",
    "'C:\\k'",
    "\"C:\\\\k\"",
    "1:30",
    "52:54:00:12:34:56",
    "52:54:00",
    "2020-01-31",
    "'{{ x }}'",
    "v1.36.3",
    "ä",
    "08",
    "1e3",
    ".5",
    "-.5",
    "[1, two, 'three']",
    "{a: 1, b: [x, y]}",
    "!!str 5",
    "10.0.0.0/16",
    "!unsafe '{{ x }}'",
];
const PIECES: [&str; 30] = [
    "1", "0", "2.5", "-", "+", ",", "[", "]", "(", ")", "{", "}", ":", "'a'", "\"b\"", " ", "None",
    "True", "x", "_", ".", "e3", "0x", "'", "\\n", "#", "r'q'", "u\"w\"", "...", "j",
];

pub fn word(random: &mut Random) -> &'static str {
    random.pick(&WORDS)
}

pub fn rest(random: &mut Random) -> &'static str {
    random.pick(&REST)
}

pub fn scalar(random: &mut Random) -> &'static str {
    random.pick(&SCALARS)
}

/// Random Python tokens, rarely a valid value.
pub fn random_tokens(random: &mut Random) -> String {
    let pieces = 1 + random.below(6);
    (0..pieces).map(|_| random.pick(&PIECES)).collect()
}
