//! Lines as `ssh-keyscan`, `ssh-keygen -H` and users write them.

use russh::keys::{Algorithm, PublicKey};

use super::*;

const ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGLqRhboY5HC5n987yJ8+lU0Jhl9LtJEfxdBUK0lCUG0";
const OTHER_ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPMADsvBLrOCYen+vE9a8+JOoBmYhbvM5gqtaHqSwzXa";
const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBNETXnM/NpLGhPdE3IXgORJLdJhitz2ne9VVrc4Fai5OEbYV4i9N3gfLbC/wYFLtmfqzMlvC2UUDz6cFHokAZ+A=";
/// `ssh-keygen -H` of the name `example.com`.
const HASHED: &str = "|1|JJj7TorhHM18+iy5Dd1qJQ1sb+E=|x9YroAp9moPUkoQk5fl8LmMZIvI=";
/// The same for `[localhost]:13265`.
const HASHED_PORT: &str = "|1|5a2XMffeAmVF2cAsAC7fx2fVAag=|XZtAYj/gCjmGpEQ8SNoszey2gPk=";

fn key(text: &str) -> PublicKey {
    text.parse().unwrap()
}

fn check(file: &str, address: &str, port: u16) -> Verdict {
    KnownHosts::parse(file).check(address, port, &key(ED25519))
}

#[test]
fn plain_line_matches_its_hosts() {
    let file = format!("# hosts\n\n10.3.0.4,Windows01 {ED25519} user@example\n");
    assert_eq!(check(&file, "10.3.0.4", 22), Verdict::Known);
    assert_eq!(check(&file, "WINDOWS01", 22), Verdict::Known);
    assert_eq!(check(&file, "10.3.0.5", 22), Verdict::Unknown);
    assert_eq!(check(&file, "10.3.0.4", 2222), Verdict::Unknown);
    assert_eq!(check("", "10.3.0.4", 22), Verdict::Unknown);
}

#[test]
fn port_other_than_22_is_part_of_the_name() {
    let file = format!("[10.3.0.4]:2222 {ED25519}\n");
    assert_eq!(check(&file, "10.3.0.4", 2222), Verdict::Known);
    assert_eq!(check(&file, "10.3.0.4", 22), Verdict::Unknown);
}

#[test]
fn wildcards_and_negations_are_respected() {
    let file = format!("*.shop.example,!bad.shop.example,10.3.0.? {ED25519}\n");
    assert_eq!(check(&file, "a.shop.example", 22), Verdict::Known);
    assert_eq!(check(&file, "bad.shop.example", 22), Verdict::Unknown);
    assert_eq!(check(&file, "10.3.0.4", 22), Verdict::Known);
    assert_eq!(check(&file, "10.3.0.44", 22), Verdict::Unknown);
}

#[test]
fn changed_key_reports_the_line_of_the_same_type() {
    let file = format!("# one\nh {ECDSA}\n\nh {OTHER_ED25519}\n");
    let Verdict::Changed { line, recorded } = check(&file, "h", 22) else {
        panic!("not changed");
    };
    assert_eq!((line, *recorded), (4, key(OTHER_ED25519)));
}

#[test]
fn one_of_several_keys_of_a_type_suffices() {
    let file = format!("h {OTHER_ED25519}\nh {ED25519}\n");
    assert_eq!(check(&file, "h", 22), Verdict::Known);
}

#[test]
fn host_known_by_another_key_type_counts_as_changed() {
    let file = format!("h {ECDSA}\n");
    assert!(matches!(
        check(&file, "h", 22),
        Verdict::Changed { line: 1, .. }
    ));
    let known = KnownHosts::parse(&file);
    assert!(matches!(
        known.algorithms("h", 22).as_slice(),
        [Algorithm::Ecdsa { .. }]
    ));
}

#[test]
fn revoked_key_is_rejected_despite_other_lines() {
    let file = format!("h {ED25519}\n@revoked * {ED25519} stolen\n");
    assert_eq!(check(&file, "h", 22), Verdict::Revoked { line: 2 });
    let file = format!("@revoked * {OTHER_ED25519}\nh {ED25519}\n");
    assert_eq!(check(&file, "h", 22), Verdict::Known);
    let file = format!("@cert-authority * {ED25519}\n");
    assert_eq!(check(&file, "h", 22), Verdict::Unknown);
}

#[test]
fn hashed_names_match() {
    let file = format!("{HASHED} {ED25519}\n{HASHED_PORT} {ED25519}\n");
    assert_eq!(check(&file, "example.com", 22), Verdict::Known);
    assert_eq!(check(&file, "localhost", 13265), Verdict::Known);
    assert_eq!(check(&file, "localhost", 22), Verdict::Unknown);
}

#[test]
fn invalid_lines_are_ignored() {
    let file = format!("h\nh ssh-rot13 AAAA\n\u{fffd}\n  h\t{ED25519}  \n");
    assert_eq!(check(&file, "h", 22), Verdict::Known);
}
