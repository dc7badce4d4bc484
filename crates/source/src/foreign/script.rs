//! Scripts as lists of lines; only lines that add routes are ever shown.

use crate::node::{Data, Node, Scalar};

const EXTENSIONS: [&str; 5] = [".cmd", ".bat", ".ps1", ".sh", ".txt"];

pub(super) fn is_script(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    EXTENSIONS.iter().any(|extension| name.ends_with(extension))
}

/// Lines that do not add routes are marked secret: scripts contain tokens and
/// passwords.
pub(super) fn parse(text: &str) -> Node {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let offset = line.find(trimmed).unwrap_or_default();
        let from = start + offset;
        let scalar = Scalar {
            text: trimmed.to_owned(),
            plain: false,
            secret: !is_route(trimmed),
        };
        lines.push(Node {
            range: from..from + trimmed.len(),
            data: Data::Scalar(scalar),
        });
        start += line.len();
    }
    Node {
        range: 0..text.len(),
        data: Data::List(lines),
    }
}

fn is_route(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words = [
        "route add",
        "route -p add",
        "add route",
        "new-netroute",
        "route replace",
    ];
    words.iter().any(|word| line.contains(word))
}
