//! YAML inventories, and files of variables.

use super::super::random::Random;
use super::{GROUPS, NAMES, host, values};

pub fn inventory(random: &mut Random, bad: bool) -> String {
    let mut text = random.pick(&["", "---\n", "# hosts\n"]).to_owned();
    let mut groups = vec!["all"];
    groups.extend(
        GROUPS
            .into_iter()
            .filter(|group| *group != "all" && random.one_in(3)),
    );
    for group in groups {
        text += &format!("{group}:\n");
        let parent = if group == "all" { 0 } else { index(group) };
        body(random, &mut text, (1, parent), bad);
    }
    if bad && random.one_in(3) {
        text += random.pick(&[
            "- list\n",
            "x: [1\n",
            "all: 5\n",
            "g1:\n  hosts: [a, b]\n",
            "5:\n  hosts:\n",
            "\ta: b\n",
        ]);
    }
    text
}

fn index(group: &str) -> usize {
    GROUPS.iter().position(|known| *known == group).unwrap()
}

/// The content of the group at this depth and index.
fn body(random: &mut Random, text: &mut String, (depth, parent): (usize, usize), bad: bool) {
    let indent = "  ".repeat(depth);
    if random.one_in(5) {
        *text += &format!(
            "{indent}hosts: {}\n",
            random.pick(&["ubuntu01", "win[1:2]", "~", ""])
        );
    } else {
        *text += &format!("{indent}hosts:\n");
        for _ in 0..1 + random.below(3) {
            let name = host(random, bad);
            *text += &format!("{indent}  {}:", quoted(name));
            variables(random, text, depth + 2);
        }
    }
    if random.one_in(2) {
        *text += &format!("{indent}vars:");
        variables(random, text, depth + 1);
    }
    if depth < 6 && random.one_in(2) {
        *text += &format!("{indent}children:\n");
        // Only later groups, to avoid loops unless `bad`.
        let later = |group: &&&str| bad || (index(group) > parent && **group != "all");
        for group in GROUPS.iter().filter(later).take(2) {
            *text += &format!("{indent}  {group}:\n");
            if random.one_in(2) {
                body(random, text, (depth + 2, index(group)), bad);
            }
        }
    }
    if random.one_in(12) {
        *text += &format!(
            "{indent}{}\n",
            random.pick(&["x: y", "extra: {a: 1}", "tags: [a]"])
        );
    }
}

fn quoted(name: &str) -> String {
    match name.contains(['[', ':', '|']) {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    }
}

/// A mapping in braces or in lines, which ends its line.
fn variables(random: &mut Random, text: &mut String, depth: usize) {
    match random.below(6) {
        0 => *text += "\n",
        1 => *text += " {}\n",
        2 => {
            *text += &format!(
                " {{{}: 1, {}: [a, b]}}\n",
                random.pick(&NAMES),
                random.pick(&NAMES)
            )
        }
        _ => {
            *text += "\n";
            lines(random, text, depth);
        }
    }
}

fn lines(random: &mut Random, text: &mut String, depth: usize) {
    let indent = "  ".repeat(depth);
    for _ in 0..1 + random.below(4) {
        let name = random.pick(&NAMES);
        match random.below(8) {
            0 => {
                *text += &format!(
                    "{indent}{name}:\n{indent}  - {}\n{indent}  - b\n",
                    values::scalar(random)
                )
            }
            1 => *text += &format!("{indent}{name}:\n{indent}  k: {}\n", values::scalar(random)),
            2 => *text += &format!("{indent}{name}: |\n{indent}  two\n{indent}  lines\n"),
            _ => *text += &format!("{indent}{name}: {}\n", values::scalar(random)),
        }
    }
    if random.one_in(6) {
        let name = match random.one_in(20) {
            true => "same".to_owned(),
            false => format!("b{}", random.next()),
        };
        *text += &format!(
            "{indent}base: &{name} {{k: 1, l: 2}}\n{indent}merged:\n{indent}  <<: *{name}\n{indent}  l: 3\n"
        );
    }
}

pub fn variables_file(random: &mut Random) -> String {
    if random.one_in(8) {
        return random
            .pick(&["", "---\n", "# nothing\n", "{}\n"])
            .to_owned();
    }
    let mut text = random.pick(&["", "---\n"]).to_owned();
    lines(random, &mut text, 0);
    text
}

pub fn json_variables(random: &mut Random) -> String {
    format!(
        "{{\"{}\": {}, \"{}\": [1, 2.0, null], \"big\": 1e5}}",
        random.pick(&NAMES),
        random.pick(&["1", "\"a\"", "{\"b\": false}", "\"1:30\""]),
        random.pick(&NAMES),
    )
}

pub fn json(random: &mut Random) -> String {
    format!(
        "{{\"all\": {{\"hosts\": {{\"{}\": {}, \"b[1:2]\": null}}, \"vars\": {}, \"children\": {{\"g1\": {{\"hosts\": {{\"b1\": null}}}}}}}}}}",
        random.pick(&["a", "a:22", "ubuntu01"]),
        json_variables(random),
        json_variables(random),
    )
}
