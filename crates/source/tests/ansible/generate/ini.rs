//! INI inventories.

use super::super::random::Random;
use super::{GROUPS, NAMES, host, values};

pub fn inventory(random: &mut Random, bad: bool) -> String {
    let mut text = String::new();
    if random.one_in(3) {
        hosts(random, &mut text, bad);
    }
    let mut sections = Vec::new();
    for group in GROUPS {
        if random.one_in(2) {
            sections.push((group, random.below(3)));
            if random.one_in(2) {
                sections.push((group, random.below(3)));
            }
        }
    }
    // Used groups are declared unless `bad`.
    let declared: Vec<_> = sections.iter().map(|(group, _)| *group).collect();
    if !bad {
        sections.extend(declared.iter().map(|group| (*group, 0)));
    }
    while !sections.is_empty() {
        let (group, kind) = sections.swap_remove(random.below(sections.len()));
        let comment = random.pick(&["", "", " # why", "   "]);
        match kind {
            0 => {
                text += &format!("[{group}]{comment}\n");
                hosts(random, &mut text, bad);
            }
            1 => {
                text += &format!("[{group}:vars]{comment}\n");
                variables(random, &mut text, bad);
            }
            _ => {
                text += &format!("[{group}:children]{comment}\n");
                children(random, &mut text, group, &declared, bad);
            }
        }
        text += random.pick(&["", "\n", "; a comment\n", "# another\n\n"]);
    }
    text
}

fn hosts(random: &mut Random, text: &mut String, bad: bool) {
    for _ in 0..random.below(4) {
        *text += random.pick(&["", "", "  "]);
        *text += host(random, bad);
        for _ in 0..random.below(4) {
            let space = random.pick(&[" ", "  ", "\t"]);
            *text += &format!("{space}{}={}", random.pick(&NAMES), values::word(random));
        }
        if bad && random.one_in(8) {
            *text += random.pick(&[" word", " 'open", " x\\"]);
        }
        *text += random.pick(&["\n", "\n", " # comment\n", "\r\n"]);
    }
}

fn variables(random: &mut Random, text: &mut String, bad: bool) {
    for _ in 0..random.below(5) {
        let equals = random.pick(&["=", " = ", "= "]);
        *text += &format!("{}{equals}{}\n", random.pick(&NAMES), values::rest(random));
    }
    if random.one_in(8) {
        *text += &format!(
            "ansible_group_priority={}\n",
            random.pick(&["2", "10", "'3'", "-1"])
        );
    }
    if bad && random.one_in(4) {
        *text += random.pick(&["no equals\n", "ansible_group_priority=high\n"]);
    }
}

/// Only later groups become children, to avoid loops unless `bad`.
fn children(random: &mut Random, text: &mut String, parent: &str, declared: &[&str], bad: bool) {
    let index = |group: &str| GROUPS.iter().position(|known| *known == group);
    for group in declared {
        let later = index(group) > index(parent) && *group != "all";
        if (later || (bad && random.one_in(10))) && random.one_in(2) {
            *text += group;
            *text += random.pick(&["\n", " # why\n", "\n"]);
        }
    }
    if bad && random.one_in(6) {
        *text += random.pick(&["undefined\n", "two words\n", "a:b\n"]);
    }
}

/// Many values of random Python tokens.
pub fn random_tokens(random: &mut Random) -> String {
    let mut text = "[g1]\nubuntu01\n[g1:vars]\n".to_owned();
    for number in 0..120 {
        text += &format!("v{number}={}\n", values::random_tokens(random));
    }
    text
}
