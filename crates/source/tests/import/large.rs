//! Small inventories that expand to large ones.

use casement_source::import::{TextFile, ansible};

fn codes(name: &str, text: &str) -> Vec<String> {
    let reading = ansible::read(&[TextFile::new(name, text)]);
    assert!(reading.inventory.is_none());
    let codes = reading.findings.into_iter();
    let codes = codes.filter_map(|found| found.diagnostic.code);
    codes.map(|code| code.to_string()).collect()
}

#[test]
fn excessive_expansion_is_rejected() {
    let range = "h[1:20000] a=1\n".repeat(200_000);
    let groups: String = (0..100_000)
        .map(|number| format!("[g{number}]\n"))
        .collect();
    let undefined: String = (0..200_000).map(|number| format!("g{number}\n")).collect();
    let parents: String = (0..1500)
        .map(|number| format!("[p{number}:children]\ng\n"))
        .collect();
    for text in [
        range,
        groups,
        format!("[p:children]\n{undefined}"),
        format!("[g]\nh[1:19999]\n{parents}"),
        "h[1:999999999]\n".to_owned(),
        format!("h x={}\n", "[".repeat(500_000)).replace("[[[[", "[1,["),
    ] {
        let codes = codes("hosts.ini", &text);
        let expected = ["CAS-IMPORT-009", "CAS-IMPORT-004", "CAS-IMPORT-006"];
        assert!(
            codes.iter().any(|code| expected.contains(&code.as_str())),
            "{codes:?}"
        );
    }
}

#[test]
fn alias_expansion_is_limited() {
    let mut bomb = "all:\n  vars:\n    a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = format!("*a{}, ", level - 1).repeat(9);
        bomb += &format!("    a{level}: &a{level} [{aliases}]\n");
    }
    assert_eq!(codes("hosts.yml", &bomb), ["CAS-IMPORT-008"]);
    let hosts: String = (0..5000)
        .map(|n| format!("        \"h[1:20000]\": {{a: {n}}}\n"))
        .collect();
    let groups: String = (0..3000)
        .map(|n| format!("    g{n}: {{hosts: \"h[1:10]\"}}\n"))
        .collect();
    assert!(
        codes("hosts.yml", &format!("all:\n  children:\n{groups}"))
            .contains(&"CAS-IMPORT-009".to_owned())
    );
    let same = format!("all:\n  hosts:\n{hosts}");
    assert!(
        ansible::read(&[TextFile::new("hosts.yml", same)])
            .inventory
            .is_some(),
        "a duplicate key counts once"
    );
}

#[test]
fn hosts_have_one_limit_however_they_are_listed() {
    let single = |hosts: usize| -> String { (1..=hosts).map(|n| format!("h{n}\n")).collect() };
    for text in [
        single(20_000),
        "h[1:20000]\n".repeat(2),
        format!("{}h[1:20000]\n", single(5)),
    ] {
        let read = ansible::read(&[TextFile::new("hosts.ini", text)]);
        assert_eq!(read.inventory.unwrap().hosts().len(), 20_000);
    }
    for text in [
        single(20_001),
        "h[1:20001]\n".to_owned(),
        "h[1:20000]\nlast\n".to_owned(),
        format!("{}win[1:19999]\nmore[1:5]\n", single(2)),
    ] {
        let file = TextFile::new("hosts.ini", text.as_str());
        let findings = ansible::read(&[file]).findings;
        let messages: Vec<&str> = findings
            .iter()
            .map(|found| found.diagnostic.message.as_str())
            .collect();
        assert_eq!(messages, ["the inventory has more than 20,000 hosts"]);
        let keys = text.replace('\n', ":\n").replace("h[", "\"h[");
        let keys: String = keys
            .lines()
            .map(|line| {
                format!(
                    "    {}\n",
                    line.replace("]:", "]\":")
                        .replace("win[", "\"win[")
                        .replace("more[", "\"more[")
                )
            })
            .collect();
        let text = format!("all:\n  hosts:\n{keys}");
        assert_eq!(codes("hosts.yml", &text), ["CAS-IMPORT-009"]);
    }
}

#[test]
fn range_without_a_section_is_read_as_ini() {
    assert_eq!(codes("hosts", "h[1:999999999]\n"), ["CAS-IMPORT-009"]);
    assert_eq!(codes("hosts", "h[1]\n"), ["CAS-IMPORT-004"]);
    assert_eq!(codes("hosts", "all:\n  hosts: [\n"), ["CAS-IMPORT-008"]);
}

#[test]
fn encrypted_inventory_is_an_error_with_the_command_that_decrypts_it() {
    let file = TextFile::new("hosts.yml", "$ANSIBLE_VAULT;1.1;AES256\n6162\n");
    let read = ansible::read(&[file]);
    assert!(read.inventory.is_none());
    let finding = &read.findings[0].diagnostic;
    assert!(finding.notes.is_empty(), "{:?}", finding.notes);
    let help = finding.help.as_deref().unwrap_or_default();
    assert!(
        help.contains("decrypt --output plain.yml hosts.yml"),
        "{help}"
    );
}
